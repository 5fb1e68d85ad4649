"""CamemBERT (Martin et al. 2020, arXiv:1911.03894): RoBERTa with a French vocabulary."""

from bertcalc.families import roberta
from bertcalc.families.common import LARGE
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class CamembertConfig(roberta.RobertaConfig):
    """Hugging Face's ``CamembertConfig``, with the same field names and defaults."""

    vocab_size: int = 30522


_SIZES = {"vocab_size": 32005, **roberta.SIZES}
FAMILY = roberta.family(
    "camembert",
    CamembertConfig,
    {"almanach/camembert-base": _SIZES, "almanach/camembert-large": LARGE | _SIZES},
    head_first=True,
)
