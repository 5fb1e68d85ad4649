"""RoBERTa (Liu et al. 2019, arXiv:1907.11692): BERT's layers with different embeddings and heads.

The program follows Hugging Face's modeling_roberta.py and reuses parts of BERT's program. XLM-RoBERTa and CamemBERT run
the same program under different names (see ``family``).
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bertcalc.config import Config
from bertcalc.families import bert
from bertcalc.families.common import CACHE, ENCODER, LARGE, ClassFactory, presets
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.model.trace import Trace
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass
from bertcalc.transformers4.version import only_absolute

_EMBEDDINGS = ("word_embeddings", "token_type_embeddings", "LayerNorm", "dropout", "position_embeddings")


@dataclass(frozen=True)
class RobertaConfig(bert.BertConfig):
    """Hugging Face's ``RobertaConfig``, with the same field names and defaults."""

    vocab_size: int = 50265
    pad_token_id: int | None = 1
    bos_token_id: int | None = 0
    eos_token_id: int | None = 2

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        pad, positions = values["pad_token_id"], values["max_position_embeddings"]
        yield from only_absolute(cls, values)
        if pad is None:
            message = N_("{config} needs a pad_token_id, because positions are counted from pad_token_id + 1.")
            yield Problem.of(message, "pad_token_id", None, {"pad_token_id": 1}, config=cls.__name__)
        elif pad + 2 > positions:
            message = N_(
                "max_position_embeddings {value} leaves no position after pad_token_id {pad}, where RoBERTa starts "
                "to count: use at least {nearest}."
            )
            remedies = {"max_position_embeddings": pad + 2}, {"pad_token_id": 0}
            details = {"value": positions, "pad": pad, "nearest": pad + 2}
            yield Problem.of(message, "max_position_embeddings", positions, *remedies, **details)

    @property
    def longest(self) -> int:
        """The maximum sequence length. Rows of the table up to the padding row are never used as positions."""
        return self.max_position_embeddings - (self.pad_token_id or 0) - 1


def _body(kind: str, t: Trace, c: RobertaConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", f"{kind}Embeddings", component="embeddings", order=_EMBEDDINGS):
        x = bert.summed_embeddings(t, c, c.hidden_size, padding=c.pad_token_id)
    x = bert.encoder(t, c, x, kind)
    return Hidden(x, bert.pooled(t, c, x, kind) if pooler else None)


def language_model(
    kind: str, t: Trace, c: Config, hidden: Hidden, *, prefix: str = "roberta", own_bias: bool = True
) -> None:
    """The head for masked and causal language modeling; its activation is always GELU, whatever hidden_act is.

    ``prefix`` is the prefix of the body. ``own_bias``: whether the head owns a bias to which the decoder's bias can be
    tied.
    """
    tied = {}
    if c.tie_word_embeddings:
        tied["weight"] = f"{prefix}.embeddings.word_embeddings.weight"
        if own_bias:
            tied["bias"] = "lm_head.bias"
    with t.module("lm_head", f"{kind}LMHead", block=LANGUAGE_MODEL):
        bias = t.parameter("bias", (c.vocab_size,), role="decoder bias") if own_bias else ()
        x = t.function("gelu", t.linear("dense", hidden.states, c.hidden_size, role="transform"), "gelu")
        x = t.norm("layer_norm", x, c.layer_norm_eps)
        t.output("logits", t.linear("decoder", x, c.vocab_size, role="decoder", tied=tied, using=bias))


def sequence_classification(kind: str, t: Trace, c: Config, hidden: Hidden) -> None:
    """A dense layer, tanh and a classifier over the first token, with dropout before each of the two layers."""
    p = c.head_dropout
    with t.module("classifier", f"{kind}ClassificationHead", order=("dense", "dropout", "out_proj")):
        x = t.dropout("dropout", t.first_token(hidden.states), p)
        x = t.function("tanh", t.linear("dense", x, c.hidden_size, role="dense"), "tanh")
        t.output("logits", t.linear("out_proj", t.dropout("dropout", x, p), c.num_labels, role="classifier"))


def _multiple_choice(t: Trace, c: RobertaConfig, hidden: Hidden) -> None:
    """A score for each choice. The dropout probability is hidden_dropout_prob, even if classifier_dropout is set."""
    bert.side_by_side(t, bert.classified(t, hidden.pooled, 1, c.hidden_dropout_prob))


POSITIONS = {
    "position_ids": N_(
        "Position ids. By default, padding tokens get pad_token_id; the other tokens count up from pad_token_id + 1."
    )
}
_CHOICES = ("input_ids", "token_type_ids", "attention_mask", "labels", "position_ids", "inputs_embeds")


def family(
    name: str, config: type[RobertaConfig], published: Mapping[str, Mapping[str, Any]], *, head_first: bool = False
) -> Family:
    """Build a family that runs RoBERTa's program with its own name, configuration and presets.

    ``published`` is as in ``presets``, ``head_first`` as in ``Family``.
    """
    kind = config.__name__.removesuffix("Config")
    cls, words = ClassFactory(kind), partial(language_model, kind)
    classes = (
        cls("base", bert.base, *ENCODER, *CACHE, pooler=True),
        cls("masked-lm", words, *ENCODER),
        cls("causal-lm", words, *ENCODER, after=(*CACHE, "logits_to_keep")),
        cls("sequence-classification", partial(sequence_classification, kind)),
        cls("token-classification", bert.token_classification),
        cls("question-answering", bert.question_answering),
        cls("multiple-choice", _multiple_choice, pooler=True)._replace(inputs=_CHOICES),
    )
    body, published_presets = partial(_body, kind), presets(config, published)
    return Family(
        *(name, "roberta", config, body, classes, published_presets, head_first),
        peaks=True,
        keeps_bias=True,
        like_bert=True,
        meanings=POSITIONS,
    )


# The position table has two more rows than there are positions: positions are counted from the row after padding.
SIZES: dict[str, Any] = {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
FAMILY = family(
    "roberta",
    RobertaConfig,
    {
        "FacebookAI/roberta-base": SIZES,
        "FacebookAI/roberta-large": LARGE | SIZES,
        "distilbert/distilroberta-base": {"num_hidden_layers": 6, **SIZES},
        "vinai/phobert-base-v2": SIZES | {"vocab_size": 64001, "max_position_embeddings": 258},
    },
)
