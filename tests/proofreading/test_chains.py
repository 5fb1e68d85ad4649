"""Sides of calculations, and products that words imply."""

from fractions import Fraction

import pytest

from bertcalc.proofreading.chains import judge_several
from bertcalc.proofreading.proofread import proofread


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
