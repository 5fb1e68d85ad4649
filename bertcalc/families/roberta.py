"""RoBERTa (Liu et al. 2019, arXiv:1907.11692): BERT's layers, with embeddings and heads of its own.

Hugging Face's modeling_roberta.py as a program: what is the same as in BERT is BERT's. XLM-RoBERTa and CamemBERT are
the same program under other names (``family``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bertcalc.config import Config
from bertcalc.families import bert
from bertcalc.family import LANGUAGE_MODEL, Class, Family, Hidden, Preset, model_card
from bertcalc.fields import PositionEmbeddingType
from bertcalc.forward.trace import Trace, Value
from bertcalc.problem import Problem
from bertcalc.text import N_


@dataclass(frozen=True)
class RobertaConfig(Config):
    """Hugging Face's ``RobertaConfig``: the same field names, the same defaults.

    Raises ConfigError if no RoBERTa can be built from the values.
    """

    vocab_size: int = 50265
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 1
    position_embedding_type: PositionEmbeddingType = "absolute"
    use_cache: bool = True
    classifier_dropout: float | None = None
    is_decoder: bool = False
    add_cross_attention: bool = False
    bos_token_id: int | None = 0
    eos_token_id: int | None = 2
    tie_word_embeddings: bool = True
    num_labels: int = 2

    @classmethod
    def relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        """What is wrong between fields that are right by themselves."""
        yield from super().relations(values)
        pad, positions = values["pad_token_id"], values["max_position_embeddings"]
        if values["position_embedding_type"] != "absolute":
            message = N_("{config} knows absolute positions only: set position_embedding_type to absolute.")
            remedy = {"position_embedding_type": "absolute"}
            shown = {"config": cls.__name__}
            yield Problem("position_embedding_type", values["position_embedding_type"], message, shown, (remedy,))
        if pad is None:
            message = N_("{config} needs a pad_token_id: positions are counted from the one after it.")
            yield Problem("pad_token_id", None, message, {"config": cls.__name__}, ({"pad_token_id": 1},))
        elif pad + 2 > positions:
            yield Problem(
                "max_position_embeddings",
                positions,
                N_(
                    "max_position_embeddings {value} leaves no position after pad_token_id {pad}, from which RoBERTa "
                    "counts: at least {nearest} is needed."
                ),
                {"value": f"{positions:,}", "pad": f"{pad:,}", "nearest": f"{pad + 2:,}"},
                ({"max_position_embeddings": pad + 2}, {"pad_token_id": 0}),
            )

    @property
    def longest(self) -> int:
        """The longest sequence: the rows up to the one for padding are never positions."""
        return self.max_position_embeddings - (self.pad_token_id or 0) - 1


def _body(kind: str, t: Trace, c: RobertaConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", f"{kind}Embeddings", component="embeddings", order=_EMBEDDINGS):
        bert.numbered_tokens(t, c)
        ids, types = t.inputs("input_ids", "token_type_ids")
        words = t.embedding(
            "word_embeddings", ids, c.vocab_size, c.hidden_size, role="word", padding_idx=c.pad_token_id
        )
        kinds = t.embedding("token_type_embeddings", types, c.type_vocab_size, c.hidden_size, role="token type")
        # The rows depend on where there is padding: each sequence has its own.
        places = Value("position_ids", ids.shape, ids=True)
        rows = t.embedding(
            "position_embeddings",
            places,
            c.max_position_embeddings,
            c.hidden_size,
            role="position",
            padding_idx=c.pad_token_id,
        )
        x = t.add("add_position", t.add("add_token_type", words, kinds), rows)
        x = t.dropout("dropout", t.norm("LayerNorm", x, c.layer_norm_eps), c.hidden_dropout_prob)
    x = bert.encoder(t, c, x, kind)
    return Hidden(x, bert.pooled(t, c, x, kind) if pooler else None)


_EMBEDDINGS = ("word_embeddings", "token_type_embeddings", "LayerNorm", "dropout", "position_embeddings")


def _language_model(kind: str, t: Trace, c: RobertaConfig, hidden: Hidden) -> None:
    """The head for masked and causal language modeling: always with GELU, whatever the layers have."""
    tied = {}
    if c.tie_word_embeddings:
        tied = {"weight": "roberta.embeddings.word_embeddings.weight", "bias": "lm_head.bias"}
    with t.module("lm_head", f"{kind}LMHead", block=LANGUAGE_MODEL):
        language_model(t, c, hidden, tied)


def language_model(t: Trace, c: Config, hidden: Hidden, tied: Mapping[str, str], *, bias: bool = True) -> None:
    """What is in that head; ``tied`` are the tensors of its decoder that are owned elsewhere.

    Its own ``bias`` is the decoder's as well, where they are tied.
    """
    own = t.parameter("bias", (c.vocab_size,), role="decoder bias") if bias else ()
    x = t.function("gelu", t.linear("dense", hidden.states, c.hidden_size, role="transform"), "gelu")
    x = t.norm("layer_norm", x, c.layer_norm_eps)
    t.output("logits", t.linear("decoder", x, c.vocab_size, role="decoder", tied=tied, using=own))


def sequence_classification(kind: str, t: Trace, c: Config, hidden: Hidden) -> None:
    """A dense layer and a classifier over the first token, with dropout before both."""
    p = c.hidden_dropout_prob if c.classifier_dropout is None else c.classifier_dropout
    with t.module("classifier", f"{kind}ClassificationHead", order=("dense", "dropout", "out_proj")):
        x = t.dropout("dropout", t.first_token(hidden.states), p)
        x = t.function("tanh", t.linear("dense", x, c.hidden_size, role="dense"), "tanh")
        t.output("logits", t.linear("out_proj", t.dropout("dropout", x, p), c.num_labels, role="classifier"))


def _multiple_choice(t: Trace, c: RobertaConfig, hidden: Hidden) -> None:
    """One score for each choice; it does not ask for classifier_dropout."""
    bert.scores_of_choices(t, hidden, c.hidden_dropout_prob)


POSITIONS = {
    "position_ids": N_("The position of each token; by default they begin after padding's number, which padding has.")
}
_CHOICES = ("input_ids", "token_type_ids", "attention_mask", "labels", "position_ids", "inputs_embeds")


def family(
    name: str, config: type[RobertaConfig], presets: Mapping[str, Preset], *, head_first: bool = False
) -> Family:
    """RoBERTa under the names of a family."""
    kind = config.__name__.removesuffix("Config")
    words, classified = partial(_language_model, kind), partial(sequence_classification, kind)
    seen, tokens = (*bert.TOKENS, *bert.ENCODER), (*bert.TOKENS, "labels")
    generating = (*seen, "labels", *bert.CACHE, "logits_to_keep")
    classes = (
        Class(f"{kind}Model", "base", bert.base, (*seen, *bert.CACHE), pooler=True),
        Class(f"{kind}ForMaskedLM", "masked-lm", words, (*seen, "labels")),
        Class(f"{kind}ForCausalLM", "causal-lm", words, generating),
        Class(f"{kind}ForSequenceClassification", "sequence-classification", classified, tokens),
        Class(f"{kind}ForTokenClassification", "token-classification", bert.token_classification, tokens),
        Class(
            f"{kind}ForQuestionAnswering", "question-answering", bert.question_answering, (*bert.TOKENS, *bert.ANSWERS)
        ),
        Class(f"{kind}ForMultipleChoice", "multiple-choice", _multiple_choice, _CHOICES, pooler=True),
    )
    body = partial(_body, kind)
    return Family(name, "roberta", config, body, classes, presets, head_first, meanings=POSITIONS)


def preset(config: RobertaConfig, repository: str) -> Preset:
    """A published model, by where it is on the Hugging Face Hub."""
    return Preset(config, model_card(repository))


# The table has two rows more than there are positions: they are counted from the one after padding.
SIZES: dict[str, Any] = {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
LARGE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    **SIZES,
}
FAMILY = family(
    "roberta",
    RobertaConfig,
    {
        "roberta-base": preset(RobertaConfig(**SIZES), "FacebookAI/roberta-base"),
        "roberta-large": preset(RobertaConfig(**LARGE), "FacebookAI/roberta-large"),
        "distilroberta-base": preset(RobertaConfig(num_hidden_layers=6, **SIZES), "distilbert/distilroberta-base"),
        "phobert-base-v2": preset(
            RobertaConfig(**SIZES | {"vocab_size": 64001, "max_position_embeddings": 258}), "vinai/phobert-base-v2"
        ),
    },
)
