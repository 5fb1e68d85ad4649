"""ELECTRA (Clark et al. 2020, arXiv:2003.10555): BERT's layers, a generator that replaces words and a discriminator.

Hugging Face's modeling_electra.py as a program: what is the same as in BERT is BERT's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from bertcalc.config import Config, all_or_none
from bertcalc.families import bert
from bertcalc.family import LANGUAGE_MODEL, Class, Family, Hidden, Preset, model_card
from bertcalc.forward.trace import Trace


@dataclass(frozen=True)
class ElectraConfig(Config):
    """Hugging Face's ``ElectraConfig``: the same field names, the same defaults (electra-small-discriminator).

    Raises ConfigError if no ELECTRA can be built from the values.
    """

    vocab_size: int = 30522
    embedding_size: int = 128
    hidden_size: int = 256
    num_hidden_layers: int = 12
    num_attention_heads: int = 4
    intermediate_size: int = 1024
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    summary_type: str = "first"
    summary_use_proj: bool = True
    summary_activation: str = "gelu"
    summary_last_dropout: float = 0.1
    pad_token_id: int | None = 0
    use_cache: bool = True
    classifier_dropout: float | None = None
    is_decoder: bool = False
    add_cross_attention: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    tie_word_embeddings: bool = True
    num_labels: int = 2

    shaping: ClassVar = (*Config.shaping, "summary_use_proj", "summary_activation", "summary_last_dropout")

    @property
    def projects(self) -> bool:
        """Whether the embeddings are mapped to the width of the layers: where they have that already, they are not."""
        return all_or_none(self.embedding_size != self.hidden_size)

    @property
    def breaks(self) -> tuple[int, ...]:
        """The hidden size at which there is no projection."""
        return (self.embedding_size,)

    def letters_of_sizes(self) -> dict[str, str]:
        """Without a projection both sizes have one letter."""
        return super().letters_of_sizes() | ({} if self.projects else {"embedding_size": "hidden_size"})


def _body(t: Trace, c: ElectraConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", "ElectraEmbeddings", component="embeddings", order=bert.EMBEDDINGS):
        x = bert.summed_embeddings(t, c, c.embedding_size)
    if c.projects:
        with t.block("projection", component="embeddings"):
            x = t.linear("embeddings_project", x, c.hidden_size, role="map")
    return Hidden(bert.encoder(t, c, x, "Electra"), None)


def _language_model(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """The generator's head, which goes back to the width of the embeddings first; always with GELU."""
    tied = {"weight": "electra.embeddings.word_embeddings.weight"} if c.tie_word_embeddings else {}
    order = ("activation", "LayerNorm", "dense")
    with t.module("generator_predictions", "ElectraGeneratorPredictions", block=LANGUAGE_MODEL, order=order):
        x = t.linear("dense", hidden.states, c.embedding_size, role="transform")
        x = t.norm("LayerNorm", t.activation("activation", x, "gelu"), c.layer_norm_eps)
    with t.block(LANGUAGE_MODEL):
        t.output("logits", t.linear("generator_lm_head", x, c.vocab_size, role="decoder", tied=tied))


def _pretraining(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """The discriminator's head: for each token, whether it was replaced."""
    with t.module("discriminator_predictions", "ElectraDiscriminatorPredictions", block="discriminator"):
        x = t.activation("activation", t.linear("dense", hidden.states, c.hidden_size, role="dense"), c.hidden_act)
        x = t.linear("dense_prediction", x, 1, role="classifier")
        t.output("logits", t.step("squeeze", "view", x, shape=x.shape[:-1]))


def _sequence_classification(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """A dense layer, GELU and a classifier over the first token, with dropout before both."""
    p = c.hidden_dropout_prob if c.classifier_dropout is None else c.classifier_dropout
    order = ("dense", "activation", "dropout", "out_proj")
    with t.module("classifier", "ElectraClassificationHead", order=order):
        x = t.dropout("dropout", t.first_token(hidden.states), p)
        x = t.activation("activation", t.linear("dense", x, c.hidden_size, role="dense"), "gelu", role="gelu")
        t.output("logits", t.linear("out_proj", t.dropout("dropout", x, p), c.num_labels, role="classifier"))


def _multiple_choice(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """One score for each choice, from a summary of its tokens: the first (or the last) of them."""
    order = ("summary", "activation", "first_dropout", "last_dropout")
    with t.module("sequence_summary", "ElectraSequenceSummary", block="summary", order=order):
        x = t.first_token(hidden.states)
        t.idle("first_dropout", "Identity")
        if c.summary_use_proj:
            x = t.linear("summary", x, c.hidden_size, role="dense")
        else:
            t.idle("summary", "Identity")
        x = t.activation("activation", x, c.summary_activation)
        if c.summary_last_dropout > 0:
            x = t.dropout("last_dropout", x, c.summary_last_dropout)
        else:
            t.idle("last_dropout", "Identity")
    bert.side_by_side(t, t.linear("classifier", x, 1, role="classifier"))


def _preset(name: str, **sizes: Any) -> Preset:
    return Preset(ElectraConfig(**sizes), model_card(f"google/{name}"))


_BASE: dict[str, Any] = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
_LARGE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
_LABELS = (*bert.TOKENS, "labels")
_SEEN = (*bert.TOKENS, *bert.ENCODER)
FAMILY = Family(
    "electra",
    "electra",
    ElectraConfig,
    _body,
    (
        Class("ElectraModel", "base", bert.base, (*_SEEN, *bert.CACHE)),
        Class("ElectraForPreTraining", "replaced-tokens", _pretraining, _LABELS),
        Class("ElectraForMaskedLM", "masked-lm", _language_model, _LABELS),
        Class("ElectraForCausalLM", "causal-lm", _language_model, (*_SEEN, "labels", *bert.CACHE, "logits_to_keep")),
        Class("ElectraForSequenceClassification", "sequence-classification", _sequence_classification, _LABELS),
        Class("ElectraForTokenClassification", "token-classification", bert.token_classification, _LABELS),
        Class(
            "ElectraForQuestionAnswering",
            "question-answering",
            bert.question_answering,
            (*bert.TOKENS, *bert.ANSWERS),
        ),
        Class("ElectraForMultipleChoice", "multiple-choice", _multiple_choice, _LABELS),
    ),
    {
        "electra-small-discriminator": _preset("electra-small-discriminator"),
        "electra-base-discriminator": _preset("electra-base-discriminator", embedding_size=768, **_BASE),
        "electra-large-discriminator": _preset("electra-large-discriminator", embedding_size=1024, **_LARGE),
        "electra-small-generator": _preset("electra-small-generator"),
        "electra-base-generator": _preset("electra-base-generator", embedding_size=768),
    },
    like_bert=False,
)
