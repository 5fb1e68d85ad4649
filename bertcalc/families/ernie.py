"""ERNIE (Sun et al. 2021, arXiv:2107.02137): BERT's program, which can be told the task of a text.

Hugging Face's modeling_ernie.py as a program.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from bertcalc.config import Config
from bertcalc.families import bert
from bertcalc.family import Class, Family, Hidden, Preset, model_card
from bertcalc.forward.trace import Trace, Value


@dataclass(frozen=True)
class ErnieConfig(Config):
    """Hugging Face's ``ErnieConfig``: the same field names, the same defaults.

    Raises ConfigError if no ERNIE can be built from the values.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    task_type_vocab_size: int = 3
    use_task_id: bool = False
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    use_cache: bool = True
    classifier_dropout: float | None = None
    is_decoder: bool = False
    add_cross_attention: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    tie_word_embeddings: bool = True
    num_labels: int = 2

    shaping: ClassVar = (*Config.shaping, "use_task_id")


def _body(t: Trace, c: ErnieConfig, pooler: bool) -> Hidden:
    def tasks(ids: Value, x: Value) -> Value:
        numbers = Value("task_type_ids", ids.shape, ids=True)  # all zeros unless they are given
        rows = c.task_type_vocab_size
        found = t.embedding("task_type_embeddings", numbers, rows, c.hidden_size, role="task type")
        return t.add("add_task_type", x, found, in_place=True)

    with t.module("embeddings", "ErnieEmbeddings", component="embeddings", order=bert.EMBEDDINGS):
        x = bert.summed_embeddings(t, c, c.hidden_size, more=tasks if c.use_task_id else None)
    x = bert.encoder(t, c, x, "Ernie")
    return Hidden(x, bert.pooled(t, c, x, "Ernie") if pooler else None)


_ZH = ErnieConfig(
    vocab_size=40000, max_position_embeddings=2048, type_vocab_size=4, use_task_id=True, layer_norm_eps=1e-5
)
_TOKENS = ("input_ids", "attention_mask", "token_type_ids", "task_type_ids", "position_ids", "inputs_embeds")
_LABELS = (*_TOKENS, "labels")
_SEEN = (*_TOKENS, *bert.ENCODER)
_masked_lm = partial(bert.masked_lm, "Ernie")
FAMILY = Family(
    "ernie",
    "ernie",
    ErnieConfig,
    _body,
    (
        Class("ErnieModel", "base", bert.base, (*_SEEN, *bert.CACHE), pooler=True),
        Class(
            "ErnieForPreTraining",
            "pretraining",
            partial(bert.pretraining, "Ernie"),
            (*_LABELS, "next_sentence_label"),
            pooler=True,
        ),
        Class("ErnieForMaskedLM", "masked-lm", _masked_lm, (*_SEEN, "labels")),
        Class("ErnieForCausalLM", "causal-lm", _masked_lm, (*_SEEN, "labels", *bert.CACHE, "logits_to_keep")),
        Class(
            "ErnieForNextSentencePrediction",
            "next-sentence",
            partial(bert.next_sentence, "Ernie"),
            _LABELS,
            pooler=True,
        ),
        Class(
            "ErnieForSequenceClassification",
            "sequence-classification",
            bert.sequence_classification,
            _LABELS,
            pooler=True,
        ),
        Class("ErnieForTokenClassification", "token-classification", bert.token_classification, _LABELS),
        Class("ErnieForQuestionAnswering", "question-answering", bert.question_answering, (*_TOKENS, *bert.ANSWERS)),
        Class(
            "ErnieForMultipleChoice",
            "multiple-choice",
            bert.multiple_choice,
            _LABELS,
            pooler=True,
            laid_out=("task_type_ids",),
        ),
    ),
    {"ernie-3.0-base-zh": Preset(_ZH, model_card("nghuyong/ernie-3.0-base-zh"))},
    like_bert=False,
)
