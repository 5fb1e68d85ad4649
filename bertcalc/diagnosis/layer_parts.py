"""The counts that a model has of its own beside its total: of parts, modules and tensors, in one layer and in all.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.miscounts import counted
>>> [(one.part, one.layers) for one in own_counts(counted(build(BertConfig()))) if one.right == 28_348_416]
[('attention', 'all'), ('first matrix of the feed-forward', 'all')]
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from bertcalc.diagnosis.miscounts import NORM, QKV, Concerned, block, both, component, in_layer, is_bias, role, total
from bertcalc.family import LANGUAGE_MODEL
from bertcalc.text import N_
from bertcalc.tree.nn import Tensor, split_layer

Layers = Literal["all", "one", "others"]

_SELF, _CROSS = block("attention"), block("cross-attention")
_FEED_FORWARD = block("feed-forward")
_QKV = role(*QKV)
_MATRICES = role(*QKV, "position query", "position key", "output")
_UP, _UP_AND_DOWN = role("up", "up and gate"), role("up", "up and gate", "down")
_DISTANCES = role("distance", "relative position", "relative embedding")
_EMBEDDINGS, _HEAD, _LM = component("embeddings"), component("head"), block(LANGUAGE_MODEL)

_NORMS = r"norm|\bln_?\d?\b|归一|规范"


def _is_matrix(tensor: Tensor) -> bool:
    return len(tensor.shape) == 2


def _is_gamma(tensor: Tensor) -> bool:
    return tensor.name.endswith("weight")


def _is_beta(tensor: Tensor) -> bool:
    return tensor.name.endswith("bias")


# Parts of a model that people count in one line: which tensors they are, and what a line that is about them has in its
# name. The first that comes out right is meant; so the usual ones come first.
PARTS: dict[str, tuple[Concerned, str]] = {
    N_("word embeddings"): (role("word"), r"word|vocab|token(?!.?type)|\bemb|\bwte\b|词(?!元类型)|嵌入"),
    N_("position embeddings"): (role("position"), r"\bpos|embed|\bemb\b|\bwpe\b|位置|嵌入"),
    N_("token type embeddings"): (
        role("token type"),
        r"\bseg|token.?type|embed|\bemb\b|类型|分段|句子|片段|嵌入",
    ),
    N_("embeddings without LayerNorm"): (
        both(_EMBEDDINGS, role("word", "position", "token type")),
        r"\bemb|embed|嵌入",
    ),
    N_("embeddings"): (_EMBEDDINGS, r"\bemb|embed|嵌入"),
    N_("projection of the embeddings"): (role("map"), r"project|\bmap|投影|映射"),
    N_("all LayerNorms"): (NORM, _NORMS),
    N_("LayerNorm of the embeddings"): (both(_EMBEDDINGS, NORM), _NORMS),
    N_("LayerNorms of the layers"): (both(in_layer, NORM), _NORMS),
    N_("LayerNorm of the attention"): (both(_SELF, NORM), _NORMS),
    N_("LayerNorm of the feed-forward"): (both(_FEED_FORWARD, NORM), _NORMS),
    N_("gamma of all LayerNorms"): (both(NORM, _is_gamma), r"gamma|γ"),
    N_("gamma of the embeddings' LayerNorm"): (both(_EMBEDDINGS, NORM, _is_gamma), r"gamma|γ"),
    N_("gamma of the attention's LayerNorm"): (both(_SELF, NORM, _is_gamma), r"gamma|γ"),
    N_("beta of all LayerNorms"): (both(NORM, _is_beta), r"beta|β"),
    N_("beta of the embeddings' LayerNorm"): (both(_EMBEDDINGS, NORM, _is_beta), r"beta|β"),
    N_("beta of the attention's LayerNorm"): (both(_SELF, NORM, _is_beta), r"beta|β"),
    **{
        said: (both(_SELF, role(name), concerned), pattern)
        for said, name, concerned, pattern in (
            (N_("weight of the query"), "query", _is_matrix, r"\bw_?\{?q\b|\bw_?quer"),
            (N_("weight of the key"), "key", _is_matrix, r"\bw_?\{?k\b|\bw_?key"),
            (N_("weight of the value"), "value", _is_matrix, r"\bw_?\{?v\b|\bw_?val"),
            (N_("weight of the output projection"), "output", _is_matrix, r"\bw_?\{?o\b|\bw_?out"),
            (N_("bias of the query"), "query", is_bias, r"\bb_?\{?q\b"),
            (N_("bias of the key"), "key", is_bias, r"\bb_?\{?k\b"),
            (N_("bias of the value"), "value", is_bias, r"\bb_?\{?v\b"),
            (N_("bias of the output projection"), "output", is_bias, r"\bb_?\{?o\b"),
        )
    },
    N_("query of the attention"): (both(_SELF, role("query")), r"\bw?_?q(_?proj)?\b|quer|查询"),
    N_("key of the attention"): (both(_SELF, role("key")), r"\bw?_?k(_?proj)?\b|\bkeys?\b|键"),
    N_("value of the attention"): (both(_SELF, role("value")), r"\bw?_?v(_?proj)?\b|\bvalues?\b|值"),
    N_("weights of query, key and value"): (both(_SELF, _QKV, _is_matrix), r"\bw_?\{?qkv\b"),
    N_("cross attention"): (both(_CROSS, _MATRICES), r"cross|交叉"),
    N_("cross attention with LayerNorm"): (_CROSS, r"cross|交叉"),
    N_("query, key and value"): (
        both(_SELF, _QKV),
        r"query|qkv|q.?k.?v|attention|\battn|注意力",
    ),
    N_("output projection of the attention"): (
        both(_SELF, role("output")),
        r"\bw?_?o(_?proj)?\b|output|projection|attention|\battn|注意力|输出",
    ),
    N_("attention"): (both(_SELF, _MATRICES), r"attention|\battn|\bmha\b|注意力"),
    N_("attention with LayerNorm"): (_SELF, r"attention|\battn|\bmha\b|注意力"),
    N_("self and cross attention"): (_MATRICES, r"attention|\battn|\bmha\b|注意力"),
    N_("relative distances"): (_DISTANCES, r"distance|relative|距离|相对"),
    N_("weight of the first matrix of the feed-forward"): (both(_UP, _is_matrix), r"\bw_?1\b"),
    N_("weight of the second matrix of the feed-forward"): (both(role("down"), _is_matrix), r"\bw_?2\b"),
    N_("bias of the first matrix of the feed-forward"): (both(_UP, is_bias), r"\bb_?1\b"),
    N_("bias of the second matrix of the feed-forward"): (both(role("down"), is_bias), r"\bb_?2\b"),
    N_("first matrix of the feed-forward"): (
        _UP,
        r"feed|ffn|mlp|\bwi\b|intermediate|\bff_?1?\b|\b(fc|linear|lin|dense)_?1\b|\bup\b|前馈|中间|第一",
    ),
    N_("second matrix of the feed-forward"): (
        role("down"),
        r"feed|ffn|mlp|output|\bff_?2?\b|\b(fc|linear|lin|dense)_?2\b|\bdown\b|前馈|第二",
    ),
    N_("feed-forward"): (_UP_AND_DOWN, r"feed|ffn|mlp|\bff\b|前馈"),
    N_("feed-forward with LayerNorm"): (_FEED_FORWARD, r"feed|ffn|mlp|\bff\b|前馈"),
    N_("all biases"): (is_bias, r"bias|偏置"),
    N_("biases of the layers"): (both(in_layer, is_bias), r"bias|偏置"),
    N_("biases of the attention"): (both(_SELF, _MATRICES, is_bias), r"bias|偏置"),
    N_("biases of the feed-forward"): (both(_UP_AND_DOWN, is_bias), r"bias|偏置"),
    N_("bias of the pooler"): (both(component("pooler"), is_bias), r"bias|偏置"),
    N_("layers"): (in_layer, r"layer(?!.?norm)|encoder|block|层|编码"),
    N_("layers without cross attention and distances"): (
        lambda tensor: (
            in_layer(tensor) and not _CROSS(tensor) and tensor.place.role not in ("distance", "relative position")
        ),
        r"layer(?!.?norm)|encoder|block|层|编码",
    ),
    N_("matrices of the layers"): (both(in_layer, _is_matrix), r"matri|矩阵"),
    N_("pooler"): (component("pooler"), r"pool|池化"),
    N_("transform of the head"): (role("transform"), r"transform|变换"),
    N_("transform of the head with LayerNorm"): (
        both(_LM, role("transform", "activation", "norm")),
        r"transform|mlm|head|变换|头",
    ),
    N_("LayerNorm of the head"): (both(_HEAD, NORM), r"norm|归一"),
    N_("bias of the decoder"): (role("decoder bias"), r"bias|decoder|偏置|解码"),
    N_("matrix of the decoder"): (
        lambda tensor: tensor.place.role == "decoder" and not is_bias(tensor),
        r"decoder|logits|解码",
    ),
    N_("decoder"): (role("decoder", "decoder bias"), r"decoder|logits|解码|输出层"),
    N_("masked language model"): (_LM, r"mlm|\blm\b|mask|language|predict|掩码|语言"),
    N_("next sentence prediction"): (role("next sentence"), r"nsp|next|seq_rel|下一句"),
    N_("head"): (_HEAD, r"head|classif|cls|分类|头"),
    N_("the whole model"): (lambda tensor: True, r"total|model|sum|bert|总|合计|模型"),
}


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
