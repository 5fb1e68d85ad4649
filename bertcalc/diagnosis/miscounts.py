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
from bertcalc.tree.nn import Component, Place, Tensor

# Where what a model has not can be counted all the same: tensors without elements, in brackets that no real one has.
NO_POOLER = Tensor("(pooler)", (), 0, Place("pooler", role="dense"))
NO_DECODER = Tensor("(decoder)", (), 0, Place("head", LANGUAGE_MODEL, "decoder"))
_DECODER = "decoder"  # one that is counted although it is tied
PLACES = frozenset({NO_POOLER.name, NO_DECODER.name})
# Multiples to which libraries pad a vocabulary, for the sake of the hardware.
PADDED_TO = (8, 64, 128)


class MiscountSizes(NamedTuple):
    """The dimensions that miscounts put in wrong places: numbers or symbols."""

    vocab_size: int
    hidden_size: int
    num_attention_heads: int
    intermediate_size: int
    padded_sizes: tuple[int, ...]  # the vocabulary as a multiple of each of PADDED_TO

    @classmethod
    def of(cls, config: Config) -> "MiscountSizes":
        """The sizes of a configuration."""
        vocab = config.vocab_size
        padded = tuple(-(-vocab // multiple) * multiple for multiple in PADDED_TO)
        return cls(vocab, config.hidden_size, config.num_attention_heads, config.intermediate_size, padded)

    @property
    def padded(self) -> Mapping[int, int]:
        """The vocabulary as a multiple of each of PADDED_TO, by the multiple."""
        return dict(zip(PADDED_TO, self.padded_sizes, strict=True))


Change = Callable[[Tensor, MiscountSizes], Iterable[Tensor]]


class Miscount(NamedTuple):
    """One mistake: what it is in words, and what it makes of each tensor."""

    said: str  # an English sentence without its full stop
    change: Change
    unusual: bool = False  # shown after others, where several explain the same

    def make(self, tensors: Iterable[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """What is counted after the miscount."""
        return tuple(after for tensor in tensors for after in self.change(tensor, sizes))


def counted(model: Model) -> tuple[Tensor, ...]:
    """What a right count of a model counts: its tensors, under names without the body's prefix, and places for more."""
    tensors = tuple(tensor._replace(name=model.bare(tensor.name)) for tensor in model.tensors())
    pooled = any(tensor.place.component == "pooler" for tensor in tensors)
    return (*tensors, *(() if pooled else (NO_POOLER,)), NO_DECODER)


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
    return _where(concerned, lambda tensor, sizes: (tensor._replace(copies=1),))


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
    )


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


_NOT_REAL = {*PLACES, _DECODER}
_PADDED = {
    8: N_("the vocabulary is rounded up to a multiple of 8"),
    64: N_("the vocabulary is rounded up to a multiple of 64"),
    128: N_("the vocabulary is rounded up to a multiple of 128"),
}
NORM = role("norm")
LAYERS = component("encoder")
_ATTENTION = role("query", "key", "value", "fused", "position query", "position key", "output")
_QKV = role("query", "key", "value")
_FEED_FORWARD = role("up", "down")

# In the order in which they are made: what is added first, then biases, then whole parts, then sides and copies. So
# "attention for one layer" after "biases of the attention" is about the weights that are left.
MISCOUNTS: Mapping[str, Miscount] = {
    "pooler added": Miscount(N_("a pooler is counted that this model does not have"), _more(NO_POOLER, _pooler)),
    "decoder again": Miscount(
        N_("the decoder is counted as a separate matrix, although it is the word embeddings again"),
        _more(NO_DECODER, lambda sizes: (Tensor(_DECODER, (sizes.vocab_size, sizes.hidden_size), 1),)),
    ),
    "biases": Miscount(N_("no bias of any Linear is counted"), _without(is_bias)),
    "layer biases": Miscount(
        N_("the biases of the layers are left out, in attention and feed-forward"),
        _without(both(LAYERS, is_bias)),
    ),
    "attention biases": Miscount(N_("the biases of the attention are left out"), _without(both(_ATTENTION, is_bias))),
    "feed-forward biases": Miscount(
        N_("the biases of the feed-forward are left out"), _without(both(_FEED_FORWARD, is_bias))
    ),
    "pooler bias": Miscount(N_("the bias of the pooler is left out"), _without(both(component("pooler"), is_bias))),
    "head biases": Miscount(
        N_("the biases of the head are left out"),
        _without(both(component("head"), is_bias)),
    ),
    "LayerNorm half": Miscount(N_("of each LayerNorm only gamma is counted, not beta"), _without(_is_beta)),
    "LayerNorm": Miscount(N_("no LayerNorm is counted"), _without(NORM)),
    "embedding LayerNorm": Miscount(
        N_("the LayerNorm of the embeddings is left out"), _without(both(component("embeddings"), NORM))
    ),
    "layer LayerNorms": Miscount(N_("the LayerNorms of the layers are left out"), _without(both(LAYERS, NORM))),
    "second LayerNorm": Miscount(
        N_("of the two LayerNorms of a layer only one is counted"), _without(both(block("feed-forward"), NORM))
    ),
    "embeddings": Miscount(N_("the embeddings are left out, with their LayerNorm"), _without(component("embeddings"))),
    "words": Miscount(N_("the word embeddings are left out"), _without(role("word"))),
    "positions": Miscount(N_("the position embeddings are left out"), _without(role("position"))),
    "token types": Miscount(N_("the token type embeddings are left out"), _without(role("token type"))),
    "distances": Miscount(N_("the embeddings of relative distances are left out"), _without(role("distance"))),
    "cross attention": Miscount(N_("the cross attention is left out"), _without(block("cross-attention"))),
    "output projection": Miscount(
        N_("the output projection of the attention is left out"),
        _without(role("output")),
        unusual=True,  # the pooler, which is as large, is forgotten more easily
    ),
    "second matrix": Miscount(
        N_("the second matrix of the feed-forward is left out, with its bias"), _without(role("down"))
    ),
    "pooler": Miscount(N_("the pooler is left out"), _without(component("pooler"))),
    "head": Miscount(N_("the head is left out"), _without(component("head"))),
    "one of three": Miscount(
        N_("query, key and value are counted as one matrix"),
        _without(role("key", "value")),
        unusual=True,
    ),
    "one head": Miscount(
        N_("query, key and value are counted for one head"),
        _with_sides(_QKV, lambda tensor, sizes: (sizes.hidden_size // sizes.num_attention_heads, *tensor.shape[1:])),
        unusual=True,
    ),
    "heads times": Miscount(
        N_("each head is given matrices of the full hidden size"),
        _with_sides(_QKV, lambda tensor, sizes: (sizes.num_attention_heads, *tensor.shape)),
        unusual=True,
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
        unusual=True,
    ),
    "four times": Miscount(
        N_("the intermediate size is assumed to be 4 times the hidden size"),
        _with_sides(
            _FEED_FORWARD,
            lambda tensor, sizes: [
                4 * sizes.hidden_size if wide else side
                for side, wide in zip(tensor.shape, _is_wide(tensor, sizes.intermediate_size), strict=True)
            ],
        ),
    ),
    **{f"padded to {multiple}": _padded(multiple) for multiple in PADDED_TO},
    "attention once": Miscount(N_("the attention is counted for one layer"), _once(_ATTENTION)),
    "feed-forward once": Miscount(N_("the feed-forward is counted for one layer"), _once(_FEED_FORWARD)),
    "encoder once": Miscount(N_("a single layer is counted"), _once(LAYERS)),
    "layer less": Miscount(
        N_("one layer too few is counted"),
        _where(LAYERS, lambda tensor, sizes: (tensor._replace(copies=_one_less(tensor.copies)),)),
        unusual=True,
    ),
}


def _one_less(layers: int) -> int:
    return 1 if layers == 1 else layers - 1


def _is_wide(tensor: Tensor, intermediate_size: int) -> Sequence[bool]:
    """Which sides of a feed-forward's tensor are the intermediate size: its number tells, GPT-2's are the other way."""
    if len(tensor.shape) == 1:
        return (tensor.place.role == "up",)
    first = tensor.shape[0] == intermediate_size
    return (first, not first)
