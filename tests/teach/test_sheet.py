"""Sheets as documents: well formed, with answers only on request."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.teach.sheet import Sheet, WrittenExercise, latex, markdown

ITEM = WrittenExercise(
    title="100 % & more_",
    question="What is `a_b.c#1` in {braces} ~ ^ \\?",
    sizes="`hidden_size` $H = 1{,}024$",
    worked_lines=("word: $2^{3} = 8$",),
    options=("`hidden_size`", "`pad_token_id`"),
    answer="**42 × 7**",
    solution=("together: $\\left(1 + 2\\right) = 3$",),
)
SHEET = Sheet("A sheet: 1", "See `/exercises?level=easy&seed=1`", "Answer: ", (ITEM, ITEM))
# Words, and all characters that have a meaning in LaTeX or occur in the exercises.
words = st.text("abc ,.:;?!-()[]{}\\&%#_^~×·“”", max_size=30)
texts = st.lists(words | words.map("`{}`".format) | st.just("$H^{2} \\cdot 3{,}072$") | st.just("**x_y**"), max_size=4)
items = st.builds(
    WrittenExercise,
    *[texts.map(" ".join)] * 3,
    *[st.lists(texts.map(" ".join), max_size=2).map(tuple)] * 2,
    texts.map(" ".join),
    st.lists(texts.map(" ".join), max_size=2).map(tuple),
)
sheets = st.builds(Sheet, words, texts.map(" ".join), words, st.lists(items, max_size=2).map(tuple))


def check_latex(document: str) -> None:
    """Assert that braces, formulas and environments are closed in order, and that special characters are escaped."""
    body = document.partition(r"\begin{document}")[2]
    plain = re.sub(r"\\[\\&%$#_{}]", "", body)
    depth = 0
    for sign in plain:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    outside = plain.split("$")[::2]
    assert len(plain.split("$")) % 2
    assert not re.search(r"[&%#_^~×·]", "".join(outside))
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", document):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened


@given(sheets, st.booleans(), st.booleans())
def test_any_sheet_is_well_formed_latex(sheet: Sheet, solutions: bool, chinese: bool) -> None:
    check_latex(latex(sheet, solutions=solutions, chinese=chinese))


@pytest.mark.parametrize("write", [markdown, lambda sheet, solutions: latex(sheet, solutions=solutions, chinese=False)])
def test_answers_are_there_only_with_solutions(write: object) -> None:
    assert callable(write)
    without, with_them = (write(SHEET, solutions=solutions) for solutions in (False, True))
    for text in ("42", "together"):
        assert text not in without
        assert with_them.count(text) == 2
    for text in ("word", "Answer", "100", "hidden"):
        assert text in without


def test_what_is_written() -> None:
    text = latex(SHEET, solutions=True, chinese=False)
    assert r"\texttt{a\_\allowbreak{}b.\allowbreak{}c\#1} in \{braces\}" in text
    assert r"\textbf{42 $\times$ 7}" in text
    assert r"$\left(1 + 2\right) = 3$" in text
    assert r"\item[$\square$] \texttt{hidden\_\allowbreak{}size}" in text
    assert "ctex" not in text
    assert r"\usepackage{ctex}" in latex(SHEET, solutions=True, chinese=True)
    plain = markdown(SHEET, solutions=True)
    assert plain.startswith("# A sheet: 1\n\nSee ")
    assert "- [ ] `hidden_size`\n- [ ] `pad_token_id`" in plain
    assert "Answer: **42 × 7**\n\n- together: $" in plain
    assert "Answer: ____" in markdown(SHEET, solutions=False)
