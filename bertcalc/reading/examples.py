"""Examples of texts to paste, generated from bertcalc's definitions; the article has two mistakes."""

from collections.abc import Callable

from bertcalc.families import build, hf_json
from bertcalc.families.presets import DEFAULT_PRESET
from bertcalc.text import N_


def _printed() -> str:
    return f"{build(DEFAULT_PRESET, 'BertForSequenceClassification')}"


def _listing() -> str:
    tensors = build(DEFAULT_PRESET).tensors(folded=False)
    return "\n".join(f"{tensor.name} torch.Size({list(tensor.shape)})" for tensor in tensors)


def _config() -> str:
    return hf_json.write(build("albert-base-v2"))


def _article() -> str:
    return """\
# How large is BERT-base?

The embeddings have (30522 + 512 + 2) * 768 = 23,835,648 parameters, and their LayerNorm 2 * 768 = 1,536.

The attention of one layer has four matrices with biases: 4 * (768 * 768 + 768) = 2,362,368. The feed-forward of one
layer has 2 * 768 * 3072 = 4,718,592, and the two LayerNorms have 3,072 parameters.

One layer has 7,087,872 parameters, so all 12 layers have 12 * 7,087,872 = 85,054,464. The pooler has 590,592.

In total, BERT-base has 110,482,240 parameters.
"""


EXAMPLES: dict[str, Callable[[], str]] = {
    N_("a number"): lambda: "109,089,024",
    N_("a calculation"): lambda: "12 * (4 * 768 * 768 + 2 * 768 * 3072)",
    N_("a hand count"): lambda: "embeddings = (V + P + T) * H\nattention = L * 4 * H * H\nfeed-forward = L * 2 * H * I",
    N_("an article"): _article,
    N_("a printed PyTorch model"): _printed,
    N_("a listing of tensors"): _listing,
    N_("a config.json"): _config,
}
