"""Numbers of operations, compared with PyTorch's counter on the real classes."""

from functools import cache

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, BertModel

from bertcalc.proofreading.claims import CheckedClaim
from bertcalc.proofreading.proofread import proofread


@cache
def counted(batch_size: int, length: int) -> FlopCounterMode:
    with torch.device("meta"):
        model = BertModel(BertConfig(attn_implementation="eager")).eval()
        tokens = torch.zeros(batch_size, length, dtype=torch.long)
    with FlopCounterMode(depth=9, display=False) as counter, torch.no_grad():
        model(tokens)
    return counter


def flops(batch_size: int, length: int) -> int:
    return int(counted(batch_size, length).get_total_flops())


def part(name: str, length: int) -> int:
    return sum(
        int(flops) for flops in counted(1, length).get_flop_counts()[f"BertModel.encoder.layer.0.{name}"].values()
    )


def last(text: str) -> CheckedClaim:
    return [claim for claim in proofread(text).claims if "FLOP" in claim.text or claim.unit == "FLOPs"][-1]


def giga(number: float) -> str:
    return f"{number / 1e9:.2f} GFLOPs"


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("BERT-base: a forward pass on 128 tokens takes {}.", flops(1, 128), flops(1, 128) * 1.1),
        ("BERT-base 在序列长度 128 时,一次前向需要 {}。", flops(1, 128), flops(1, 128) * 1.1),
        (
            "BERT-base, batch size 32, sequence length 128: the forward pass needs {}.",
            flops(32, 128),
            flops(32, 128) * 1.1,
        ),
        ("BERT-base with s = 512: a training step of one sequence takes {}.", 3 * flops(1, 512), 2 * flops(1, 512)),
        (
            "BERT-base with s = 128.\n\nFFN: {} per layer",
            part("intermediate", 128) + part("output", 128),
            part("output", 128),
        ),
        (
            "BERT-base with s = 128.\n\nOutput projection: {} per layer",
            part("attention.output", 128),
            part("attention.output", 128) * 1.5,
        ),
        (
            "BERT-base with s = 128.\n\nQ, K, V: {} per layer",
            3 * part("attention.self.query", 128),
            2 * part("attention.self.query", 128),
        ),
        (
            "BERT-base on 512 tokens: the forward pass takes 96.6 GFLOPs, the backward pass {}.",
            2 * flops(1, 512),
            1.75 * flops(1, 512),
        ),
        (
            "BERT-base 的计算量：n = 128。\n\n训练（前向 + 反向）约为前向的 3 倍，即 {}。\n\nn = 512 时另算。",
            3 * flops(1, 128),
            2 * flops(1, 128),
        ),
        (
            "| 部分（BERT-base，n = 128） | FLOPs（每层） |\n|---|---|\n| FFN | {} |",
            part("intermediate", 128) + part("output", 128),
            part("output", 128),
        ),
    ],
)
def test_operations_are_right_or_wrong_for_the_batch_of_the_text(text: str, right: float, wrong: float) -> None:
    assert last(text.format(giga(right))).verdict == "right"
    claim = last(text.format(giga(wrong)))
    assert claim.verdict == "wrong"
    assert claim.right_value == right


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base takes {} for 64 tokens in my estimate of 2 FLOPs per token.",
        "BERT-base takes {} per token at s = 128.",
        "If BERT-base had half the layers, it would take {} at s = 128.",
        "BERT-base on a GPU with a peak of {}, s = 128",
    ],
)
def test_what_is_not_claimed_is_not_called_wrong(text: str) -> None:
    assert last(text.format("19.11 GFLOPs")).verdict != "wrong"


def test_without_a_length_another_batch_is_a_condition() -> None:
    assert last(f"BERT-base takes {giga(flops(1, 128))}.").verdict == "conditional"


def test_operations_without_a_unit_are_below_a_heading_that_names_them() -> None:
    text = "# FLOPs of BERT-base\n\nBatch size 1, s = 128. Per layer:\n\n* FFN: {:,}\n"
    right = part("intermediate", 128) + part("output", 128)
    assert proofread(text.format(right)).claims[-1].verdict == "right"
    claim = proofread(text.format(right // 2)).claims[-1]
    assert claim.verdict == "wrong"
    assert claim.right_value == right


def test_multiply_adds_that_a_tool_calls_flops_are_not_wrong() -> None:
    assert last(f"At s = 128, many tools print {giga(flops(1, 128) / 2)} for BERT-base.").verdict != "wrong"
