"""What a page says of its live numbers to the browser."""

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from bertcalc.text.live_numbers import LiveNode, LiveText, between, live
from pages.ui.shell.live import marked
from tests.pages.apptest import component, move, open_app

TEXTS = st.text("<>&;'\"/ab *", max_size=20)


@given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=1))
def test_a_live_text_has_no_html_but_the_marks_of_its_live_parts(parts: list[tuple[str, bool]]) -> None:
    texts = [live(text, LiveNode("text", (text,))) if moves else text for text, moves in parts]
    whole = between("", texts)
    if not isinstance(whole, LiveText):
        return
    html = marked(whole)
    assert set(re.findall("<[^>]*>", html)) <= {"<span class='live'>", "</span>"}
    shown = re.sub("<[^>]*>", "", html).replace("&#8203;", "")
    assert unescape(shown) == "".join(text for text, _moves in parts)


def test_the_program_of_a_page_expects_the_texts_that_the_page_shows() -> None:
    app = open_app()
    move(app, num_hidden_layers=13)
    data = component(app, "bertcalc_live")
    texts = {text for _at, text in data["expected"]}
    assert {str(app.metric[0].value), str(app.metric[0].delta)} <= texts
    assert data["sizes"]["num_hidden_layers"] == 13
    assert len(data["operations"]) < 1_000
