"""Tables in each format are read back unchanged, and no cell is interpreted as part of the format."""

import csv
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from io import StringIO

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bertcalc.export.formats import csv_text, html_text, latex_text, markdown_text
from bertcalc.export.table import Cell, Code, Math, Table
from bertcalc.text import visible
from tests.payloads import PAYLOADS

ROWS: tuple[tuple[Cell, ...], ...] = (
    ("embeddings.LayerNorm.weight", 1536, "1,536", "+1,536", Math("2 H"), 0.5),
    ("encoder.layer.*.a_b|c", 12, "12", "-12", ("twice ", Math("H^{2}")), 1e-12),
)
TABLE = Table("A & B", ("name", "count", "shown", "change", "formula", "share"), ROWS)
NASTY = [
    "[x]",
    "a;=1+1",
    "＝1",
    "\\write18{x} ^^5cinput{y}",
    "=HYPERLINK(1)",
    "+1+cmd",
    "-2+3",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    "a | b",
    "$x$",
    "`c`",
    "a\nb",
    '"q"',
]


def by_column(title: str, columns: Mapping[str, Sequence[Cell]]) -> Table:
    """Return a table from columns of equal length."""
    return Table(title, tuple(columns), tuple(zip(*columns.values(), strict=True)))


def columns(tabular: str) -> list[list[str]]:
    """The cells of a LaTeX tabular, row by row."""
    inside = tabular.split(r"\midrule")[1].split(r"\bottomrule")[0]
    inside = inside.strip().removeprefix("\\endhead\n")  # in a table over several pages
    return [row.split(" & ") for row in inside.removesuffix(r" \\").split(" \\\\\n")]


def test_csv_has_digits_alone() -> None:
    frame = pd.read_csv(StringIO(csv_text(TABLE)))
    assert list(frame.columns) == list(TABLE.columns)
    assert frame["count"].sum() == frame["shown"].sum() == 1548
    assert frame["change"].tolist() == [1536, -12]
    assert frame["share"].tolist() == [0.5, 1e-12]
    assert frame["formula"].tolist() == ["2 H", "twice H^{2}"]


@given(st.lists(st.text(min_size=1) | st.integers() | st.sampled_from(NASTY), min_size=1))
@example([*NASTY])
def test_no_cell_of_csv_is_a_formula_of_a_spreadsheet(cells: list[str | int]) -> None:
    [_head, *rows] = csv.reader(StringIO(csv_text(by_column("", {"cells": cells})), newline=""))
    for cell, [text] in zip(cells, rows, strict=True):
        if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})*", f"{cell}"):
            assert int(text) == int(f"{cell}".replace(",", ""))
        # A figure with a unit is not interpreted as a formula.
        elif re.fullmatch(r"[+-][0-9.,]+( [A-Za-z%]+)?", f"{cell}"):
            assert text == f"{cell}"
        else:
            assert text.replace("'", "") == f"{cell}".replace("'", "")
            # If numbers contain commas, semicolons separate cells.
            assert not any(
                part.strip()[:1] in {*"=+-@＝＋－＠"} for part in re.split(r"[;\t\r\n]", text) if part.strip()
            )


@pytest.mark.parametrize("cell", ["+0.41 %", "-3.2 GFLOPs", "-12"])
def test_signed_figures_stay_as_they_are(cell: str) -> None:
    assert csv_text(by_column("", {"x": [cell]})) == f"x\r\n{cell}\r\n"


def test_markdown() -> None:
    lines = markdown_text(TABLE).splitlines()
    assert lines[1] == "| --- | ---: | ---: | ---: | --- | ---: |"
    assert lines[3] == r"| encoder.layer.\*.a_b\|c | 12 | 12 | -12 | twice $H^{2}$ | 1e-12 |"


def untex(text: str) -> str:
    """Return what LaTeX prints for a text in a typewriter font.

    Fails if any other character has a special meaning in LaTeX.
    """
    prints = (
        {rf"\{sign}": sign for sign in "&%$#_{}"}
        | {f"${sign}$": sign for sign in "<>|*"}
        | {
            r"\textbackslash{}": "\\",
            r"\textasciitilde{}": "~",
            r"\textasciicircum{}": "^",
            r"\textasciigrave{}": "`",
            r"\textquotesingle{}": "'",
            r"{\char34}": '"',
            "-{}": "-",
            "$-$": "−",
            "{[}": "[",
            "{]}": "]",
            **{
                rf"$\{name}$": sign
                for name, sign in zip(("times", "cdot", "to", "pm", "neq", "approx"), "×·→±≠≈", strict=True)
            },
            **{rf"$\{name}$": sign for name, sign in zip(("le", "ge", "surd", "infty"), "≤≥✓∞", strict=True)},
        }
    )
    one = re.compile("|".join(map(re.escape, prints)) + r"|[^\\&%$#_{}~^\[\]`'\"-]")
    found, at = "", 0
    while at < len(text):
        match = one.match(text, at)
        assert match, text[at:]
        found, at = found + prints.get(match[0], match[0]), match.end()
    return found


NAMES = (
    st.sampled_from([*NASTY, *PAYLOADS])
    | st.text(min_size=1)
    | st.text(st.sampled_from("`$[]()|\\<>&{}#%~^_ \n;=-'\"wa1é"), min_size=1)
)


@given(NAMES)
def test_a_name_is_a_name_in_every_format(name: str) -> None:
    check_name(name)


def check_name(name: str) -> None:
    """Check that a name in each format is read back, and fills one cell."""
    table = by_column("t", {"one": [Code(name), ("a ", Code(name), Math("H"))], "two": ["end", "end"]})
    shown = visible(name)
    assert [row[1] for row in csv.reader(StringIO(csv_text(table), newline=""))] == ["two", "end", "end"]

    cells = [token.children or [] for token in TABLES.parse(markdown_text(table)) if token.type == "inline"]
    assert len(cells) == 6
    code = [[token.content for token in cell if token.type == "code_inline"] for cell in cells]
    said = (shown if shown.strip() else f'"{shown}"').replace(r"\|", r"\x7c")
    assert code == [[], [], [said], [], [said], []]
    assert {token.type for cell in cells for token in cell} == {"text", "code_inline"}

    [[one, end], [two, _end]] = columns(latex_text(table))
    assert end == "end"
    assert untex(one.removeprefix(r"\texttt{").removesuffix("}")) == shown.replace("✗", "×")
    assert two == f"a {one}$H$"

    read = Cells(html_text(table))
    assert read.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert read.texts[2] == shown


TABLES = MarkdownIt("commonmark").enable("table")


@pytest.mark.parametrize("cell", NASTY)
def test_a_cell_stays_one_cell(cell: str) -> None:
    table = by_column("", {"one": [cell], "two": ["end"]})
    assert markdown_text(table).replace(r"\|", "").splitlines()[2].count("|") == 3
    assert len(markdown_text(table).splitlines()) == 3
    assert len(columns(latex_text(table))) == 1
    assert len(columns(latex_text(table))[0]) == 2


def test_latex() -> None:
    text = latex_text(TABLE)
    assert r"\begin{tabular}{lrrrlr}" in text
    assert r"\caption{A \& B}" in text
    assert columns(text)[1] == [r"encoder.layer.$*$.a\_b$|$c", "12", "12", "-12", "twice $H^{2}$", "1e-12"]
    assert latex_text(by_column("", {"x": ["50% of #1_{a}~\\^"]})).splitlines()[8] == (
        r"50\% of \#1\_\{a\}\textasciitilde{}\textbackslash{}\textasciicircum{} \\"
    )


def test_a_long_table_of_latex_goes_over_several_pages() -> None:
    short, long = (latex_text(by_column("n", {"x": list(range(count))})) for count in (40, 41))
    assert r"\begin{table}" in short
    assert r"\begin{table}" not in long
    assert "longtable" in long.splitlines()[0]
    assert long.index(r"\toprule") < long.index(r"x \\") < long.index(r"\endhead")
    for text, count in ((short, 40), (long, 41)):
        assert columns(text) == [[f"{number}"] for number in range(count)]
        assert re.findall(r"\\begin{(\w+)}", text) == re.findall(r"\\end{(\w+)}", text)[::-1]


class Cells(HTMLParser):
    """The texts of a table's cells, and all tags in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


@pytest.mark.parametrize("cell", NASTY)
def test_html_shows_somebodys_text_as_it_is(cell: str) -> None:
    read = Cells(html_text(by_column("", {cell: [cell]})))
    assert read.tags <= {"table", "thead", "tbody", "tr", "th", "td", "br"}
    assert read.texts[1].strip() == cell.replace("\n", "")
    assert read.texts[0].strip() == cell


def test_html_has_mathml() -> None:
    table = by_column("", {"f": [Math("H", "<math><mi>H</mi></math>")]})
    assert "<td><math><mi>H</mi></math></td>" in html_text(table)


def test_latex_aligns_amounts_with_units_and_shapes_at_the_right() -> None:
    rows = (
        ("hidden_size", "109,482,240", "768", "9 layers deep"),
        ("share", "-97,798,656 (-89.3 %)", "30,522 × 768", "gelu"),
        ("peak", "1.5 GB (1.4 GiB)", "–", "absolute"),
    )
    assert r"\begin{tabular}{lrrl}" in latex_text(Table("T", ("field", "count", "shape", "word"), rows))
