"""What people do wrong when they count a BERT by hand, as changes of the tensors that they count.

A count is a list of tensors. A slip takes a tensor and gives what is counted in its place: nothing, the same with
other sides or copies, or several. So slips can be made one after the other, and with symbols a slip gives the formula
of what it changes.

>>> from bertcalc import BertConfig, build
>>> after = SLIPS["positions"].make(counted(build(BertConfig())), Sizes.of(BertConfig()))
>>> total(after) - 109482240  # 512 rows of 768
-393216
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.text import N_
from bertcalc.tree.nn import Module, Tensor
from bertcalc.tree.totals import bare

# Where what a model has not can be counted all the same: tensors without elements, in brackets that no real one has.
NO_POOLER, NO_DECODER = Tensor("(pooler)", (), 0), Tensor("(decoder)", (), 0)
PLACES = frozenset({NO_POOLER.name, NO_DECODER.name})
# Multiples to which libraries pad a vocabulary, for the sake of the hardware.
PADDED_TO = (8, 64, 128)


class Sizes(NamedTuple):
    """The dimensions that slips put in wrong places: numbers or symbols."""

    vocab_size: int
    hidden_size: int
    num_attention_heads: int
    intermediate_size: int
    padded_sizes: tuple[int, ...]  # the vocabulary as a multiple of each of PADDED_TO

    @classmethod
    def of(cls, config: Config) -> "Sizes":
        """The sizes of a configuration."""
        vocab = config.vocab_size
        padded = tuple(-(-vocab // multiple) * multiple for multiple in PADDED_TO)
        return cls(vocab, config.hidden_size, config.num_attention_heads, config.intermediate_size, padded)

    @property
    def padded(self) -> Mapping[int, int]:
        """The vocabulary as a multiple of each of PADDED_TO, by the multiple."""
        return dict(zip(PADDED_TO, self.padded_sizes, strict=True))


Change = Callable[[Tensor, Sizes], Iterable[Tensor]]


class Slip(NamedTuple):
    """One mistake: what it is in words, and what it makes of each tensor."""

    said: str  # an English sentence without its full stop
    change: Change
    unusual: bool = False  # shown after others, where several explain the same

    def make(self, tensors: Iterable[Tensor], sizes: Sizes) -> tuple[Tensor, ...]:
        """What is counted after the slip."""
        return tuple(after for tensor in tensors for after in self.change(tensor, sizes))


def counted(model: Module) -> tuple[Tensor, ...]:
    """What a right count of a model counts: its tensors, under names without "bert.", and the places for more."""
    tensors = tuple(tensor._replace(name=bare(tensor.name)) for tensor in model.tensors())
    pooled = any(tensor.name.startswith("pooler.") for tensor in tensors)
    return (*tensors, *(() if pooled else (NO_POOLER,)), NO_DECODER)


def total(tensors: Iterable[Tensor]) -> int:
    """Elements of all tensors together."""
    return sum(tensor.num_parameters() for tensor in tensors)


def _where(pattern: str, change: Change) -> Change:
    matches = re.compile(pattern).search

    def elsewhere_the_same(tensor: Tensor, sizes: Sizes) -> Iterable[Tensor]:
        return change(tensor, sizes) if matches(tensor.name) else (tensor,)

    return elsewhere_the_same


def _without(pattern: str) -> Change:
    return _where(pattern, lambda tensor, sizes: ())


def _once(pattern: str) -> Change:
    return _where(pattern, lambda tensor, sizes: (tensor._replace(copies=1),))


def _more(place: Tensor, tensors: Callable[[Sizes], Sequence[Tensor]]) -> Change:
    return _where(f"^{re.escape(place.name)}$", lambda here, sizes: (*tensors(sizes), here))


def _with_sides(pattern: str, sides: Callable[[Tensor, Sizes], Sequence[Any]]) -> Change:
    return _where(pattern, lambda tensor, sizes: (tensor._replace(shape=tuple(sides(tensor, sizes))),))


def _padded(multiple: int) -> Slip:
    return Slip(
        _PADDED[multiple],
        _with_sides(
            r"word_embeddings|predictions\.(bias|decoder)",
            lambda tensor, sizes: (sizes.padded[multiple], *tensor.shape[1:]),
        ),
    )


def _pooler(sizes: Sizes) -> Sequence[Tensor]:
    hidden = sizes.hidden_size
    return Tensor("pooler.dense.weight", (hidden, hidden), 1), Tensor("pooler.dense.bias", (hidden,), 1)


_PADDED = {
    8: N_("the vocabulary is rounded up to a multiple of 8"),
    64: N_("the vocabulary is rounded up to a multiple of 64"),
    128: N_("the vocabulary is rounded up to a multiple of 128"),
}
_ATTENTION = r"layer\.\*\.(cross)?attention\.(self|output)\.(query|key|value|dense)\."
_QKV = r"attention\.self\.(query|key|value)\."
_FEED_FORWARD = r"layer\.\*\.(intermediate|output)\.dense\."
_LINEAR_BIAS = r"^(?!.*LayerNorm).*bias$"

# In the order in which they are made: what is added first, then biases, then whole parts, then sides and copies. So
# "attention for one layer" after "biases of the attention" is about the weights that are left.
SLIPS: Mapping[str, Slip] = {
    "pooler added": Slip(N_("a pooler is counted that this model does not have"), _more(NO_POOLER, _pooler)),
    "decoder again": Slip(
        N_("the decoder is counted as a separate matrix, although it is the word embeddings again"),
        _more(NO_DECODER, lambda sizes: (Tensor("decoder", (sizes.vocab_size, sizes.hidden_size), 1),)),
    ),
    "biases": Slip(N_("no bias of any Linear is counted"), _without(_LINEAR_BIAS)),
    "layer biases": Slip(
        N_("the biases of the layers are left out, in attention and feed-forward"),
        _without(r"^encoder\.(?!.*LayerNorm).*bias$"),
    ),
    "attention biases": Slip(N_("the biases of the attention are left out"), _without(_ATTENTION + "bias")),
    "feed-forward biases": Slip(N_("the biases of the feed-forward are left out"), _without(_FEED_FORWARD + "bias")),
    "pooler bias": Slip(N_("the bias of the pooler is left out"), _without(r"pooler\.dense\.bias")),
    "head biases": Slip(
        N_("the biases of the head are left out"),
        _without(r"^(cls\.(?!.*LayerNorm).*|classifier\.|qa_outputs\.)bias"),
    ),
    "LayerNorm half": Slip(N_("of each LayerNorm only gamma is counted, not beta"), _without(r"LayerNorm\.bias")),
    "LayerNorm": Slip(N_("no LayerNorm is counted"), _without("LayerNorm")),
    "embedding LayerNorm": Slip(N_("the LayerNorm of the embeddings is left out"), _without(r"^embeddings\.LayerNorm")),
    "layer LayerNorms": Slip(N_("the LayerNorms of the layers are left out"), _without(r"^encoder\..*LayerNorm")),
    "second LayerNorm": Slip(
        N_("of the two LayerNorms of a layer only one is counted"), _without(r"layer\.\*\.output\.LayerNorm")
    ),
    "embeddings": Slip(N_("the embeddings are left out, with their LayerNorm"), _without(r"^embeddings\.")),
    "words": Slip(N_("the word embeddings are left out"), _without("word_embeddings")),
    "positions": Slip(N_("the position embeddings are left out"), _without("position_embeddings")),
    "token types": Slip(N_("the token type embeddings are left out"), _without("token_type_embeddings")),
    "distances": Slip(N_("the embeddings of relative distances are left out"), _without("distance_embedding")),
    "cross attention": Slip(N_("the cross attention is left out"), _without("crossattention")),
    "output projection": Slip(
        N_("the output projection of the attention is left out"),
        _without(r"attention\.output\.dense"),
        unusual=True,  # the pooler, which is as large, is forgotten more easily
    ),
    "second matrix": Slip(
        N_("the second matrix of the feed-forward is left out, with its bias"), _without(r"layer\.\*\.output\.dense")
    ),
    "pooler": Slip(N_("the pooler is left out"), _without(r"^pooler\.")),
    "head": Slip(N_("the head is left out"), _without(r"^(cls|classifier|qa_outputs)\.")),
    "one of three": Slip(
        N_("query, key and value are counted as one matrix"),
        _without(r"attention\.self\.(key|value)\."),
        unusual=True,
    ),
    "one head": Slip(
        N_("query, key and value are counted for one head"),
        _with_sides(_QKV, lambda tensor, sizes: (sizes.hidden_size // sizes.num_attention_heads, *tensor.shape[1:])),
        unusual=True,
    ),
    "heads times": Slip(
        N_("each head is given matrices of the full hidden size"),
        _with_sides(_QKV, lambda tensor, sizes: (sizes.num_attention_heads, *tensor.shape)),
        unusual=True,
    ),
    "gated": Slip(
        N_("the feed-forward is counted as a gated one, with a third matrix"),
        _where(
            r"layer\.\*\.intermediate\.dense\.weight",
            lambda tensor, sizes: (tensor, tensor._replace(name=tensor.name.replace("dense", "gate"))),
        ),
        unusual=True,
    ),
    "four times": Slip(
        N_("the intermediate size is assumed to be 4 times the hidden size"),
        _with_sides(
            _FEED_FORWARD,
            lambda tensor, sizes: [
                4 * sizes.hidden_size if wide else side
                for side, wide in zip(tensor.shape, _is_wide(tensor), strict=True)
            ],
        ),
    ),
    **{f"padded to {multiple}": _padded(multiple) for multiple in PADDED_TO},
    "attention once": Slip(N_("the attention is counted for one layer"), _once(_ATTENTION)),
    "feed-forward once": Slip(N_("the feed-forward is counted for one layer"), _once(_FEED_FORWARD)),
    "encoder once": Slip(N_("a single layer is counted"), _once(r"^encoder\.layer\.\*")),
    "layer less": Slip(
        N_("one layer too few is counted"),
        _where(r"^encoder\.layer\.\*", lambda tensor, sizes: (tensor._replace(copies=_one_less(tensor.copies)),)),
        unusual=True,
    ),
}


def _one_less(layers: int) -> int:
    return 1 if layers == 1 else layers - 1


def _is_wide(tensor: Tensor) -> Sequence[bool]:
    """Which sides of a feed-forward's tensor are the intermediate size: the first's rows, the second's columns."""
    first = ".intermediate." in tensor.name
    return (first, not first) if len(tensor.shape) == 2 else (first,)
