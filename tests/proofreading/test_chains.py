"""The sides of calculations, and products that the text implies."""

import re
from fractions import Fraction

import pytest

from bertcalc.proofreading.chains import judge_several
from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import count, real


@pytest.mark.parametrize(
    ("before", "between", "after", "total", "right"),
    [
        ("25 LayerNorms of ", " parameters, ", "in total", 36_864, 38_400),
        ("two layer norms of ", " make ", "", 3_000, 3_072),
        ("两个LayerNorm各", "，共", "", 3_702, 3_072),
    ],
)
def test_another_number_than_the_product_is_wrong(
    before: str, between: str, after: str, total: int, right: int
) -> None:
    judged = judge_several(before, Fraction(1_536), between, after, Fraction(total))
    assert judged is not None
    assert judged.verdict == "wrong"
    assert judged.right_value == right


@pytest.mark.parametrize("between", [" parameters; the biases have ", " and 24 of ", ", as in "])
def test_numbers_that_are_only_beside_each_other_are_no_product(between: str) -> None:
    assert judge_several("25 LayerNorms of ", Fraction(1_536), between, "", Fraction(36_864)) is None


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("BERT-base: a block has 7,087,872 ≈ 12 × 768² parameters.", "right"),
        ("BERT-base: a block has 7,807,872 ≈ 12 × 768² parameters.", "wrong"),
        ("GPT-2: 12 · 12 · 768² ≈ 85M (blocks) + (50257+1024)·768 ≈ 39M (embeddings) ≈ 124M.", "right"),
        ("GPT-2: 12 · 12 · 768² ≈ 85M (blocks) + (50257+1024)·768 ≈ 39M (embeddings) ≈ 142M.", "wrong"),
        ("GPT-2: the embeddings are 38.6M of 124M ≈ 31% of the model.", "right"),
    ],
)
def test_a_count_may_be_about_a_rule(text: str, verdict: str) -> None:
    verdicts = {claim.verdict for claim in proofread(text).claims}
    assert ("wrong" in verdicts) == (verdict == "wrong")


def wrong(text: str) -> list[int]:
    """The right values of the numbers that are judged wrong; 0 where there is none."""
    return [int(claim.right_value or 0) for claim in proofread(text).of("wrong")]


LAYER, ENCODER = count(real().encoder.layer[0]), count(real().encoder)
DISTILLED = real("DistilBertModel")
HALF, TABLES, DISTIL = count(DISTILLED.transformer), count(DISTILLED.embeddings), count(DISTILLED)
ATTENTION = count(real().encoder.layer[0].attention)
NORM = count(real().encoder.layer[0].output.LayerNorm)
FORWARD = LAYER - ATTENTION
INNER_FORWARD, INNER_ATTENTION = FORWARD - NORM, ATTENTION - NORM


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"BERT-base has {LAYER:,} parameters per layer, times 12 = {{:,}}.", ENCODER),
        (f"BERT-base 每层 {LAYER:,} 个参数，乘以 12 = {{:,}}。", ENCODER),
        (f"BERT-base: {LAYER:,} per layer; multiplied by 12 = {{:,}} ≈ 85M.", ENCODER),
        (f"DistilBERT: {HALF:,} in 6 layers, plus {TABLES:,} = {{:,}}.", DISTIL),
        (f"BERT-base: attention with LayerNorm {ATTENTION:,} plus FFN with LayerNorm {FORWARD:,} = {{:,}}.", LAYER),
        (f"FFN with its LayerNorm {FORWARD:,} + attention with its LayerNorm {ATTENTION:,} = {{:,}}.", LAYER),
        (
            f"Attention ({INNER_ATTENTION:,}) + FFN ({INNER_FORWARD:,}) + 2 LayerNorms ({2 * NORM:,}) = {{:,}} "
            "per BERT-base layer.",
            LAYER,
        ),
        ("Own head: Linear(768, 768) 590,592 + Linear(768, 2) 1,538 = {:,}.", 592_130),
    ],
)
def test_words_join_the_terms_of_a_calculation(text: str, right: int) -> None:
    assert not wrong(text.format(right))
    assert wrong(text.format(right + 1_000)) == [right]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("BERT-base, 128 tokens: {:.2f} GMACs = {:.2f} GFLOPs.", (11.17, 22.34)),
        ("BERT-base, 128 tokens: {:.1f} GFLOPs = {:.1f} GMACs.", (22.3, 11.2)),
        ("A training step: {} × 715 = {:,} GFLOPs.", (3, 2_145)),
    ],
)
def test_operations_are_in_the_unit_of_the_result(text: str, right: tuple[float, float]) -> None:
    assert not wrong(text.format(*right))
    assert wrong(text.format(right[0], right[1] * 1.1)) == wrong(text.format(right[0], right[1] * 1.5)) != []


@pytest.mark.parametrize(
    ("text", "slip"),
    [
        (f"Attention : FFN = {INNER_ATTENTION:,} : {INNER_FORWARD:,} ≈ 1 : 2 in each layer of BERT-base.", "1 : 3"),
        (f"Parameters, FFN : attention = {INNER_FORWARD:,} : {INNER_ATTENTION:,} = 2 : 1 (BERT-base).", "1 : 2"),
        (f"BERT-base 中注意力与前馈的参数比为 {INNER_ATTENTION:,} : {INNER_FORWARD:,} = 1 : 2。", "1 : 4"),
        ("DistilBERT's encoder 42.5M : BERT-base's encoder 85.1M = 1 : 2.", "2 : 1"),
        ("BERT-base : DistilBERT = 109.5M : 66.4M = 1.65 : 1.", "1.85 : 1"),
        ("The ratio of parameters BERT-large : BERT-base is 335.1M : 109.5M ≈ 3.06.", "2.06"),
    ],
)
def test_a_ratio_is_no_chain_of_equal_numbers(text: str, slip: str) -> None:
    assert not wrong(text)
    before, sign, after = re.split("([=≈] )(?=[0-9.]+ ?(?::|\\.$))", text, maxsplit=1)
    text = before + sign + re.sub(r"^[0-9.]+[0-9](?: : [0-9])?|^[0-9] : [0-9]", slip, after)
    assert [str(claim.reason)[:13] for claim in proofread(text).of("wrong")] == ["The ratio is "]


# The texts name no model, so only the arithmetic can be wrong.
@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Scores: 16 × 12 × 384 × 384 × 2 bytes = 5.7 GB", 16 * 12 * 384 * 384 * 2),
        ("激活值：64 × 128 × 1024 × 24 × 2 字节 ≈ 4 GB", 64 * 128 * 1024 * 24 * 2),
        ("A decoder keeps 2 × 40 × 40 × 128 × 1024 × 2 = 0.4 GB", 2 * 40 * 40 * 128 * 1024 * 2),
        ("缓冲区 2 × 24 × 2048 × 16 × 64 × 4 = 4,026,531,840 字节", 2 * 24 * 2048 * 16 * 64 * 4),
        ("A page has 32×128×2B = 4096B.", 8192),
        ("All of them: 268MB × 24 = 4.6 GB", 268_000_000 * 24),
        ("4 bytes × 110M = 0.22 GB", 440_000_000),
    ],
)
def test_a_product_of_bytes_gives_another_size(text: str, right: int) -> None:
    [claim] = proofread(text).of("wrong")
    assert claim.right_value == right
    assert str(claim.reason).startswith("The calculation gives")


@pytest.mark.parametrize(
    "text",
    [
        f"BERT-base: a layer has {LAYER:,} plus the pooler's {count(real().pooler):,} = 0.6M parameters.",
        "BERT-base: 1.2345 K times 12 = 12,345 = 0 : 0",
        "BERT-base: 0M : 85,054,464 = 1 : 2",
    ],
)
def test_words_before_an_equation_may_join_nothing(text: str) -> None:
    assert all("ratio" not in str(claim.reason) for claim in proofread(text).claims)
    assert "0.6M" not in text or not wrong(text)


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        (f"BERT-base: 12 layers of {LAYER:,} = {ENCODER:,}", ["right"]),
        (f"BERT-base: twelve layers of {LAYER:,} = {ENCODER + 9:,}", ["wrong"]),
        ("BERT-base has 12 heads of 64 = 768 dimensions.", []),
        ("BERT-base: 109,482,240 = 109,428,240 parameters", ["wrong"]),
    ],
)
def test_words_before_a_plain_equation_multiply_it(text: str, verdicts: list[str]) -> None:
    assert [claim.verdict for claim in proofread(text).claims] == verdicts
