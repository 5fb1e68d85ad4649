"""The parameter counts of a model's parts, modules and tensors, in one layer and in all layers.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.miscounts import counted
>>> parts = list(part_counts(counted(build(BertConfig())), MiscountSizes.of(BertConfig())))
>>> [(count.part, count.layers) for count in parts if count.right == 28_348_416]
[('attention', 'all'), ('first matrix of the feed-forward network', 'all')]
>>> [(count.part, count.layers, count.heads) for count in parts if count.right == 147_648]
[('query, key and value', 'one', 'one')]
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from bertcalc.diagnosis.miscounts import MiscountSizes, is_fused, of_one_head, slices, total
from bertcalc.diagnosis.tensor_filter import Selector, selector
from bertcalc.model.modules import Tensor, split_layer
from bertcalc.text.toml_tables import table_beside

Layers = Literal["all", "one", "others"]
Heads = Literal["all", "one"]

_TABLE = table_beside(__file__)["parts"]
# The parts that a line of a hand count may count, as (predicate for their tensors, pattern for the line's name).
PARTS: dict[str, tuple[Selector, str]] = {line["part"]: (selector(line["of"]), line["called"]) for line in _TABLE}
WHOLE_MODEL = "the whole model"
WHOLE_OR_BODY = (WHOLE_MODEL, "the model without its head")
# Patterns for names that mean one particular part, although other patterns match as well.
SPECIFIC: dict[str, str] = {line["part"]: line["specific"] for line in _TABLE if "specific" in line}
# Patterns for the names of the embedding tables, without words that fit several tables.
_TABLES = {
    "word embeddings": r"\bwords?\b|vocab|\bwte\b|token(?!.?type)(?!s?[ _-]?seg)|词(?!元类型)",
    "position embeddings": r"(?<!relative[ _-])\bpos|\bwpe\b|(?<!相对)位置",
    "token type embeddings": r"\bseg|(?<!task[ _-])\btypes?\b|token.?type|(?<!任务)类型|分段|句子|片段",
    "task type embeddings": r"\btask|任务",
}
TABLES = tuple(_TABLES)
# If no part has the right count, miscounts are searched in USUAL parts. TERMS are used to tell explanations apart.
# Parts in _OF_HEADS have a count for one head, and parts in _OF_LINES make sense only in a hand count.
USUAL, TERMS, _OF_HEADS, _OF_LINES = (
    [line["part"] for line in _TABLE if line.get(key)] for key in ("usual", "term", "heads", "line")
)


class Counted(NamedTuple):
    """A part of the model, named as in PARTS or as in Hugging Face, and its tensors.

    ``layers`` says whether all layers are counted, one layer, or all layers except one ("others"). ``heads`` is "one"
    if only the rows of one attention head are counted.
    """

    part: str
    tensors: tuple[Tensor, ...]
    layers: Layers = "all"
    heads: Heads = "all"

    @property
    def right(self) -> int:
        """The number of elements in all tensors of the part."""
        return total(self.tensors)


class Selection(NamedTuple):
    """The tensors in a ``Counted``, selected by name, so that their sizes may be numeric or symbolic."""

    part: str
    names: frozenset[str]
    layers: Layers = "all"
    heads: Heads = "all"

    @classmethod
    def of(cls, count: Counted) -> "Selection":
        """Return the selection of the tensors in a count."""
        return cls(count.part, frozenset(tensor.name for tensor in count.tensors), count.layers, count.heads)

    def tensors(self, tensors: Sequence[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """Return the selected tensors among ``tensors``, which may have numeric or symbolic sizes."""
        if self.part in PARTS:
            return _within(_part(_with_slices(tensors, sizes), self.part), sizes, self.layers, self.heads)
        named = [tensor for tensor in tensors if tensor.name in self.names]
        return tuple(named if self.layers == "all" else of_layers(named, self.layers))


def table_called(name: str) -> str | None:
    """Return the embedding table that a name means; None if it means several tables or none."""
    tables = [part for part, pattern in _TABLES.items() if re.search(pattern, name, re.I)]
    of_one = len(tables) == 1 and re.search("emb|嵌入|table", name, re.I) and not re.search("norm|归一", name, re.I)
    return tables[0] if of_one else None


def parts_of(tensors: Sequence[Tensor], sizes: MiscountSizes, parts: Iterable[str] = PARTS) -> Iterator[Counted]:
    """Yield the parts of a model in all layers, in one layer and in all layers except one; then for one head."""
    pieces = _with_slices(tensors, sizes)
    everywhere = [(part, inside) for part in parts if (inside := _part(pieces, part))]
    places: list[tuple[Layers, Heads]] = [("all", "all"), ("one", "all"), ("others", "all")]
    if sizes.num_attention_heads != 1:
        places += [("one", "one"), ("all", "one")]
    for layers, heads in places:
        for part, inside in everywhere:
            if (heads == "all" or part in _OF_HEADS) and (within := _within(inside, sizes, layers, heads)):
                yield Counted(part, within, layers, heads)


def _with_slices(tensors: Iterable[Tensor], sizes: MiscountSizes) -> list[tuple[Tensor, tuple[Tensor, ...]]]:
    """Pair the tensors with the slices of fused matrices; other tensors have none."""
    return [(tensor, slices(tensor, sizes) if is_fused(tensor) else ()) for tensor in tensors]


def _part(pieces: Iterable[tuple[Tensor, tuple[Tensor, ...]]], part: str) -> tuple[Tensor, ...]:
    """Return the tensors of a part. If only slices of a fused matrix belong to the part, they are returned instead."""
    concerned = PARTS[part][0]
    inside: list[Tensor] = []
    for tensor, parts in pieces:
        if concerned(tensor):
            inside.append(tensor)
        elif parts:
            inside += filter(concerned, parts)
    return tuple(inside)


def _within(tensors: Sequence[Tensor], sizes: MiscountSizes, layers: Layers, heads: Heads) -> tuple[Tensor, ...]:
    """Return the tensors of the given layers: whole tensors, or only the rows of one head."""
    inside = tensors if layers == "all" else of_layers(tensors, layers)
    return tuple(inside if heads == "all" else [of_one_head(tensor, sizes) for tensor in inside])


def part_counts(tensors: Sequence[Tensor], sizes: MiscountSizes) -> Iterator[Counted]:
    """Yield a model's parts with parameters, its modules and tensors, then its parts for one head.

    A set of tensors is yielded only once, under its first name.
    """
    seen = set()
    parts = list(parts_of(tensors, sizes))
    whole = [count for count in parts if count.heads == "all" and not _is_detail(count.part)]
    for count in (*whole, *_named(tensors), *(count for count in parts if count.heads == "one")):
        place = frozenset(tensor for tensor in count.tensors if tensor.num_parameters())
        if place and place not in seen:
            seen.add(place)
            yield count


def sums_of_two(counts: Sequence[Counted], value: int) -> Iterator[tuple[Counted, Counted]]:
    """Yield pairs of parts without a common tensor that add up to a number, both in all layers or both in one."""
    places: dict[int, list[int]] = {}
    for index, count in enumerate(counts):
        places.setdefault(count.right, []).append(index)
    for index, first in enumerate(counts):
        for second in [counts[later] for later in places.get(value - first.right, ()) if later > index]:
            if _stand_together(first, second):
                yield first, second


def _stand_together(first: Counted, second: Counted) -> bool:
    """Whether a user would add two counts: they have the same layers and heads, and no common tensor."""
    within = [count.layers for count in (first, second) if any(tensor.copies > 1 for tensor in count.tensors)]
    within += [count.layers for count in (first, second) if count.layers != "all"]
    pieces = [
        {(tensor.name, role) for tensor in count.tensors for role in tensor.place.role.split(", ")}
        for count in (first, second)
    ]
    names = [{tensor.name for tensor in count.tensors} for count in (first, second)]
    apart = names[0].isdisjoint(names[1]) or (len(names[0]) == len(names[1]) == 1 and pieces[0].isdisjoint(pieces[1]))
    if first.heads != second.heads or (first.heads == "one" and "all" in within):
        return False
    return apart and len(set(within)) <= 1 and "others" not in within


def _is_detail(part: str) -> bool:
    """Whether a part makes sense only in a hand count, or is a single tensor that has a better name in the model."""
    if part in _OF_LINES:
        return True
    return part.startswith(("weight of the", "bias of the", "gamma of the", "beta of the")) and part not in _ALWAYS


_ALWAYS = ("bias of the decoder", "bias of the pooler", "weight of the pooler")


def of_layers(tensors: Sequence[Tensor], layers: Layers) -> Iterator[Tensor]:
    """Yield the tensors of one layer, or of all layers except one.

    Nothing is yielded if any tensor is not repeated in several layers. A first layer that differs from the others is an
    exception: its tensors may be among ``tensors``, but it is never the single layer.
    """
    first_layers, alike = [], []
    for tensor in tensors:
        if split_layer(tensor.name)[0].endswith(".0"):
            first_layers.append(tensor)
        elif "*" in tensor.name and tensor.copies != 1:
            alike.append(tensor)
        else:
            return
    if layers == "others" and alike:
        yield from first_layers
    for tensor in alike:
        yield tensor._replace(copies=1 if layers == "one" else tensor.copies - 1)


def _named(tensors: Sequence[Tensor]) -> Iterator[Counted]:
    """Yield all modules and tensors under their names in the model, in all layers and in one layer."""
    names = dict.fromkeys(
        ".".join(pieces[:number])
        for pieces in (tensor.name.split(".") for tensor in tensors)
        for number in range(1, len(pieces) + 1)
    )
    for name in names:
        inside = tuple(tensor for tensor in tensors if f"{tensor.name}.".startswith(f"{name}."))
        yield Counted(name, inside)
        if of_one := tuple(of_layers(inside, "one")):
            yield Counted(name, of_one, "one")
