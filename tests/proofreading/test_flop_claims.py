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


def groups(length: int) -> dict[str, float]:
    """The operations of one layer in GFLOPs, by the groups that texts name; PyTorch counts them."""
    projections = part("attention.self.query", length) * 3 + part("attention.output", length)
    forward, layer = part("intermediate", length) + part("output", length), part("attention", length)
    return {
        "projections": projections / 1e9,
        "forward": forward / 1e9,
        "linear": (projections + forward) / 1e9,
        "products": (layer - projections) / 1e9,
        "layer": (layer + forward) / 1e9,
    }


@pytest.mark.parametrize(
    ("text", "length"),
    [
        (
            "BERT-base, 512 tokens: linear layers {linear:.2f} GFLOPs, scores and context {products:.2f} GFLOPs, "
            "total {layer:.2f} GFLOPs per layer.",
            512,
        ),
        (
            "BERT-base, n = 128, per layer: attention projections {projections:.2f} GFLOPs, FFN {forward:.2f} GFLOPs, "
            "scores and context {products:.2f} GFLOPs, together {layer:.2f} GFLOPs.",
            128,
        ),
        (
            "FLOPs of BERT-base per layer (n = 512): linear layers 24 n d² = {linear:.2f} GFLOPs, sum "
            "{layer:.2f} GFLOPs, ×12 = 96.6 GFLOPs.",
            512,
        ),
        (
            "BERT-base，n=128，每层：注意力线性层 {projections:.2f} GFLOPs，FFN {forward:.2f} GFLOPs，分数与加权 "
            "{products:.2f} GFLOPs，合计 {layer:.2f} GFLOPs。",
            128,
        ),
    ],
)
def test_parts_are_counted_together(text: str, length: int) -> None:
    right = groups(length)
    assert not proofread(text.format(**right)).of("wrong")
    for name, value in right.items():
        if f"{{{name}:" in text:
            mistaken = text.format(**right | {name: value * 1.3})
            assert [claim.text for claim in proofread(mistaken).of("wrong")] == [f"{value * 1.3:.2f} GFLOPs"]


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


SCORES = 2 * 12 * 512 * 512 * 64


def test_multiply_adds_of_a_part_are_half_its_flops() -> None:
    feed_forward = part("intermediate", 512) + part("output", 512)
    text = "BERT-base FFN: 2 × 512 × 768 × 3072 = 2.4 GFLOPs per layer"
    [claim] = proofread(text).claims
    assert claim.verdict == "conditional"
    assert claim.right_value == feed_forward
    assert str(claim.reason) == "These are multiply-adds: as FLOPs, they are 4.8 GFLOPs."


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("BERT-base: attention scores take {:.0f}M MACs per layer with 512 tokens.", SCORES / 2),
        ("BERT-base: attention scores per layer: 12 × 512 × 512 × 64 = {:.0f}M MACs.", SCORES / 2),
        ("BERT-base, sequence length 128: QKV per layer: 3 × 128 × 768 × 768 = {:.0f}M multiply-adds.",
         3 * part("attention.self.query", 128) / 2),
        ("BERT-base, 128 tokens, forward: {:.0f}M multiply-adds", flops(1, 128) / 2),
        ("BERT-base，128 个 token，前向：{:.0f}M 次浮点运算", flops(1, 128)),
    ],
)  # fmt: skip
def test_operations_behind_a_number_are_its_unit(text: str, operations: float) -> None:
    [claim] = proofread(text.format(operations / 10**6)).claims
    assert claim.verdict == "right"
    [claim] = proofread(text.format(operations / 10**6 * 1.2)).claims
    assert claim.verdict == "wrong"


def test_one_matrix_of_the_feed_forward_network_has_half_of_its_flops() -> None:
    text = "FFN up-projection at 512 tokens in BERT-base: 2 × 512 × 768 × 3072 = 2.4 GFLOPs per layer"
    assert not [claim for claim in proofread(text).claims if claim.verdict in ("wrong", "conditional")]
