"""The presentation view: a key, a link, and the same model."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.apptest import open_app, present, tables, total

PAGES = ("", "layers", "structure", "outputs", "configuration", "compute", "memory", "compare", "sweep", "design")
CHECKS = ("bring", "any_model", "verify", "explain", "tools", "exercises")


def switch(app: AppTest) -> str:
    """The label of the button that switches the view."""
    [label] = [button.label for button in app.button if button.key in ("present-switch", "leave")]
    return str(label)


@pytest.mark.parametrize("page", [*PAGES, *CHECKS])
def test_every_page_can_be_presented(page: str) -> None:
    app = open_app(f"{page}.py" if page else "", present="1", vocab_size="21128")
    assert switch(app) == "Exit"
    assert present(app).vocab_size == 21128


def test_the_switch_leads_there_and_back_and_keeps_the_model() -> None:
    app = open_app(preset="bert-large-uncased")
    before = total(app)
    assert switch(app) == "Present"
    app.button("present-switch").click().run()
    assert app.query_params["present"] == "1"
    assert (switch(app), total(app)) == ("Exit", before)
    app.button("leave").click().run()
    assert "present" not in app.query_params
    assert (switch(app), total(app)) == ("Present", before)


def test_long_tables_are_left_to_the_page() -> None:
    shown, presented = (len(tables(open_app("outputs.py", **link))) for link in ({}, {"present": "1"}))
    assert (shown, presented) == (3, 2)


@pytest.mark.parametrize(("text", "said"), [("2", False), ("yes", True)])
def test_a_link_that_means_nothing_shows_the_page(text: str, said: bool) -> None:
    app = open_app(present=text)
    assert switch(app) == "Present"
    assert any("present=yes" in each.value for each in app.text) is said
