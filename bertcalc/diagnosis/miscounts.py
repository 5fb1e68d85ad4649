"""The mistakes that people make when they count parameters by hand, as changes of the counted tensors.

A count is a list of tensors. A miscount maps each tensor to what is counted in its place: nothing, the tensor with
other sides or copies, or several tensors. Miscounts can therefore be made one after the other, and on symbolic tensors
they give the formula of the change. They are listed in ``miscounts.toml``.

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
from bertcalc.diagnosis.tensor_filter import in_layer, is_bias, which
from bertcalc.model.family import LANGUAGE_MODEL, Model
from bertcalc.model.modules import AFTER_LAYERS, Place, Shape, Tensor, split_layer

# Multiples to which libraries pad a vocabulary for the hardware, and to which people round it.
PADDED_TO, ROUNDED_TO = (8, 64, 128), (100, 1_000, 10_000)


class MiscountSizes(NamedTuple):
    """The sizes that miscounts put in wrong places: numbers or symbols."""

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
    def letters(self) -> dict[str, Any]:
        """The sizes by their letters."""
        return dict(zip("VHLAIP", self, strict=False))

    @property
    def padded(self) -> Mapping[int, int]:
        """The vocabulary as a multiple of each of PADDED_TO and ROUNDED_TO, by the multiple."""
        return dict(zip((*PADDED_TO, *ROUNDED_TO), self.padded_sizes, strict=True))

    def padded_by(self, miscount: str) -> int:
        """The vocabulary as a miscount pads it; unchanged by all others."""
        padded = (size for multiple, size in self.padded.items() if miscount == f"padded to {multiple}")
        return next(padded, self.vocab_size)


Change = Callable[[Tensor, MiscountSizes], Iterable[Tensor]]


class Miscount(NamedTuple):
    """One mistake: its description, the change that it makes to each tensor, and its rarity.

    ``bits`` is the rarity: a mistake of 4 bits is made half as often as one of 3. Exercises use only the ``drawn``
    ones.
    """

    said: str  # an English sentence without its full stop, with placeholders for ``values``
    change: Change
    bits: float = 6.0
    values: Mapping[str, str] = {}
    drawn: bool = False

    def make(self, tensors: Iterable[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """The tensors that are counted after the miscount."""
        return tuple([after for tensor in tensors for after in self.change(tensor, sizes)])


class Habit(NamedTuple):
    """A single idea of how to count that makes several miscounts, with its rarity in bits."""

    said: str
    miscounts: tuple[str, ...]  # those that change nothing in a model are skipped
    bits: float


def counted(model: Model) -> tuple[Tensor, ...]:
    """The tensors of a model, without the body's prefix in their names, then those that it lacks (without elements)."""
    tensors = tuple(tensor._replace(name=model.bare(tensor.name)) for tensor in model.tensors())
    return (*tensors, *_lacking(tensors, model.config))


def _lacking(tensors: Sequence[Tensor], config: Any) -> Iterator[Tensor]:
    """The tensors that people count although the model lacks them, with brackets around their names.

    Their last side is 0, so that they have no elements; without it they have the shape that people count.
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
            stem, _dot, last = tensor.name.rpartition(".")
            yield tensor._replace(name=f"({stem} of positions.{last})", shape=(*tensor.shape, 0), place=place)
        if tensor.name.endswith("weight") and f"{tensor.name[:-6]}bias" not in there and _has_bias(tensor):
            roles = tensor.place.role.split(", ")  # in a fused matrix, some roles may have a bias of their own
            own = sum(one.shape[0] for one in tensors if is_bias(one) and one.place.role in roles)
            yield tensor._replace(name=f"({tensor.name[:-6]}bias)", shape=(tensor.shape[0] - own, 0))


def _has_bias(tensor: Tensor) -> bool:
    return tensor.place.role == "norm" or (in_layer(tensor) and which("attention + feed-forward")(tensor))


def is_lacking(tensor: Tensor) -> bool:
    """Whether a model does not have a tensor."""
    return tensor.name.startswith("(")


def total(tensors: Iterable[Tensor]) -> int:
    """The number of elements of all tensors."""
    return sum([tensor.copies * prod(tensor.shape) for tensor in tensors])


def _size(said: str, sizes: MiscountSizes) -> Any:
    """The value of "H", "2 H" (a product) or "H / A"; of "padded 8", the padded vocabulary."""
    if said.startswith("padded"):
        return sizes.padded[int(said[7:])]
    above, _sign, below = said.partition(" / ")
    values = sizes.letters
    number = prod(int(word) if word.isdigit() else values[word] for word in above.split())
    return number // values[below] if below else number


def _part(tensor: Tensor, parts: int, sizes: MiscountSizes) -> Shape:
    """The shape of one of ``parts`` equal slices of a projection's output.

    Weights are (out, in) and in is the hidden size; GPT-2's weights are (in, out).
    """
    first, *others = tensor.shape
    return (first, others[0] // parts) if others and first == sizes.hidden_size else (first // parts, *others)


def is_fused(tensor: Tensor) -> bool:
    """Whether the model has a tensor that holds several matrices, or their biases."""
    return not is_lacking(tensor) and len(_roles(tensor)) > 1


def _roles(tensor: Tensor) -> list[str]:
    return tensor.place.role.replace(" and ", ", ").split(", ")


def slices(tensor: Tensor, sizes: MiscountSizes) -> tuple[Tensor, ...]:
    """The parts of a fused matrix or of its bias, such as query, key and value; any other tensor as it is."""
    roles = _roles(tensor)
    shape = _part(tensor, len(roles), sizes) if len(roles) > 1 else tensor.shape
    return tuple(tensor._replace(shape=shape, place=tensor.place._replace(role=role)) for role in roles)


def of_one_head(tensor: Tensor, sizes: MiscountSizes) -> Tensor:
    """One head's rows of a query, key or value, also of a fused one."""
    return tensor._replace(shape=_head(tensor, _size("H / A", sizes), sizes))


def _head(tensor: Tensor, size: Any, sizes: MiscountSizes) -> Shape:
    """The shape of one head's rows of a projection to heads; GPT-2's weights are (in, out)."""
    first, *others = tensor.shape
    width = len(_roles(tensor)) * size
    return (first, width) if others and first == sizes.hidden_size else (width, *others)


def _wide(tensor: Tensor, width: Any, sizes: MiscountSizes) -> Sequence[Any]:
    """The shape with ``width`` in place of the intermediate size."""
    wide = 2 * width if tensor.place.role == "up and gate" else width
    if len(tensor.shape) == 1:
        return tensor.shape if tensor.place.role == "down" else (wide,)
    rows = tensor.shape[0] != sizes.hidden_size  # GPT-2's matrices are transposed
    return [wide if rows == (side == 0) else tensor.shape[side] for side in (0, 1)]


# The new shape of a tensor, by the key of a line in miscounts.toml; the number is the value of the key.
_SIDES: Mapping[str, Callable[[Tensor, Any, MiscountSizes], Sequence[Any]]] = {
    "rows": lambda tensor, number, sizes: (number, *tensor.shape[1:]),
    "last": lambda tensor, number, sizes: (*tensor.shape[:-1], number),
    "every": lambda tensor, number, sizes: [number] * len(tensor.shape),
    "times": lambda tensor, number, sizes: (number, *tensor.shape),
    "head": _head,
    "wide": _wide,
}


def _is_shared(tensor: Tensor, layers: Any) -> bool:
    """Whether a tensor of a layer is the same in all layers."""
    return tensor.copies == 1 and layers != 1


def _layers(tensor: Tensor, count: Any, layers: Any) -> Any:
    """The copies of a tensor with ``count`` layers in place of ``layers``.

    Shared layers keep one copy; a first layer that differs from the others keeps its own.
    """
    return tensor.copies + (0 if _is_shared(tensor, layers) else count - layers)


# The number of copies that are counted, from a tensor and the model's number of layers.
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
    split: bool = False,
    copies: str = "",
    **sides: str,
) -> Change:
    """The change that a line of miscounts.toml describes; ``add``, ``out`` and ``of`` select tensors as in which.py.

    ``add`` counts tensors that the model lacks, ``out`` leaves out tensors that it has. The tensors ``of`` get a second
    tensor ``beside`` them in another place, other ``copies``, or other sides (keys of _SIDES). With ``split`` the parts
    of a fused matrix are selected one by one.
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
        if copies == "one layer" and split_layer(tensor.name)[0].endswith(".0"):
            return ()
        if copies:
            layers = sizes.num_hidden_layers
            count = _layers(tensor, int(copies), layers) if copies.isdigit() else _COPIES[copies](tensor, layers)
            return (tensor._replace(copies=count),)
        return (sided(tensor, sizes),)

    def change_slices(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        def concerned(some: Tensor) -> bool:
            return bool((out and left_out(some)) or (of and changed(some)))

        if not is_fused(tensor) or concerned(tensor) or not any(map(concerned, slices(tensor, sizes))):
            return change(tensor, sizes)
        return [after for part in slices(tensor, sizes) for after in change(part, sizes)]

    return change_slices if split else change


def _miscounts(name: str, said: str, bits: Any, **change: Any) -> Iterator[tuple[str, Miscount]]:
    """The miscounts of a line of the table, by name: one, or one for each size where ``bits`` is a table of sizes."""
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
