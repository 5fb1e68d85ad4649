"""Compare the tensors of a checkpoint with a model's by name and shape, and identify the model of a checkpoint.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.model import Model
>>> tensors = [StoredTensor(name, "F32", shape) for name, shape in Model(BertConfig()).named_parameters()]
>>> model, guessed = model_of_shapes(tensors)
>>> compare(tensors, model).agrees
True
>>> model.config == BertConfig(), guessed
(True, ('num_attention_heads', 'hidden_act'))
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any, Literal, NamedTuple, get_args

from bertcalc.config import Config, ConfigError, problems, unchecked
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import FAMILIES, build, family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family, Task
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape, Tensor
from bertcalc.model.totals import summed
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError, wrong
from bertcalc.transformers4.version import RELATIVE, inferred_from_distances

Group = Literal["same", "renamed", "shape", "missing", "head", "tied", "buffer", "other"]
GROUPS: tuple[Group, ...] = get_args(Group)
# Buffers in the files of older releases.
BUFFERS = ("position_ids", "token_type_ids")
_ACTIVATIONS_BUFFERS = (".eps", ".beta")  # scalar buffers of xIELU
# TensorFlow's names for the two tensors of a LayerNorm.
_RENAMED = {".gamma": ".weight", ".beta": ".bias"}
_SHOWN = 20  # maximum number of tensors kept per group; enough for all tensors of any head
_HEAD_SIZE = 64  # hidden units per attention head in every model that Google published
_LABELLED = ("classifier", "answer span", "sentence order")
_LAYER_NUMBER = re.compile(r"\.[0-9]+(?=\.)")


class TensorMatch(NamedTuple):
    """A tensor in the checkpoint, in the model, or in both, under its name in the model."""

    name: str  # the tensor's name in the model, without the prefix of the body
    entry: StoredTensor | None
    shape: Shape | None  # the tensor's shape in the model; None if the model has no such tensor


class Members(NamedTuple):
    """The tensors of a group: their number, their elements, and the first few."""

    tensors: int
    in_checkpoint: int
    in_model: int
    first: tuple[TensorMatch, ...]

    @classmethod
    def of(cls, matches: Sequence[TensorMatch]) -> "Members":
        """Summarize the tensors of a group and keep only the first few, because a header can have very many tensors."""
        in_checkpoint = sum(matched.entry.numbers() for matched in matches if matched.entry)
        in_model = sum(prod(matched.shape) for matched in matches if matched.shape is not None)
        return cls(len(matches), in_checkpoint, in_model, tuple(matches[:_SHOWN]))


class Matching(NamedTuple):
    """The comparison of a checkpoint with a model: every tensor of both is in exactly one group."""

    model: Model
    groups: dict[Group, Members]
    dtypes: dict[str, int]  # number of elements per dtype, the most frequent first
    ours: int  # number of the model's parameters
    wrapper: str = ""  # the prefix that a different program has added to all names; comparisons ignore it

    @property
    def tensors(self) -> int:
        """The number of tensors in the checkpoint."""
        return sum(members.tensors for group, members in self.groups.items() if group != "missing")

    @property
    def numbers(self) -> int:
        """The number of elements in the checkpoint."""
        return sum(self.dtypes.values())

    @property
    def buffers(self) -> int:
        """The number of elements in the checkpoint's buffers."""
        return self.groups["buffer"].in_checkpoint if "buffer" in self.groups else 0

    @property
    def parameters(self) -> int:
        """The number of elements in the checkpoint's parameters, whether or not the model has them."""
        return self.numbers - self.buffers

    @property
    def differences(self) -> dict[Group, int]:
        """Map each group to its number of elements in the checkpoint minus its number of elements in the model.

        Groups without a difference are left out. The sum of the differences is the checkpoint's number of elements
        minus the model's number of parameters.
        """
        sums = {group: members.in_checkpoint - members.in_model for group, members in self.groups.items()}
        return {group: difference for group, difference in sums.items() if difference}

    @property
    def complete(self) -> bool:
        """Whether the checkpoint has all tensors of the model, with the right shapes."""
        return not self.groups.keys() & {"missing", "shape"}

    @property
    def agrees(self) -> bool:
        """Whether the checkpoint is complete and has no other tensors except buffers and copies of tied tensors.

        Tensors may have the names of older releases.
        """
        return self.complete and not self.groups.keys() & {"head", "other"}


@checked
def compare(tensors: Collection[StoredTensor], model: Model) -> Matching:
    """Compare a checkpoint with a model: sort the tensors of both into groups."""
    groups = matches(tensors, model)
    members = {group: Members.of(matched) for group, matched in groups.items() if matched}
    dtypes = summed((entry.dtype, entry.numbers()) for entry in tensors)
    most_first = dict(sorted(dtypes.items(), key=lambda item: -item[1]))
    return Matching(model, members, most_first, model.num_parameters(), wrapper_of(tensors))


@checked
def matches(tensors: Collection[StoredTensor], model: Model) -> dict[Group, list[TensorMatch]]:
    """Sort the tensors of a checkpoint and a model into groups; ``compare`` keeps only the first few of each group."""
    family, wrapper = model.family, wrapper_of(tensors)
    wanted = {model.without_prefix(tensor.name): tensor.shape for tensor in model.tensors(folded=False)}
    tied, heads = _tied(model), _elsewhere(model.config)
    groups: dict[Group, list[TensorMatch]] = {group: [] for group in GROUPS}
    seen: set[str] = set()
    for entry in tensors:
        inside = entry.name.removeprefix(wrapper)
        name = plain_name(inside, family)
        shape = wanted.get(name)
        if name in seen:  # for example, the checkpoint has both bert.pooler and pooler
            groups["other"].append(TensorMatch(name, entry, None))
        elif shape is not None:
            same: Group = "same" if name == _bare(inside, family) else "renamed"
            groups[same if shape == entry.shape else "shape"].append(TensorMatch(name, entry, shape))
        else:
            groups[_group(name, entry, family, tied, heads)].append(TensorMatch(name, entry, None))
        seen.add(name)
    groups["missing"] = [TensorMatch(name, None, shape) for name, shape in wanted.items() if name not in seen]
    return groups


@checked
def wrapper_of(tensors: Iterable[StoredTensor]) -> str:
    """The prefix that a program has added to the body's names, such as "model." or "0.auto_model."; otherwise ""."""
    wrapper = ""
    for entry in tensors:
        for table, prefixes in _word_tables().items():
            start = entry.name.removesuffix(table)
            if start == entry.name or not (start == "" or start.endswith(".")):
                continue
            *outside, body = start.removesuffix(".").split(".")
            outside = outside if body in prefixes or not body else [*outside, body]
            if not outside:
                return ""
            wrapper = wrapper or f"{'.'.join(outside)}."
    return wrapper


@cache
def _word_tables() -> Mapping[str, Collection[str]]:
    """Map each name of word embeddings to the body prefixes of the families that use it."""
    tables: dict[str, set[str]] = {}
    for family in FAMILIES.values():
        model = build(family.config.default())
        table = next(model.without_prefix(tensor.name) for tensor in model.tensors() if tensor.place.role == "word")
        tables.setdefault(table, set()).add(family.prefix)
    return tables


def _group(
    name: str, entry: StoredTensor, family: Family, tied: dict[str, Shape], heads: dict[str, tuple[str, ...]]
) -> Group:
    if name.rpartition(".")[2] in BUFFERS or name.endswith(family.buffers):
        return "buffer"
    if entry.shape == () and entry.name.endswith(_ACTIVATIONS_BUFFERS):
        return "buffer"
    if tied.get(name) == entry.shape:
        return "tied"
    return "head" if name in heads else "other"


@checked
def plain_name(name: str, family: Family) -> str:
    """The current name of a tensor: without the body's prefix, and with gamma and beta renamed to weight and bias."""
    bare = _bare(name, family)
    for older, newer in _RENAMED.items():
        if bare.endswith(older):
            return bare.removesuffix(older) + newer
    return bare


def _bare(name: str, family: Family) -> str:
    return name.removeprefix(f"{family.prefix}.")


def classes_of(matches: Iterable[TensorMatch], config: Config) -> list[str]:
    """The names of the classes that have all of these head tensors.

    If no class has all of them, the classes that have any of them are returned.
    """
    names = [cls.name for cls in family_of(config).classes]
    classes = [_elsewhere(config).get(matched.name, ()) for matched in matches]
    everywhere = [name for name in names if all(name in owners for owners in classes)]
    return everywhere or [name for name in names if any(name in owners for owners in classes)]


@cache
def _heads(model: Model) -> frozenset[str]:
    """The names of a model's tensors outside the embeddings and the encoder."""
    beside = (tensor for tensor in model.tensors() if tensor.place.component not in ("embeddings", "encoder"))
    return frozenset(model.without_prefix(tensor.name) for tensor in beside)


def _elsewhere(config: Config) -> dict[str, tuple[str, ...]]:
    """Map the name of each head tensor to the classes that have it."""
    kind = _kind(config)
    by_name: dict[str, tuple[str, ...]] = {}
    for cls in family_of(config).classes:
        for name in _heads(Model(kind, cls.name)):
            by_name[name] = (*by_name.get(name, ()), cls.name)
    return by_name


def _kind(config: Config) -> Config:
    """A default configuration with the two fields that affect the names of head tensors."""
    return replace(type(config).default(), tie_word_embeddings=config.tie_word_embeddings, hidden_act=config.hidden_act)


def _tied(model: Model) -> dict[str, Shape]:
    """Map the second names of tied tensors to their shapes."""
    shapes = {tensor.name: tensor.shape for tensor in model.tensors(folded=False)}
    return {
        model.without_prefix(f"{path}.{name}"): shapes[target]
        for path, module, _copies in model.modules()
        for name, target in module.tied.items()
    }


@checked
def best_class(tensors: Iterable[StoredTensor], config: Config, architecture: str | None = None) -> Model:
    """Return the model of the class with the head tensors most similar to the checkpoint's.

    If several classes are equally similar, the first is returned. The shapes give the number of labels. If the class is
    already known, pass it as ``architecture``.
    """
    family = family_of(config)
    tensors = tuple(tensors)
    wrapper = wrapper_of(tensors)
    shapes = {plain_name(entry.name.removeprefix(wrapper), family): entry.shape for entry in tensors}
    present = shapes.keys() & _elsewhere(config).keys()

    def distance(model: Model) -> int:
        wanted = _heads(model.changed(config=_kind(config)))
        wrong = sum(
            shapes.get(model.without_prefix(tensor.name), tensor.shape) != tensor.shape for tensor in model.tensors()
        )
        # Missing tensors weigh double, because they would have to be trained.
        return len(wanted - present) * 2 + len(present - wanted) + wrong

    base = Model(config, family.base.name, add_pooling_layer=not family.base.pooler)
    classes = [architecture] if architecture else [cls.name for cls in family.classes]
    models = [_with_labels(Model(config, name), shapes) for name in classes]
    return min([*models, *([base] if family.base.name in classes else [])], key=distance)


def _with_labels(model: Model, shapes: Mapping[str, Shape]) -> Model:
    """The model with the number of labels that a checkpoint's classifier matrices have, if the number is valid."""
    for tensor in model.tensors():
        shape = shapes.get(model.without_prefix(tensor.name), ())
        if tensor.place.role in _LABELLED and len(tensor.shape) == len(shape) == 2:
            with suppress(ConfigError):
                config = replace(model.config, num_labels=shape[0])
                return model if model.cls.unbuilt(config) else model.changed(config=config)
    return model


@checked
def family_of_names(names: Collection[str]) -> Family:
    """The family that has the most of these names in its body or heads; if there are several, the first."""

    def count(family: Family) -> int:
        family_names = _names_of(family.config)
        return sum(_LAYER_NUMBER.sub(".*", plain_name(name, family)) in family_names for name in names)

    return max(FAMILIES.values(), key=count)


@cache
def _names_of(kind: type[Config]) -> frozenset[str]:
    """All tensor names in models of a family, with ``*`` in place of the layer number."""
    body = build(family_of(kind.default()).fullest())
    names = {*(tensor.name for tensor in body.tensors()), *_elsewhere(kind.default())}
    return frozenset(_LAYER_NUMBER.sub(".*", name) for name in names)


@checked
def model_of_shapes(
    tensors: Sequence[StoredTensor], family: Family | None = None, architecture: str | None = None
) -> tuple[Model, tuple[str, ...]]:
    """Identify the model of a checkpoint from its shapes.

    Returns the model, and the names of the fields that are guessed because no shape shows them. If the family or the
    class is already known, pass it as ``family`` or ``architecture``. Raises InputError if the shapes do not determine
    a model.
    """
    wrapper = wrapper_of(tensors)
    names_inside = [entry.name.removeprefix(wrapper) for entry in tensors]
    family = family or family_of_names(names_inside)
    kind = family.config
    shapes = {plain_name(name, family): entry.shape for name, entry in zip(names_inside, tensors, strict=True)}
    # A model with relative positions and cross attention has all tensors that can show a field.
    full = family.fullest(**RELATIVE)
    body = [tensor._replace(name=tensor.name.replace("*", "0")) for tensor in build(full).tensors()]
    present = {tensor: shapes[tensor.name] for tensor in body if len(shapes.get(tensor.name, ())) == len(tensor.shape)}
    inferred = kind.inferred_from(_roles(present))
    sizes, tellers = _sizes(full, shapes)
    optional = {"task_type_vocab_size", *(["max_position_embeddings"] if inferred else [])}
    for field, name in tellers.items():
        if field not in sizes and field not in optional:
            raise _of_another_kind(tensors) or _without(name, tensors, family)
    layers = _layers(shapes, tellers["intermediate_size"].partition(".0.")[0])
    unknown: tuple[str, ...] = () if "num_attention_heads" in sizes else ("num_attention_heads",)
    if any(step.shared for step in build(full).steps(Batch())):  # tensors do not show how often shared layers run
        layers, unknown = kind.default().num_hidden_layers, (*unknown, "num_hidden_layers")
    heads = _likely_heads(sizes["hidden_size"], layers)
    values = {**kind.default().shared(), "num_hidden_layers": layers, "num_attention_heads": heads, **sizes, **inferred}
    if (kind.default().pad_token_id or 0) >= values["vocab_size"]:
        values["pad_token_id"] = 0
    if "task_type_vocab_size" in sizes:
        values["use_task_id"] = True
    if distance := next((shape for tensor, shape in present.items() if tensor.place.role == "distance"), None):
        values |= inferred_from_distances(values["hidden_size"], distance)
        unknown = tuple(RELATIVE)
    if any(tensor.place.block == "cross-attention" for tensor in present):
        values["is_decoder"] = values["add_cross_attention"] = True
    switches, unshown = _switches(family, shapes.keys())
    values |= switches
    problem = next(problems(kind, kind.under_own_names(values)), None)
    if problem and {"pad_token_id": 0} in problem.remedies:  # RoBERTa's positions start after it, so 0 leaves more rows
        values["pad_token_id"] = 0
        problem = next(problems(kind, kind.under_own_names(values)), None)
    if problem:
        raise _of_another_kind(tensors) or InputError(problem)
    return best_class(tensors, kind(**values), architecture), unknown + unshown


def _roles(present: Mapping[Tensor, Shape]) -> dict[str, int]:
    """A size for each tensor role, from which a configuration class infers fields: the first, or the last of three."""
    roles = {
        tensor.place.role: shape[0] for tensor, shape in present.items() if tensor.place.block != "cross-attention"
    }
    roles |= {f"{tensor.place.block} norm": 1 for tensor in present if tensor.place.role == "norm"}
    return roles | {
        tensor.place.role: shape[-1] for tensor, shape in present.items() if len(shape) == 3
    }  # convolutions


def _switches(family: Family, names: Set[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values of fields that add or remove tensors, by the tensor names, and the fields that no name shows."""
    kind = family.config
    values: dict[str, Any] = {
        switch: bool(_only_with(family.name, switch, True, False, "masked-lm") & names)
        for switch in filter(kind.has, ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias"))
    }
    unknown: tuple[str, ...] = ()
    for activation in (name for name, facts in ACTIVATIONS.items() if facts.parameters):
        if _only_with(family.name, "hidden_act", activation, kind.default().hidden_act) & names:
            values["hidden_act"] = activation
            break
    else:
        unknown = ("hidden_act",)
    untied = _only_with(family.name, "tie_word_embeddings", False, True, "masked-lm")
    if untied and names >= untied:
        # save_pretrained leaves out tied tensors; files of older releases contain copies.
        values["tie_word_embeddings"], unknown = False, (*unknown, "tie_word_embeddings")
    if kind.has("legacy") and names & _only_with(family.name, "legacy", False, True, "masked-lm"):
        values["legacy"] = False
    return values, unknown


# No size equals another size or twice another size, so each side of a matrix shows its field.
_SIZES = {
    "hidden_size": 101 * 103,
    "num_attention_heads": 101,
    "vocab_size": 10_007,
    "embedding_size": 10_009,
    "intermediate_size": 10_037,
    "max_position_embeddings": 10_039,
    "type_vocab_size": 10_061,
    "task_type_vocab_size": 10_067,
    "relative_attention_num_buckets": 10_069,
}


def _sizes(full: Config, shapes: Mapping[str, Shape]) -> tuple[dict[str, int], dict[str, str]]:
    """Read the sizes from a checkpoint's matrices; also map each size to the name of a matrix that should show it."""
    sizes: dict[str, int] = {}
    tellers: dict[str, str] = {}
    for tensor in build(unchecked(full, **_SIZES)).tensors():
        name = tensor.name.replace("*", "0")
        shape = shapes.get(name, ())
        for axis, side in enumerate(tensor.shape if len(tensor.shape) == 2 else ()):
            for field, size in _SIZES.items():
                if side in (size, 2 * size):  # doubled in a fused gate and up projection
                    tellers.setdefault(field, name)
                    if len(shape) == 2:
                        sizes.setdefault(field, shape[axis] * size // side)
    return sizes, tellers


_PACKED = N_("The weights are quantized: the shapes of tensors such as {name} do not show the sizes of the model.")
# Maps parts of tensor names to errors. Checkpoints with such names have shapes that do not determine the model.
_OF_ANOTHER_KIND = {
    ".lora_A.": N_("{name} belongs to an adapter, not to the model itself: choose the model's file."),
    **dict.fromkeys((".qweight", ".weight_packed", ".quant_state."), _PACKED),
}


def _of_another_kind(tensors: Iterable[StoredTensor]) -> InputError | None:
    """The error for a checkpoint of an adapter or with packed weights; None for other checkpoints."""
    for sign, message in _OF_ANOTHER_KIND.items():
        for entry in tensors:
            if sign in entry.name:
                return wrong(message, name=shorten(entry.name))
    return None


def _without(name: str, tensors: Sequence[StoredTensor], family: Family) -> InputError:
    """The error for a checkpoint without the matrix that shows a required size."""
    if not tensors:
        return wrong(N_("This file has no tensors."))
    message = N_(
        "This is not a {family} checkpoint: it has no two-dimensional tensor {name}. Its first tensor is {first}."
    )
    return wrong(message, family=family.kind, name=name, first=shorten(tensors[0].name))


@cache
def _only_with(family: str, field: str, value: Any, other: Any, task: Task = "base") -> frozenset[str]:
    """The names of tensors that a model has if ``field`` is ``value``, but not if it is ``other``.

    For tensors of layers, these are the names in layers 0 and 1.
    """
    name, config = FAMILIES[family].for_task(task), FAMILIES[family].config.default()
    changes: list[dict[str, Any]] = [{field: value}, {field: other}]
    models = [build(replace(config, **change), name) for change in changes]
    with_value, without = ({model.without_prefix(tensor.name) for tensor in model.tensors()} for model in models)
    return frozenset(name.replace("*", f"{layer}") for name in with_value - without for layer in range(2))


def _layers(names: Iterable[str], stack: str) -> int:
    # At most nine digits: int() raises for more than 4,300.
    matches = (re.match(rf"{re.escape(stack)}\.([0-9]{{1,9}})\.", name) for name in names)
    return max((int(match[1]) + 1 for match in matches if match), default=0)


def _likely_heads(hidden_size: int, layers: int) -> int:
    """The likely number of heads of a model with these sizes.

    This is the number in a preset with these sizes. Without such a preset, it is hidden_size / 64, or 1 if hidden_size
    is not a multiple of 64.
    """
    for preset in PRESETS.values():
        if (preset.config.hidden_size, preset.config.num_hidden_layers) == (hidden_size, layers):
            return preset.config.num_attention_heads
    return hidden_size // _HEAD_SIZE if hidden_size and hidden_size % _HEAD_SIZE == 0 else 1
