"""What people do wrong when they count a BERT by hand, as changes of the tensors that they count.

A count is a list of tensors. A miscount takes a tensor and gives what is counted in its place: nothing, the same with
other sides or copies, or several. So they can be made one after the other, and with symbols one gives the formula
of what it changes. ``miscounts.toml`` says which there are.

>>> from bertcalc import BertConfig, build
>>> after = MISCOUNTS["positions"].make(counted(build(BertConfig())), MiscountSizes.of(BertConfig()))
>>> total(after) - 109482240  # 512 rows of 768
-393216
>>> HABITS["words and layers"].miscounts
('positions', 'token types', 'embedding LayerNorm', 'final LayerNorm', 'pooler')
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.which import in_layer, is_bias, which
from bertcalc.family import LANGUAGE_MODEL, Model
from bertcalc.tree.nn import AFTER_LAYERS, Place, Shape, Tensor, split_layer

# Multiples to which libraries pad a vocabulary, for the sake of the hardware, and to which people round one.
PADDED_TO, ROUNDED_TO = (8, 64, 128), (100, 1_000, 10_000)


class MiscountSizes(NamedTuple):
    """The dimensions that miscounts put in wrong places: numbers or symbols."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    padded_sizes: tuple[int, ...]  # the vocabulary as a multiple of each of PADDED_TO and ROUNDED_TO

    @classmethod
    def of(cls, config: Config) -> "MiscountSizes":
        """The sizes of a configuration."""
        words = config.vocab_size
        padded = [-(-words // multiple) * multiple for multiple in PADDED_TO]
        rounded = [(words + multiple // 2) // multiple * multiple or words for multiple in ROUNDED_TO]
        return cls._make((*(getattr(config, field) for field in cls._fields[:-1]), (*padded, *rounded)))

    @property
    def padded(self) -> Mapping[int, int]:
        """The vocabulary as a multiple of each of PADDED_TO and ROUNDED_TO, by the multiple."""
        return dict(zip((*PADDED_TO, *ROUNDED_TO), self.padded_sizes, strict=True))


Change = Callable[[Tensor, MiscountSizes], Iterable[Tensor]]


class Miscount(NamedTuple):
    """One mistake: what it is in words, what it makes of each tensor, and how rare it is.

    ``bits`` is the rarity: a mistake of 4 bits is made half as often as one of 3. Only what is ``drawn`` is put into
    exercises.
    """

    said: str  # an English sentence without its full stop, with places for ``values``
    change: Change
    bits: float = 6.0
    values: Mapping[str, str] = {}
    drawn: bool = False

    def make(self, tensors: Iterable[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """What is counted after the miscount."""
        return tuple([after for tensor in tensors for after in self.change(tensor, sizes)])


class Habit(NamedTuple):
    """A way of counting that is one idea and makes several miscounts: in words, and how rare it is."""

    said: str
    miscounts: tuple[str, ...]  # what of these a model has not is left out
    bits: float


def counted(model: Model) -> tuple[Tensor, ...]:
    """What a right count of a model counts: its tensors, under names without the body's prefix, and what it lacks."""
    tensors = tuple(tensor._replace(name=model.bare(tensor.name)) for tensor in model.tensors())
    return (*tensors, *_lacking(tensors, model.config))


def _lacking(tensors: Sequence[Tensor], config: Any) -> Iterator[Tensor]:
    """What people count although a model does not have it: tensors without elements, with brackets round their names.

    Their last side is 0; without that one they have the shape that is counted.
    """
    hidden, words = config.hidden_size, next(filter(which("word"), tensors)).shape
    wide = words[1:]
    lacking = [
        ("decoder.weight", Place("head", LANGUAGE_MODEL, "decoder"), words),
        ("decoder.bias", Place("head", LANGUAGE_MODEL, "decoder bias"), words[:1]),
    ]
    for concerned, name, place, *shapes in (
        ("pooler", "pooler.dense", Place("pooler", role="dense"), (hidden, hidden), (hidden,)),
        ("position", "positions", Place("embeddings", role="position"), (config.max_position_embeddings, *wide)),
        ("token type", "token types", Place("embeddings", role="token type"), (2, *wide)),
        ("embeddings, norm", "embedding LayerNorm", Place("embeddings", role="norm"), (2, *wide)),
        ("after layers", "final LayerNorm", Place("head", AFTER_LAYERS, "norm"), (2, hidden)),
        ("next sentences", "next sentence", Place("head", role="next sentence"), (2, hidden), (2,)),
    ):
        if not any(map(which(concerned), tensors)):
            names = (f"{name}.weight", f"{name}.bias")
            lacking += [(last, place, shape) for last, shape in zip(names, shapes, strict=False)]
    yield from (Tensor(f"({name})", (*shape, 0), 1, place) for name, place, shape in lacking)
    there = {tensor.name for tensor in tensors}
    related = any(map(which("relative embedding"), tensors)) and not any(map(which("position query"), tensors))
    for tensor in tensors:
        if related and tensor.place.role in ("query", "key"):
            place = tensor.place._replace(role=f"position {tensor.place.role}")
            yield tensor._replace(name=f"({tensor.name} of positions)", shape=(*tensor.shape, 0), place=place)
        if tensor.name.endswith("weight") and f"{tensor.name[:-6]}bias" not in there and _has_bias(tensor):
            roles = tensor.place.role.split(", ")  # of one matrix for several, some may have a bias of their own
            own = sum(one.shape[0] for one in tensors if is_bias(one) and one.place.role in roles)
            yield tensor._replace(name=f"({tensor.name[:-6]}bias)", shape=(tensor.shape[0] - own, 0))


def _has_bias(tensor: Tensor) -> bool:
    return tensor.place.role == "norm" or (in_layer(tensor) and which("attention + feed-forward")(tensor))


def is_lacking(tensor: Tensor) -> bool:
    """Whether a model does not have a tensor."""
    return tensor.name.startswith("(")


def total(tensors: Iterable[Tensor]) -> int:
    """Elements of all tensors together."""
    return sum([tensor.copies * prod(tensor.shape) for tensor in tensors])


def _size(said: str, sizes: MiscountSizes) -> Any:
    """A number of letters and digits: "H", "2 H" for the product, "H / A"; "padded 8" for a padded vocabulary."""
    if said.startswith("padded"):
        return sizes.padded[int(said[7:])]
    above, _sign, below = said.partition(" / ")
    values: dict[str, Any] = dict(zip("VHLAIP", sizes, strict=False))
    number = prod(int(word) if word.isdigit() else values[word] for word in above.split())
    return number // values[below] if below else number


# What is put in place of the sides of a tensor: of one of all shapes, by a number that is made of sizes.
_SIDES: Mapping[str, Callable[[Tensor, Any, MiscountSizes], Sequence[Any]]] = {
    "rows": lambda tensor, number, sizes: (number, *tensor.shape[1:]),
    "last": lambda tensor, number, sizes: (*tensor.shape[:-1], number),
    "every": lambda tensor, number, sizes: [number for _side in tensor.shape],
    "times": lambda tensor, number, sizes: (number, *tensor.shape),
    "parts": lambda tensor, number, sizes: _part(tensor, number, sizes),
    "wide": lambda tensor, number, sizes: _wide(tensor, number, sizes),
}


def _part(tensor: Tensor, parts: int, sizes: MiscountSizes) -> Shape:
    """The shape of one of so many equal parts of what a projection gives.

    What it takes, the hidden size, is its last side, and of GPT-2's, which are the other way round, the first.
    """
    first, *others = tensor.shape
    return (first, others[0] // parts) if others and first == sizes.hidden_size else (first // parts, *others)


def _wide(tensor: Tensor, width: Any, sizes: MiscountSizes) -> Sequence[Any]:
    """Another size in place of the intermediate one."""
    wide = 2 * width if tensor.place.role == "up and gate" else width
    if len(tensor.shape) == 1:
        return tensor.shape if tensor.place.role == "down" else (wide,)
    rows = tensor.shape[0] != sizes.hidden_size  # so that GPT-2's matrices can be the other way round
    return [wide if rows == (side == 0) else tensor.shape[side] for side in (0, 1)]


def _is_shared(tensor: Tensor, layers: Any) -> bool:
    """Whether a tensor of a layer is the same in all layers."""
    return tensor.copies == 1 and layers != 1


def _layers(tensor: Tensor, count: Any, layers: Any) -> Any:
    """Another number of layers, where layers do not share their tensors; a first layer that differs stays."""
    return tensor.copies + (0 if _is_shared(tensor, layers) else count - layers)


# How many copies are counted, of a tensor and of the layers that there are.
_COPIES: Mapping[str, Callable[[Tensor, Any], Any]] = {
    "twice": lambda tensor, layers: 2 * tensor.copies,
    "every layer": lambda tensor, layers: tensor.copies if in_layer(tensor) else layers * tensor.copies,
    "one layer": lambda tensor, layers: 1 if "*" in tensor.name else tensor.copies,
    "not shared": lambda tensor, layers: layers if "*" in tensor.name and _is_shared(tensor, layers) else tensor.copies,
    "like the others": lambda tensor, layers: layers if tensor.copies == layers - 1 else tensor.copies,
    "one less": lambda tensor, layers: _layers(tensor, 1 if layers == 1 else layers - 1, layers),
    "one more": lambda tensor, layers: _layers(tensor, layers + 1, layers),
    "of a decoder": lambda tensor, layers: (3 if tensor.place.block == "attention" else 2) * tensor.copies,
}


def _change(
    *,
    add: str = "",
    out: str = "",
    of: str = "",
    beside: Mapping[str, Any] | None = None,
    alone: bool = False,
    copies: str = "",
    **sides: str,
) -> Change:
    """What is counted in place of a tensor, as a line of the table says it.

    What a model lacks is counted (``add``), what it has left out (``out``); or those ``of`` it that are meant get
    another tensor ``beside`` them, in another place, or other ``copies``, or other sides, by keys of _SIDES. What is in
    one matrix with others is counted ``alone``.
    """
    added, left_out, changed = which(add), which(out), which(of)

    def sided(tensor: Tensor, sizes: MiscountSizes) -> Tensor:
        for key, said in sides.items():
            tensor = tensor._replace(shape=tuple(_SIDES[key](tensor, _size(said, sizes), sizes)))
        return tensor

    def change(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        if is_lacking(tensor):
            if not (add and added(tensor)):
                return (tensor,)
            return (sided(tensor._replace(name=tensor.name[1:-1], shape=tensor.shape[:-1]), sizes),)
        if out and left_out(tensor):
            return ()
        if add or not changed(tensor):
            return (tensor,)
        if beside:
            other = tensor._replace(name=f"{tensor.name} (beside)", place=tensor.place._replace(**beside))
            return tensor, sided(other, sizes)
        if alone:
            roles = tensor.place.role.replace(" and ", ", ").split(", ")
            place = tensor.place._replace(role=roles[0])
            return (tensor._replace(shape=_part(tensor, len(roles), sizes), place=place),)
        if copies == "one layer" and split_layer(tensor.name)[0].endswith(".0"):
            return ()
        if copies:
            layers = sizes.num_hidden_layers
            count = _layers(tensor, int(copies), layers) if copies.isdigit() else _COPIES[copies](tensor, layers)
            return (tensor._replace(copies=count),)
        return (sided(tensor, sizes),)

    return change


def _miscounts(name: str, said: str, bits: Any, **change: Any) -> Iterator[tuple[str, Miscount]]:
    """A line of the table: a miscount, or one for each size that is put in, which has bits of its own."""
    drawn = change.pop("drawn", False)
    values: dict[str, str] = {key: change.pop(key) for key in ("part", "size") if key in change}
    if not isinstance(bits, dict):
        yield name, Miscount(said, _change(**change), bits, values, drawn)
        return
    for number, rare in bits.items():
        own: dict[str, Any] = {key: value.replace("{size}", number) for key, value in change.items()}
        shown = {"size": f"{int(number):,}"}
        yield name.replace("{size}", number), Miscount(said, _change(**own), rare, shown, drawn)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MISCOUNTS: Mapping[str, Miscount] = dict(one for line in _TABLE["miscounts"] for one in _miscounts(**line))
HABITS: Mapping[str, Habit] = {
    line["name"]: Habit(line["said"], tuple(line["miscounts"].split(" + ")), line["bits"]) for line in _TABLE["habits"]
}
