"""ALBERT (Lan et al. 2020, arXiv:1909.11942): a single layer that runs many times, and narrower embeddings.

The program follows Hugging Face's modeling_albert.py.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from bertcalc.families import bert
from bertcalc.families.common import BASE, ClassFactory, EncoderConfig, presets
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass
from bertcalc.transformers4.version import only_absolute

_LAYER = ("full_layer_layer_norm", "attention", "ffn", "ffn_output", "activation", "dropout")
_ATTENTION = ("attention_dropout", "output_dropout", "query", "key", "value", "dense", "LayerNorm")
_MLM_HEAD = ("LayerNorm", "dense", "decoder", "activation")


@dataclass(frozen=True)
class AlbertConfig(EncoderConfig):
    """Hugging Face's ``AlbertConfig``, with the same field names and defaults (albert-xxlarge-v2)."""

    vocab_size: int = 30000
    embedding_size: int = 128
    hidden_size: int = 4096
    num_hidden_groups: int = 1
    num_attention_heads: int = 64
    intermediate_size: int = 16384
    inner_group_num: int = 1
    hidden_act: str = "gelu_new"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    type_vocab_size: int = 2
    classifier_dropout_prob: float = 0.1
    bos_token_id: int | None = 2
    eos_token_id: int | None = 3

    chunks: ClassVar = True

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().refused(content)
        yield from only_absolute(cls, content)

    @property
    def head_dropout(self) -> float:
        """The dropout probability in front of a classifier."""
        return self.classifier_dropout_prob


def _body(t: Trace, c: AlbertConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", "AlbertEmbeddings", component="embeddings", order=bert.EMBEDDINGS):
        x = bert.summed_embeddings(t, c, c.embedding_size)
    with t.module("encoder", "AlbertTransformer", component="encoder"):
        with t.block("projection"):
            x = t.linear("embedding_hidden_mapping_in", x, c.hidden_size, role="map")
        with (
            t.repeat("albert_layer_groups", 1, "AlbertLayerGroup", runs=c.num_hidden_layers),
            t.repeat("albert_layers", 1, "AlbertLayer"),
            t.ordered(*_LAYER),
        ):
            x = _layer(t, c, x)
    if not pooler:
        return Hidden(x, None)
    with t.block("", component="pooler"):
        y = t.linear("pooler", t.first_token(x, "pooler_first_token", role="first_token"), c.hidden_size, role="dense")
        return Hidden(x, t.activation("pooler_activation", y, "tanh"))


def _layer(t: Trace, c: AlbertConfig, x: Value) -> Value:
    heads, size = c.num_attention_heads, c.attention_head_size
    with t.attention("attention", "AlbertAttention", heads, size, block="attention", order=_ATTENTION):
        query, key, value = bert.projected(t, x, "query", "key", "value")
        p = c.attention_probs_dropout_prob
        y = t.attend(query, key, value, AttentionOptions(dropout=p, dropout_name="attention_dropout"))
        y = t.dropout("output_dropout", t.linear("dense", y, c.hidden_size, role="output"), c.hidden_dropout_prob)
        x = t.norm("LayerNorm", t.add("add", x, t.variable("attn_output", y)), c.layer_norm_eps)
    x = t.variable("attention_output", x)
    with t.block("feed-forward"):
        y = t.linear("ffn", x, c.intermediate_size, role="up")
        y = t.linear("ffn_output", t.activation("activation", y, c.hidden_act), c.hidden_size, role="down")
        x = t.norm("full_layer_layer_norm", t.add("add", t.variable("ffn_output", y), x), c.layer_norm_eps)
        with t.not_run():
            t.dropout("dropout", x, c.hidden_dropout_prob)
    return x


def _predictions(t: Trace, c: AlbertConfig, hidden: Hidden, output: str) -> None:
    """The masked-LM head, which first projects back to the embedding size."""
    tied = {}
    if c.tie_word_embeddings:
        tied = {"weight": "albert.embeddings.word_embeddings.weight", "bias": "predictions.bias"}
    with t.module("predictions", "AlbertMLMHead", block=LANGUAGE_MODEL, order=_MLM_HEAD):
        bias = t.parameter("bias", (c.vocab_size,), role="decoder bias")
        x = t.linear("dense", hidden.states, c.embedding_size, role="transform")
        x = t.norm("LayerNorm", t.activation("activation", x, c.hidden_act), c.layer_norm_eps)
        t.output(output, t.linear("decoder", x, c.vocab_size, role="decoder", tied=tied, using=bias))


def _pretraining(t: Trace, c: AlbertConfig, hidden: Hidden) -> None:
    _predictions(t, c, hidden, "prediction_logits")
    assert hidden.pooled is not None
    with t.module("sop_classifier", "AlbertSOPHead"):
        x = t.dropout("dropout", hidden.pooled, c.classifier_dropout_prob)
        t.output("sop_logits", t.linear("classifier", x, c.num_labels, role="sentence order"))


_LARGE: dict[str, Any] = {"num_hidden_layers": 24, "num_attention_heads": 16}
_class = ClassFactory("Albert")
FAMILY = Family(
    "albert",
    "albert",
    AlbertConfig,
    _body,
    (
        _class("base", bert.base, pooler=True),
        _class("pretraining", _pretraining, after=("sentence_order_label",), pooler=True),
        _class("masked-lm", partial(_predictions, output="logits")),
        _class("sequence-classification", bert.sequence_classification, pooler=True),
        _class("token-classification", bert.token_classification),
        _class("question-answering", bert.question_answering),
        _class("multiple-choice", bert.multiple_choice, pooler=True),
    ),
    presets(
        AlbertConfig,
        {
            "albert/albert-base-v2": BASE,
            "albert/albert-large-v2": {"hidden_size": 1024, "intermediate_size": 4096, **_LARGE},
            "albert/albert-xlarge-v2": {"hidden_size": 2048, "intermediate_size": 8192, **_LARGE},
            "albert/albert-xxlarge-v2": {},
        },
    ),
    recomputes=("selective",),  # not full, because transformers does not checkpoint its layers
    peaks=True,
)
