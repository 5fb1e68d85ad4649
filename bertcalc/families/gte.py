"""GTE (Zhang et al. 2024, arXiv:2407.19669): NomicBERT's layers with biases, and RoBERTa's masked-LM head.

The program follows Hugging Face's modeling_gte.py. The gated feed-forward network has dropout, and a bias in its last
layer only.
"""

from functools import partial
from typing import ClassVar

from bertcalc.config import Config
from bertcalc.families import bert, nomic_bert, roberta
from bertcalc.families.common import ClassFactory, EncoderConfig, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.trace import Trace
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class GteConfig(EncoderConfig):
    """Hugging Face's ``GteConfig``, with the same field names and defaults (gte-multilingual-base).

    ``rope_parameters`` is left out, because it changes no count. A ``type_vocab_size`` of 0 is not possible, so
    gte-base-en-v1.5, which has no token types, is not supported.
    """

    vocab_size: int = 250048
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 8192
    type_vocab_size: int = 1
    pad_token_id: int | None = 1
    classifier_dropout: float | None = None

    turns_pairs: ClassVar = True
    numbers: ClassVar = ("rope_theta",)
    shaping: ClassVar = (*Config.shaping, "attention_probs_dropout_prob")
    whole_numbers: ClassVar = ("head_dim",)
    heads_of = 2  # transformers rotates pairs of entries; it builds a model with an odd head size, but cannot run it


def _body(t: Trace, c: GteConfig, pooler: bool) -> Hidden:
    with t.ordered("embeddings", "pooler", "rotary_emb", "layers"):
        with t.module("embeddings", "GteEmbeddings", component="embeddings"):
            ids, types = t.inputs("input_ids", "token_type_ids")
            words = t.variable("embeddings", t.aside(bert.words(t, c, ids, c.hidden_size), "positions"))
            rows = t.embedding("token_type_embeddings", types, c.type_vocab_size, c.hidden_size, role="token type")
            # Not a variable in transformers, but recorded as a variable: words and rows stay alive until the sum
            # replaces them.
            rows = t.variable("embeddings", rows)
            x = t.variable("embeddings", t.add("add_token_type", words, rows))
            x = t.variable("embeddings", t.norm("LayerNorm", x, c.layer_norm_eps))
            x = t.dropout("dropout", x, c.hidden_dropout_prob)
        x = nomic_bert.layers(t, c, x, "Gte", bias=True, bias_down=True, dropout=c.hidden_dropout_prob)
        return Hidden(x, bert.pooled(t, c, x, "Gte") if pooler else None)


_class = ClassFactory("Gte")
FAMILY = Family(
    "gte",
    "gte",
    GteConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", partial(roberta.language_model, "Gte", prefix="gte", own_bias=False)),
        _class("sequence-classification", bert.sequence_classification, pooler=True),
        _class("token-classification", bert.token_classification),
    ),
    presets(GteConfig, {"Alibaba-NLP/gte-multilingual-base": {}}),
    remote=("new",),  # the model type in Alibaba-NLP's files
    peaks=True,
    prunes="no",
)
