"""The counts of a model's parts, modules and tensors, in one layer and in all.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.miscounts import counted
>>> [(one.part, one.layers) for one in own_counts(counted(build(BertConfig()))) if one.right == 28_348_416]
[('attention', 'all'), ('first matrix of the feed-forward', 'all')]
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from bertcalc.diagnosis.miscounts import total
from bertcalc.diagnosis.which import Concerned, which
from bertcalc.tree.nn import Tensor, split_layer

Layers = Literal["all", "one", "others"]

# The parts that people count in one line: a predicate for their tensors, and a pattern for the names of such lines.
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["parts"]
PARTS: dict[str, tuple[Concerned, str]] = {line["part"]: (which(line["of"]), line["called"]) for line in _TABLE}
# If no part has the right count, miscounts are searched in the usual ones; terms tell explanations apart.
USUAL, TERMS = ([line["part"] for line in _TABLE if line.get(key)] for key in ("usual", "term"))


class Counted(NamedTuple):
    """A part of the model, by its name in PARTS or Hugging Face's name, in all layers, in one, or in all but one."""

    part: str
    tensors: tuple[Tensor, ...]
    layers: Layers = "all"

    @property
    def right(self) -> int:
        """The right count."""
        return total(self.tensors)


def parts_of(tensors: Sequence[Tensor], parts: Iterable[str] = PARTS) -> Iterator[Counted]:
    """The parts that a model has: all parts in all layers, then in one, then in all but one."""
    parts = tuple(parts)
    for layers in ("all", "one", "others"):
        for part in parts:
            found = tuple(filter(PARTS[part][0], tensors))
            if layers != "all":
                found = tuple(of_layers(found, layers))
            if found:
                yield Counted(part, found, layers)


def own_counts(tensors: Sequence[Tensor]) -> Iterator[Counted]:
    """Every part of a model with parameters, then its modules and tensors; the same tensors only once."""
    seen = set()
    for one in (*parts_of(tensors, [part for part in PARTS if not _is_detail(part)]), *_named(tensors)):
        place = frozenset(tensor for tensor in one.tensors if tensor.num_parameters())
        if place and place not in seen:
            seen.add(place)
            yield one


def _is_detail(part: str) -> bool:
    """Whether a part is a single tensor, which is better named as in the model."""
    return part.startswith(("weight of the", "bias of the", "gamma of the", "beta of the")) and part not in _ALWAYS


_ALWAYS = ("bias of the decoder", "bias of the pooler")


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
