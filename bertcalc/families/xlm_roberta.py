"""XLM-RoBERTa (Conneau et al. 2020, arXiv:1911.02116): RoBERTa with word pieces for a hundred languages."""

from dataclasses import dataclass

from bertcalc.families import roberta
from bertcalc.families.roberta import LARGE, SIZES, RobertaConfig


@dataclass(frozen=True)
class XLMRobertaConfig(RobertaConfig):
    """Hugging Face's ``XLMRobertaConfig``: the same field names, the same defaults."""

    vocab_size: int = 30522


FAMILY = roberta.family(
    "xlm-roberta",
    XLMRobertaConfig,
    {
        "xlm-roberta-base": roberta.preset(XLMRobertaConfig(vocab_size=250002, **SIZES), "FacebookAI/xlm-roberta-base"),
        "xlm-roberta-large": roberta.preset(
            XLMRobertaConfig(vocab_size=250002, **LARGE), "FacebookAI/xlm-roberta-large"
        ),
        "bge-m3": roberta.preset(
            XLMRobertaConfig(vocab_size=250002, **LARGE | {"max_position_embeddings": 8194}), "BAAI/bge-m3"
        ),
    },
    head_first=True,
)
