"""DistilBERT (Sanh et al. 2019, arXiv:1910.01108): BERT with half the layers, without token types and pooler.

The program follows Hugging Face's modeling_distilbert.py.
"""

from functools import partial
from typing import ClassVar

from bertcalc.config import Config
from bertcalc.families import bert
from bertcalc.families.common import ClassFactory, presets
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text.records import dataclass

_EPS = 1e-12  # not a field of the configuration
_ATTENTION = ("q_lin", "k_lin", "v_lin", "out_lin", "dropout")


@dataclass(frozen=True)
class DistilBertConfig(Config):
    """Hugging Face's ``DistilBertConfig``, with the same field names and defaults (distilbert-base-uncased)."""

    vocab_size: int = 30522
    max_position_embeddings: int = 512
    sinusoidal_pos_embds: bool = False
    n_layers: int = 6
    n_heads: int = 12
    dim: int = 768
    hidden_dim: int = 4 * 768
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu"
    initializer_range: float = 0.02
    qa_dropout: float = 0.1
    seq_classif_dropout: float = 0.2
    pad_token_id: int | None = 0
    eos_token_id: int | None = None
    bos_token_id: int | None = None
    tie_word_embeddings: bool = True
    num_labels: int = 2

    chunks: ClassVar = True
    attribute_map: ClassVar = {
        "hidden_size": "dim",
        "num_attention_heads": "n_heads",
        "num_hidden_layers": "n_layers",
        # transformers has the following fields under the family's names only.
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "attention_dropout",
    }


def _body(t: Trace, c: DistilBertConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", "Embeddings", component="embeddings"):
        bert.id_buffers(t, c)
        (ids,) = t.inputs("input_ids")
        x = t.add("add_position", bert.words(t, c, ids, c.dim), bert.positions(t, c, ids, c.dim))
        x = t.dropout("dropout", t.norm("LayerNorm", x, _EPS), c.dropout)
    with t.module("transformer", "Transformer", component="encoder"), t.repeat("layer", c.n_layers, "TransformerBlock"):
        heads, size = c.n_heads, c.attention_head_size
        with t.attention("attention", "DistilBertSelfAttention", heads, size, block="attention", order=_ATTENTION):
            query, key, value = bert.projected(t, x, "q_lin", "k_lin", "v_lin")
            y = t.attend(query, key, value, AttentionOptions(dropout=c.attention_dropout))
            y = t.linear("out_lin", y, c.dim, role="output")
        y = t.variable("attention_output", y)
        with t.block("attention"):
            x = t.norm("sa_layer_norm", t.add("add_attention", y, x, role="add"), _EPS)
        x = t.variable("attention_output", x)
        with t.module("ffn", "FFN", block="feed-forward", order=("dropout", "lin1", "lin2", "activation")):
            y = t.activation("activation", t.linear("lin1", x, c.hidden_dim, role="up"), c.activation)
            y = t.dropout("dropout", t.linear("lin2", y, c.dim, role="down"), c.dropout)
        y = t.variable("ffn_output", y)
        with t.block("feed-forward"):
            x = t.norm("output_layer_norm", t.add("add_ffn", y, x, role="add"), _EPS)
    return Hidden(x, None)


def _masked_lm(t: Trace, c: DistilBertConfig, hidden: Hidden) -> None:
    """The masked-LM head. With tied weights, its matrix is the word embedding table; its bias is never tied."""
    tied = {"weight": "distilbert.embeddings.word_embeddings.weight"} if c.tie_word_embeddings else {}
    with t.ordered("activation", "distilbert"), t.block(LANGUAGE_MODEL):
        logits = partial(t.variable, "prediction_logits")  # transformers uses one variable for all of these values
        x = logits(t.linear("vocab_transform", hidden.states, c.dim, role="transform"))
        x = logits(t.activation("activation", x, c.activation))
        x = logits(t.norm("vocab_layer_norm", x, _EPS))
        t.output("logits", logits(t.linear("vocab_projector", x, c.vocab_size, role="decoder", tied=tied)))
        t.idle("mlm_loss_fct", "CrossEntropyLoss")


def _classified(t: Trace, c: DistilBertConfig, hidden: Hidden, classes: int) -> Value:
    """A dense layer, ReLU and a classifier over the first token."""
    with t.ordered("distilbert", "pre_classifier", "classifier", "dropout"):
        pooled = partial(t.variable, "pooled_output")
        x = pooled(t.linear("pre_classifier", t.first_token(hidden.states), c.dim, role="dense"))
        x = pooled(t.function("relu", x, "relu", role="relu"))
        x = pooled(t.dropout("dropout", x, c.seq_classif_dropout))
        return t.linear("classifier", x, classes, role="classifier")


def _sequence_classification(t: Trace, c: DistilBertConfig, hidden: Hidden) -> None:
    t.output("logits", _classified(t, c, hidden, c.num_labels))


def _multiple_choice(t: Trace, c: DistilBertConfig, hidden: Hidden) -> None:
    bert.side_by_side(t, _classified(t, c, hidden, 1))


def _question_answering(t: Trace, c: DistilBertConfig, hidden: Hidden) -> None:
    with t.ordered("distilbert", "qa_outputs", "dropout"):
        bert.answers(t, t.dropout("dropout", hidden.states, c.qa_dropout), c.num_labels)


_class = ClassFactory("DistilBert", ("input_ids", "attention_mask", "inputs_embeds"), ("position_ids",))
FAMILY = Family(
    "distilbert",
    "distilbert",
    DistilBertConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", _masked_lm),
        _class("sequence-classification", _sequence_classification),
        _class("token-classification", bert.token_classification),
        _class("question-answering", _question_answering, builds_with=(("num_labels", 2),)),
        _class("multiple-choice", _multiple_choice, laid_out=("position_ids",)),
    ),
    presets(
        DistilBertConfig,
        {
            "distilbert/distilbert-base-uncased": {},
            "distilbert/distilbert-base-cased": {"vocab_size": 28996},
            "distilbert/distilbert-base-multilingual-cased": {"vocab_size": 119547},
        },
    ),
    like_bert=True,
    peaks=True,
)
