"""CamemBERT (Martin et al. 2020, arXiv:1911.03894): RoBERTa with word pieces for French."""

from dataclasses import dataclass

from bertcalc.families import roberta
from bertcalc.families.roberta import LARGE, SIZES, RobertaConfig


@dataclass(frozen=True)
class CamembertConfig(RobertaConfig):
    """Hugging Face's ``CamembertConfig``: the same field names, the same defaults."""

    vocab_size: int = 30522


FAMILY = roberta.family(
    "camembert",
    CamembertConfig,
    {
        "camembert-base": roberta.preset(CamembertConfig(vocab_size=32005, **SIZES), "almanach/camembert-base"),
        "camembert-large": roberta.preset(CamembertConfig(vocab_size=32005, **LARGE), "almanach/camembert-large"),
    },
    head_first=True,
)
