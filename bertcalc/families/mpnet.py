"""MPNet (Song et al. 2020, arXiv:2004.09297): BERT's layers with relative position biases that all layers share.

The program follows Hugging Face's modeling_mpnet.py and reuses parts of BERT's and RoBERTa's programs.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bertcalc.families import bert, roberta
from bertcalc.families.common import FLAGS, WITHOUT_TYPES, ClassFactory, EncoderConfig, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

_PAD = 1  # fixed: pad_token_id does not change it


@dataclass(frozen=True)
class MPNetConfig(EncoderConfig):
    """Hugging Face's ``MPNetConfig``, with the same field names and defaults."""

    vocab_size: int = 30527
    relative_attention_num_buckets: int = 32
    pad_token_id: int | None = 1
    bos_token_id: int | None = 0
    eos_token_id: int | None = 2

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        for field, least in (("vocab_size", _PAD + 1), ("max_position_embeddings", _PAD + 2)):
            if values[field] < least:
                message = N_("{field} {value} is too small: the padding token is {pad}, so the minimum is {nearest}.")
                details = {"field": field, "value": values[field], "pad": _PAD, "nearest": least}
                yield Problem.of(message, field, values[field], {field: least}, **details)

    @property
    def fewest_words(self) -> int:
        """The size of the smallest vocabulary, which must also contain MPNet's fixed padding token."""
        return max(super().fewest_words, _PAD + 1)

    @property
    def longest(self) -> int:
        """The maximum sequence length. Rows of the table up to the padding row are never used as positions."""
        return self.max_position_embeddings - _PAD - 1


def _body(t: Trace, c: MPNetConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", "MPNetEmbeddings", component="embeddings"):
        bert.id_buffers(t, c)
        (ids,) = t.inputs("input_ids")
        words = t.embedding("word_embeddings", ids, c.vocab_size, c.hidden_size, role="word", padding_idx=_PAD)
        positions = bert.positions(t, c, ids, c.hidden_size, padding=_PAD)
        x = t.norm("LayerNorm", t.add("add_position", words, positions), c.layer_norm_eps)
        x = t.dropout("dropout", x, c.hidden_dropout_prob)
    with t.module("encoder", "MPNetEncoder", component="encoder", order=("layer", "relative_attention_bias")):
        bias = _distances(t, c, x)
        with t.repeat("layer", c.num_hidden_layers, "MPNetLayer"):
            with t.module("attention", "MPNetAttention", block="attention", order=("attn", "LayerNorm", "dropout")):
                y = t.variable("self_outputs", _attention(t, c, x, bias))
                y = t.dropout("dropout", y, c.hidden_dropout_prob)
                x = t.norm("LayerNorm", t.add("add", y, x), c.layer_norm_eps)
            x = t.variable("attention_output", x)
            x = bert.feed_forward(t, c, x, "MPNet")
    return Hidden(x, bert.pooled(t, c, x, "MPNet") if pooler else None)


def _distances(t: Trace, c: MPNetConfig, x: Value) -> Value:
    """Look up each head's bias for the distance between any two tokens, once for all layers."""
    batch, length, _width = x.shape
    with t.block("relative positions"):
        buckets = Value("distance_buckets", (length, length), ids=True)
        rows, heads = c.relative_attention_num_buckets, c.num_attention_heads
        bias = t.embedding("relative_attention_bias", buckets, rows, heads, role="relative position")
        bias = t.variable("position_bias", bias)
        return t.variable("position_bias", t.step("position_bias", "copy", bias, shape=(batch, heads, length, length)))


def _attention(t: Trace, c: MPNetConfig, x: Value, bias: Value) -> Value:
    order = ("q", "k", "v", "o", "dropout")
    with t.attention("attn", "MPNetSelfAttention", c.num_attention_heads, c.attention_head_size, order=order):
        query, key, value = bert.projected(t, x, "q", "k", "v")
        how = AttentionOptions(dropout=c.attention_probs_dropout_prob, bias=bias, written_out=True)
        y = t.attend(query, key, value, how)
        return t.linear("o", y, c.hidden_size, role="output")


_SIZES: dict[str, Any] = {"max_position_embeddings": 514, "layer_norm_eps": 1e-5}
_class = ClassFactory("MPNet", WITHOUT_TYPES, FLAGS)
FAMILY = Family(
    "mpnet",
    "mpnet",
    MPNetConfig,
    _body,
    (
        _class("base", bert.base, pooler=True),
        _class("masked-lm", partial(roberta.language_model, "MPNet", prefix="mpnet")),
        _class("sequence-classification", partial(roberta.sequence_classification, "MPNet")),
        _class("token-classification", bert.token_classification),
        _class("question-answering", bert.question_answering),
        _class("multiple-choice", bert.multiple_choice, pooler=True),
    ),
    presets(MPNetConfig, {"microsoft/mpnet-base": _SIZES, "sentence-transformers/all-mpnet-base-v2": _SIZES}),
    recomputes=(),
    meanings=roberta.POSITIONS,
    peaks=True,
    prunes="cannot run then",
)
