"""Typical mistakes in counting parameters by hand, as changes of the counted tensors.

A count is a list of tensors. A miscount removes a tensor, changes its dimensions or copies, or replaces it with several
tensors. So miscounts can be applied one after the other. Applied to symbolic tensors, they give the formula of the
change. ``miscounts.toml`` lists them.

>>> from bertcalc import BertConfig, build
>>> after = MISCOUNTS["positions"].make(counted(build(BertConfig())), MiscountSizes.of(BertConfig()))
>>> total(after) - 109482240  # 512 rows of 768
-393216
>>> HABITS["words and layers"].miscounts
('positions', 'token types', 'embedding LayerNorm', 'final LayerNorm', 'pooler')
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.tensor_filter import Selector, in_layer, is_bias, selector
from bertcalc.model.family import LANGUAGE_MODEL
from bertcalc.model.model import Model
from bertcalc.model.modules import AFTER_LAYERS, Place, Shape, Tensor, split_layer
from bertcalc.text.toml_tables import table_beside

# Multiples to which libraries pad a vocabulary for speed, and multiples to which texts round it.
PADDED_TO, ROUNDED_TO = (8, 64, 128), (100, 1_000, 10_000)


class MiscountSizes(NamedTuple):
    """The sizes that miscounts use in the wrong places, as integers or symbols."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    padded_sizes: tuple[int, ...]  # the vocabulary padded or rounded to each of PADDED_TO and ROUNDED_TO

    @classmethod
    def of(cls, config: Config) -> "MiscountSizes":
        """Return the sizes of a configuration."""
        words = config.vocab_size
        padded = [-(-words // multiple) * multiple for multiple in PADDED_TO]
        rounded = [(words + multiple // 2) // multiple * multiple or words for multiple in ROUNDED_TO]
        return cls._make((*(getattr(config, field) for field in cls._fields[:-1]), (*padded, *rounded)))

    @property
    def letters(self) -> dict[str, Any]:
        """The sizes, keyed by their letters V, H, L, A, I and P."""
        return dict(zip("VHLAIP", self, strict=False))

    @property
    def padded(self) -> Mapping[int, int]:
        """The padded and rounded vocabulary sizes, keyed by the multiples in PADDED_TO and ROUNDED_TO."""
        return dict(zip((*PADDED_TO, *ROUNDED_TO), self.padded_sizes, strict=True))

    def padded_by(self, miscount: str) -> int:
        """Return the vocabulary size that a miscount pads or rounds to; the real size for other miscounts."""
        padded = (size for multiple, size in self.padded.items() if miscount == f"padded to {multiple}")
        return next(padded, self.vocab_size)


Change = Callable[[Tensor, MiscountSizes], Iterable[Tensor]]


class Miscount(NamedTuple):
    """One mistake: its description, the change that it makes to each tensor, and its rarity in bits.

    A mistake of 4 bits is made half as often as a mistake of 3 bits. Exercises use only ``drawn`` mistakes.
    Tensors that ``concerns`` does not select never change, whatever their sizes and copies.
    """

    description: str  # an English sentence without its full stop, with placeholders for ``values``
    change: Change
    bits: float = 6.0
    values: Mapping[str, str] = {}
    drawn: bool = False
    concerns: Selector = selector("")

    def make(self, tensors: Iterable[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """Apply the miscount and return the tensors that are counted afterwards."""
        return tuple([after for tensor in tensors for after in self.change(tensor, sizes)])


class Habit(NamedTuple):
    """A way of counting that leads to several miscounts, with its rarity in bits."""

    description: str
    miscounts: tuple[str, ...]  # miscounts that do not change a model are skipped
    bits: float


def counted(model: Model) -> tuple[Tensor, ...]:
    """Return the tensors of a model, then tensors without elements for parts that a hand count may add.

    Names do not have the prefix of the body.
    """
    tensors = tuple(tensor._replace(name=model.without_prefix(tensor.name)) for tensor in model.tensors())
    return (*tensors, *_lacking(tensors, model.config))


def _lacking(tensors: Sequence[Tensor], config: Any) -> Iterator[Tensor]:
    """Yield the tensors that a hand count may add although the model lacks them, with their names in parentheses.

    Each shape is the shape that a hand count would use, followed by a dimension of 0. So the tensors have no elements.
    """
    hidden, words = config.hidden_size, next(filter(selector("word"), tensors)).shape
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
        if not any(map(selector(concerned), tensors)):
            names = (f"{name}.weight", f"{name}.bias")
            lacking += [(last, place, shape) for last, shape in zip(names, shapes, strict=False)]
    yield from (Tensor(f"({name})", (*shape, 0), 1, place) for name, place, shape in lacking)
    names_present = {tensor.name for tensor in tensors}
    related = any(map(selector("relative embedding"), tensors)) and not any(map(selector("position query"), tensors))
    for tensor in tensors:
        if related and tensor.place.role in ("query", "key"):
            place = tensor.place._replace(role=f"position {tensor.place.role}")
            stem, _dot, last = tensor.name.rpartition(".")
            yield tensor._replace(name=f"({stem} of positions.{last})", shape=(*tensor.shape, 0), place=place)
        if tensor.name.endswith("weight") and f"{tensor.name[:-6]}bias" not in names_present and _has_bias(tensor):
            roles = tensor.place.role.split(", ")  # in a fused matrix, some roles may have their own bias
            with_bias = sum(bias.shape[0] for bias in tensors if is_bias(bias) and bias.place.role in roles)
            yield tensor._replace(name=f"({tensor.name[:-6]}bias)", shape=(tensor.shape[0] - with_bias, 0))


def _has_bias(tensor: Tensor) -> bool:
    return tensor.place.role == "norm" or (in_layer(tensor) and selector("attention + feed-forward")(tensor))


def is_lacking(tensor: Tensor) -> bool:
    """Whether the model lacks this tensor, which a hand count may add."""
    return tensor.name.startswith("(")


def total(tensors: Iterable[Tensor]) -> int:
    """Return the number of elements in all tensors, including their copies."""
    return sum([tensor.copies * prod(tensor.shape) for tensor in tensors])


def _size(text: str, sizes: MiscountSizes) -> Any:
    """Evaluate a size such as "H", "2 H" (a product), "H / A" or "padded 8" (the padded vocabulary)."""
    if text.startswith("padded"):
        return sizes.padded[int(text[7:])]
    above, _sign, below = text.partition(" / ")
    values = sizes.letters
    number = prod([int(word) if word.isdigit() else values[word] for word in above.split()])
    return number // values[below] if below else number


def _part(tensor: Tensor, parts: int, sizes: MiscountSizes) -> Shape:
    """Return the shape of one slice if a projection's output is split into a number of equal ``parts``.

    Weights are (out, in), where in is the hidden size. GPT-2's weights are (in, out).
    """
    first, *others = tensor.shape
    return (first, others[0] // parts) if others and first == sizes.hidden_size else (first // parts, *others)


def is_fused(tensor: Tensor) -> bool:
    """Whether this tensor of the model fuses several matrices or their biases."""
    return not is_lacking(tensor) and len(_roles(tensor)) > 1


def _roles(tensor: Tensor) -> list[str]:
    return tensor.place.role.replace(" and ", ", ").split(", ")


def slices(tensor: Tensor, sizes: MiscountSizes) -> tuple[Tensor, ...]:
    """Split a fused matrix or bias into its parts, such as query, key and value; return other tensors unchanged."""
    parts = _by_role(tensor)
    shape = _part(tensor, len(parts), sizes) if len(parts) > 1 else tensor.shape
    return tuple(part._replace(shape=shape) for part in parts)


def _by_role(tensor: Tensor) -> list[Tensor]:
    return [tensor._replace(place=tensor.place._replace(role=role)) for role in _roles(tensor)]


def of_one_head(tensor: Tensor, sizes: MiscountSizes) -> Tensor:
    """Return one head's rows of a query, key or value projection, or of a fused matrix."""
    return tensor._replace(shape=_head(tensor, _size("H / A", sizes), sizes))


def _head(tensor: Tensor, size: Any, sizes: MiscountSizes) -> Shape:
    """Return the shape of one head's rows in a projection to heads. GPT-2's weights are (in, out)."""
    first, *others = tensor.shape
    width = len(_roles(tensor)) * size
    return (first, width) if others and first == sizes.hidden_size else (width, *others)


def _wide(tensor: Tensor, width: Any, sizes: MiscountSizes) -> Sequence[Any]:
    """Return the shape with ``width`` in place of the intermediate size."""
    wide = 2 * width if tensor.place.role == "up and gate" else width
    if len(tensor.shape) == 1:
        return tensor.shape if tensor.place.role == "down" else (wide,)
    rows = tensor.shape[0] != sizes.hidden_size  # GPT-2's matrices are transposed
    return [wide if rows == (side == 0) else tensor.shape[side] for side in (0, 1)]


# Functions that return a tensor's new shape, keyed as in miscounts.toml. Their second argument is the value of the key.
_SIDES: Mapping[str, Callable[[Tensor, Any, MiscountSizes], Sequence[Any]]] = {
    "rows": lambda tensor, number, sizes: (number, *tensor.shape[1:]),
    "last": lambda tensor, number, sizes: (*tensor.shape[:-1], number),
    "every": lambda tensor, number, sizes: [number] * len(tensor.shape),
    "times": lambda tensor, number, sizes: (number, *tensor.shape),
    "head": _head,
    "wide": _wide,
}


def _is_shared(tensor: Tensor, layers: Any) -> bool:
    """Whether a layer tensor exists only once: all layers share it, or only a differing first layer has it."""
    return tensor.copies == 1 and layers != 1


def _lacks_first(tensor: Tensor, layers: Any) -> bool:
    """Whether a tensor is in all layers except the first.

    This excludes ALBERT's tensors, which have two numbers in their names.
    """
    return tensor.copies == layers - 1 and tensor.name.count("*") == 1


def _layers(tensor: Tensor, count: Any, layers: Any) -> Any:
    """Return the copies of a tensor if there are ``count`` layers instead of ``layers``.

    Shared layers keep a single copy, and so does a first layer that differs from the others.
    """
    return tensor.copies + (0 if _is_shared(tensor, layers) else count - layers)


# Functions that return the counted copies of a tensor, given the tensor and the model's number of layers.
_COPIES: Mapping[str, Callable[[Tensor, Any], Any]] = {
    "twice": lambda tensor, layers: 2 * tensor.copies,
    "every layer": lambda tensor, layers: tensor.copies if in_layer(tensor) else layers * tensor.copies,
    "one layer": lambda tensor, layers: 1 if "*" in tensor.name else tensor.copies,
    "not shared": lambda tensor, layers: layers if "*" in tensor.name and _is_shared(tensor, layers) else tensor.copies,
    "like the others": lambda tensor, layers: layers if _lacks_first(tensor, layers) else tensor.copies,
    "one less": lambda tensor, layers: _layers(tensor, 1 if layers == 1 else layers - 1, layers),
    "one more": lambda tensor, layers: _layers(tensor, layers + 1, layers),
    "of a decoder": lambda tensor, layers: (3 if tensor.place.block == "attention" else 2) * tensor.copies,
}


class _CountChange:
    """The change that a line of miscounts.toml describes.

    ``add``, ``out`` and ``of`` are selectors for tensor_filter.py. ``add`` counts tensors that the model lacks, and
    ``out`` leaves out tensors that it has. Tensors selected by ``of`` get a second tensor ``beside`` them in another
    place, other ``copies``, or other dimensions (keys of _SIDES). ``split`` selects the parts of a fused matrix
    separately.
    """

    def __init__(
        self,
        *,
        add: str = "",
        out: str = "",
        of: str = "",
        beside: Mapping[str, Any] | None = None,
        split: bool = False,
        copies: str = "",
        **sides: str,
    ) -> None:
        self._add, self._out, self._of = (selector(text) if text else None for text in (add, out, of))
        self._beside, self._split, self._copies, self._sides = beside, split, copies, sides

    def __call__(self, tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        if self._split and is_fused(tensor) and not self._concerns(tensor):
            parts = slices(tensor, sizes)
            if any(map(self._concerns, parts)):
                return [after for part in parts for after in self._changed(part, sizes)]
        return self._changed(tensor, sizes)

    def concerns(self, tensor: Tensor) -> bool:
        """Whether the tensor or a part of it may change."""
        if is_lacking(tensor):
            return bool(self._add and self._add(tensor))
        return self._concerns(tensor) or (self._split and any(map(self._concerns, _by_role(tensor))))

    def _concerns(self, tensor: Tensor) -> bool:
        return bool((self._out and self._out(tensor)) or (self._of and self._of(tensor)))

    def _changed(self, tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        if is_lacking(tensor):
            if not (self._add and self._add(tensor)):
                return (tensor,)
            return (self._sided(tensor._replace(name=tensor.name[1:-1], shape=tensor.shape[:-1]), sizes),)
        if self._out and self._out(tensor):
            return ()
        if self._add or not (self._of and self._of(tensor)):
            return (tensor,)
        if self._beside:
            place = tensor.place._replace(**self._beside)
            return tensor, self._sided(tensor._replace(name=f"{tensor.name} (beside)", place=place), sizes)
        if self._copies == "one layer" and split_layer(tensor.name)[0].endswith(".0"):
            return ()
        if self._copies:
            layers, copies = sizes.num_hidden_layers, self._copies
            count = _layers(tensor, int(copies), layers) if copies.isdigit() else _COPIES[copies](tensor, layers)
            return (Tensor(tensor.name, tensor.shape, count, tensor.place, tensor.frozen),)
        return (self._sided(tensor, sizes),)

    def _sided(self, tensor: Tensor, sizes: MiscountSizes) -> Tensor:
        for key, text in self._sides.items():
            shape = tuple(_SIDES[key](tensor, _size(text, sizes), sizes))
            tensor = Tensor(tensor.name, shape, tensor.copies, tensor.place, tensor.frozen)
        return tensor


def _miscounts(name: str, description: str, bits: Any, **change: Any) -> Iterator[tuple[str, Miscount]]:
    """Yield the (name, miscount) pair of a line in miscounts.toml, or a pair for each size if ``bits`` is a table."""
    drawn = change.pop("drawn", False)
    values: dict[str, str] = {key: change.pop(key) for key in ("part", "size") if key in change}
    if not isinstance(bits, dict):
        count_change = _CountChange(**change)
        yield name, Miscount(description, count_change, bits, values, drawn, count_change.concerns)
        return
    for number, rare in bits.items():
        filled: dict[str, Any] = {key: value.replace("{size}", number) for key, value in change.items()}
        size = f"{int(number):,}"
        yield from _miscounts(name.replace("{size}", number), description, rare, size=size, drawn=drawn, **filled)


_TABLE = table_beside(__file__)
MISCOUNTS: Mapping[str, Miscount] = dict(named for line in _TABLE["miscounts"] for named in _miscounts(**line))
HABITS: Mapping[str, Habit] = {
    line["name"]: Habit(line["description"], tuple(line["miscounts"].split(" + ")), line["bits"])
    for line in _TABLE["habits"]
}
