r"""Formulas copied from a page with KaTeX: the text for screen readers, the LaTeX source, and the visible formula."""

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.proofreading.mentions.katex_copies import copied_formulas
from bertcalc.proofreading.mentions.plain_text import read
from bertcalc.proofreading.proofread import proofread
from tests.examples import examples


def as_copied(latex: str) -> str:
    """Return a formula as a browser copies it: KaTeX's MathML text, its LaTeX annotation, and its HTML text."""
    seen = re.sub(r"[\s{}^]", "", latex.replace(r"\times", "×"))
    return f"{seen}{latex}{seen}"


TERMS = st.lists(st.tuples(st.integers(2, 60_000), st.sampled_from([768, 3072, 12])), min_size=1, max_size=4)


@examples(100)
@given(TERMS)
def test_the_calculation_is_read_once(terms: list[tuple[int, int]]) -> None:
    total = sum(first * second for first, second in terms)
    latex = " + ".join(rf"{first} \times {second}" for first, second in terms) + f" = {total:,}"
    text = f"参数量为 {as_copied(latex)}（一共）"
    [claim] = [claim for claim in proofread(f"BERT-base\n\n{text}").claims if "=" in claim.text]
    assert claim.value == total
    assert claim.text == as_copied(latex)  # the remaining text stands for all three copies


def test_a_power_keeps_its_exponent() -> None:
    text = r"BERT Base: 4×7682=2,359,2964 \times 768^2 = 2,359,2964×7682=2,359,296"
    assert read(text).text == "BERT Base: 4 × 768^2 = 2,359,296"


@pytest.mark.parametrize("text", ["| 12 | 12 | 12 |", "100100100", "a+b a+b a+b", "1 + 1 + 1 + 1 + 1 + 1", "......"])
def test_what_is_merely_repeated_stays(text: str) -> None:
    assert list(copied_formulas(text)) == []
    assert read(text).text == text


def test_a_long_line_takes_no_time() -> None:
    start = perf_counter()
    list(copied_formulas("12×12=144 " * 190))
    list(copied_formulas("1,000" * 390))
    assert perf_counter() - start < 5
