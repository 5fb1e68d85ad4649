"""Recognize a model by its tensors: its family, class and sizes, and missing or additional tensors.

>>> from bertcalc.families import build
>>> tensors = [StoredTensor(name, "", shape) for name, shape in build("bert-base-uncased").named_parameters()]
>>> recognition = recognized(tensors)
>>> recognition.model == build("bert-base-uncased"), recognition.agrees
(True, True)
>>> more = recognized([*tensors, StoredTensor("fc.weight", "", (5, 768)), StoredTensor("fc.bias", "", (5,))])
>>> more.additional
(UnmatchedPart(path='fc', kind='Linear', parameters=3845, modules=1),)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import product
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

from bertcalc.checkpoints.checkpoint import TensorMatch, matches, model_of_shapes, wrapper_of
from bertcalc.config import Config, ConfigError
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Shape
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text.problem import InputError

TELLING = ("vocab_size", "hidden_size", "num_hidden_layers", "max_position_embeddings", "type_vocab_size")


class UnmatchedPart(NamedTuple):
    """A module that only the text or only the model has, or that has different shapes in text and model.

    ``path`` has ``*`` for the number of a layer. ``kind`` is the module's class, or empty if it is not known.
    ``modules`` is the number of copies, and ``parameters`` counts all copies.
    """

    path: str
    kind: str
    parameters: int
    modules: int = 1


class Recognition(NamedTuple):
    """The model that is most similar to the tensors of a text, and how they differ.

    - ``guessed``: fields of the configuration that no shape shows.
    - ``missing``: parts that only the model has.
    - ``additional``: parts that only the text has.
    - ``reshaped``: parts with different shapes. Their parameters are the text's count minus the model's count.
    - ``second_names``: tensors that the model ties to other tensors.
    - ``preset``: the preset that completes a text without all sizes.
    """

    model: Model
    guessed: tuple[str, ...] = ()
    missing: tuple[UnmatchedPart, ...] = ()
    additional: tuple[UnmatchedPart, ...] = ()
    reshaped: tuple[UnmatchedPart, ...] = ()
    second_names: tuple[str, ...] = ()
    preset: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the text has exactly the model's tensors."""
        return not (self.missing or self.additional or self.reshaped)

    @property
    def num_parameters(self) -> int:
        """The text's parameter count: the model's count minus missing parts, plus additional and reshaped parts."""
        more = sum(part.parameters for part in (*self.additional, *self.reshaped))
        return self.model.num_parameters() + more - sum(part.parameters for part in self.missing)

    @property
    def distance(self) -> int:
        """The number of modules that differ."""
        return sum(part.modules for part in (*self.missing, *self.additional, *self.reshaped))

    @property
    def different_parameters(self) -> int:
        """The parameters of the modules that differ."""
        return sum(part.parameters for part in (*self.missing, *self.additional, *self.reshaped))


def recognized(
    tensors: Sequence[StoredTensor],
    architecture: str | None = None,
    body: str | None = None,
    kinds: Mapping[str, str] | None = None,
    prepare: Callable[[Model], Model] = lambda model: model,
) -> Recognition | None:
    """Return the model that is most similar to ``tensors``, and the differences; None if no model fits.

    ``architecture`` is the class that the text names for the whole model, and ``body`` a class that it names for a
    part. ``kinds`` has the classes of modules, keyed by path. ``prepare`` corrects fields that no shape shows.
    """
    named = architecture or body
    family = CLASSES[named] if named else None
    try:
        model, guessed = model_of_shapes(tensors, family, architecture)
    except InputError:
        return _of_presets(tensors, architecture, body, kinds or {})
    models = [prepare(model)]
    if architecture is None and model.cls.task != "base":
        base = model.family.base.name
        models += [prepare(Model(model.config, base, pooler)) for pooler in (False, True)]
    candidates = [_compared(candidate, guessed, tensors, kinds or {}) for candidate in models]
    nearest = min(candidates, key=attrgetter("distance"))
    if not nearest.agrees:
        heads = () if architecture else _tied_heads(nearest.model)
        candidates = [nearest, *(_compared(head, guessed, tensors, kinds or {}) for head in heads)]
        candidates.sort(key=attrgetter("distance"))
        close = [candidate for candidate in candidates if candidate.distance <= candidates[0].distance + 1]
        switched = (_switched(candidate, tensors, kinds or {}) for candidate in close)
        nearest = min(switched, key=attrgetter("distance"))
    return nearest if named else nearest._replace(model=_renamed(nearest.model, tensors))


def _tied_heads(model: Model) -> Iterator[Model]:
    """Yield the model as each class of its family, with untied and with tied word embeddings."""
    for tied, cls in product((False, True), model.family.classes):
        with suppress(ConfigError):
            yield Model(replace(model.config, tie_word_embeddings=tied), cls.name)


def _switched(nearest: Recognition, tensors: Sequence[StoredTensor], kinds: Mapping[str, str]) -> Recognition:
    """Flip each flag of the configuration, such as a flag for biases, if the model then fits the tensors better.

    Also try each activation that has parameters.
    """
    for field in fields(nearest.model.config):
        value = getattr(nearest.model.config, field.name)
        is_activation = field.name.endswith(("_act", "_activation"))
        for other_value in (not value,) if isinstance(value, bool) else _WITH_PARAMETERS if is_activation else ():
            change: dict[str, Any] = {field.name: other_value}
            with suppress(ConfigError):
                model = nearest.model.changed(config=replace(nearest.model.config, **change))
                other = _compared(model, nearest.guessed, tensors, kinds)
                nearest = min(nearest, other, key=attrgetter("distance", "different_parameters"))
    return nearest


_WITH_PARAMETERS = tuple(name for name, facts in ACTIVATIONS.items() if facts.parameters)


def _compared(
    model: Model, guessed: tuple[str, ...], tensors: Sequence[StoredTensor], kinds: Mapping[str, str]
) -> Recognition:
    groups = matches(tensors, model)
    printed_kinds = _plain(kinds, tensors, model)
    unprinted = _unprinted(model, printed_kinds)
    second = tuple(matched.name for matched in groups["tied"])
    own_kinds = {model.without_prefix(path): module.class_name for path, module, _copies in model.modules(folded=False)}
    return Recognition(
        model,
        guessed,
        _parts((matched for matched in groups["missing"] if matched.name not in unprinted), own_kinds),
        _parts([*groups["head"], *groups["other"]], printed_kinds),
        _parts((matched for matched in groups["shape"] if matched.name not in unprinted), own_kinds),
        second,
    )


def _plain(kinds: Mapping[str, str], tensors: Sequence[StoredTensor], model: Model) -> dict[str, str]:
    """Return the class of each module in a text, keyed by path without the prefixes of the body and its wrapper."""
    wrapper = wrapper_of(tensors)
    return {
        model.without_prefix(path.removeprefix(wrapper)).removeprefix(f"{model.family.prefix}."): kinds[path]
        for path in kinds
    }


def _unprinted(model: Model, kinds: Mapping[str, str]) -> set[str]:
    """Return the names of tensors that ``print`` does not show, in modules that it shows."""
    return {
        model.without_prefix(name)
        for path, module, _copies in model.modules(folded=False)
        if is_hidden(module) and model.without_prefix(path) in kinds
        for name in own_names(path, module)
    }


def is_hidden(module: Module) -> bool:
    """Whether ``print`` does not show the shapes of a module's own tensors: it has children, or no arguments."""
    return bool(module.parameters) and (any(module.named_children(folded=True)) or not module.extra_repr())


def own_names(path: str, module: Module) -> Iterator[str]:
    """Yield the full names of a module's own tensors."""
    return (f"{path}.{name}" if path else name for name in module.parameters)


def _parts(matched: Iterable[TensorMatch], kinds: Mapping[str, str]) -> tuple[UnmatchedPart, ...]:
    """Group tensors by module; the same module of several layers is one part."""
    tensors: dict[str, list[TensorMatch]] = {}
    for entry in matched:
        tensors.setdefault(entry.name.rpartition(".")[0] or entry.name, []).append(entry)
    parts: dict[tuple[str, str], UnmatchedPart] = {}
    for path, entries in tensors.items():
        kind = kinds.get(path) or _kind(entries)
        key = starred(path), kind
        before = parts.get(key, UnmatchedPart(*key, 0, 0))
        count = before.parameters + sum(_difference(entry) for entry in entries)
        parts[key] = before._replace(parameters=count, modules=before.modules + 1)
    return tuple(parts.values())


def _difference(matched: TensorMatch) -> int:
    """Return a tensor's number of elements; if text and model have it, the text's number minus the model's."""
    if matched.entry is None:
        return prod(matched.shape or ())
    return matched.entry.numbers() - (prod(matched.shape) if matched.shape is not None else 0)


def starred(path: str) -> str:
    """Replace every layer number in a path with ``*``; keep a number at the end, because it is the name of a module.

    >>> starred("encoder.layer.11.output"), starred("classifier.0")
    ('encoder.layer.*.output', 'classifier.0')
    """
    *outside, last = path.split(".")
    return ".".join([*("*" if name.isdecimal() else name for name in outside), last])


def without_adapters(path: str) -> str:
    """Remove the names that PEFT's wrappers add to the paths of the modules inside them.

    >>> without_adapters("attention.self.query.base_layer.weight")
    'attention.self.query.weight'
    """
    return path.replace(".base_layer", "").replace(".original_module", "")


def _kind(entries: Sequence[TensorMatch]) -> str:
    """Return "Linear" for a matrix and a bias with one entry per row of the matrix; otherwise an empty string."""
    shapes = {entry.name.rpartition(".")[2]: entry.entry.shape for entry in entries if entry.entry}
    weight, bias = shapes.get("weight", ()), shapes.get("bias", ())
    return "Linear" if shapes.keys() == {"weight", "bias"} and len(weight) == 2 and weight[:1] == bias else ""


def _of_presets(
    tensors: Sequence[StoredTensor], architecture: str | None, body: str | None, kinds: Mapping[str, str]
) -> Recognition | None:
    """Return the first preset that has all tensors in a text; None if there is none.

    It is for texts that do not show every size.
    """
    named = architecture or body
    for name, preset in PRESETS.items():
        model = Model(preset.config)
        if named and CLASSES[named] is not model.family:
            continue
        if not _FEWEST <= len(tensors) <= _MOST:
            break
        with suppress(InputError):
            model = Model(preset.config, architecture)
            candidate = _compared(model, (), tensors, kinds)
            if not candidate.additional and not candidate.reshaped:
                return candidate._replace(preset=name)
    return None


_FEWEST, _MOST = 3, 2_000  # minimum and maximum number of tensors in an excerpt of a published model


def _renamed(model: Model, tensors: Sequence[StoredTensor]) -> Model:
    """Return the same model in the family of a preset with its sizes, if its tensors have the same names there.

    Otherwise, return the model unchanged.
    """
    prefixed = {tensor.name.partition(".")[0] for tensor in tensors}
    for preset in PRESETS.values():
        if any(getattr(preset.config, name) != getattr(model.config, name) for name in TELLING):
            continue
        other = _as(model, preset.config, prefixed)
        if other:
            return other
    return model


def _as(model: Model, config: Config, prefixed: set[str]) -> Model | None:
    """Return a model with a preset's ``config``, the same task and the same shapes; None if there is none."""
    with suppress(InputError):
        other = Model(config)
        if other.family.prefix not in prefixed and model.family.prefix in prefixed:
            return None
        config = replace(other.config, num_labels=model.config.num_labels)
        other = Model(config, other.family.for_task(model.cls.task))
        other = other.changed(add_pooling_layer=model.add_pooling_layer)
        if other.cls.task == model.cls.task and _bare(other) == _bare(model):
            return other
    return None


def _bare(model: Model) -> dict[str, Shape]:
    return {model.without_prefix(name): shape for name, shape in model.named_parameters()}


def with_ties(model: Model, tied: bool) -> Model | None:
    """Return the model with tied or untied word embeddings; None if its class has nothing to tie or forbids it."""
    try:
        other = model.changed(config=replace(model.config, tie_word_embeddings=tied))
    except ConfigError:
        return None
    return other if {*other.ties()} != {*model.ties()} or tied is model.config.tie_word_embeddings else None


def stored(named: Iterable[tuple[str, Shape]]) -> Iterator[StoredTensor]:
    """Convert names and shapes to the tensors of a checkpoint, without a dtype."""
    return (StoredTensor(name, "", shape) for name, shape in named)
