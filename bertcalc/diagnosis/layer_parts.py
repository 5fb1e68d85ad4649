"""The counts of a model's parts, modules and tensors, in one layer and in all.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.miscounts import counted
>>> parts = list(own_counts(counted(build(BertConfig())), MiscountSizes.of(BertConfig())))
>>> [(count.part, count.layers) for count in parts if count.right == 28_348_416]
[('attention', 'all'), ('first matrix of the feed-forward', 'all')]
>>> [(count.part, count.layers, count.heads) for count in parts if count.right == 147_648]
[('query, key and value', 'one', 'one')]
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from bertcalc.diagnosis.miscounts import MiscountSizes, is_fused, of_one_head, slices, total
from bertcalc.diagnosis.tensor_filter import Concerned, which
from bertcalc.model.modules import Tensor, split_layer

Layers = Literal["all", "one", "others"]
Heads = Literal["all", "one"]

# The parts that people count in one line: a predicate for their tensors, and a pattern for the names of such lines.
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["parts"]
PARTS: dict[str, tuple[Concerned, str]] = {line["part"]: (which(line["of"]), line["called"]) for line in _TABLE}
# The parts that a name means before all others that it may mean.
SPECIFIC: dict[str, str] = {line["part"]: line["specific"] for line in _TABLE if "specific" in line}
# If no part has the right count, miscounts are searched in the usual ones; terms tell explanations apart.
USUAL, TERMS, _OF_HEADS, _OF_LINES = (
    [line["part"] for line in _TABLE if line.get(key)] for key in ("usual", "term", "heads", "line")
)


class Counted(NamedTuple):
    """A part of the model, by its name in PARTS or Hugging Face's name, in all layers, in one, or in all but one.

    ``heads`` is "one" for the rows of one attention head.
    """

    part: str
    tensors: tuple[Tensor, ...]
    layers: Layers = "all"
    heads: Heads = "all"

    @property
    def right(self) -> int:
        """The right count."""
        return total(self.tensors)


class Selection(NamedTuple):
    """What a Counted counts, without sizes: the same for numeric and for symbolic tensors."""

    part: str
    names: frozenset[str]
    layers: Layers = "all"
    heads: Heads = "all"

    @classmethod
    def of(cls, count: Counted) -> "Selection":
        """The selection that gives a count."""
        return cls(count.part, frozenset(tensor.name for tensor in count.tensors), count.layers, count.heads)

    def tensors(self, tensors: Sequence[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """The selected tensors."""
        if self.part in PARTS:
            return _within(_part(tensors, sizes, self.part), sizes, self.layers, self.heads)
        named = [tensor for tensor in tensors if tensor.name in self.names]
        return tuple(named if self.layers == "all" else of_layers(named, self.layers))


def parts_of(tensors: Sequence[Tensor], sizes: MiscountSizes, parts: Iterable[str] = PARTS) -> Iterator[Counted]:
    """The parts that a model has: all parts in all layers, in one, in all but one; then those of one head."""
    everywhere = [(part, some) for part in parts if (some := _part(tensors, sizes, part))]
    places: list[tuple[Layers, Heads]] = [("all", "all"), ("one", "all"), ("others", "all")]
    if sizes.num_attention_heads != 1:
        places += [("one", "one"), ("all", "one")]
    for layers, heads in places:
        for part, some in everywhere:
            if (heads == "all" or part in _OF_HEADS) and (within := _within(some, sizes, layers, heads)):
                yield Counted(part, within, layers, heads)


def _part(tensors: Sequence[Tensor], sizes: MiscountSizes, part: str) -> tuple[Tensor, ...]:
    """The tensors of a part. Of a fused matrix that is not in it as a whole, the slices that are."""
    concerned = PARTS[part][0]
    some: list[Tensor] = []
    for tensor in tensors:
        if concerned(tensor):
            some.append(tensor)
        elif is_fused(tensor):
            some += filter(concerned, slices(tensor, sizes))
    return tuple(some)


def _within(tensors: Sequence[Tensor], sizes: MiscountSizes, layers: Layers, heads: Heads) -> tuple[Tensor, ...]:
    """The tensors of all layers, of one or of all but one; all of them, or the rows of one head."""
    some = tensors if layers == "all" else of_layers(tensors, layers)
    return tuple(some if heads == "all" else [of_one_head(tensor, sizes) for tensor in some])


def own_counts(tensors: Sequence[Tensor], sizes: MiscountSizes) -> Iterator[Counted]:
    """Every part of a model with parameters, then its modules and tensors; the same tensors only once."""
    seen = set()
    parts = list(parts_of(tensors, sizes))
    whole = [count for count in parts if count.heads == "all" and not _is_detail(count.part)]
    for count in (*whole, *_named(tensors), *(count for count in parts if count.heads == "one")):
        place = frozenset(tensor for tensor in count.tensors if tensor.num_parameters())
        if place and place not in seen:
            seen.add(place)
            yield count


def sums_of_two(counts: Sequence[Counted], value: int) -> Iterator[tuple[Counted, Counted]]:
    """Two parts without a common tensor that add up to a number, both in all layers or both in one."""
    places: dict[int, list[int]] = {}
    for at, count in enumerate(counts):
        places.setdefault(count.right, []).append(at)
    for at, first in enumerate(counts):
        for second in [counts[later] for later in places.get(value - first.right, ()) if later > at]:
            if _stand_together(first, second):
                yield first, second


def _stand_together(first: Counted, second: Counted) -> bool:
    """Whether people would add two counts: of the same layers, of all heads, and nothing twice."""
    within = [count.layers for count in (first, second) if any(tensor.copies > 1 for tensor in count.tensors)]
    within += [count.layers for count in (first, second) if count.layers != "all"]
    pieces = [{(tensor.name, tensor.place) for tensor in count.tensors} for count in (first, second)]
    names = [{tensor.name for tensor in count.tensors} for count in (first, second)]
    apart = names[0].isdisjoint(names[1]) or (len(names[0]) == len(names[1]) == 1 and pieces[0].isdisjoint(pieces[1]))
    return apart and len(set(within)) <= 1 and "others" not in within and first.heads == second.heads == "all"


def _is_detail(part: str) -> bool:
    """Whether a part is a single tensor, which is better named as in the model, or means something only in a line."""
    if part in _OF_LINES:
        return True
    return part.startswith(("weight of the", "bias of the", "gamma of the", "beta of the")) and part not in _ALWAYS


_ALWAYS = ("bias of the decoder", "bias of the pooler", "weight of the pooler")


def of_layers(tensors: Sequence[Tensor], layers: Layers) -> Iterator[Tensor]:
    """The tensors of one layer, or of all layers but one; none unless all are repeated in several layers.

    The one layer is never a first layer that differs from the others.
    """
    own = [tensor for tensor in tensors if split_layer(tensor.name)[0].endswith(".0")]
    alike = [tensor for tensor in tensors if tensor not in own]
    if any("*" not in tensor.name or tensor.copies == 1 for tensor in alike):
        return
    if layers == "others" and alike:
        yield from own
    for tensor in alike:
        yield tensor._replace(copies=1 if layers == "one" else tensor.copies - 1)


def _named(tensors: Sequence[Tensor]) -> Iterator[Counted]:
    """Each module and tensor under its name in the model, in all layers and in one."""
    names = dict.fromkeys(
        ".".join(pieces[:number])
        for pieces in (tensor.name.split(".") for tensor in tensors)
        for number in range(1, len(pieces) + 1)
    )
    for name in names:
        inside = tuple(tensor for tensor in tensors if f"{tensor.name}.".startswith(f"{name}."))
        yield Counted(name, inside)
        if one := tuple(of_layers(inside, "one")):
            yield Counted(name, one, "one")
