"""The base class of all peft adapters, which freeze the base model and may train some modules as a whole."""

from collections import Counter
from collections.abc import Collection
from dataclasses import fields

from bertcalc.changes.rewriting import Rewriting, Spot, copied
from bertcalc.changes.targets import HEADS, Names, Targets, TaskType, named_by_layer
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Place, Shape, split_layer
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.bounded_matching import limited_steps
from bertcalc.text.live_numbers import between, fill
from bertcalc.text.patterns import check_patterns
from bertcalc.text.problem import InputError, Problem

ADAPTER_NAME = ".default"  # peft's name for the adapter, which is part of the names of all adapter tensors
COPY = f".modules_to_save{ADAPTER_NAME}"  # follows the module's name in the tensor names of a trained copy
_ADAPTED = N_("{module} already has an adapter: remove it from target_modules or from modules_to_save.")
_FIRST_LAYER = N_(
    "bertcalc counts the parameters of an adapter of {architecture}, but not its FLOPs or memory, because a "
    "convolution follows the first layer."
)
_NOT_CAUSAL = N_(
    "peft accepts task_type CAUSAL_LM only for a class that generates text, such as BertLMHeadModel; "
    "{architecture} does not."
)
_NESTED = N_("modules_to_save {names} matches {module} and modules inside it: use a longer name.")
_LIST = N_("{module} is a list of modules, which peft cannot train as a whole: name modules in it in modules_to_save.")
_TIED = N_("{module} shares a tensor with another module: bertcalc does not support it as one of the modules_to_save.")


class PeftChange(Change):
    """The base class of peft's adapters, with the arguments that most adapters have.

    ``adapt`` freezes the model and adds the adapter. ``peft_config`` is the name of peft's configuration class, and
    ``peft_type`` is peft's name for the method.
    """

    peft_config = peft_type = ""

    target_modules: Names | None = None
    task_type: TaskType | None = None
    modules_to_save: Collection[str] | None = None
    exclude_modules: Names | None = None
    layers_to_transform: Collection[int] | int | None = None
    layers_pattern: Names | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in fields(self):  # type: ignore[arg-type]  # all adapters are dataclasses
            check_patterns(part.name, getattr(self, part.name))

    def adapt(self, rewriting: Rewriting) -> None:
        raise NotImplementedError

    def rewrite(self, model: Model, root: Module, steps: list[Step] | None) -> None:
        rewriting = Rewriting(model, root, steps)
        if rewriting.names_first_layer_apart():
            raise InputError(Problem.of(_FIRST_LAYER, "changes", None, architecture=model.architecture))
        if self.task_type == "CAUSAL_LM" and model.cls.task not in ("causal-lm", "double-heads"):
            raise InputError(Problem.of(_NOT_CAUSAL, "task_type", "CAUSAL_LM", architecture=model.architecture))
        with limited_steps():
            self.adapt(rewriting)
        save_modules(rewriting, (*(self.modules_to_save or ()), *HEADS.get(self.task_type, ())))

    @property
    def by_layer(self) -> bool:
        return any(map(named_by_layer, (self.target_modules, self.exclude_modules, self.modules_to_save)))

    def targets(self, names: Names) -> Targets:
        """Return the targets of the adapter: the modules that match ``names`` and are not trained as a whole."""
        # peft adds the heads of other tasks to modules_to_save only after it has chosen the targets.
        heads = HEADS["SEQ_CLS"] if self.task_type == "SEQ_CLS" else ()
        saved = (*(self.modules_to_save or ()), *heads)
        excluded = self.exclude_modules and _as_set(self.exclude_modules)
        return Targets(_as_set(names), excluded, self.layers_to_transform, self.layers_pattern, saved)


def _as_set(names: Names) -> Names:
    return names if isinstance(names, str) else frozenset(names)


def freeze(root: Module) -> None:
    """Freeze every tensor in a module."""
    for _path, module, _copies in root.modules():
        module.frozen = frozenset(module.parameters)


def train_biases(root: Module) -> None:
    """Train every bias in a module."""
    for _path, module, _copies in root.modules():
        module.frozen -= {"bias"}


def train_all(root: Module) -> Module:
    """Train every tensor in a module, and return the module."""
    for _path, module, _copies in root.modules():
        module.frozen = frozenset()
    return root


def save_modules(rewriting: Rewriting, names: Collection[str]) -> None:
    """Wrap modules in a ModulesToSaveWrapper, with a frozen original and a trained copy.

    A module is wrapped if its name ends with one of ``names``. Raises InputError if such a module has an adapter,
    contains another such module, or shares a tensor with another module.
    """
    ends = tuple(names)
    if not ends:
        return
    rewriting.split_layers(lambda name: (name.endswith(ends), split_layer(name)[0].endswith(ends)))
    spots = [spot for spot in rewriting.spots() if rewriting.full_names(spot)[0].endswith(ends)]
    for spot in spots:
        _check(spot, spots, names)
        copies = Module("ModuleDict", default=train_all(copied(spot.module)))
        freeze(spot.module)
        wrapper = Module("ModulesToSaveWrapper", original_module=spot.module, modules_to_save=copies)
        rewriting.wrap(spot, wrapper, COPY.removeprefix("."))
        rewriting.change_ties(f"{spot.path}{COPY}.", f"{spot.path}.original_module.")


def copies(model: Model) -> dict[str, int]:
    """Map each module that peft copies to the copy's parameter count. The original is frozen, and the copy is trained.

    >>> from bertcalc import Lora, load
    >>> copies(load("bert-base-uncased", "BertForSequenceClassification").adapted(Lora(task_type="SEQ_CLS")))
    {'classifier': 1538}
    """
    counts = Counter[str]()
    for tensor in model.tensors():
        name, is_copy, _rest = tensor.name.partition(COPY)
        if is_copy:
            counts[name] += tensor.num_parameters()
    return dict(counts)


def _check(spot: Spot, spots: Collection[Spot], names: Collection[str]) -> None:
    module, message = spot.module, ""
    if "base_layer" in module.children or "base_layer" in spot.parent.children:
        message = _ADAPTED
    elif module.class_name == "ModuleList":
        message = _LIST
    elif any(other.path.startswith(f"{spot.path}.") for other in spots):
        message = _NESTED
    elif any(inside.tied for _path, inside, _copies in module.modules()):
        message = _TIED
    if message:
        raise InputError(
            Problem.of(message, "modules_to_save", spot.name, module=spot.name, names=", ".join(sorted(set(names))))
        )


class ParameterDict(Module):
    """torch.nn.ParameterDict: a dictionary of tensors."""

    class_name = "ParameterDict"

    def __init__(self, **tensors: Shape) -> None:
        self.parameters = tensors

    def extra_repr(self) -> str:
        sides = {name: [fill("{side}", side=side) for side in shape] for name, shape in self.parameters.items()}
        message = "  ({name}): Parameter containing: [torch.FloatTensor of size {shape}]"
        return between("", (fill(message, name=name, shape=between("x", texts)) for name, texts in sides.items()))


def set_places(module: Module, place: Place) -> Module:
    """Set the place of a module and of all modules in it, and return the module."""
    for _path, inside, _copies in module.modules():
        inside.place = place
    return module
