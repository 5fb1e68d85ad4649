"""Numbers after PyTorch modules, compared with the counts of the real modules."""

import pytest
import torch

from bertcalc.proofreading.proofread import proofread

MODULES = [
    "nn.Linear(768, 3072)",
    "nn.Linear(3072, 768)",
    "nn.Linear(768, 768, bias=False)",
    "nn.Embedding(30522, 768)",
    "nn.LayerNorm(1024)",
    "nn.Embedding(30522, 768, padding_idx=0)",
    "nn.Linear(in_features=768, out_features=3072, bias=True)",
    "nn.LayerNorm((768,), eps=1e-12)",
    "nn.LayerNorm(normalized_shape=1024, bias=False)",
]


def real(module: str) -> int:
    with torch.device("meta"):
        built = eval(module, {"nn": torch.nn})
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize("module", MODULES)
def test_the_count_of_a_module_is_right_and_any_other_is_wrong(module: str) -> None:
    text = "BERT-base\n\nprint(count({}))  # {}"
    right = proofread(text.format(module, real(module))).claims[-1]
    assert right.verdict == "right"
    wrong = proofread(text.format(module, real(module) + 768)).claims[-1]
    assert wrong.verdict == "wrong"
    assert wrong.right_value == real(module)


def test_a_module_elsewhere_on_the_line_says_nothing() -> None:
    assert not proofread("BERT-base has nn.Linear(768, 768) and 109,482,240 parameters").of("wrong")
