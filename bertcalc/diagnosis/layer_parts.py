"""The counts that a model has of its own beside its total: of parts, modules and tensors, in one layer and in all.

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

# Parts that people count in one line: which tensors they are, and what a line that is about them has in its name.
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["parts"]
PARTS: dict[str, tuple[Concerned, str]] = {line["part"]: (which(line["of"]), line["called"]) for line in _TABLE}
# Where no part is right as it stands, miscounts are looked for in the usual ones; explanations differ in the terms.
USUAL, TERMS = ([line["part"] for line in _TABLE if line.get(key)] for key in ("usual", "term"))


class Counted(NamedTuple):
    """A part of the model, by its name in PARTS or Hugging Face's, in all its layers or in one of them."""

    part: str
    tensors: tuple[Tensor, ...]
    layers: Layers = "all"

    @property
    def right(self) -> int:
        """The right count."""
        return total(self.tensors)


def parts_of(tensors: Sequence[Tensor], parts: Iterable[str] = PARTS) -> Iterator[Counted]:
    """Each of some parts that a model has: in all layers, then in one, then in all but one."""
    parts = tuple(parts)
    for layers in ("all", "one", "others"):
        for part in parts:
            found = tuple(filter(PARTS[part][0], tensors))
            if layers != "all":
                found = tuple(of_layers(found, layers))
            if found:
                yield Counted(part, found, layers)


def own_counts(tensors: Sequence[Tensor]) -> Iterator[Counted]:
    """Every part of a model that has parameters, then its modules and tensors; what has two names under the first."""
    seen = set()
    for one in (*parts_of(tensors, [part for part in PARTS if not _is_detail(part)]), *_named(tensors)):
        place = frozenset(tensor for tensor in one.tensors if tensor.num_parameters())
        if place and place not in seen:
            seen.add(place)
            yield one


def _is_detail(part: str) -> bool:
    """Whether a part is a single tensor of a layer or norm, which has a name of its own in the model."""
    return part.startswith(("weight of the", "bias of the", "gamma of the", "beta of the")) and part not in _ALWAYS


_ALWAYS = ("bias of the decoder", "bias of the pooler")


def of_layers(tensors: Sequence[Tensor], layers: Layers) -> Iterator[Tensor]:
    """The tensors of one layer, or of all layers but one, where there are several and nothing but layers.

    A first layer that differs from the others is never the one.
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
    """Each module and each tensor under its name in the model."""
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
