"""DeBERTa-v2 and v3 (He et al. 2021, arXiv:2006.03654 and 2111.09543): attention that separates content and position.

The program follows Hugging Face's modeling_deberta_v2.py, including the optional convolution of deberta-v2-xlarge.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from bertcalc.config import Config, all_or_none, other_heads, uncounted
from bertcalc.config.fields import is_int
from bertcalc.families import bert
from bertcalc.families.common import BASE, FLAGS, LARGE, ClassFactory, EncoderConfig, presets
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.model.trace import Operation, Trace, Value, any_is_one
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

BOTH = "p2c|c2p"  # the pos_att_type of every published model
_ENCODER = ("layer", "rel_embeddings", "LayerNorm", "conv")
_ADD_AND_NORM = ("dense", "LayerNorm", "dropout")
_SELF = ("query_proj", "key_proj", "value_proj", "pos_dropout", "pos_key_proj", "pos_query_proj", "dropout")


@dataclass(frozen=True)
class Disentangled(EncoderConfig):
    """The fields and checks that the configurations of all DeBERTa versions share.

    ``unlike`` maps keys of a config.json that are not fields to their only supported values. ``pos_att_type`` is a
    string, as in the published config.json files. There are no token types: transformers has ``type_vocab_size`` 0.
    """

    layer_norm_eps: float = 1e-7
    relative_attention: bool = False
    max_relative_positions: int = -1
    pos_att_type: str | None = None
    position_biased_input: bool = True
    pooler_dropout: float = 0.0
    pooler_hidden_act: str = "gelu"
    legacy: bool = True

    unlike: ClassVar[Mapping[str, Any]] = {}
    whole_numbers: ClassVar[tuple[str, ...]] = ("type_vocab_size", "embedding_size")
    shaping: ClassVar = (
        *Config.shaping,
        *("relative_attention", "pos_att_type", "position_biased_input", "pooler_hidden_act", "legacy"),
    )

    def __post_init__(self) -> None:
        if isinstance(self.pos_att_type, list) and all(isinstance(kind, str) for kind in self.pos_att_type):
            object.__setattr__(self, "pos_att_type", "|".join(self.pos_att_type))
        super().__post_init__()

    @property
    def reads_ids(self) -> bool:
        """True, because transformers checks the token ids for padding."""
        return True

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        if values["relative_attention"] and values["pos_att_type"] is None:
            message = N_("relative_attention True needs a pos_att_type: p2c|c2p, as in every published model.")
            remedies = ({"pos_att_type": BOTH}, {"relative_attention": False})
            yield Problem.of(message, "pos_att_type", None, *remedies)

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        hidden_size = content.get("hidden_size", cls.hidden_size)
        for key, like in {
            "type_vocab_size": 0,
            "embedding_size": hidden_size,
            "pooler_hidden_size": hidden_size,
            "cls_dropout": None,
            **cls.unlike,
        }.items():
            if (value := content.get(key, like)) != like and value is not None:
                yield uncounted(key, value, f"{like}")


@dataclass(frozen=True)
class DebertaV2Config(Disentangled):
    """Hugging Face's ``DebertaV2Config``, with the same field names and defaults.

    transformers reads ``position_buckets``, ``share_att_key``, ``norm_rel_ebd`` and the fields of the convolution
    without declaring them.
    """

    vocab_size: int = 128100
    hidden_size: int = 1536
    num_hidden_layers: int = 24
    num_attention_heads: int = 24
    intermediate_size: int = 6144
    position_buckets: int = -1
    norm_rel_ebd: str = "none"
    share_att_key: bool = False
    conv_kernel_size: int = 0
    conv_act: str = "tanh"

    most: ClassVar = {
        "relative_attention": True,
        "pos_att_type": BOTH,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "conv_kernel_size": 3,
    }
    unlike: ClassVar = {"conv_groups": 1}
    whole_numbers: ClassVar = (*Disentangled.whole_numbers, "attention_head_size")
    undeclared: ClassVar = ("position_buckets", "norm_rel_ebd", "share_att_key", "conv_kernel_size", "conv_act")
    shaping: ClassVar = (
        *Disentangled.shaping,
        *("max_relative_positions", "norm_rel_ebd", "share_att_key", "conv_kernel_size", "conv_act"),
    )

    def __post_init__(self) -> None:
        if is_int(self.position_buckets) and self.position_buckets < 1:
            object.__setattr__(self, "position_buckets", -1)  # transformers treats all these values alike
        super().__post_init__()

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        if values["norm_rel_ebd"] != "none" and not values["relative_attention"]:
            message = N_(
                "norm_rel_ebd layer_norm needs relative_attention True: otherwise there is no table to normalize."
            )
            ways_out = ({"norm_rel_ebd": "none"}, {"relative_attention": True, "pos_att_type": BOTH})
            yield Problem.of(message, "norm_rel_ebd", values["norm_rel_ebd"], *ways_out)
        if values["conv_kernel_size"] and values["hidden_size"] == 1:
            message = N_(
                "bertcalc does not support a convolution of a single unit: set hidden_size to 2 or "
                "conv_kernel_size to 0."
            )
            yield Problem.of(message, "hidden_size", 1, {"hidden_size": 2}, {"conv_kernel_size": 0})

    @property
    def has_buckets(self) -> bool:
        """Whether distances are sorted into buckets; a symbol counts as a number of buckets."""
        return all_or_none(self.position_buckets > 0)

    @property
    def distances(self) -> int:
        """The number of distances with an embedding vector, in each direction.

        With buckets, this is the number of buckets; without, it is the maximum distance.
        """
        if self.has_buckets:
            return self.position_buckets
        return self.max_relative_positions if self.max_relative_positions > 0 else self.max_position_embeddings

    @property
    def convolves(self) -> bool:
        """Whether there is a convolution between the first layer and the others."""
        return self.conv_kernel_size > 0

    @property
    def ones_matter(self) -> bool:
        """Whether a size of 1 changes which tensors autograd saves: only with a convolution.

        The transposed input of the convolution is copied, except for a single token.
        """
        return self.convolves

    @property
    def single(self) -> bool:
        """Whether there is only one layer; symbols and columns count as several."""
        return any_is_one(self.num_hidden_layers)

    def letters_of_sizes(self) -> dict[str, str]:
        """The letters of the family's sizes; without buckets, there is no D.

        A single layer with a convolution has no L either, because no layer follows the convolution.
        """
        letters = super().letters_of_sizes()
        if not self.has_buckets:
            del letters["position_buckets"]
        if self.convolves and self.single:
            del letters["num_hidden_layers"]
        return letters

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().refused(content)
        yield from other_heads(cls, content, "attention_head_size")

    @classmethod
    def inferred_from(cls, roles: Mapping[str, int]) -> dict[str, Any]:
        fields: dict[str, Any] = {"position_biased_input": "position" in roles}
        if rows := roles.get("relative embedding"):
            fields |= {"relative_attention": True, "pos_att_type": BOTH, "position_buckets": rows // 2}
            if rows == 2:  # too few for buckets
                fields |= {"position_buckets": -1, "max_relative_positions": 1}
            fields["share_att_key"] = "position key" not in roles
            fields["norm_rel_ebd"] = "layer_norm" if "relative positions norm" in roles else "none"
        if kernel_size := roles.get("convolution"):
            fields["conv_kernel_size"] = kernel_size
        return fields


def _body(t: Trace, c: DebertaV2Config, pooler: bool) -> Hidden:
    x = embedded(t, c, "DebertaV2")
    with t.module("encoder", "DebertaV2Encoder", component="encoder", order=_ENCODER):
        distances = _distances(t, c) if c.relative_attention else None
        apart = c.convolves and not c.single
        with t.repeat("layer", 1 if apart else c.num_hidden_layers, "DebertaV2Layer", start=0 if apart else None):
            y = _layer(t, c, x, distances)
        x = _convolution(t, c, x, y) if c.convolves else y
        if apart:
            x = t.variable("next_kv", x)
            with t.repeat("layer", c.num_hidden_layers - 1, "DebertaV2Layer", start=1, alike=True):
                x = _layer(t, c, x, distances)
    return Hidden(t.variable("hidden_states.*", x), None)  # the body keeps the hidden states of all layers


def embedded(t: Trace, c: Any, kind: str, norm: str = "LayerNorm") -> Value:
    """The normalized sum of word and position embeddings, with 0 for padding tokens.

    If there is no table of position embeddings, only word embeddings are normalized. ``kind`` is the prefix of the
    module class names, ``norm`` the class of LayerNorms.
    """
    with t.module("embeddings", f"{kind}Embeddings", component="embeddings"):
        bert.id_buffers(t, c)
        (ids,) = t.inputs("input_ids")
        x = t.aside(bert.words(t, c, ids, c.hidden_size), "padding", "ones")
        if c.position_biased_input:
            x = t.add("add_position", x, bert.positions(t, c, ids, c.hidden_size))
            x = t.norm("LayerNorm", x, c.layer_norm_eps, kind=norm)
        else:
            x = t.aside(t.norm("LayerNorm", x, c.layer_norm_eps, kind=norm), "no positions")
        x = t.multiply("mask_padding", x, Value("attention_mask", (*ids.shape, 1)))
        return t.dropout("dropout", x, c.hidden_dropout_prob)


def layer(t: Trace, c: Any, x: Value, kind: str, attention: Callable[[Value], Value], norm: str = "LayerNorm") -> Value:
    """A layer around its ``attention``; ``kind`` is the prefix of module class names, ``norm`` the LayerNorm class."""
    with t.module("attention", f"{kind}Attention", block="attention"):
        y = t.variable("self_output", attention(x))
        with t.module("output", f"{kind}SelfOutput", block="attention", order=_ADD_AND_NORM):
            y = t.dropout("dropout", t.linear("dense", y, c.hidden_size, role="output"), c.hidden_dropout_prob)
            x = t.norm("LayerNorm", t.add("add", t.variable("hidden_states", y), x), c.layer_norm_eps, kind=norm)
    return bert.feed_forward(t, c, x, kind, norm)


def _layer(t: Trace, c: DebertaV2Config, x: Value, distances: Value | None) -> Value:
    return layer(t, c, x, "DebertaV2", lambda x: _attention(t, c, x, distances))


def _convolution(t: Trace, c: DebertaV2Config, x: Value, first: Value) -> Value:
    """A convolution over the embeddings ``x``, added to the output of the first layer."""
    batch, length, width = x.shape
    operation: Operation = "view" if any_is_one(length) else "copy"
    with t.module("conv", "ConvLayer", block="convolution", order=("conv", "LayerNorm", "dropout")):
        y = t.step("channels", operation, x, shape=(batch, width, length))
        y = t.convolution("conv", y, c.conv_kernel_size, role="convolution")
        y = t.step("tokens", operation, y, shape=x.shape)
        mask = Value("attention_mask", (batch, length, 1))
        y = t.step("fill_padding", "fill", y, mask, shape=x.shape)
        y = t.function("conv_act", t.dropout("dropout", y, c.hidden_dropout_prob), c.conv_act)
        y = t.norm("LayerNorm", t.add("add", first, y), c.layer_norm_eps)
        return t.multiply("mask_padding", y, mask._replace(name="input_mask"))


def _distances(t: Trace, c: DebertaV2Config) -> Value:
    """The embedding vectors of the distances in both directions, in one table for all layers."""
    with t.block("relative positions"):
        x = t.table("rel_embeddings", 2 * c.distances, c.hidden_size, role="relative embedding")
        x = t.norm("LayerNorm", x, c.layer_norm_eps) if c.norm_rel_ebd == "layer_norm" else x
    return t.variable("rel_embeddings", x)


def _attention(t: Trace, c: DebertaV2Config, x: Value, distances: Value | None) -> Value:
    """Attention by content; with ``distances``, also content-to-position and position-to-content."""
    heads, size = c.num_attention_heads, c.attention_head_size
    with t.attention("self", "DisentangledSelfAttention", heads, size, order=_SELF):
        query, key, value = bert.projected(t, x, "query_proj", "key_proj", "value_proj")
        batch, length, _width = x.shape
        square = (batch, heads, length, length)
        with t.core():
            query, key, value = (
                t.step(f"{name}_heads", "copy", projection, shape=(batch, heads, length, size))
                for name, projection in (("query", query), ("key", key), ("value", value))
            )
            scaled = t.step("key_scaled", "divide", key, shape=key.shape)
            scores = t.step("scores", "matmul", query, scaled, shape=square)
        if distances:
            pos_query, pos_key = _positions(t, c, x, distances)
            with t.core():
                products = []
                for name, ours, theirs in (("c2p", query, pos_key), ("p2c", key, pos_query)):
                    wide = t.step(name, "matmul", ours, theirs, shape=(*square[:-1], 2 * c.distances))
                    near = t.step(f"{name}_gathered", "gather", wide, shape=square)
                    products.append(t.step(f"{name}_scaled", "divide", near, shape=square))
                scores = t.add("add_distances", scores, *products)
        with t.core():
            return attended(t, c, scores, value, x)


def attended(t: Trace, c: Any, scores: Value, value: Value, x: Value) -> Value:
    """The values weighted by the softmax of the scores, with the heads merged to the shape of ``x``."""
    batch, length, _width = x.shape
    square = scores.shape
    scores = t.step("mask", "fill", scores, Value("attention_mask", (batch, 1, length, length)), shape=square)
    weights = t.step("softmax", "softmax", scores, shape=square)
    weights = t.dropout("dropout", weights, c.attention_probs_dropout_prob, role="weights_dropout")
    context = t.step("context", "matmul", weights, value, shape=(*square[:-1], c.attention_head_size))
    return t.step("merge_heads", "copy", context, shape=x.shape)


def _positions(t: Trace, c: DebertaV2Config, x: Value, distances: Value) -> tuple[Value, Value]:
    """Project the table of distances to queries and keys, for every sequence.

    With ``share_att_key``, the matrices are the same as for tokens; otherwise, they are separate matrices.
    """
    rows, width = distances.shape
    table = t.dropout("pos_dropout", distances, c.hidden_dropout_prob, role="distances_dropout")
    table = t.step("one_batch", "view", table, shape=(1, rows, width))
    if c.share_att_key:
        query = t.linear("query_proj", table, width, role="query")
        key = t.linear("key_proj", table, width, role="key")
    else:
        key = t.linear("pos_key_proj", table, width, role="position key")
        query = t.linear("pos_query_proj", table, width, role="position query")
    shape = (x.shape[0], c.num_attention_heads, rows, c.attention_head_size)
    return (t.step("pos_query_heads", "copy", query, shape=shape), t.step("pos_key_heads", "copy", key, shape=shape))


def masked_lm(kind: str, t: Trace, c: Any, hidden: Hidden) -> None:
    """The masked-LM head.

    With ``legacy``, this is BERT's head. Otherwise, the head multiplies by the word embedding table directly.
    """
    if c.legacy:
        bert.masked_lm(f"Legacy{kind}", t, c, hidden, prefix="deberta")
        return
    with (
        t.module("lm_predictions", f"{kind}OnlyMLMHead"),
        t.module("lm_head", f"{kind}LMPredictionHead", block=LANGUAGE_MODEL),
    ):
        bias = t.parameter("bias", (c.vocab_size,), role="decoder bias")
        x, table = bert.transformed(t, c, hidden.states), "deberta.embeddings.word_embeddings.weight"
        t.output("logits", t.product("decoder", x, c.vocab_size, role="decoder", table=table, using=bias))


def _pooled(t: Trace, c: Any, hidden: Hidden) -> Hidden:
    """A pooler that belongs to the head: a dense layer over the first token."""
    block = "context pooler"
    with t.module("pooler", "ContextPooler", component="pooler", block=block, order=("dense", "dropout")):
        x = t.variable("context_token", t.dropout("dropout", t.first_token(hidden.states), c.pooler_dropout))
        x = t.function("pooler_act", t.linear("dense", x, c.hidden_size, role="dense"), c.pooler_hidden_act)
    return hidden._replace(pooled=x)


def sequence_classification(t: Trace, c: Any, hidden: Hidden) -> None:
    """A classifier over the output of the head's pooler."""
    with t.ordered("deberta", "pooler", "classifier", "dropout"):
        bert.sequence_classification(t, c, _pooled(t, c, hidden))


def _multiple_choice(t: Trace, c: DebertaV2Config, hidden: Hidden) -> None:
    with t.ordered("deberta", "pooler", "classifier", "dropout"):
        bert.multiple_choice(t, c, _pooled(t, c, hidden))


_V3: dict[str, Any] = {
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": BOTH,
    "position_biased_input": False,
}
_CONVOLVED: dict[str, Any] = {"conv_kernel_size": 3, "conv_act": "gelu", **_V3}
_XSMALL: dict[str, Any] = {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
_class = ClassFactory("DebertaV2", flags=FLAGS)
FAMILY = Family(
    "deberta-v2",
    "deberta",
    DebertaV2Config,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", partial(masked_lm, "DebertaV2")),
        _class("sequence-classification", sequence_classification, flattens_regression=True),
        _class("token-classification", bert.token_classification),
        _class("question-answering", bert.question_answering),
        _class("multiple-choice", _multiple_choice),
    ),
    presets(
        DebertaV2Config,
        {
            "microsoft/deberta-v3-base": {"num_hidden_layers": 12, **BASE, **_V3},
            "microsoft/deberta-v2-xlarge": _CONVOLVED,
            "microsoft/deberta-v2-xxlarge": {"num_hidden_layers": 48, **_CONVOLVED},
            "microsoft/deberta-v3-small": {"num_hidden_layers": 6, **BASE, **_V3},
            "microsoft/deberta-v3-xsmall": {"num_hidden_layers": 12, **_XSMALL, **_V3},
            "microsoft/deberta-v3-large": LARGE | _V3,
            "microsoft/mdeberta-v3-base": {"vocab_size": 251000, "num_hidden_layers": 12, **BASE, **_V3},
        },
    ),
    recomputes=("full",),  # not selective, because its attention core is not a separate function
    peaks=True,
    prunes="no",
)
