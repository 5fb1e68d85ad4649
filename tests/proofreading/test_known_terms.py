"""Calculations with terms that are transformers' counts: rounded layers, and sums with a wrong term."""

import pytest

from bertcalc import build
from bertcalc.proofreading.known_terms import judge_layer_sum, judge_whole_sum
from bertcalc.proofreading.mentions.calculations import find
from bertcalc.proofreading.proofread import proofread
from bertcalc.text.arithmetic import evaluate
from tests.proofreading.real_models import LARGE, count, real

LAYERS = count(real().encoder)
ATTENTION = count(real().encoder.layer[0].attention)
LAYER = count(real().encoder.layer[0])
EMBEDDINGS = count(real().embeddings)
POOLER = count(real().pooler)


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


def test_a_calculation_that_is_only_close_is_right_under_a_condition() -> None:
    [claim] = proofread("# BERT-base\n\n12 × 7.1M ≈ 85.2M").claims
    assert claim.verdict == "conditional"
    assert claim.right_value == LAYERS


@pytest.mark.parametrize("text", ["12 blocks: 85.2M (7.08M × 12)", "12 blocks: 12 * 7.08M = 85.2M"])
def test_a_rounded_product_that_gives_another_count_says_what_is_right(text: str) -> None:
    *_stated, claim = marked = proofread(f"# BERT-base\n\n{text}").of("wrong")
    assert {other.right_value for other in marked} == {LAYERS}
    assert "The calculation gives 84,960,000" in claim.reason


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
    assert wrong(text) == [LAYERS, count(real()), LAYER]


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
    right = count(real(vocab_size=21128))
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


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("BERT-base: 12 heads, each with Q, K, V of 768×768, so (768 × 768 × 3) × 12 = 21,233,664 per layer.", {}),
        ("BERT-base: each of the 12 heads has W_Q, W_K, W_V: 12 × 3 × 768 × 768 = 21.2M per layer.", {}),
        ("BERT-base 多头注意力：12个头，每个头有Q、K、V三个矩阵，所以每层参数 12*3*768*768=21233664", {}),
        (
            "BERT-large: each of the 16 heads has Q, K, V, so 16 × 3 × 1024 × 1024 = 50,331,648 weights per layer.",
            LARGE,
        ),
    ],
)
def test_heads_have_no_matrices_of_the_full_width(text: str, sizes: dict[str, int]) -> None:
    attention = real(**sizes).get_submodule("encoder.layer.0.attention.self")
    [claim] = proofread(text).of("wrong")
    assert claim.right_value == count(attention)
    assert "its matrices are divided among" in str(claim.reason)


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base has 12 layers and 12 heads. Matrices of Q, K, V in all layers: 12 × 3 × 768 × 768 = 21.2M.",
        "BERT-base has 12 heads of 64. The attention of all 12 layers, matrices: 12 × 4 × 768 × 768 = 28.3M",
        "BERT-base: 12 heads, weights of Q, K and V in one layer: 12 × 3 × 768 × 64 = 1,769,472",
    ],
)
def test_layers_are_not_taken_for_heads(text: str) -> None:
    assert not proofread(text).of("wrong")


@pytest.mark.parametrize(
    "text",
    ["每层约 700 万参数，共 {}。", "Each layer has about 7.1M parameters, for a total of {}.", "每层7.1M参数，一共{}"],
)
def test_a_total_behind_the_count_of_each_layer_is_all_layers(text: str) -> None:
    assert wrong(text.format("8400万" if "700" in text else "85.2M")) == [LAYERS]
    assert not wrong(text.format("8505万"))
