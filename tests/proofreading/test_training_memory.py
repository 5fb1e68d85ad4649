"""The bytes per parameter during training, as PyTorch's Adam keeps them."""

import copy
from functools import cache

import pytest
import torch

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import LARGE as LARGE_SIZES
from tests.proofreading.real_models import count, real


@cache
def kept(name: str) -> dict[str, int]:
    """The bytes of the weights, the gradients and Adam's two moments after a step."""
    model = copy.deepcopy(real(**LARGE_SIZES) if name == "BERT-large" else real())
    with torch.device("meta"):
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
    weights = sum(parameter.nbytes for parameter in model.parameters())
    gradients = sum(parameter.grad.nbytes for parameter in model.parameters() if parameter.grad is not None)
    moments = sum(state[moment].nbytes for state in optimizer.state.values() for moment in ("exp_avg", "exp_avg_sq"))
    return {"W": weights, "G": gradients, "M": moments, "T": weights + gradients + moments, "H": moments // 2}


BASE, LARGE = "BERT-base", "BERT-large"


@pytest.mark.parametrize(
    ("text", "right", "mistake"),
    [
        ("BERT-base: Adam's states take {}.", [(BASE, "M")], (BASE, "H")),
        (
            "Fine-tuning BERT-base with AdamW needs {} for weights, gradients and optimizer states.",
            [(BASE, "T")],
            (BASE, "M"),
        ),
        ("BERT-base 训练时 AdamW 状态 {}。", [(BASE, "M")], (BASE, "H")),
        (
            "BERT-large in float32 with Adam:\n\n- weights: {}\n- gradients: {}\n- optimizer states: {}\n- sum: {}",
            [(LARGE, "W"), (LARGE, "G"), (LARGE, "M"), (LARGE, "T")],
            (LARGE, "M"),
        ),
        (
            "显存(训练,fp32,Adam)，BERT-large:\n\n- 参数 {}\n- 梯度 {}\n- 优化器 {}\n- 合计 {}",
            [(LARGE, "W"), (LARGE, "G"), (LARGE, "M"), (LARGE, "T")],
            (LARGE, "M"),
        ),
        (
            "Training with Adam in FP32 needs 16 bytes per parameter: BERT-base {}, BERT-large {}.",
            [(BASE, "T"), (LARGE, "T")],
            (LARGE, "M"),
        ),
        (
            "| | BERT-base | BERT-large |\n|---|---|---|\n| Adam training state, fp32 | {} | {} |",
            [(BASE, "T"), (LARGE, "T")],
            (LARGE, "M"),
        ),
        ("BERT-base: $16N = $ {}", [(BASE, "T")], (BASE, "M")),
        ("BERT-base 混合精度训练：2 + 2 + 4 + 4 + 4 = 16 字节，约 {}。", [(BASE, "T")], (BASE, "M")),
    ],
)
def test_what_training_keeps(text: str, right: list[tuple[str, str]], mistake: tuple[str, str]) -> None:
    numbers = [kept(name)[part] for name, part in right]
    sizes = [claim for claim in proofread(text.format(*map(giga, numbers))).claims if claim.text.endswith("GB")]
    assert [claim.verdict for claim in sizes] == ["right"] * len(numbers)
    wrong_number = kept(mistake[0])[mistake[1]]
    [wrong] = proofread(text.format(*map(giga, numbers[:-1]), giga(wrong_number))).of("wrong")
    assert wrong.right_value == numbers[-1]


def giga(number: int) -> str:
    return f"{number / 1e9:.2f} GB"


def test_a_text_may_calculate_with_the_rounded_count_in_a_models_name() -> None:
    """The name 7B means 7 billion parameters, with two moments of 4 bytes each."""
    text = "Fine-tuning LLaMA-7B in float32: the Adam states take {}."
    assert proofread(text.format("56 GB")).claims[-1].verdict == "right"
    assert proofread(text.format("112 GB")).claims[-1].verdict != "right"


def test_eight_bytes_for_each_byte_of_the_weights_are_wrong() -> None:
    text = (
        "# LLaMA-7B in float32\n\n- Weights: 28 GB\n- Adam's states: 28 × 8 = 224 GB\n- Adam's states: 28 × 2 = 56 GB"
    )
    weights, wrong, right = proofread(text).claims[-3:]
    assert (weights.verdict, wrong.verdict, right.verdict) == ("right", "wrong", "right")


@pytest.mark.parametrize(
    ("text", "width", "slip"),
    [
        ("Optimizer states of LoRA (294,912 parameters): 2.4 MB; of full fine-tuning of BERT-base: {:.0f} MB.", 8, 12),
        ("Adam states: BERT-base 876 MB, BERT-large 2.68 GB. With weights and gradients: {:.0f} MB.", 16, 12),
    ],
)
def test_the_states_of_the_optimizer_alone_and_added(text: str, width: int, slip: int) -> None:
    megabytes = count(real()) / 1e6
    assert not proofread(text.format(width * megabytes)).of("wrong")
    [claim] = proofread(text.format(slip * megabytes)).of("wrong")
    assert claim.text == f"{slip * megabytes:.0f} MB"
