"""Products that words imply."""

from fractions import Fraction

import pytest

from bertcalc.proofreading.chains import judge_several


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
