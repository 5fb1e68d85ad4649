"""What people do wrong when they count a BERT by hand, as changes of the tensors that they count.

A count is a list of tensors. A miscount takes a tensor and gives what is counted in its place: nothing, the same with
other sides or copies, or several. So they can be made one after the other, and with symbols one gives the formula
of what it changes.

>>> from bertcalc import BertConfig, build
>>> after = MISCOUNTS["positions"].make(counted(build(BertConfig())), MiscountSizes.of(BertConfig()))
>>> total(after) - 109482240  # 512 rows of 768
-393216
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.family import LANGUAGE_MODEL, Model
from bertcalc.text import N_
from bertcalc.tree.nn import AFTER_LAYERS, Component, Place, Shape, Tensor, split_layer

# Multiples to which libraries pad a vocabulary, for the sake of the hardware, and to which people round one.
PADDED_TO, ROUNDED_TO = (8, 64, 128), (1_000, 10_000)


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
Concerned = Callable[[Tensor], bool]


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
        return tuple(after for tensor in tensors for after in self.change(tensor, sizes))


def counted(model: Model) -> tuple[Tensor, ...]:
    """What a right count of a model counts: its tensors, under names without the body's prefix, and what it lacks."""
    tensors = tuple(tensor._replace(name=model.bare(tensor.name)) for tensor in model.tensors())
    return (*tensors, *_lacking(tensors, model.config))


def _lacking(tensors: Sequence[Tensor], config: Any) -> Iterator[Tensor]:
    """What people count although a model does not have it: tensors without elements, with brackets round their names.

    Their last side is 0; without that one they have the shape that is counted.
    """
    hidden, words = config.hidden_size, next(filter(role("word"), tensors)).shape
    wide = words[1:]
    lacking = [
        ("decoder.weight", Place("head", LANGUAGE_MODEL, "decoder"), words),
        ("decoder.bias", Place("head", LANGUAGE_MODEL, "decoder bias"), words[:1]),
    ]
    for concerned, name, place, *shapes in (
        (_POOLER, "pooler.dense", Place("pooler", role="dense"), (hidden, hidden), (hidden,)),
        (role("position"), "positions", Place("embeddings", role="position"), (config.max_position_embeddings, *wide)),
        (role("token type"), "token types", Place("embeddings", role="token type"), (2, *wide)),
        (both(_EMBEDDINGS, NORM), "embedding LayerNorm", Place("embeddings", role="norm"), (2, *wide)),
        (block(AFTER_LAYERS), "final LayerNorm", Place("head", AFTER_LAYERS, "norm"), (2, hidden)),
        (_NEXT, "next sentence", Place("head", role="next sentence"), (2, hidden), (2,)),
    ):
        if not any(map(concerned, tensors)):
            names = (f"{name}.weight", f"{name}.bias")
            lacking += [(last, place, shape) for last, shape in zip(names, shapes, strict=False)]
    yield from (Tensor(f"({name})", (*shape, 0), 1, place) for name, place, shape in lacking)
    there = {tensor.name for tensor in tensors}
    related = any(map(role("relative embedding"), tensors)) and not any(map(role("position query"), tensors))
    for tensor in tensors:
        if related and tensor.place.role in ("query", "key"):
            place = tensor.place._replace(role=f"position {tensor.place.role}")
            yield tensor._replace(name=f"({tensor.name} of positions)", shape=(*tensor.shape, 0), place=place)
        bias = tensor.name.removesuffix("weight") + "bias"
        if tensor.name.endswith("weight") and bias not in there and (NORM(tensor) or _IN_LAYER(tensor)):
            roles = tensor.place.role.split(", ")  # of one matrix for several, some may have a bias of their own
            own = sum(one.shape[0] for one in tensors if is_bias(one) and one.place.role in roles)
            yield tensor._replace(name=f"({bias})", shape=(tensor.shape[0] - own, 0))


def is_lacking(tensor: Tensor) -> bool:
    """Whether a model does not have a tensor."""
    return tensor.name.startswith("(")


def total(tensors: Iterable[Tensor]) -> int:
    """Elements of all tensors together."""
    return sum(tensor.num_parameters() for tensor in tensors)


def role(*roles: str) -> Concerned:
    """Tensors of some roles."""
    return lambda tensor: tensor.place.role in roles


def component(*names: Component) -> Concerned:
    """Tensors of some components."""
    return lambda tensor: tensor.place.component in names


def block(*blocks: str) -> Concerned:
    """Tensors of some blocks."""
    return lambda tensor: tensor.place.block in blocks


def both(*all_of: Concerned) -> Concerned:
    """Tensors that all of some descriptions fit."""
    return lambda tensor: all(one(tensor) for one in all_of)


def is_bias(tensor: Tensor) -> bool:
    """Whether a tensor is a bias of a Linear."""
    return tensor.name.endswith(("bias", "bias)")) and tensor.place.role != "norm"


def _is_beta(tensor: Tensor) -> bool:
    return tensor.name.endswith("bias") and tensor.place.role == "norm"


def _is_matrix(tensor: Tensor) -> bool:
    return len(tensor.shape) == 2


def _is_whole(tensor: Tensor) -> bool:
    """Whether a LayerNorm that a model lacks is lacking with its gamma, and not its beta alone."""
    return len(tensor.shape) == 3


def in_layer(tensor: Tensor) -> bool:
    """Whether a tensor is in a layer, and no map to the layers or LayerNorm after them."""
    return bool(split_layer(tensor.name)[0])


def _repeats(tensor: Tensor) -> bool:
    return "*" in tensor.name


NORM = role("norm")
_EMBEDDINGS, _POOLER, _HEAD = component("embeddings"), component("pooler"), component("head")
QKV = ("query", "key", "value", "query, key, value", "key, value")  # the last two are several in one matrix
_QKV, _OUTPUT = role(*QKV), role("output")
_ATTENTION = role(*QKV, "position query", "position key", "output")
_FIRST, _SECOND = role("up", "up and gate"), role("down")
_FEED_FORWARD = role("up", "gate", "up and gate", "down")
_IN_LAYER = both(in_layer, lambda tensor: _ATTENTION(tensor) or _FEED_FORWARD(tensor))
_NEXT = role("next sentence", "sentence order")
_CLASSIFIER = role("classifier", "answer span", "next sentence", "sentence order")
_DISTANCES = role("distance", "relative position", "relative embedding")
_MAP = role("map")


def _where(concerned: Concerned, change: Change) -> Change:
    """A change of the tensors of the model that are concerned; every other one stays as it is."""
    return lambda tensor, sizes: change(tensor, sizes) if concerned(tensor) and not is_lacking(tensor) else (tensor,)


def _with_sides(concerned: Concerned, sides: Callable[[Tensor, MiscountSizes], Sequence[Any]]) -> Change:
    return _where(concerned, lambda tensor, sizes: (tensor._replace(shape=tuple(sides(tensor, sizes))),))


def _with_copies(concerned: Concerned, copies: Callable[[Tensor, Any], Any]) -> Change:
    """Another number of copies, of a tensor and of the layers that there are."""
    return _where(concerned, lambda tensor, s: (tensor._replace(copies=copies(tensor, s.num_hidden_layers)),))


def _is_shared(tensor: Tensor, layers: Any) -> bool:
    """Whether a tensor of a layer is the same in all layers."""
    return tensor.copies == 1 and layers != 1


# The kinds of mistakes: what each makes of the tensors that it concerns.


def _in(bits: float, said: str, *concerned: Concerned) -> Miscount:
    """What a model lacks is counted."""
    of_it = both(is_lacking, *concerned)
    return Miscount(
        said,
        lambda tensor, sizes: (
            (tensor._replace(name=tensor.name[1:-1], shape=tensor.shape[:-1]),) if of_it(tensor) else (tensor,)
        ),
        bits,
    )


def _out(bits: float, said: str, *concerned: Concerned) -> Miscount:
    """What a model has is left out."""
    return Miscount(said, _where(both(*concerned), lambda tensor, sizes: ()), bits)


def _more(bits: float, said: str, *concerned: Concerned, named: str, **place: str) -> Miscount:
    """Beside each tensor another one like it, in another place."""

    def more(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        return tensor, tensor._replace(name=f"{tensor.name} ({named})", place=tensor.place._replace(**place))  # type: ignore[arg-type]

    return Miscount(said, _where(both(*concerned), more), bits)


def _twice(bits: float, said: str, *concerned: Concerned) -> Miscount:
    return Miscount(said, _with_copies(both(*concerned), lambda tensor, layers: 2 * tensor.copies), bits)


def _every(bits: float, said: str, *concerned: Concerned) -> Miscount:
    """What is there once is counted in every layer."""
    alone = both(*concerned, lambda tensor: not in_layer(tensor))
    return Miscount(said, _with_copies(alone, lambda tensor, layers: layers * tensor.copies), bits)


def _once(bits: float, said: str, *concerned: Concerned) -> Miscount:
    """Of layers that are alike one is counted."""
    once = _with_copies(_repeats, lambda tensor, layers: 1)

    def change(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        return () if split_layer(tensor.name)[0].endswith(".0") else once(tensor, sizes)

    return Miscount(said, _where(both(in_layer, *concerned), change), bits)


def _unshared(bits: float, said: str, *concerned: Concerned) -> Miscount:
    """Each layer is given what all layers share."""
    return Miscount(
        said,
        _with_copies(
            both(_repeats, *concerned), lambda tensor, layers: layers if _is_shared(tensor, layers) else tensor.copies
        ),
        bits,
    )


def _sized(
    bits: float, said: str, sides: Callable[[Tensor, MiscountSizes], Sequence[Any]], *concerned: Concerned
) -> Miscount:
    """Other sides."""
    return Miscount(said, _with_sides(both(*concerned), sides), bits)


# The sides that tensors are given by mistake.


def _heads_times(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    return (sizes.num_attention_heads, *tensor.shape)


def _for_each_position(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    return (sizes.max_position_embeddings, *tensor.shape)


def _hidden(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    """The hidden size as the last side."""
    return (*tensor.shape[:-1], sizes.hidden_size)


def _of_vocabulary(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    return (sizes.vocab_size,)


def _parted(tensor: Tensor, sizes: MiscountSizes, parts: int) -> Shape:
    """The shape of one of so many equal parts of what a projection gives.

    What it takes, the hidden size, is its last side, and of GPT-2's, which are the other way round, the first.
    """
    first, *others = tensor.shape
    return (first, others[0] // parts) if others and first == sizes.hidden_size else (first // parts, *others)


def _one_of_three(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
    """The query alone, which may be in one matrix with key and value."""
    if tensor.place.role.startswith("query"):
        yield tensor._replace(shape=_parted(tensor, sizes, tensor.place.role.count(",") + 1))


def _not_gated(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
    """No gate, which may be in one matrix with what it gates."""
    if tensor.place.role != "gate":
        yield tensor._replace(shape=(tensor.shape[0] // 2, *tensor.shape[1:]), place=tensor.place._replace(role="up"))


def _decoder_of_hidden(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
    if tensor.name == "(decoder.weight)":
        return (tensor._replace(name="decoder.weight", shape=(tensor.shape[0], sizes.hidden_size)),)
    return (tensor,)


def _tables_of_hidden(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
    """Tables that need no projection to the layers."""
    return () if _MAP(tensor) else (tensor._replace(shape=_hidden(tensor, sizes)),)


def _wide(width: Callable[[MiscountSizes], Any]) -> Change:
    """Another size in place of the intermediate one."""

    def sides(tensor: Tensor, sizes: MiscountSizes) -> Sequence[Any]:
        wide = 2 * width(sizes) if tensor.place.role == "up and gate" else width(sizes)
        if len(tensor.shape) == 1:
            return tensor.shape if tensor.place.role == "down" else (wide,)
        rows = tensor.shape[0] != sizes.hidden_size  # so that GPT-2's matrices can be the other way round
        return [wide if rows == (side == 0) else tensor.shape[side] for side in (0, 1)]

    return _with_sides(_FEED_FORWARD, sides)


def _layers(layers: Callable[[Any], Any]) -> Change:
    """Another number of layers, where layers do not share their tensors; a first layer that differs stays."""
    return _with_copies(
        _repeats, lambda tensor, there: tensor.copies + (0 if _is_shared(tensor, there) else layers(there) - there)
    )


def _rows(*roles: str) -> Callable[[int], Change]:
    """Changes that give tables of these roles another number of rows."""
    return lambda rows: _with_sides(role(*roles), lambda tensor, sizes: (rows, *tensor.shape[1:]))


def _padded(multiple: int) -> Change:
    return _with_sides(_VOCABULARY, lambda tensor, sizes: (sizes.padded[multiple], *tensor.shape[1:]))


_VOCABULARY = role("word", "decoder", "decoder bias")

# Sizes that people take from elsewhere, and how rare that is: by letter what is said, the change, and the numbers.
_TAKEN: Mapping[str, tuple[str, Callable[[int], Change], Mapping[int, float]]] = {
    "I": (
        N_("the intermediate size is taken to be {size}"),
        lambda size: _wide(lambda sizes: size),
        {1_024: 7.0, 2_048: 6.0, 3_072: 6.0, 4_096: 6.5},
    ),
    "V": (
        N_("the vocabulary is taken to be {size}"),
        _rows("word", "decoder", "decoder bias"),
        {30_000: 4.5, **dict.fromkeys((30_522, 21_128), 5.5), 28_996: 6.0}
        | dict.fromkeys((50_265, 119_547, 50_257, 110_000), 6.5)
        | dict.fromkeys((18_000, 20_000, 32_000, 40_000, 50_280, 100_000, 105_879, 250_002), 7.0),
    ),
    "P": (
        N_("the number of positions is taken to be {size}"),
        _rows("position"),
        {512: 2.9, 514: 5.5, 1_024: 6.0, 128: 7.0, 256: 7.0, 2_048: 7.5},
    ),
    "T": (N_("the number of token types is taken to be {size}"), _rows("token type"), {1: 5.0, 2: 3.5, 3: 6.5}),
    "distances": (
        N_("the number of relative distances is taken to be {size}"),
        _rows("relative embedding"),
        {256: 4.5, 1_024: 5.0},
    ),
    "labels": (
        N_("the number of labels is taken to be {size}"),
        _rows("classifier"),
        {1: 5.5, 3: 5.5, 5: 6.5, 10: 6.5},
    ),
    "L": (
        N_("the number of layers is taken to be {size}"),
        lambda size: _layers(lambda layers: size),
        {6: 6.5, 12: 6.0, 24: 6.5, **dict.fromkeys((2, 3, 4, 8, 10, 16, 18, 36), 7.0)},
    ),
}
_TIMES = N_("the intermediate size is assumed to be {size} times the hidden size")


def _taken(letter: str) -> dict[str, Miscount]:
    said, change, bits = _TAKEN[letter]
    return {
        f"{letter}={size}": Miscount(said, change(size), rare, {"size": f"{size:,}"}) for size, rare in bits.items()
    }


def _times(times: int, bits: float) -> Miscount:
    return Miscount(_TIMES, _wide(lambda sizes: times * sizes.hidden_size), bits, {"size": f"{times}"})


_EMBEDDINGS_OR_POOLER = component("embeddings", "pooler")
_EVERY = N_("this is counted in every layer: {part}")
_ONCE = N_("this is counted for one layer: {part}")
_UNSHARED = N_("this is counted for each layer, although all layers share it: {part}")

# In the order in which they are made: what is added first, then biases, then whole parts, then sides and copies. So
# "attention for one layer" after "biases of the attention" is about the weights that are left.
_ALL: Mapping[str, Miscount] = {
    "pooler added": _in(3.0, N_("a pooler is counted that this model does not have"), _POOLER),
    "decoder again": _in(
        3.0,
        N_("the decoder is counted as a separate matrix, although it is the word embeddings again"),
        role("decoder"),
    ),
    "decoder bias again": _in(
        4.5, N_("a bias of the decoder is counted that this model does not have, or has already"), role("decoder bias")
    ),
    "positions added": _in(
        3.0, N_("position embeddings are counted, which this model does not have"), role("position")
    ),
    "token types added": _in(
        3.5, N_("two token types are counted, which this model does not have"), role("token type")
    ),
    "decoder of H": Miscount(
        N_("the decoder is counted as a separate matrix, and as wide as the hidden size"), _decoder_of_hidden, 4.5
    ),
    "embedding LayerNorm added": _in(
        4.0,
        N_("a LayerNorm of the embeddings is counted, which this model does not have"),
        _EMBEDDINGS,
        NORM,
        _is_whole,
    ),
    "final LayerNorm added": _in(
        5.5,
        N_("a LayerNorm after the last layer is counted, which this model does not have"),
        block(AFTER_LAYERS),
        _is_whole,
    ),
    "next sentence added": _in(
        5.0, N_("a head for the next sentence is counted, which this model does not have"), _NEXT
    ),
    "layer biases added": _in(
        3.5, N_("biases are counted in attention and feed-forward, which this model does not have"), _IN_LAYER, is_bias
    ),
    "attention biases added": _in(
        4.5, N_("biases are counted in the attention, which this model does not have"), in_layer, _ATTENTION, is_bias
    ),
    "feed-forward biases added": _in(
        4.5,
        N_("biases are counted in the feed-forward, which this model does not have"),
        in_layer,
        _FEED_FORWARD,
        is_bias,
    ),
    "betas added": _in(
        4.0,
        N_("each LayerNorm is given a beta, which this model does not have"),
        NORM,
        lambda tensor: not _is_whole(tensor),
    ),
    "position projections added": _in(
        4.5,
        N_("queries and keys of positions have matrices of their own, which this model does not have"),
        role("position query", "position key"),
    ),
    "cross attention added": _more(
        6.0,
        N_("a cross attention is counted in each layer, which this model does not have"),
        block("attention"),
        named="cross",
        block="cross-attention",
    ),
    "third LayerNorm": _more(
        6.0, N_("three LayerNorms are counted in each layer"), block("attention"), in_layer, NORM, named="third"
    ),
    "first layer alike": Miscount(
        N_("the first layer is counted like the others, with a LayerNorm that it does not have"),
        _with_copies(
            both(_repeats, block("attention"), NORM),
            lambda tensor, layers: layers if tensor.copies == layers - 1 else tensor.copies,
        ),
        2.5,
    ),
    "biases": _out(3.2, N_("no bias of any Linear is counted"), is_bias),
    "layer biases": _out(
        3.0, N_("the biases of the layers are left out, in attention and feed-forward"), in_layer, is_bias
    ),
    "attention biases": _out(3.5, N_("the biases of the attention are left out"), _ATTENTION, is_bias),
    "qkv biases": _out(4.0, N_("the biases of query, key and value are left out"), _QKV, is_bias),
    "output bias": _out(5.0, N_("the bias of the attention's output projection is left out"), _OUTPUT, is_bias),
    "feed-forward biases": _out(4.0, N_("the biases of the feed-forward are left out"), _FEED_FORWARD, is_bias),
    "up bias": _out(5.5, N_("the first bias of the feed-forward is left out"), _FIRST, is_bias),
    "down bias": _out(5.5, N_("the second bias of the feed-forward is left out"), _SECOND, is_bias),
    "pooler bias": _out(4.5, N_("the bias of the pooler is left out"), _POOLER, is_bias),
    "map bias": _out(
        4.5, N_("the bias of the projection from the embeddings to the layers is left out"), _MAP, is_bias
    ),
    "head biases": _out(4.0, N_("the biases of the head are left out"), _HEAD, is_bias),
    "transform bias": _out(5.0, N_("the bias of the head's transform is left out"), role("transform"), is_bias),
    "classifier bias": _out(4.0, N_("the bias of the classifier is left out"), _CLASSIFIER, is_bias),
    "decoder bias": _out(3.5, N_("the bias of the decoder is left out"), role("decoder bias", "decoder"), is_bias),
    "LayerNorm half": _out(5.0, N_("of each LayerNorm only gamma is counted, not beta"), _is_beta),
    "LayerNorm": _out(3.5, N_("no LayerNorm is counted"), NORM),
    "embedding LayerNorm": _out(3.0, N_("the LayerNorm of the embeddings is left out"), _EMBEDDINGS, NORM),
    "layer LayerNorms": _out(4.0, N_("the LayerNorms of the layers are left out"), in_layer, NORM),
    "layer LayerNorms half": _out(
        5.0, N_("of each LayerNorm of the layers only gamma is counted, not beta"), in_layer, _is_beta
    ),
    "second LayerNorm": _out(
        4.0, N_("of the two LayerNorms of a layer only one is counted"), block("feed-forward"), NORM
    ),
    "final LayerNorm": _out(3.5, N_("the LayerNorm after the last layer is left out"), block(AFTER_LAYERS), NORM),
    "head LayerNorm": _out(4.0, N_("the LayerNorm of the head is left out"), _HEAD, NORM),
    "embeddings": _out(4.0, N_("the embeddings are left out, with their LayerNorm"), _EMBEDDINGS),
    "words": _out(4.0, N_("the word embeddings are left out"), role("word")),
    "positions": _out(3.5, N_("the position embeddings are left out"), role("position")),
    "token types": _out(3.0, N_("the token type embeddings are left out"), role("token type")),
    "task types": _out(3.0, N_("the table of tasks is left out"), role("task type")),
    "embedding map": _out(3.5, N_("the projection from the embeddings to the layers is left out"), _MAP),
    "distances": _out(3.0, N_("the embeddings of relative distances are left out"), _DISTANCES),
    "distances' LayerNorm": _out(
        4.0, N_("the LayerNorm of the relative distances is left out"), block("relative positions"), NORM
    ),
    "cross attention": _out(4.0, N_("the cross attention is left out"), block("cross-attention")),
    "output projection": _out(4.5, N_("the output projection of the attention is left out"), _OUTPUT),
    "matrix of the output projection": _out(
        5.5, N_("the output projection of the attention is left out, but not its bias"), _OUTPUT, _is_matrix
    ),
    "matrix of the second": _out(
        5.5, N_("the second matrix of the feed-forward is left out, but not its bias"), _SECOND, _is_matrix
    ),
    "first matrix": _out(5.5, N_("the first matrix of the feed-forward is left out, with its bias"), _FIRST),
    "second matrix": _out(5.0, N_("the second matrix of the feed-forward is left out, with its bias"), _SECOND),
    "pooler": _out(2.0, N_("the pooler is left out"), _POOLER),
    "transform": _out(4.0, N_("the transform of the head is left out, with its bias"), role("transform")),
    "head dense": _out(3.5, N_("the first matrix of the head is left out, with its bias"), _HEAD, role("dense")),
    "classifier": _out(4.0, N_("the classifier is left out, with its bias"), _CLASSIFIER),
    "next sentence": _out(3.5, N_("the head for the order of sentences is left out"), _NEXT),
    "head": _out(3.0, N_("the head is left out"), _HEAD),
    "one of three": Miscount(N_("query, key and value are counted as one matrix"), _where(_QKV, _one_of_three), 5.0),
    "one head": _sized(
        5.0,
        N_("query, key and value are counted for one head"),
        lambda tensor, sizes: _parted(tensor, sizes, sizes.num_attention_heads),
        _QKV,
    ),
    "keys for all heads": _sized(
        3.0,
        N_("each head is given a key and a value of its own, although several heads share them"),
        lambda tensor, sizes: (sizes.hidden_size, *tensor.shape[1:]),
        role("key", "value"),
    ),
    "small output projection": _sized(
        6.0,
        N_("the output projection of the attention is counted for one head"),
        lambda tensor, sizes: (tensor.shape[0], sizes.hidden_size // sizes.num_attention_heads),
        _OUTPUT,
        _is_matrix,
    ),
    "wide output projection": _sized(
        7.0,
        N_("the output projection of the attention takes the full hidden size from each head"),
        _heads_times,
        _OUTPUT,
        _is_matrix,
    ),
    "heads times": _sized(5.0, N_("each head is given matrices of the full hidden size"), _heads_times, _QKV),
    "heads times without bias": Miscount(
        N_("each head is given matrices of the full hidden size, without biases"),
        _where(
            _QKV, lambda tensor, sizes: () if is_bias(tensor) else (tensor._replace(shape=_heads_times(tensor, sizes)),)
        ),
        5.5,
    ),
    "gated": _more(
        6.0,
        N_("the feed-forward is counted as a gated one, with a third matrix"),
        role("up"),
        _is_matrix,
        named="gate",
        role="gate",
    ),
    "gate": Miscount(
        N_("the gate of the feed-forward is left out"), _where(role("gate", "up and gate"), _not_gated), 4.0
    ),
    "four times": _times(4, 4.0),
    "three times": _times(3, 6.5),
    "two times": _times(2, 6.0),
    "intermediate as hidden": Miscount(
        N_("the intermediate size is assumed to be the hidden size"), _wide(lambda sizes: sizes.hidden_size), 6.5
    ),
    **_taken("I"),
    "feed-forward biases of H": _sized(
        5.0,
        N_("both biases of the feed-forward are counted with the hidden size"),
        lambda tensor, sizes: (sizes.hidden_size,),
        _FEED_FORWARD,
        is_bias,
    ),
    "feed-forward biases of I": _sized(
        5.5,
        N_("both biases of the feed-forward are counted with the intermediate size"),
        lambda tensor, sizes: (sizes.intermediate_size,),
        _FEED_FORWARD,
        is_bias,
    ),
    **{
        f"padded to {multiple}": Miscount(said, _padded(multiple), bits, {"size": f"{multiple:,}"})
        for said, bits, multiples in (
            (N_("the vocabulary is rounded up to a multiple of {size}"), 5.5, PADDED_TO),
            (N_("the vocabulary is rounded to a multiple of {size}"), 5.0, ROUNDED_TO),
        )
        for multiple in multiples
    },
    **_taken("V"),
    **_taken("P"),
    **_taken("T"),
    **_taken("distances"),
    **_taken("labels"),
    "positions of H": _sized(
        5.5, N_("the position embeddings are counted with the hidden size"), _hidden, role("position")
    ),
    "positions and types of H": _sized(
        5.5, N_("positions and token types are counted with the hidden size"), _hidden, role("position", "token type")
    ),
    "words of H": _sized(5.0, N_("the word embeddings are counted with the hidden size"), _hidden, role("word")),
    "tables of H": _sized(
        4.5,
        N_("the embeddings are counted with the hidden size, and with a projection to it"),
        _hidden,
        _EMBEDDINGS,
        lambda tensor: not _MAP(tensor),
    ),
    "embeddings of H": Miscount(
        N_("the embeddings are counted with the hidden size, without a projection to it"),
        _where(lambda tensor: _EMBEDDINGS(tensor) or _MAP(tensor), _tables_of_hidden),
        3.5,
    ),
    "transform of H": _sized(
        5.0,
        N_("the transform of the head is counted with the hidden size, as in BERT"),
        lambda tensor, sizes: (sizes.hidden_size,) * len(tensor.shape),
        block(LANGUAGE_MODEL),
        role("transform", "norm"),
    ),
    "LayerNorm 4H": _twice(5.5, N_("each LayerNorm is counted twice, as 4 H"), NORM),
    "layer LayerNorms 4H": _twice(6.0, N_("each LayerNorm of the layers is counted twice, as 4 H"), in_layer, NORM),
    "LayerNorm P x H": _sized(
        5.5, N_("each LayerNorm is given a gamma and a beta for each position"), _for_each_position, NORM
    ),
    "embedding LayerNorm P x H": _sized(
        6.0,
        N_("the LayerNorm of the embeddings is given a gamma and a beta for each position"),
        _for_each_position,
        _EMBEDDINGS,
        NORM,
    ),
    "embedding LayerNorm of V": _sized(
        6.5, N_("the LayerNorm of the embeddings is counted over the vocabulary"), _of_vocabulary, _EMBEDDINGS, NORM
    ),
    "head LayerNorm of V": _sized(
        6.5, N_("the LayerNorm of the head is counted over the vocabulary"), _of_vocabulary, _HEAD, NORM
    ),
    "pooler again": _twice(6.5, N_("the pooler is counted twice"), _POOLER),
    "pooler in every layer": _every(6.0, N_("the pooler is counted in every layer"), _POOLER),
    "all in every layer": _every(6.0, N_("embeddings and pooler are counted in every layer"), _EMBEDDINGS_OR_POOLER),
    **{
        f"{name} in every layer": _every(bits, _EVERY, concerned)._replace(values={"part": part})
        for name, bits, part, concerned in (
            ("distances", 4.5, "relative distances", _DISTANCES),
            ("positions", 5.5, "position embeddings", role("position")),
            ("embedding LayerNorm", 6.0, "LayerNorm of the embeddings", both(_EMBEDDINGS, NORM)),
            ("embeddings", 6.5, "embeddings", _EMBEDDINGS),
            ("final LayerNorm", 6.0, N_("LayerNorm after the last layer"), both(block(AFTER_LAYERS), NORM)),
            ("embedding map", 6.0, "projection of the embeddings", _MAP),
        )
    },
    "output bias again": _twice(
        6.5, N_("the bias of the attention's output projection is counted twice"), _OUTPUT, is_bias
    ),
    "up bias again": _twice(6.5, N_("the first bias of the feed-forward is counted twice"), _FIRST, is_bias),
    "down bias again": _twice(6.5, N_("the second bias of the feed-forward is counted twice"), _SECOND, is_bias),
    "attention twice": _twice(6.5, N_("the attention is counted twice"), _ATTENTION),
    "feed-forward twice": _twice(6.5, N_("the feed-forward is counted twice"), _FEED_FORWARD),
    "layers not shared": _unshared(
        2.5, N_("each layer is given tensors of its own, although all layers share them"), in_layer
    ),
    **{
        f"{name} not shared": _unshared(7.0, _UNSHARED, concerned)._replace(values={"part": name})
        for name, concerned in (("attention", _ATTENTION), ("feed-forward", _FEED_FORWARD))
    },
    "attention once": _once(5.0, N_("the attention is counted for one layer"), _ATTENTION),
    "feed-forward once": _once(5.5, N_("the feed-forward is counted for one layer"), _FEED_FORWARD),
    "LayerNorms once": _once(5.0, N_("the LayerNorms of the layers are counted for one layer"), NORM),
    **{
        f"{name} once": _once(bits, _ONCE, concerned)._replace(values={"part": part})
        for name, bits, part, concerned in (
            ("query, key and value", 6.0, "query, key and value", _QKV),
            ("output projection", 6.0, "output projection of the attention", _OUTPUT),
            ("first matrix", 6.5, "first matrix of the feed-forward", _FIRST),
            ("second matrix", 6.5, "second matrix of the feed-forward", _SECOND),
            ("layer biases", 6.5, "biases of the layers", is_bias),
            ("distances", 4.5, "relative distances", _DISTANCES),
            ("cross attention", 5.5, "cross attention", block("cross-attention")),
        )
    },
    "encoder once": _once(4.5, N_("a single layer is counted")),
    "layer less": Miscount(
        N_("one layer too few is counted"), _layers(lambda layers: 1 if layers == 1 else layers - 1), 5.5
    ),
    "layer more": Miscount(N_("one layer too many is counted"), _layers(lambda layers: layers + 1), 5.5),
    "decoder layers": Miscount(
        N_("as many layers of a decoder are counted as well, with cross attention"),
        _with_copies(in_layer, lambda tensor, layers: (3 if tensor.place.block == "attention" else 2) * tensor.copies),
        6.0,
    ),
    **_taken("L"),
}
# Those that are put into exercises.
_DRAWN = (
    *("pooler added", "decoder again", "biases", "layer biases", "attention biases", "feed-forward biases"),
    *("pooler bias", "head biases", "LayerNorm half", "LayerNorm", "embedding LayerNorm", "layer LayerNorms"),
    *("second LayerNorm", "embeddings", "words", "positions", "token types", "distances", "cross attention"),
    *("output projection", "second matrix", "pooler", "head", "one of three", "one head", "heads times", "gated"),
    *("gate", "four times", "padded to 8", "padded to 64", "padded to 128", "attention once", "feed-forward once"),
    *("encoder once", "layer less"),
)
MISCOUNTS: Mapping[str, Miscount] = {name: one._replace(drawn=name in _DRAWN) for name, one in _ALL.items()}
