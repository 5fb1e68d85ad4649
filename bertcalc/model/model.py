"""A model: a configuration, a class, and the module tree that the family's program declares."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, Self

from bertcalc.config import Config, ConfigError, MixedError
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change, check_order
from bertcalc.model.family import Class, Family
from bertcalc.model.modules import Attention, Module
from bertcalc.model.registry import CLASSES, FAMILIES, PRESETS, class_of, family_of, preset_named
from bertcalc.model.trace import Step, Trace
from bertcalc.text import N_
from bertcalc.text.arguments import ArgumentError, checked, unknown
from bertcalc.text.problem import Problem

NO_PRESET = (
    N_("There is no preset {name}: did you mean {nearest}?"),
    N_("There is no preset {name}: it must be one of {options}."),
)
_NOT_OF_FAMILY = (
    N_("architecture {name} is unknown: did you mean {nearest}? For {config} it must be one of {options}."),
    N_("architecture {name} is unknown: for {config} it must be one of {options}."),
)
_ONE = Batch()


class Model(Module):
    """The root of a module tree, which can also run the family's program that declared the tree.

    ``config`` is a configuration, ``architecture`` the name of a class of the same family (by default the body's), and
    ``add_pooling_layer`` an option of the body's class. ``changes``, such as adapters, are applied in order. Two models
    are equal if these four arguments are equal.

    Raises InputError if the family has no such class or a change is not possible, and ConfigError if transformers does
    not build the class with this configuration.

    >>> Model(PRESETS["bert-base-uncased"].config, "BertForMaskedLM").num_parameters()
    109514298
    """

    family: Family
    cls: Class
    config: Config
    add_pooling_layer: bool  # True if the class has no such option
    changes: tuple[Change, ...] = ()
    _no_tree = ""  # why there is no module tree; "" if there is one

    @checked
    def __init__(
        self,
        config: Config,
        architecture: str | None = None,
        add_pooling_layer: bool = True,
        changes: tuple[Change, ...] = (),
    ) -> None:
        family = family_of(config)
        names = [cls.name for cls in family.classes]
        if architecture is not None and architecture not in names:
            raise unknown(_NOT_OF_FAMILY, architecture, names, config=type(config).__name__)
        kind = class_of(architecture) if architecture is not None else family.base
        self._declare(family, kind, config, add_pooling_layer, changes)

    @classmethod
    def build(cls, config: Config | str, architecture: str | None = None, *, add_pooling_layer: bool = True) -> Self:
        """Build the model of a configuration or preset; ``bertcalc.build`` describes the arguments."""
        if isinstance(config, str):
            preset = preset_named(config)
            if preset is None:
                raise unknown(NO_PRESET, config, PRESETS)
            config = PRESETS[preset].config
        model = cls(config, architecture, add_pooling_layer)
        if not add_pooling_layer and not model.cls.pooler_is_optional:
            message = N_("{architecture} does not have the option add_pooling_layer: only {base} does.")
            if not model.family.base.pooler:
                message = N_("{architecture} has no option add_pooling_layer.")
            values = {"architecture": model.architecture, "base": model.family.base.name}
            raise ArgumentError(Problem("add_pooling_layer", add_pooling_layer, message, values))
        return model

    @classmethod
    def of_family(cls, family: Family, kind: Class, config: Any, *, add_pooling_layer: bool = True) -> "Model":
        """Build the model of the class ``kind`` of a family, whether or not the family is registered."""
        model = cls.__new__(cls)
        model._declare(family, kind, config, add_pooling_layer)
        return model

    def _declare(
        self, family: Family, kind: Class, config: Any, add_pooling_layer: bool, changes: tuple[Change, ...] = ()
    ) -> None:
        self.class_name = kind.name
        self.children = {}
        self.family = family
        self.cls = kind
        self.config = config
        self.add_pooling_layer = add_pooling_layer or not kind.pooler_is_optional
        if changes:
            self.changes = changes
            check_order(changes)
        try:
            if problem := kind.unbuilt(config):
                raise ConfigError(problem)
            self._run(self, _ONE, None)
        except MixedError as error:  # not raised yet, because formulas can be evaluated row by row
            self._no_tree = str(error)

    @property
    def children(self) -> dict[str, Module]:
        """The child modules, keyed by name. Raises MixedError for columns with rows of different structure."""
        if self._no_tree:
            raise MixedError(Problem.of(self._no_tree))
        return self._children

    @children.setter
    def children(self, children: dict[str, Module]) -> None:
        self._children = children

    @property
    def architecture(self) -> str:
        """The name of the class."""
        return self.cls.name

    @property
    def pooler(self) -> bool:
        """Whether the body has a pooler."""
        return self.cls.pooler and self.add_pooling_layer

    @property
    def final_config(self) -> Config:
        """The configuration after all changes, for example with a smaller vocabulary or fewer layers."""
        config = self.config
        for change in self.changes:
            config = change.configured(self, config)
        return config

    @property
    def virtual_tokens(self) -> int:
        """The number of tokens that the changes put in front of each sequence."""
        return sum(change.virtual_tokens for change in self.changes)

    def letter_values(self) -> dict[str, Any]:
        """The values of the letters in the model's formulas, keyed by size: the sizes of the model and its changes."""
        return {**self.config.shared(), **self.change_letter_values()}

    def change_letter_values(self) -> dict[str, Any]:
        """The values of the letters of the model's changes only, keyed by size."""
        values, config = dict[str, Any](), self.config
        for change in self.changes:
            values |= change.letter_values(config)
            config = change.configured(self, config)
        return values

    @property
    def body_prefix(self) -> str:
        """The prefix of the body's tensor names: "bert.", or "" if the model is the body."""
        return "" if self.cls.task == "base" else f"{self.family.prefix}."

    @property
    def reads_encoder(self) -> bool:
        """Whether the layers have cross attention and the class accepts encoder_hidden_states."""
        return self.config.add_cross_attention and self.cls.sees_encoder

    def encoder_length(self, sequence_length: int) -> int | None:
        """The length of encoder_hidden_states: ``sequence_length`` if the model reads them, else None."""
        return sequence_length if self.reads_encoder else None

    def batch_of(self, batch_size: int, sequence_length: int) -> Batch:
        """A batch of these sizes, with encoder_hidden_states of the same length if the model reads them.

        >>> Model(PRESETS["bert-base-uncased"].config).batch_of(8, 128)
        Batch(batch_size=8, sequence_length=128, encoder_sequence_length=None, num_choices=1, cached=True, padded=False)
        """
        return Batch(batch_size, sequence_length, self.encoder_length(sequence_length))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def __reduce__(self) -> Any:
        """Pickle and copy a model by its arguments, or by its state if its family is not registered."""
        if self.family is FAMILIES.get(self.family.name):
            return type(self), self._value()
        return super().__reduce__()

    def _value(self) -> tuple[Config, str, bool, tuple[Change, ...]]:
        return self.config, self.architecture, self.add_pooling_layer, self.changes

    def changed(
        self,
        config: Config | None = None,
        architecture: str | None = None,
        add_pooling_layer: bool | None = None,
        changes: tuple[Change, ...] | None = None,
    ) -> Self:
        """A copy with a different configuration, class, pooler option or changes; None keeps the current value."""
        if changes is None:
            changes = self.changes if config is None else self._changes_for(config)
        return type(self)(
            self.config if config is None else config,
            self.architecture if architecture is None else architecture,
            self.add_pooling_layer if add_pooling_layer is None else add_pooling_layer,
            changes,
        )

    def _changes_for(self, config: Config) -> tuple[Change, ...]:
        """The changes for a new configuration.

        If its sizes are letters, the changes keep the numbers that they read from the current configuration.
        """
        if isinstance(config.vocab_size, int):
            return self.changes
        before, changes = self.config, list[Change]()
        for change in self.changes:
            changes.append(change.settled(before))
            before = change.configured(self, before)
        return tuple(changes)

    def without_prefix(self, name: str) -> str:
        """The name of a module or tensor without the body's prefix."""
        return name.removeprefix(self.body_prefix)

    def body(self) -> Module:
        """The body: the model itself, or the child named by the prefix if the class has a head."""
        return self.children.get(self.family.prefix, self) if self.cls.task != "base" else self

    def first_attention(self) -> Module:
        """The first attention module, the parent of query, key and value. Raises KeyError if there is none."""
        for _path, module, _copies in self.modules():
            if isinstance(module, Attention):
                return module
        raise KeyError("attention")

    @checked
    def steps(self, batch: Batch) -> list[Step]:
        """Every step from the token ids to the outputs, in order; the steps of a repeated layer appear once."""
        steps = self.declared_steps(batch)
        return [part for step in steps for part in step.parts or (step,)] if self.changes else steps

    def declared_steps(self, batch: Batch) -> list[Step]:
        """The steps as the program declares them: a changed module is a single step with its new steps in ``parts``."""
        root = Module(self.class_name)
        steps: list[Step] = []
        self._run(root, batch, steps)
        return _frozen(root, steps) if self.changes else steps

    def _run(self, root: Module, batch: Batch, steps: list[Step] | None) -> None:
        config = self.final_config
        changes: list[Change] = []
        for change in self.changes:
            changes = [*(earlier.without_layers(change.dropped) for earlier in changes), change]

        def run(root: Module, steps: list[Step] | None, prepared: Iterable[Change]) -> None:
            t = Trace(root, self.body_prefix, batch, steps, choices=self.cls.takes_choices)
            for change in prepared:
                change.prepare(t)
            self._run_program(t, root, config)

        def twin(other: Change) -> tuple[Module, list[Step] | None]:
            tree, more = Module(self.class_name), None if steps is None else list[Step]()
            run(tree, more, (*changes, other))
            return tree, more

        run(root, steps, changes)
        for change in changes:
            change.rewrite_with(self, root, steps, twin)

    def _run_program(self, t: Trace, root: Module, config: Config) -> None:
        family, cls = self.family, self.cls
        if cls.task == "base":
            cls.head(t, config, family.body(t, config, self.pooler))
            return
        with t.module(family.prefix, family.base.name):
            hidden = family.body(t, config, self.pooler)
        cls.head(t, config, hidden)
        if family.head_first:
            root.children[family.prefix] = root.children.pop(family.prefix)


def _frozen(root: Module, steps: list[Step]) -> list[Step]:
    """The steps, with ``frozen`` set on the tensors that a change froze in the tree below ``root``."""
    names = {tensor.name for tensor in root.tensors() if tensor.frozen}

    def marked(step: Step) -> Step:
        tensors = tuple(tensor._replace(frozen=tensor.name in names) for tensor in step.tensors)
        return step._replace(tensors=tensors, parts=tuple(map(marked, step.parts)))

    return list(map(marked, steps))


def config_of_class(config: Config, architecture: str) -> Config:
    """Convert a configuration for use with a class of any family, with the same sizes or the nearest valid sizes."""
    cls = class_of(architecture)
    kind = CLASSES[cls.name].config
    values = {name: value for name, value in config.shared().items() if kind.has(name)}
    while type(config) is not kind:
        try:
            config = kind(**values)
        except ConfigError as error:
            values = values | error.problem.remedies[0]
    problem = cls.unbuilt(config)
    return replace(config, **problem.remedies[0]) if problem else config


def not_taken(model: Model, batch: Batch) -> Problem | None:
    """The problem if a batch has inputs that the model's forward method does not accept; otherwise None."""
    values: dict[str, Any] = {"architecture": model.architecture}
    choices, length = batch.num_choices, batch.encoder_sequence_length
    if not model.cls.takes_choices and (not isinstance(choices, int) or choices != 1):
        message = N_("{architecture} does not take choices: leave num_choices out, or use a class for multiple choice.")
        return Problem.of(message, "num_choices", choices, {"num_choices": 1}, **values)
    if length is not None and not model.reads_encoder:
        message = N_(
            "{architecture} does not read encoder_hidden_states with this configuration: leave "
            "encoder_sequence_length out. Only a decoder with add_cross_attention True reads them."
        )
        return Problem.of(message, "encoder_sequence_length", length, {"encoder_sequence_length": None}, **values)
    return None


@cache
def output_names(architecture: str) -> tuple[str, ...]:
    """The names of a class's outputs, in order, without outputs that are returned only on request."""
    cls, family = class_of(architecture), CLASSES[architecture]
    steps = Model.of_family(family, cls, family.config.default()).steps(Batch())
    return tuple(step.output for step in steps if step.output)


@checked
def build(config: Config | str, architecture: str | None = None, *, add_pooling_layer: bool = True) -> Model:
    """Build a model like ``bertcalc.build``, but without the methods that only ``bertcalc.Model`` has.

    >>> build("bert-base-uncased", "BertForMaskedLM").num_parameters()
    109514298
    """
    return Model.build(config, architecture, add_pooling_layer=add_pooling_layer)
