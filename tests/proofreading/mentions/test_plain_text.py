"""Markup is removed, and every remaining character keeps its position in the original text."""

import json
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.proofreading.mentions.plain_text import read


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"$30522 \times 768^{2} = 23{,}440{,}896$", "30522 × 768^(2) = 23,440,896"),
        (r"\section{Sizes} 23\,440\,896 \approx 23.4M", "\n#  Sizes  23,440,896 ≈ 23.4M"),
        (r"\frac{768}{12}", "((768)/(12))"),
        ("<h2>Sizes</h2><p>12&times;768<sup>2</sup></p>", "\n# Sizes\n\n12×768^2\n"),
        ("<tr><td>Pooler</td><td>590,592</td></tr>", "\n | Pooler | 590,592 |\n"),
        ("词表２１１２８＝（1）", "词表21128=(1)"),
        ("参数**23,440,896**个, 2**20", "参数23,440,896个, 2**20"),
        ("`768`, see https://example.org/p/360988428.", "768, see "),
        ("\x1b[31m768\x1b[0m", "768"),
        ("=393，216，共", "=393,216，共"),
        ("512 · 256 = 131 072 entries", "512 · 256 = 131,072 entries"),
        ("131\u202f072 and 7\u2009813\u2009632", "131,072 and 7,813,632"),
        (r"in $249$~MB, $36\,\mathrm{MB}$", "in 249 MB, 36  MB "),
    ],
)
def test_markup_is_removed(text: str, plain: str) -> None:
    assert read(text).text == plain


def test_a_table_of_latex_has_cells() -> None:
    table = r"\begin{tabular}{l|r|p{3cm}} a & b & c \\ \hline" + "\n" + r"d & e & 1{,}000 \\" + "\n" + r"\end{tabular}"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in read(table).text.split("\n") if "|" in line]
    assert rows == [["a", "b", "c"], ["d", "e", "1,000"]]


def test_a_notebook_is_its_sources_and_outputs() -> None:
    cell = {"cell_type": "code", "metadata": {"id": "999999"}, "source": ["# Sizes\n", 'print("12")'], "outputs": []}
    printed = {"source": "x", "outputs": [{"data": {"text/plain": ["109482240"]}, "output_type": "execute_result"}]}
    text = json.dumps({"cells": [cell, printed], "nbformat": 4}, indent=1)
    plain = read(text)
    assert plain.text == "# Sizes\n12\n\nx\n\n109482240\n\n"
    first = plain.text.index("109482240")
    start, end = plain.span(first, first + 9)
    assert text[start:end] == "109482240"


@given(st.text(alphabet="12,.*×=$\\{}<>&；|#`\n aβ层（", max_size=200))
def test_every_character_has_a_place(text: str) -> None:
    plain = read(text)
    assert len(plain.text) == len(plain.starts) == len(plain.ends)
    assert list(plain.starts) == sorted(plain.starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(plain.starts, plain.ends, strict=True))


@pytest.mark.parametrize("piece", ["<", "<a ", "<!--", "<script>", "\\", "$", "{,}", "\\frac{", "**", "&a", "1", '{"'])
def test_the_time_is_proportional_to_the_text(piece: str) -> None:
    before = perf_counter()
    read((piece * 100_000)[:100_000])
    read(('{"cells": "source' + piece * 100_000)[:100_000])
    assert perf_counter() - before < 10  # it takes a second; quadratic time would take minutes


@pytest.mark.parametrize("text", [r"$HH^{\prime}$", r"$HH^\prime$", "$HH^{'}$", "$HH'$"])
def test_a_prime_is_written_in_several_ways(text: str) -> None:
    assert read(text).text == "HH'"


def test_all_hyphens_are_the_same() -> None:
    assert read("ALBERT\u2011base and BERT\u2010base").text == "ALBERT-base and BERT-base"
