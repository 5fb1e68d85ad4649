"""Steps by key or button continue from the current step, even if the browser still holds an earlier one."""

from typing import Any

import pytest

from pages.ui.shell import stepping

NAMES = ["one", "two", "three", "four"]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A session in which the first screen is drawn."""
    state: dict[str, Any] = {"screen": "one"}
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr(stepping, "set_values", state.update)
    monkeypatch.setattr(stepping, "_KEYS", lambda **_look: None)
    stepping.listen("screen", NAMES, "one")
    return state


def test_a_step_goes_on_from_the_one_that_the_browser_has_not_drawn(session: dict[str, Any]) -> None:
    stepping.go(1)
    stepping.listen("screen", NAMES, "two")
    session["screen"] = "one"  # with the next key, the browser sends its old value
    stepping.go(2)
    assert session["screen"] == "four"


def test_a_step_goes_on_from_one_that_no_run_has_drawn(session: dict[str, Any]) -> None:
    stepping.go(1)
    stepping.go(1)
    assert session["screen"] == "three"


def test_a_step_begins_at_what_the_reader_chose_since(session: dict[str, Any]) -> None:
    stepping.go(2)
    stepping.listen("screen", NAMES, "three")
    session["screen"] = "one"  # selected in the list, and drawn
    stepping.listen("screen", NAMES, "one")
    stepping.go(1)
    assert session["screen"] == "two"


def test_steps_stop_at_both_ends(session: dict[str, Any]) -> None:
    stepping.go(-1)
    assert session["screen"] == "one"
    stepping.go(9)
    assert session["screen"] == "four"
