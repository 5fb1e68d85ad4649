"""GTE (Zhang et al. 2024, arXiv:2407.19669): NomicBERT's layers with biases, and RoBERTa's head for masked words.

Hugging Face's modeling_gte.py as a program. The gated feed-forward has dropout inside, and a bias at its end alone.
"""

from dataclasses import dataclass
from typing import ClassVar

from bertcalc.config import Config
from bertcalc.families import bert, eurobert, nomic_bert, roberta
from bertcalc.families.usual import EncoderConfig, Named, presets
from bertcalc.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.forward.trace import Trace, Value


@dataclass(frozen=True)
class GteConfig(EncoderConfig):
    """Hugging Face's ``GteConfig``: the same field names, the same defaults (gte-multilingual-base).

    Without ``rope_parameters``, which change no count. ``type_vocab_size`` is not 0, as in gte-base-en-v1.5, which
    has no token types.
    """

    vocab_size: int = 250048
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 8192
    type_vocab_size: int = 1
    pad_token_id: int | None = 1
    classifier_dropout: float | None = None

    turns_pairs: ClassVar = True
    shaping: ClassVar = (*Config.shaping, "attention_probs_dropout_prob")
    heads_of = 2  # transformers turns pairs of numbers: of other heads it builds a model, but that cannot be run


def _body(t: Trace, c: GteConfig, pooler: bool) -> Hidden:
    with t.ordered("embeddings", "pooler", "rotary_emb", "layers"):
        with t.module("embeddings", "GteEmbeddings", component="embeddings"):
            ids, types = t.inputs("input_ids", "token_type_ids")
            words = t.variable("embeddings", t.aside(bert.words(t, c, ids, c.hidden_size), "positions"))
            rows = t.embedding("token_type_embeddings", types, c.type_vocab_size, c.hidden_size, role="token type")
            # In no variable: so it is alive until the sum is there, which takes the place of both.
            rows = t.variable("embeddings", rows)
            x = t.variable("embeddings", t.add("add_token_type", words, rows))
            x = t.variable("embeddings", t.norm("LayerNorm", x, c.layer_norm_eps))
            x = t.dropout("dropout", x, c.hidden_dropout_prob)
        x = nomic_bert.layers(t, c, x, "Gte", _gated, bias=True)
        return Hidden(x, bert.pooled(t, c, x, "Gte") if pooler else None)


def _gated(t: Trace, c: Config, x: Value) -> Value:
    p = c.hidden_dropout_prob
    return eurobert.gated(t, "GteMLP", x, c.intermediate_size, c.hidden_act, bias=False, bias_down=True, dropout=p)


def _masked_lm(t: Trace, c: GteConfig, hidden: Hidden) -> None:
    """RoBERTa's head: tied, the decoder's matrix is the word embedding table, and its bias is its own in any case."""
    tied = {"weight": "gte.embeddings.word_embeddings.weight"} if c.tie_word_embeddings else {}
    with t.module("lm_head", "GteLMHead", block=LANGUAGE_MODEL):
        roberta.language_model(t, c, hidden, tied, bias=False)


_class = Named("Gte")
FAMILY = Family(
    "gte",
    "gte",
    GteConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", _masked_lm),
        _class("sequence-classification", bert.sequence_classification, pooler=True),
        _class("token-classification", bert.token_classification),
    ),
    presets(GteConfig, {"Alibaba-NLP/gte-multilingual-base": {}}),
    like_bert=False,
    remote=("new",),  # the files of Alibaba-NLP
)
