"""What people do wrong when they count a BERT by hand, as changes of the tensors that they count.

A count is a list of tensors. A miscount takes a tensor and gives what is counted in its place: nothing, the same with
other sides or copies, or several. So they can be made one after the other, and with symbols one gives the formula
of what it changes.

>>> from bertcalc import BertConfig, build
>>> after = MISCOUNTS["positions"].make(counted(build(BertConfig())), MiscountSizes.of(BertConfig()))
>>> total(after) - 109482240  # 512 rows of 768
-393216
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.family import LANGUAGE_MODEL, Model
from bertcalc.text import N_
from bertcalc.tree.nn import AFTER_LAYERS, Component, Place, Shape, Tensor, split_layer

# Where what a model has not can be counted all the same: tensors without elements, in brackets that no real one has.
NO_POOLER = Tensor("(pooler)", (), 0, Place("pooler", role="dense"))
NO_DECODER = Tensor("(decoder)", (), 0, Place("head", LANGUAGE_MODEL, "decoder"))
_DECODER = "decoder"  # one that is counted although it is tied
_ADDED_TYPES, _FINAL_NORM, _BIAS_AGAIN = "(token types)", "(final LayerNorm)", "(decoder bias)"
NO_TYPES = Tensor("(no token types)", (), 0, Place("embeddings", role="token type"))
NO_FINAL_NORM = Tensor("(no final LayerNorm)", (), 0, Place("encoder", AFTER_LAYERS, "norm"))
PLACES = frozenset({NO_POOLER.name, NO_DECODER.name, NO_TYPES.name, NO_FINAL_NORM.name})
# Multiples to which libraries pad a vocabulary, for the sake of the hardware.
PADDED_TO = (8, 64, 128)


class MiscountSizes(NamedTuple):
    """The dimensions that miscounts put in wrong places: numbers or symbols."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    padded_sizes: tuple[int, ...]  # the vocabulary as a multiple of each of PADDED_TO

    @classmethod
    def of(cls, config: Config) -> "MiscountSizes":
        """The sizes of a configuration."""
        vocab = config.vocab_size
        padded = tuple(-(-vocab // multiple) * multiple for multiple in PADDED_TO)
        return cls(
            vocab,
            config.hidden_size,
            config.num_hidden_layers,
            config.num_attention_heads,
            config.intermediate_size,
            config.max_position_embeddings,
            padded,
        )

    @property
    def padded(self) -> Mapping[int, int]:
        """The vocabulary as a multiple of each of PADDED_TO, by the multiple."""
        return dict(zip(PADDED_TO, self.padded_sizes, strict=True))


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
    drawn: bool = True

    def make(self, tensors: Iterable[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """What is counted after the miscount."""
        return tuple(after for tensor in tensors for after in self.change(tensor, sizes))


class Habit(NamedTuple):
    """A way of counting that is one idea and makes several miscounts: in words, and how rare it is."""

    said: str
    miscounts: tuple[str, ...]
    bits: float


def counted(model: Model) -> tuple[Tensor, ...]:
    """What a right count of a model counts: its tensors, under names without the body's prefix, and places for more."""
    tensors = tuple(tensor._replace(name=model.bare(tensor.name)) for tensor in model.tensors())
    pooled = any(tensor.place.component == "pooler" for tensor in tensors)
    typed = any(tensor.place.role == "token type" for tensor in tensors)
    normed = any(tensor.place.block == AFTER_LAYERS for tensor in tensors)
    there = ((NO_POOLER, pooled), (NO_TYPES, typed), (NO_FINAL_NORM, normed), (NO_DECODER, False))
    return (*tensors, *(place for place, has in there if not has))


def total(tensors: Iterable[Tensor]) -> int:
    """Elements of all tensors together."""
    return sum(tensor.num_parameters() for tensor in tensors)


Concerned = Callable[[Tensor], bool]


def _where(concerned: Concerned, change: Change) -> Change:
    """A change of the real tensors that are concerned; every other one stays as it is."""
    return lambda tensor, sizes: (
        change(tensor, sizes) if tensor.name not in _NOT_REAL and concerned(tensor) else (tensor,)
    )


def _without(concerned: Concerned) -> Change:
    return _where(concerned, lambda tensor, sizes: ())


def _once(concerned: Concerned) -> Change:
    return _where(concerned, _once_alike)


def _once_alike(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
    """One layer of those that are alike."""
    return () if split_layer(tensor.name)[0].endswith(".0") else (tensor._replace(copies=1),)


def _parted(tensor: Tensor, sizes: MiscountSizes, parts: int) -> Shape:
    """The shape of one of so many equal parts of what a projection gives.

    What it takes, the hidden size, is its last side, and of GPT-2's, which are the other way round, the first.
    """
    first, *others = tensor.shape
    return (first, others[0] // parts) if others and first == sizes.hidden_size else (first // parts, *others)


def _half(tensor: Tensor) -> Tensor:
    """A matrix that is half of it a gate without the gate."""
    return tensor._replace(shape=(tensor.shape[0] // 2, *tensor.shape[1:]))


def _more(place: Tensor, tensors: Callable[[MiscountSizes], Sequence[Tensor]]) -> Change:
    return lambda tensor, sizes: (*tensors(sizes), tensor) if tensor == place else (tensor,)


def _with_sides(concerned: Concerned, sides: Callable[[Tensor, MiscountSizes], Sequence[Any]]) -> Change:
    return _where(concerned, lambda tensor, sizes: (tensor._replace(shape=tuple(sides(tensor, sizes))),))


def _padded(multiple: int) -> Miscount:
    return Miscount(
        _PADDED[multiple],
        _with_sides(
            role("word", "decoder", "decoder bias"),
            lambda tensor, sizes: (sizes.padded[multiple], *tensor.shape[1:]),
        ),
        5.5,
    )


def _rare(said: str, change: Change, bits: float, **values: str) -> Miscount:
    return Miscount(said, change, bits, values, drawn=False)


def _rows(*roles: str) -> Callable[[int], Change]:
    """Changes that give tables of these roles another number of rows."""
    return lambda rows: _with_sides(role(*roles), lambda tensor, sizes: (rows, *tensor.shape[1:]))


def _pooler(sizes: MiscountSizes) -> Sequence[Tensor]:
    hidden = sizes.hidden_size
    weight = Tensor("pooler.dense.weight", (hidden, hidden), 1, NO_POOLER.place)
    return weight, Tensor("pooler.dense.bias", (hidden,), 1, NO_POOLER.place)


def role(*roles: str) -> Concerned:
    """Tensors of some roles."""
    return lambda tensor: tensor.place.role in roles


def component(name: Component) -> Concerned:
    """Tensors of a component."""
    return lambda tensor: tensor.place.component == name


def block(*blocks: str) -> Concerned:
    """Tensors of some blocks."""
    return lambda tensor: tensor.place.block in blocks


def both(*all_of: Concerned) -> Concerned:
    """Tensors that all of some descriptions fit."""
    return lambda tensor: all(one(tensor) for one in all_of)


def either(*any_of: Concerned) -> Concerned:
    """Tensors that any of some descriptions fits."""
    return lambda tensor: any(one(tensor) for one in any_of)


def is_bias(tensor: Tensor) -> bool:
    """Whether a tensor is a bias of a Linear."""
    return tensor.name.endswith("bias") and tensor.place.role != "norm"


def _is_beta(tensor: Tensor) -> bool:
    return tensor.name.endswith("bias") and tensor.place.role == "norm"


def _repeats(tensor: Tensor) -> bool:
    """Whether a tensor is in every layer, and not one for all of them."""
    return LAYERS(tensor) and "*" in tensor.name


def _is_shared(tensor: Tensor, sizes: MiscountSizes) -> bool:
    """Whether a tensor of a layer is the same in all layers."""
    return tensor.copies == 1 and sizes.num_hidden_layers != 1


def _layers(layers: Callable[[Any], Any]) -> Change:
    """Another number of layers, where layers do not share their tensors."""
    return _where(
        _repeats,
        lambda tensor, sizes: (tensor if _is_shared(tensor, sizes) else tensor._replace(copies=layers(tensor.copies)),),
    )


def _twice(concerned: Concerned) -> Change:
    return _where(concerned, lambda tensor, sizes: (tensor._replace(copies=2 * tensor.copies),))


_NOT_REAL = {*PLACES, _DECODER, _ADDED_TYPES, _FINAL_NORM, _BIAS_AGAIN}
_PADDED = {
    8: N_("the vocabulary is rounded up to a multiple of 8"),
    64: N_("the vocabulary is rounded up to a multiple of 64"),
    128: N_("the vocabulary is rounded up to a multiple of 128"),
}
NORM = role("norm")
LAYERS = component("encoder")
_EMBEDDINGS = component("embeddings")
QKV = ("query", "key", "value", "query, key, value", "key, value")  # the last two are several in one matrix
_QKV = role(*QKV)
_ATTENTION = role(*QKV, "position query", "position key", "output")
_FEED_FORWARD = role("up", "gate", "up and gate", "down")
# Sizes that people remember from another model than the one they count, and how rare that is.
_VOCABULARIES = {
    30_000: 4.5,
    30_522: 5.5,
    21_128: 5.5,
    28_996: 6.0,
    50_265: 6.5,
    119_547: 6.5,
    32_000: 7.0,
    50_257: 7.0,
    105_879: 7.0,
    250_002: 7.0,
}
_POSITIONS = {512: 2.9, 514: 5.5, 1_024: 6.0, 128: 7.0, 256: 7.0}
_TYPES = {1: 5.0, 2: 3.5, 3: 6.5}
_LAYERS = {6: 6.5, 12: 6.0, 24: 6.5}

# In the order in which they are made: what is added first, then biases, then whole parts, then sides and copies. So
# "attention for one layer" after "biases of the attention" is about the weights that are left.
MISCOUNTS: Mapping[str, Miscount] = {
    "pooler added": Miscount(N_("a pooler is counted that this model does not have"), _more(NO_POOLER, _pooler), 3.0),
    "decoder again": Miscount(
        N_("the decoder is counted as a separate matrix, although it is the word embeddings again"),
        _more(NO_DECODER, lambda sizes: (Tensor(_DECODER, (sizes.vocab_size, sizes.hidden_size), 1),)),
        3.0,
    ),
    "decoder bias again": _rare(
        N_("a bias of the decoder is counted that this model does not have, or has already"),
        _more(NO_DECODER, lambda sizes: (Tensor(_BIAS_AGAIN, (sizes.vocab_size,), 1),)),
        4.5,
    ),
    "token types added": _rare(
        N_("two token types are counted, which this model does not have"),
        _more(NO_TYPES, lambda sizes: (Tensor(_ADDED_TYPES, (2, sizes.hidden_size), 1, NO_TYPES.place),)),
        3.5,
    ),
    "final LayerNorm": _rare(
        N_("a LayerNorm after the last layer is counted, which this model does not have"),
        _more(NO_FINAL_NORM, lambda sizes: (Tensor(_FINAL_NORM, (2, sizes.hidden_size), 1),)),
        5.5,
    ),
    "first layer alike": _rare(
        N_("the first layer is counted like the others, with a LayerNorm that it does not have"),
        _where(
            both(role("norm"), block("attention")),
            lambda tensor, sizes: (
                tensor._replace(copies=sizes.num_hidden_layers) if _not_in_first(tensor, sizes) else tensor,
            ),
        ),
        2.5,
    ),
    "biases": Miscount(N_("no bias of any Linear is counted"), _without(is_bias), 3.2),
    "layer biases": Miscount(
        N_("the biases of the layers are left out, in attention and feed-forward"),
        _without(both(LAYERS, is_bias)),
        3.0,
    ),
    "attention biases": Miscount(
        N_("the biases of the attention are left out"), _without(both(_ATTENTION, is_bias)), 3.5
    ),
    "qkv biases": _rare(N_("the biases of query, key and value are left out"), _without(both(_QKV, is_bias)), 4.0),
    "output bias": _rare(
        N_("the bias of the attention's output projection is left out"), _without(both(role("output"), is_bias)), 5.0
    ),
    "feed-forward biases": Miscount(
        N_("the biases of the feed-forward are left out"), _without(both(_FEED_FORWARD, is_bias)), 4.0
    ),
    "up bias": _rare(
        N_("the first bias of the feed-forward is left out"), _without(both(role("up", "up and gate"), is_bias)), 5.5
    ),
    "down bias": _rare(
        N_("the second bias of the feed-forward is left out"), _without(both(role("down"), is_bias)), 5.5
    ),
    "pooler bias": Miscount(
        N_("the bias of the pooler is left out"), _without(both(component("pooler"), is_bias)), 4.5
    ),
    "head biases": Miscount(N_("the biases of the head are left out"), _without(both(component("head"), is_bias)), 4.0),
    "decoder bias": _rare(
        N_("the bias of the decoder is left out"), _without(both(role("decoder bias", "decoder"), is_bias)), 3.5
    ),
    "LayerNorm half": Miscount(N_("of each LayerNorm only gamma is counted, not beta"), _without(_is_beta), 5.0),
    "LayerNorm": Miscount(N_("no LayerNorm is counted"), _without(NORM), 3.5),
    "embedding LayerNorm": Miscount(
        N_("the LayerNorm of the embeddings is left out"), _without(both(_EMBEDDINGS, NORM)), 3.0
    ),
    "layer LayerNorms": Miscount(N_("the LayerNorms of the layers are left out"), _without(both(LAYERS, NORM)), 4.0),
    "second LayerNorm": Miscount(
        N_("of the two LayerNorms of a layer only one is counted"), _without(both(block("feed-forward"), NORM)), 4.0
    ),
    "head LayerNorm": _rare(N_("the LayerNorm of the head is left out"), _without(both(component("head"), NORM)), 4.0),
    "embeddings": Miscount(N_("the embeddings are left out, with their LayerNorm"), _without(_EMBEDDINGS), 4.0),
    "words": Miscount(N_("the word embeddings are left out"), _without(role("word")), 4.0),
    "positions": Miscount(N_("the position embeddings are left out"), _without(role("position")), 3.5),
    "token types": Miscount(N_("the token type embeddings are left out"), _without(role("token type")), 3.0),
    "task types": _rare(N_("the table of tasks is left out"), _without(role("task type")), 3.0),
    "embedding map": _rare(
        N_("the projection from the embeddings to the layers is left out"), _without(role("map")), 3.5
    ),
    "distances": Miscount(
        N_("the embeddings of relative distances are left out"),
        _without(role("distance", "relative position", "relative embedding")),
        3.0,
    ),
    "cross attention": Miscount(N_("the cross attention is left out"), _without(block("cross-attention")), 4.0),
    "output projection": Miscount(
        N_("the output projection of the attention is left out"), _without(role("output")), 4.5
    ),
    "second matrix": Miscount(
        N_("the second matrix of the feed-forward is left out, with its bias"), _without(role("down")), 5.0
    ),
    "pooler": Miscount(N_("the pooler is left out"), _without(component("pooler")), 2.0),
    "transform": _rare(N_("the transform of the head is left out, with its bias"), _without(role("transform")), 4.0),
    "head": Miscount(N_("the head is left out"), _without(component("head")), 3.0),
    "one of three": Miscount(
        N_("query, key and value are counted as one matrix"),
        _where(
            _QKV,
            lambda tensor, sizes: (
                (tensor._replace(shape=_parted(tensor, sizes, tensor.place.role.count(",") + 1)),)
                if tensor.place.role.startswith("query")
                else ()
            ),
        ),
        6.0,
    ),
    "one head": Miscount(
        N_("query, key and value are counted for one head"),
        _with_sides(_QKV, lambda tensor, sizes: _parted(tensor, sizes, sizes.num_attention_heads)),
        5.0,
    ),
    "small output projection": _rare(
        N_("the output projection of the attention is counted for one head"),
        _with_sides(
            both(role("output"), lambda tensor: len(tensor.shape) == 2),
            lambda tensor, sizes: (tensor.shape[0], sizes.hidden_size // sizes.num_attention_heads),
        ),
        6.0,
    ),
    "heads times": Miscount(
        N_("each head is given matrices of the full hidden size"),
        _with_sides(_QKV, lambda tensor, sizes: (sizes.num_attention_heads, *tensor.shape)),
        5.0,
    ),
    "heads times without bias": _rare(
        N_("each head is given matrices of the full hidden size, without biases"),
        _where(
            _QKV,
            lambda tensor, sizes: (
                () if is_bias(tensor) else (tensor._replace(shape=(sizes.num_attention_heads, *tensor.shape)),)
            ),
        ),
        5.5,
    ),
    "gated": Miscount(
        N_("the feed-forward is counted as a gated one, with a third matrix"),
        _where(
            lambda tensor: tensor.place.role == "up" and not is_bias(tensor),
            lambda tensor, sizes: (
                tensor,
                tensor._replace(name=f"{tensor.name} (gate)", place=tensor.place._replace(role="gate")),
            ),
        ),
        6.0,
    ),
    "gate": Miscount(
        N_("the gate of the feed-forward is left out"),
        _where(role("up and gate"), lambda tensor, sizes: (_half(tensor),)),
        4.0,
    ),
    "four times": Miscount(
        N_("the intermediate size is assumed to be 4 times the hidden size"),
        _with_sides(_FEED_FORWARD, lambda tensor, sizes: _wide(tensor, sizes, 4 * sizes.hidden_size)),
        4.0,
    ),
    "two times": _rare(
        N_("the intermediate size is assumed to be 2 times the hidden size"),
        _with_sides(_FEED_FORWARD, lambda tensor, sizes: _wide(tensor, sizes, 2 * sizes.hidden_size)),
        6.0,
    ),
    "intermediate as hidden": _rare(
        N_("the intermediate size is assumed to be the hidden size"),
        _with_sides(_FEED_FORWARD, lambda tensor, sizes: _wide(tensor, sizes, sizes.hidden_size)),
        6.5,
    ),
    "feed-forward biases of H": _rare(
        N_("both biases of the feed-forward are counted with the hidden size"),
        _with_sides(both(_FEED_FORWARD, is_bias), lambda tensor, sizes: (sizes.hidden_size,)),
        5.0,
    ),
    "feed-forward biases of I": _rare(
        N_("both biases of the feed-forward are counted with the intermediate size"),
        _with_sides(both(_FEED_FORWARD, is_bias), lambda tensor, sizes: (sizes.intermediate_size,)),
        5.5,
    ),
    **{f"padded to {multiple}": _padded(multiple) for multiple in PADDED_TO},
    **{
        f"V={size}": _rare(
            N_("the vocabulary is taken to be {size}"),
            _rows("word", "decoder", "decoder bias")(size),
            bits,
            size=f"{size:,}",
        )
        for size, bits in _VOCABULARIES.items()
    },
    **{
        f"P={size}": _rare(
            N_("the number of positions is taken to be {size}"), _rows("position")(size), bits, size=f"{size:,}"
        )
        for size, bits in _POSITIONS.items()
    },
    **{
        f"T={size}": _rare(
            N_("the number of token types is taken to be {size}"), _rows("token type")(size), bits, size=f"{size}"
        )
        for size, bits in _TYPES.items()
    },
    "embeddings of H": _rare(
        N_("the embeddings are counted with the hidden size, without a projection to it"),
        lambda tensor, sizes: (
            ()
            if tensor.place.role == "map"
            else (tensor._replace(shape=_hidden(tensor, sizes)),)
            if tensor.name not in _NOT_REAL and _EMBEDDINGS(tensor)
            else (tensor,)
        ),
        3.5,
    ),
    "LayerNorm 4H": _rare(N_("each LayerNorm is counted twice, as 4 H"), _twice(NORM), 5.5),
    "layer LayerNorms 4H": _rare(
        N_("each LayerNorm of the layers is counted twice, as 4 H"), _twice(both(LAYERS, NORM)), 6.0
    ),
    "LayerNorm P x H": _rare(
        N_("each LayerNorm is given a gamma and a beta for each position"),
        _with_sides(NORM, lambda tensor, sizes: (sizes.max_position_embeddings, *tensor.shape)),
        5.5,
    ),
    "embedding LayerNorm P x H": _rare(
        N_("the LayerNorm of the embeddings is given a gamma and a beta for each position"),
        _with_sides(both(_EMBEDDINGS, NORM), lambda tensor, sizes: (sizes.max_position_embeddings, *tensor.shape)),
        6.0,
    ),
    "embedding LayerNorm of V": _rare(
        N_("the LayerNorm of the embeddings is counted over the vocabulary"),
        _with_sides(both(_EMBEDDINGS, NORM), lambda tensor, sizes: (sizes.vocab_size,)),
        6.5,
    ),
    "head LayerNorm of V": _rare(
        N_("the LayerNorm of the head is counted over the vocabulary"),
        _with_sides(both(component("head"), NORM), lambda tensor, sizes: (sizes.vocab_size,)),
        6.5,
    ),
    "pooler again": _rare(N_("the pooler is counted twice"), _twice(component("pooler")), 6.5),
    "feed-forward twice": _rare(N_("the feed-forward is counted twice"), _twice(_FEED_FORWARD), 6.5),
    "layers not shared": _rare(
        N_("each layer is given tensors of its own, although all layers share them"),
        _where(
            _repeats,
            lambda tensor, sizes: (
                tensor._replace(copies=sizes.num_hidden_layers) if _is_shared(tensor, sizes) else tensor,
            ),
        ),
        2.5,
    ),
    "attention once": Miscount(N_("the attention is counted for one layer"), _once(_ATTENTION), 5.0),
    "feed-forward once": Miscount(N_("the feed-forward is counted for one layer"), _once(_FEED_FORWARD), 5.5),
    "encoder once": Miscount(N_("a single layer is counted"), _once(LAYERS), 4.5),
    "layer less": Miscount(N_("one layer too few is counted"), _layers(lambda layers: _one_less(layers)), 5.5),
    "layer more": _rare(N_("one layer too many is counted"), _layers(lambda layers: layers + 1), 5.5),
    **{
        f"L={layers}": _rare(
            N_("the number of layers is taken to be {size}"),
            _layers(lambda copies, layers=layers: layers),  # type: ignore[misc]
            bits,
            size=f"{layers}",
        )
        for layers, bits in _LAYERS.items()
    },
}

# Ways of counting that are one idea each. What of one a model has not is left out.
HABITS: Mapping[str, Habit] = {
    "words and layers": Habit(
        N_("only the word embeddings and the layers are counted"),
        ("positions", "token types", "embedding LayerNorm", "pooler"),
        4.0,
    ),
    "words, positions and layers": Habit(
        N_("only words, positions and the layers are counted"),
        ("token types", "embedding LayerNorm", "pooler"),
        5.5,
    ),
    "matrices": Habit(N_("only matrices are counted, no vector"), ("biases", "LayerNorm"), 4.0),
    "matrices of tables and layers": Habit(
        N_("only the matrices of embeddings and layers are counted"), ("biases", "LayerNorm", "pooler"), 4.5
    ),
    "matrices of words, positions and layers": Habit(
        N_("only the matrices of words, positions and layers are counted"),
        ("biases", "LayerNorm", "token types", "pooler"),
        5.5,
    ),
    "matrices of words and layers": Habit(
        N_("only the matrices of words and layers are counted"),
        ("biases", "LayerNorm", "positions", "token types", "pooler"),
        5.0,
    ),
    "large parts": Habit(
        N_("only tables and matrices are counted, and one LayerNorm in each layer"),
        ("layer biases", "embedding LayerNorm", "second LayerNorm", "pooler"),
        6.5,
    ),
    "head is its decoder": Habit(N_("of the head only the decoder is counted"), ("head LayerNorm", "transform"), 3.5),
    "separate decoder": Habit(
        N_("the decoder is counted as a Linear of its own, with a matrix and a bias"),
        ("decoder again", "decoder bias again"),
        4.0,
    ),
    "one head": Habit(N_("the attention is counted for one head"), ("one head", "small output projection"), 5.5),
    "as BERT": Habit(N_("the sizes of BERT's tables are taken"), ("P=512", "T=2"), 5.0),
    "as BERT with types": Habit(N_("the sizes of BERT's tables are taken"), ("token types added", "P=512"), 5.0),
    "usable positions": Habit(
        N_("only positions that a text can have are counted, no token type and no pooler"),
        ("token types", "pooler", "P=512"),
        5.5,
    ),
    "unshared BERT": Habit(
        N_("it is counted like a BERT: layers of their own, embeddings as wide as they are"),
        ("embeddings of H", "layers not shared"),
        3.5,
    ),
}


def _not_in_first(tensor: Tensor, sizes: MiscountSizes) -> bool:
    """Whether a tensor is in all layers but the first, which ModernBERT's first LayerNorm is."""
    return _repeats(tensor) and tensor.copies == sizes.num_hidden_layers - 1


def _one_less(layers: int) -> int:
    return 1 if layers == 1 else layers - 1


def _hidden(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    """A shape of the embeddings whose last side is the hidden size."""
    return (*tensor.shape[:-1], sizes.hidden_size)


def _wide(tensor: Tensor, sizes: MiscountSizes, width: Any) -> Sequence[Any]:
    """The sides of a tensor of the feed-forward, with another size in place of the intermediate one."""
    first = tensor.place.role in ("up", "up and gate")
    width = 2 * width if tensor.place.role == "up and gate" else width
    if len(tensor.shape) == 1:
        return (width,) if first else tensor.shape
    rows = tensor.shape[0] != sizes.hidden_size  # so that GPT-2's matrices can be the other way round
    return [width if rows == (side == 0) else tensor.shape[side] for side in (0, 1)]
