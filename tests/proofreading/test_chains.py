"""The sides of calculations, and products that the text implies."""

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
        "Scores: 16 × 12 × 384 × 384 × 2 bytes = 56.6 MB",  # in units of 2^20
        "Scores: 16 × 12 × 384 × 384 = 113 MB in float32",  # times 4 bytes
        "A page has 32×128×2B = 8192B = 8 KB.",
        "Weights: 7×109×2B=14GB",  # 7·10⁹ without its exponent
        "Weights: 13 * 10^9 × 2 byte = 26 * 10^9 byte = 26 GB",
        "Weights: 334,000,000 × 4 = 1.336 GB ≈ 1.244 GiB",
        "Weights: 334,000,000 × 4 = 1336 MB ≈ 1.244 GB",  # the last number is in binary units
        "Weights: 110M × 4 bytes × 2 = 880 MB ≈ 0.88 GB",
        "268MB × 24 ≈ 6.4 GB",
        "100 sequences: 100 × 256 MB = 25 GB",  # in units of 2^30
        "It takes 0.5 GB + 1.5 GB = 2 GB.",
        "约 64 × 128 × 4 字节 = 32 KB",
        "The mixture has 8 × 7B = 56B parameters.",
    ],
)
def test_a_product_of_bytes_agrees_in_either_unit(text: str) -> None:
    assert not proofread(text).of("wrong")
