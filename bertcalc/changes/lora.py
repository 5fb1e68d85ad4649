"""LoRA (Hu et al. 2021, arXiv:2106.09685) and DoRA (Liu et al. 2024, arXiv:2402.09353), as peft 0.21 adds them."""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import ClassVar, Literal

from bertcalc.changes.adapter import ParameterDict, PeftChange, freeze, set_places, train_biases
from bertcalc.changes.rewriting import Recording, Rewriting, Spot, place_in
from bertcalc.changes.targets import LORA_TARGETS, Names, TaskType, matching, named_by_layer, resolved
from bertcalc.model.modules import Conv1D, Convolution, Dropout, Embedding, Linear, Module, Shape
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.bounded_matching import matches
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.records import dataclass

Bias = Literal["none", "all", "lora_only"]
_UNSUPPORTED = N_(
    "{module} is a {kind}, and peft does not add LoRA to it: target_modules must be Linear, "
    "Conv1D, Conv1d or Embedding."
)
_LAYERS = N_("peft accepts {field} only with a list of names: give target_modules as a list.")
_PATTERN = N_("layers_pattern names the list of layers for layers_to_transform: give both, or neither.")
_DORA_BIAS = N_("peft does not combine lora_bias with use_dora: leave one of them out.")
_NO_BIAS = N_("peft adds no lora_bias to an Embedding: leave {module} out of the target_modules.")


@dataclass(frozen=True)
class Lora(PeftChange):
    """LoRA: train two matrices of shape (r, in) and (out, r) beside each targeted weight of shape (out, in).

    The arguments match ``peft.LoraConfig``. ``target_modules`` defaults to peft's default for the family. The head for
    ``task_type`` is trained as a whole. peft also keeps the original head, so the head counts twice. ``lora_alpha``,
    ``alpha_pattern`` and ``use_rslora`` set the scaling, which does not affect any count.

    >>> from bertcalc import load
    >>> bert = load("bert-base-uncased", "BertForSequenceClassification")
    >>> bert.adapted(Lora(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")).trainable_parameters
    296450
    """

    title = "LoRA"
    peft_config, peft_type = "LoraConfig", "LORA"
    letters: ClassVar[Mapping[str, str]] = {"r": "lora_rank"}

    r: int = 8
    target_modules: Names | None = None
    lora_alpha: int = 8
    lora_dropout: float = 0.0
    bias: Bias = "none"
    task_type: TaskType | None = None
    use_rslora: bool = False
    use_dora: bool = False
    lora_bias: bool = False
    modules_to_save: Collection[str] | None = None
    exclude_modules: Names | None = None
    layers_to_transform: Collection[int] | int | None = None
    layers_pattern: Names | None = None
    rank_pattern: Mapping[str, int] = field(default_factory=dict, hash=False)
    alpha_pattern: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def by_layer(self) -> bool:
        in_ranks = any(map(named_by_layer, self.rank_pattern))
        return super().by_layer or self.layers_to_transform is not None or in_ranks

    @property
    def trains_as_it_runs(self) -> bool:
        return not (self.use_dora and self.lora_dropout)  # with dropout, DoRA computes the base product a second time

    @property
    def under_autocast(self) -> bool:
        return not self.use_dora

    def adapt(self, rewriting: Rewriting) -> None:
        names = resolved(rewriting, "target_modules", self.target_modules, LORA_TARGETS, self.task_type)
        if self.use_dora and self.lora_bias:
            raise InputError(Problem.of(_DORA_BIAS, "lora_bias", True))
        for name in ("layers_to_transform", "layers_pattern"):
            value = getattr(self, name)
            if value is not None and isinstance(self.target_modules, str):
                raise InputError(Problem.of(_LAYERS, name, value, field=name))
        if self.layers_pattern and self.layers_to_transform is None:
            raise InputError(Problem.of(_PATTERN, "layers_pattern", self.layers_pattern))
        targets = self.targets(names)
        rewriting.split_layers(lambda name: targets.match(name) and self.rank(name))
        spots = matching(rewriting, targets)
        freeze(rewriting.root)
        if self.bias == "all":
            train_biases(rewriting.root)
        for spot in spots:
            self._add(rewriting, spot)

    def rank(self, name: str) -> int:
        """Return the adapter's rank for the module with this full name."""
        patterns = ((rf"(.*\.)?({key})$", r) for key, r in self.rank_pattern.items())
        return next((r for pattern, r in patterns if matches(pattern, name, whole=False)), self.r)

    def _add(self, rewriting: Rewriting, spot: Spot) -> None:
        name, base = rewriting.full_names(spot)[0], spot.module
        if self.bias == "lora_only":
            owner = base.tied.get("bias", "").rpartition(".")[0]
            biased = rewriting.root.get_submodule(owner) if owner else base
            biased.frozen -= {"bias"}
        wrapper = set_places(self._wrapper(base, self.rank(name), name), place_in(base.place))
        wrapper.children = {"base_layer": base, **wrapper.children}
        rewriting.wrap(spot, wrapper, "base_layer", lambda step: self._steps(wrapper, step, spot.path))

    def _wrapper(self, base: Module, r: int, name: str) -> Module:
        """Return the wrapper of a module with the two LoRA matrices, but without the module itself."""
        linear: dict[str, dict[str, Module]] = {"lora_A": {}, "lora_B": {}}
        tables: dict[str, dict[str, Shape]] = {"lora_embedding_A": {}, "lora_embedding_B": {}}
        match base:
            case Linear() | Conv1D():
                linear["lora_A"]["default"] = Linear(base.in_features, r, bias=False)
                linear["lora_B"]["default"] = Linear(r, base.out_features, bias=self.lora_bias)
                scales = base.out_features
            case Convolution():
                linear["lora_A"]["default"] = Convolution(base.units, base.kernel_size, out=r, bias=False)
                linear["lora_B"]["default"] = Convolution(r, 1, out=base.units, bias=self.lora_bias)
                scales = base.units
            case Embedding() if self.lora_bias:
                raise InputError(Problem.of(_NO_BIAS, "lora_bias", True, module=name))
            case Embedding():
                rows, width = base.parameters["weight"]
                tables = {"lora_embedding_A": {"default": (r, rows)}, "lora_embedding_B": {"default": (width, r)}}
                scales = width
            case _:
                raise InputError(Problem.of(_UNSUPPORTED, "target_modules", name, module=name, kind=base.class_name))
        magnitude = {"default": _dora(scales)} if self.use_dora else {}
        dropout = Dropout(self.lora_dropout) if self.lora_dropout else Module("Identity")
        return Module(
            f"lora.{base.class_name if isinstance(base, (Embedding, Convolution)) else 'Linear'}",
            lora_dropout=Module("ModuleDict", default=dropout),
            **{part: Module("ModuleDict", **pair) for part, pair in linear.items()},
            **{part: ParameterDict(**table) for part, table in tables.items()},
            lora_magnitude_vector=Module("ModuleDict", **magnitude),
        )

    def _steps(self, wrapper: Module, step: Step, path: str) -> list[Step]:
        """Return the steps that follow the module's own step: result + lora_B(lora_A(dropout(x))) * scaling."""
        recording = Recording(step, path)
        x, children, shape = step.takes[0], wrapper.children, step.gives.shape
        if children["lora_A"].children:
            narrow, wide = (children[name].children["default"] for name in ("lora_A", "lora_B"))
            r = narrow.parameters["weight"][0]
            if self.use_dora and step.operation == "linear":  # peft applies the matrices to an identity matrix
                unit = x._replace(name=f"{step.name}.unit", shape=(x.shape[-1], x.shape[-1]))
                product = recording.made("dora_A", "matmul", (unit,), (x.shape[-1], r))
                recording.made("dora_B", "matmul", (product,), (x.shape[-1], shape[-1]))
            if self.lora_dropout:
                x = recording.call("lora_dropout.default", children["lora_dropout"].children["default"], x, x.shape)
            inner = (*shape[:-1], r) if step.operation == "linear" else (shape[0], r, *shape[2:])
            x = recording.call("lora_A.default", narrow, x, inner)
            x = recording.call("lora_B.default", wide, x, shape)
        else:
            first, second = (children[f"lora_embedding_{part}"].parameters["default"] for part in "AB")
            if self.use_dora:
                table = x._replace(name=f"{step.name}.table", shape=(first[1], first[0]), ids=False)
                recording.made("dora", "matmul", (table,), (first[1], second[0]))
            x = recording.made(
                "lora_embedding_A", "lookup", (x,), (*x.shape, first[0]), {"lora_embedding_A.default": first}
            )
            x = recording.made("lora_embedding_B", "matmul", (x,), shape, {"lora_embedding_B.default": second})
        x = recording.made("scaling", "scale", (x,), shape)
        if self.use_dora:
            name, module = "lora_magnitude_vector.default", children["lora_magnitude_vector"].children["default"]
            x = recording.made(name, "multiply", (x,), shape, {f"{name}.weight": module.parameters["weight"]})
        recording.made("add_adapter", "add", (recording.base, x), shape)
        return recording.steps


def _dora(units: int) -> Module:
    module = Module("lora.dora.DoraLinearLayer")
    module.parameters = {"weight": (units,)}
    return module
