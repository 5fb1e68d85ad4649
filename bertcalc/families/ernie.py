"""ERNIE (Sun et al. 2021, arXiv:2107.02137): BERT's program with optional task embeddings.

The program follows Hugging Face's modeling_ernie.py.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from bertcalc.config import Config
from bertcalc.families import bert
from bertcalc.families.common import CACHE, ENCODER, TOKENS, ClassFactory, DecoderConfig, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.trace import Trace, Value
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass
from bertcalc.transformers4.version import only_absolute


@dataclass(frozen=True)
class ErnieConfig(DecoderConfig):
    """Hugging Face's ``ErnieConfig``, with the same field names and defaults."""

    task_type_vocab_size: int = 3
    use_task_id: bool = False

    chunks: ClassVar = True
    shaping: ClassVar = (*Config.shaping, "use_task_id")

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().refused(content)
        yield from only_absolute(cls, content)


def _body(t: Trace, c: ErnieConfig, pooler: bool) -> Hidden:
    def tasks(ids: Value, x: Value) -> Value:
        numbers = Value("task_type_ids", ids.shape, ids=True)  # zeros by default
        rows = c.task_type_vocab_size
        task_embeddings = t.embedding("task_type_embeddings", numbers, rows, c.hidden_size, role="task type")
        return t.add("add_task_type", x, task_embeddings, in_place=True)

    with t.module("embeddings", "ErnieEmbeddings", component="embeddings", order=bert.EMBEDDINGS):
        x = bert.summed_embeddings(t, c, c.hidden_size, extra=tasks if c.use_task_id else None)
    x = bert.encoder(t, c, x, "Ernie")
    return Hidden(x, bert.pooled(t, c, x, "Ernie") if pooler else None)


_SIZES: dict[str, Any] = {
    "vocab_size": 40000,
    "max_position_embeddings": 2048,
    "type_vocab_size": 4,
    "use_task_id": True,
    "layer_norm_eps": 1e-5,
}
_class = ClassFactory("Ernie", (*TOKENS[:3], "task_type_ids", *TOKENS[3:]))
_masked_lm = partial(bert.masked_lm, "Ernie")
FAMILY = Family(
    "ernie",
    "ernie",
    ErnieConfig,
    _body,
    (
        _class("base", bert.base, *ENCODER, *CACHE, pooler=True),
        _class("pretraining", partial(bert.pretraining, "Ernie"), after=("next_sentence_label",), pooler=True),
        _class("masked-lm", _masked_lm, *ENCODER),
        _class("causal-lm", _masked_lm, *ENCODER, after=(*CACHE, "logits_to_keep")),
        _class("next-sentence", partial(bert.next_sentence, "Ernie"), pooler=True),
        _class("sequence-classification", bert.sequence_classification, pooler=True),
        _class("token-classification", bert.token_classification),
        _class("question-answering", bert.question_answering),
        _class("multiple-choice", bert.multiple_choice, pooler=True, laid_out=("task_type_ids",)),
    ),
    presets(ErnieConfig, {"nghuyong/ernie-3.0-base-zh": _SIZES}),
    peaks=True,
)
