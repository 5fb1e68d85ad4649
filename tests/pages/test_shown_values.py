"""The value that a control shows, and answers of a browser that has not drawn it yet."""

from typing import Any

import pytest
import streamlit as st

from pages.ui.session.shown_values import showing


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def send(session: dict[str, Any], control: dict[str, Any], value: int) -> None:
    """Handle a value from a browser as Streamlit does."""
    session[control["key"]] = value
    control["on_change"](*control["args"])


def test_an_old_value_under_an_old_key_is_no_choice_and_another_one_is(session: dict[str, Any]) -> None:
    taken = list[int]()
    before = showing("layers", 12, taken.append)
    after = showing("layers", 24, taken.append)  # the model has changed the value
    assert before["key"] != after["key"]
    send(session, before, 12)  # a browser that still shows 12
    assert taken == []
    send(session, before, 6)
    send(session, after, 12)
    assert taken == [6, 12]


def test_a_choice_that_the_model_takes_keeps_the_key(session: dict[str, Any]) -> None:
    taken = list[int]()
    control = showing("layers", 12, taken.append)
    send(session, control, 3)
    assert showing("layers", taken[-1], taken.append)["key"] == control["key"]
