"""XLM-RoBERTa (Conneau et al. 2020, arXiv:1911.02116): RoBERTa with a vocabulary for a hundred languages."""

from bertcalc.families import roberta
from bertcalc.families.common import LARGE
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class XLMRobertaConfig(roberta.RobertaConfig):
    """Hugging Face's ``XLMRobertaConfig``, with the same field names and defaults."""

    vocab_size: int = 30522


_SIZES = {"vocab_size": 250002, **roberta.SIZES}
FAMILY = roberta.family(
    "xlm-roberta",
    XLMRobertaConfig,
    {
        "FacebookAI/xlm-roberta-base": _SIZES,
        "FacebookAI/xlm-roberta-large": LARGE | _SIZES,
        "BAAI/bge-m3": LARGE | _SIZES | {"max_position_embeddings": 8194},
    },
    head_first=True,
)
