"""The bytes per parameter during training, as PyTorch's Adam keeps them."""

from functools import cache

import pytest
import torch
from transformers import BertConfig, BertModel

from bertcalc.proofreading.proofread import proofread


@cache
def kept(name: str) -> dict[str, int]:
    """The bytes of the weights, the gradients and Adam's two moments after a step."""
    sizes = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
    with torch.device("meta"):
        model = BertModel(BertConfig(**(sizes if name == "BERT-large" else {})))
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


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base with SGD: weights 438 MB and gradients 438 MB, 876 MB in total.",
        "BERT-base with LoRA: the Adam states of the adapters take 2.4 MB.",
        "BERT-base with the 8-bit Adam: optimizer states of 219 MB.",
        "BERT-base, fp32: weights 0.44 GB, plus gradients: 0.88 GB, plus Adam moments: 1.75 GB.",
        "BERT-base: weights 440 MB, gradients 440 MB, Adam 880 MB, activations (batch 16) 8 GB, in total 10 GB.",
        "BERT-base: fp16 weights 219 MB, fp32 master weights and moments 1.31 GB.",
        "For training BERT-base you need gradients (another 438 MB) and the two Adam moments (876 MB), in sum 1.75 GB.",
        "BERT-base 有 1.1 亿个参数。梯度的大小与模型参数相同，因此占用 440 MB 显存。",
        "BERT-base, fp32: the gradients have the same size as the weights, 438 MB.",
        "Training BERT-base with Adam takes 1.31 GB.",
    ],
)
def test_what_follows_another_convention_is_not_wrong(text: str) -> None:
    assert not proofread(text).of("wrong")


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
