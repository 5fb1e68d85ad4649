"""Calculations with terms that are transformers' counts: rounded layers, and sums with a wrong term."""

import pytest
import torch
from transformers import BertConfig, BertModel

from bertcalc import build
from bertcalc.proofreading.known_terms import judge_layer_sum, judge_whole_sum
from bertcalc.proofreading.mentions.calculations import find
from bertcalc.proofreading.proofread import proofread
from bertcalc.text.arithmetic import evaluate

BERT = BertModel(BertConfig())
LAYERS = sum(parameter.numel() for parameter in BERT.encoder.parameters())
ATTENTION = sum(parameter.numel() for parameter in BERT.encoder.layer[0].attention.parameters())
LAYER = sum(parameter.numel() for parameter in BERT.encoder.layer[0].parameters())
EMBEDDINGS = sum(parameter.numel() for parameter in BERT.embeddings.parameters())
POOLER = sum(parameter.numel() for parameter in BERT.pooler.parameters())


def wrong(text: str) -> list[int]:
    return [int(claim.right_value or 0) for claim in proofread(f"# BERT-base\n\n{text}").of("wrong")]


@pytest.mark.parametrize(
    "text",
    [
        "12 × 7M = 84M",
        "12 × 7.1M = 85.2M",
        "The stack: 12 blocks × 7.1M params = 85.2M params",
        "12 encoder layers: ~7.1M each = 85.2M",
        "12 layers of 7.1M: 85.2M",
        "12 层，每层 7.1M：12 × 7.1M = 85.2M",
    ],
)
def test_a_layer_that_is_rounded_before_it_is_multiplied_leads_to_a_wrong_count(text: str) -> None:
    [claim] = proofread(f"# BERT-base\n\n{text}").of("wrong")
    assert claim.right_value == LAYERS
    assert "rounded before it is multiplied" in claim.reason


@pytest.mark.parametrize(
    "text",
    [
        "12 × 7.1M = 85M",
        "12 × 7.1M ≈ 85.2M",  # right under a condition
        "12 × ~7.09M = ~85.1M",
        "12 encoder layers: ~7.1M each = 85.1M",
        "12 × 7.08M = 85.0M",  # only the matrices: right under a condition
        "12 heads of 0.2M each = 2.4M",
    ],
)
def test_a_rounded_product_that_rounds_the_count_is_not_wrong(text: str) -> None:
    assert not wrong(text)


def test_a_calculation_that_is_only_close_is_right_under_a_condition() -> None:
    [claim] = proofread("# BERT-base\n\n12 × 7.1M ≈ 85.2M").claims
    assert (claim.verdict, claim.right_value) == ("conditional", LAYERS)


@pytest.mark.parametrize("text", ["12 blocks: 85.2M (7.08M × 12)", "12 blocks: 12 * 7.08M = 85.2M"])
def test_a_rounded_product_that_gives_another_count_says_what_is_right(text: str) -> None:
    *_stated, claim = marked = proofread(f"# BERT-base\n\n{text}").of("wrong")
    assert {other.right_value for other in marked} == {LAYERS}
    assert "The calculation gives 84,960,000" in claim.reason


@pytest.mark.parametrize("text", ["12 blocks: 85.1M (7.09M × 12)", "12 blocks: 85M (7.08M × 12)"])
def test_a_rounded_product_in_brackets_may_give_the_count(text: str) -> None:
    assert not wrong(text)


def test_one_wrong_term_of_a_sum_is_named() -> None:
    attention, feed_forward = 12 * (ATTENTION + 12 * 768), 12 * (LAYER - ATTENTION)
    [claim] = proofread(f"# BERT-base\n\nstack: {attention} + {feed_forward} = {attention + feed_forward}").of("wrong")
    assert claim.right_value == LAYERS
    assert f"{12 * ATTENTION:,}" in claim.reason
    assert f"not {attention:,}" in claim.reason


def test_a_sum_with_a_wrong_term_is_carried_into_the_total_and_into_one_layer() -> None:
    attention, feed_forward = 12 * (ATTENTION + 12 * 768), 12 * (LAYER - ATTENTION)
    layers = attention + feed_forward
    total = EMBEDDINGS + layers + POOLER
    text = f"# {attention} + {feed_forward} = {layers}\n# {EMBEDDINGS} + {layers} + {POOLER} = {total}\n"
    text += f"shared: {layers // 12}"
    assert wrong(text) == [LAYERS, BERT.num_parameters(), LAYER]


@pytest.mark.parametrize(
    "text",
    [
        f"{EMBEDDINGS} + {LAYERS} + {POOLER} = {EMBEDDINGS + LAYERS + POOLER}",
        # another vocabulary
        f"With 30,000 words it is {EMBEDDINGS - 522 * 768} + {LAYERS} = {EMBEDDINGS - 522 * 768 + LAYERS}",
        # only the matrices
        f"{4 * 768 * 768} + {8 * 768 * 768} = {12 * 768 * 768}",
        # terms that are not the parts of a layer
        f"{LAYER} + 768 = {LAYER + 768}",
    ],
)
def test_a_sum_without_a_wrong_term_is_not_wrong(text: str) -> None:
    assert not wrong(text)


@pytest.mark.parametrize(
    "label",
    ["attention with LayerNorm, one layer", "self_attention_block, per layer", "Attention + LayerNorm, each layer"],
)
def test_labels_with_norms_or_underscores_name_their_part(label: str) -> None:
    assert wrong(f"- {label}: {ATTENTION + 12 * 2048:,}") in ([ATTENTION], [ATTENTION - 2 * 768])
    assert not wrong(f"- {label}: {ATTENTION:,}")


def test_two_parts_together_are_not_the_first_of_them() -> None:
    table = 30522 * 768
    assert not wrong(f"BERT-base with an untied output: {2 * table / 1e6:.1f}M in the embeddings and the head.")


SUM = (
    "21128*768 + 512*768 + 2*768 + 2*768"
    " + (4*(768*768 + 768) + 2*768 + 2*768*3072 + 3072 + 768 + 2*768)*12 + 768*768 + 768"
)


@pytest.mark.parametrize(
    ("written", "instead", "gap"),
    [
        ("2*768*3072 +", "(768*3072 + 3072*768)*2 +", "Counted twice: encoder.layer.*.intermediate.dense.weight"),
        ("512*768 + 2*768 + 2*768", "512*768 + 2*768", "Not counted: embeddings.LayerNorm.weight"),
        (" + 768*768 + 768", "", "Not counted: pooler.dense.weight"),
    ],
)
def test_a_sum_over_the_whole_model_says_what_it_lacks_or_counts_twice(written: str, instead: str, gap: str) -> None:
    with torch.device("meta"):
        right = BertModel(BertConfig(vocab_size=21128)).num_parameters()
    assert evaluate(SUM) == right
    before, _written, after = SUM.rpartition(written)
    [entry] = find(f"{before}{instead}{after}", {})
    judged = judge_whole_sum(entry, build("bert-base-chinese"))
    assert judged
    assert judged.right_value == right
    assert any(str(reason).startswith(gap) for reason in judged.reasons)
    [same] = find(SUM, {})
    assert judge_whole_sum(same, build("bert-base-chinese")) is None


def test_a_sum_over_one_layer_says_what_it_lacks() -> None:
    [entry] = find("(3 * 768^2 + 768^2) + (768 * 3072 + 3072 * 768) + 2 * 768", {})
    judged = judge_layer_sum(entry, build("bert-base-uncased"))
    assert judged
    assert judged.right_value == LAYER
    [_right, gap] = map(str, judged.reasons)
    lacking = LAYER - entry.best.value
    assert lacking == 4 * 768 + 3072 + 768 + 2 * 768  # the biases and one LayerNorm
    assert f"{int(lacking):,}" in gap
    assert "attention.output.LayerNorm" not in gap
