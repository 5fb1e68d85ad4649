"""The exported tables and charts contain what a reader sees on the page."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bertcalc.export.table import Code, Math, TableOrChart, marked_html, plain
from tests.markdown import read


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("**109,482,240**", "109,482,240"),
        ("`encoder.layer.*`  \n`pooler`", (Code("encoder.layer.*"), "\n", Code("pooler"))),
        ("**vocab_size** $V$: *rows*", ("vocab_size ", Math("V"), ": rows")),
        ("$4 N$", Math("4 N")),
        (r"a\_b \* c", "a_b * c"),
        ("1\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}2", "1 × 2"),
        ("5 * 3", "5 * 3"),
        (":material/check: :small[so]", " so"),
        ("", ""),
    ],
)
def test_what_is_taken_of_markdown_is_what_a_reader_sees(text: str, cell: object) -> None:
    assert plain(text) == cell


@pytest.mark.parametrize("code", ["`` `a` ``", "`  `", "` a `", "` a`", "`a  `", "` `"])
def test_the_spaces_of_code_are_those_of_the_real_reader(code: str) -> None:
    assert plain(code) == Code(*read(code).code)


def test_counts_of_a_chart_have_all_their_digits() -> None:
    drawn: dict[str, list[object]] = {
        "name": ["a\nb", "b", None],
        "cost": [7247757312.0, 0.5, None],
        "room": [1.0, 1.0, 2.0],
    }
    table = TableOrChart("costs", drawn, numbers={"name": "Part", "cost": "FLOPs"}).table()
    assert table.columns == ("Part", "FLOPs")
    assert table.rows == (("a b", 7_247_757_312), ("b", 0.5))
    assert isinstance(table.rows[0][1], int)


_PIECES = (
    "**",
    "*",
    "`",
    "``",
    "a",
    "b_c",
    " ",
    "$V$",
    "$H/L$",
    r"\*",
    ">",
    "<b>",
    "&amp;",
    "~~",
    "\n",
    "  \n",
    "- ",
    "1. ",
)
_MORE = (
    "#",
    "[x](y)",
    "_x_",
    "|",
    "```",
    "1,234",
    "−5",
    "x.",
    "'",
    '"',
    "://",
    "(",
    "×",
    "---",
    "é",
    "\\",
    "[a]: b",
    "\t",
    ":+1:",
)


@given(st.lists(st.sampled_from(_PIECES + _MORE), max_size=9).map("".join))
def test_html_of_markdown_is_the_real_readers(text: str) -> None:
    html = marked_html(text)
    if html is not None:
        rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
        ours = re.sub("<i>(.)</i>", r"$\1$", html).replace("$/$", "/").replace("<br>", "<br />\n")
        assert f"<p>{ours.strip()}</p>".split() == (rendered.replace("&quot;", '"').strip() or "<p></p>").split()


def test_the_cells_of_the_pages_are_written_as_html() -> None:
    for text in (
        "**109,482,240**",
        "`a.*`  \n`b`",
        "**vocab_size** $V$: *rows*",
        "$H/L$",
        r"\>99.9 %",
        "−2",
        "(a) 1 × 2",
    ):
        assert marked_html(text) is not None
