"""ELECTRA (Clark et al. 2020, arXiv:2003.10555): a generator that replaces tokens, and a discriminator.

Both have BERT's layers. The program follows Hugging Face's modeling_electra.py and reuses parts of BERT's program.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from bertcalc.config import Config, all_or_none
from bertcalc.families import bert
from bertcalc.families.common import BASE, CACHE, ENCODER, LARGE, ClassFactory, DecoderConfig, presets
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.model.trace import Trace
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass
from bertcalc.transformers4.version import only_absolute


@dataclass(frozen=True)
class ElectraConfig(DecoderConfig):
    """Hugging Face's ``ElectraConfig``, with the same field names and defaults (electra-small-discriminator)."""

    embedding_size: int = 128
    hidden_size: int = 256
    num_attention_heads: int = 4
    intermediate_size: int = 1024
    summary_type: str = "first"
    summary_use_proj: bool = True
    summary_activation: str = "gelu"
    summary_last_dropout: float = 0.1

    chunks: ClassVar = True
    shaping: ClassVar = (*Config.shaping, "summary_use_proj", "summary_activation", "summary_last_dropout")

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().refused(content)
        yield from only_absolute(cls, content)

    @property
    def projects(self) -> bool:
        """Whether the embeddings are projected to the hidden size: only if their size differs from it."""
        return all_or_none(self.embedding_size != self.hidden_size)

    @property
    def breaks(self) -> tuple[int, ...]:
        """The hidden size at which there is no projection."""
        return (self.embedding_size,)

    def letters_of_sizes(self) -> dict[str, str]:
        """The letters of the family's sizes; without a projection, the embedding size has the hidden size's letter."""
        return super().letters_of_sizes() | ({} if self.projects else {"embedding_size": "hidden_size"})


def _body(t: Trace, c: ElectraConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", "ElectraEmbeddings", component="embeddings", order=bert.EMBEDDINGS):
        x = bert.summed_embeddings(t, c, c.embedding_size)
    if c.projects:
        with t.block("projection", component="embeddings"):
            x = t.linear("embeddings_project", x, c.hidden_size, role="map")
    return Hidden(bert.encoder(t, c, x, "Electra"), None)


def _language_model(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """The generator's head, which first projects back to the embedding size; the activation is always GELU."""
    order = ("activation", "LayerNorm", "dense")
    with t.module("generator_predictions", "ElectraGeneratorPredictions", block=LANGUAGE_MODEL, order=order):
        x = t.linear("dense", hidden.states, c.embedding_size, role="transform")
        x = t.norm("LayerNorm", t.activation("activation", x, "gelu"), c.layer_norm_eps)
    bert.decoded(t, c, x, "generator_lm_head", "electra.embeddings.word_embeddings")


def _pretraining(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """The discriminator's head: a score for each token that says whether the token was replaced."""
    with t.module("discriminator_predictions", "ElectraDiscriminatorPredictions", block="discriminator"):
        x = t.activation("activation", t.linear("dense", hidden.states, c.hidden_size, role="dense"), c.hidden_act)
        x = t.linear("dense_prediction", x, 1, role="classifier")
        t.output("logits", t.step("squeeze", "view", x, shape=x.shape[:-1]))


def _sequence_classification(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """A dense layer, GELU and a classifier over the first token, with dropout before each of the two layers."""
    p = c.head_dropout
    order = ("dense", "activation", "dropout", "out_proj")
    with t.module("classifier", "ElectraClassificationHead", order=order):
        x = t.dropout("dropout", t.first_token(hidden.states), p)
        x = t.activation("activation", t.linear("dense", x, c.hidden_size, role="dense"), "gelu", role="gelu")
        t.output("logits", t.linear("out_proj", t.dropout("dropout", x, p), c.num_labels, role="classifier"))


def _multiple_choice(t: Trace, c: ElectraConfig, hidden: Hidden) -> None:
    """A score for each choice, from a summary of its tokens: the first or the last token."""
    width = c.hidden_size if c.summary_use_proj else None
    with t.module("sequence_summary", "ElectraSequenceSummary", block="summary"):
        x = t.first_token(hidden.states)
        x = bert.summarized(t, x, width, c.summary_activation, role="dense", last=c.summary_last_dropout)
    x = t.variable("pooled_output", x)
    bert.side_by_side(t, t.linear("classifier", x, 1, role="classifier"))


_class = ClassFactory("Electra")
FAMILY = Family(
    "electra",
    "electra",
    ElectraConfig,
    _body,
    (
        _class("base", bert.base, *ENCODER, *CACHE),
        _class("replaced-tokens", _pretraining),
        _class("masked-lm", _language_model),
        _class("causal-lm", _language_model, *ENCODER, after=(*CACHE, "logits_to_keep")),
        _class("sequence-classification", _sequence_classification),
        _class("token-classification", bert.token_classification),
        _class("question-answering", bert.question_answering),
        _class("multiple-choice", _multiple_choice),
    ),
    presets(
        ElectraConfig,
        {
            "google/electra-small-discriminator": {},
            "google/electra-base-discriminator": {"embedding_size": 768, **BASE},
            "google/electra-large-discriminator": {"embedding_size": 1024, **LARGE},
            "google/electra-small-generator": {},
            "google/electra-base-generator": {"embedding_size": 768},
        },
    ),
    peaks=True,
)
