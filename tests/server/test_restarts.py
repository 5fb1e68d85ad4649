"""The first message of a browser to a session that has drawn nothing yet."""

from collections.abc import Callable

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.state import SessionState
from streamlit.testing.v1 import AppTest

from pages.server import restarts


def page() -> None:
    """Draw a form with a callback that records the submitted answer. The session may be new."""
    import streamlit as st

    from pages.server.restarts import rehearse, sent_by, tell_browser

    def note() -> None:
        st.session_state["noted"] = [*st.session_state.get("noted", []), st.session_state["answer"]]

    with rehearse():
        st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
        if st.session_state.get("is slow"):
            tell_browser()
        with st.form("form"):
            if "answer" not in st.session_state:
                st.session_state["answer"] = ""
            st.text_input("Answer", key="answer")
            st.form_submit_button("Check", on_click=note)
        st.text(st.session_state.get("noted", []))
        st.text(sent_by("keeper"))


def message(*, submitted: bool = True) -> WidgetStates:
    """Return the message of a browser after 7 was typed into another session's page, and submitted by default."""
    app = AppTest.from_function(page).run()
    app.text_input[0].input("7")
    if submitted:
        app.button[0].click()
    assert app._tree
    states = app._tree.get_widget_states()
    states.widgets.append(WidgetState(id="$$ID-of-a-component-keeper", json_value='{"kept": {}}'))
    return states


def noted(*messages: WidgetStates) -> str:
    app = AppTest.from_function(page)
    for states in messages:
        app._run(states)
    assert not app.exception
    text: str = app.text[0].value
    return text


def test_streamlit_loses_a_form_that_is_submitted_to_a_new_session() -> None:
    assert noted(message()) == "[]"


def test_a_form_that_is_submitted_to_a_new_session_is_taken_once() -> None:
    restarts.hold_first_message()
    assert noted(message()) == "['7']"
    assert noted(message(), message(submitted=False)) == "['7']"
    assert noted(message(), message()) == "['7', '7']"


def test_a_first_visit_is_drawn_once() -> None:
    restarts.hold_first_message()
    app = AppTest.from_function(page).run()
    assert app.session_state["drawn"] == 1
    app = AppTest.from_function(page)
    app._run(message())
    assert app.session_state["drawn"] == 2


def test_a_rehearsal_is_not_sent_to_the_browser_unless_it_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    enqueue = ScriptRunner._enqueue_forward_msg

    def note(runner: ScriptRunner, sent_message: object) -> None:
        sent.append(type(sent_message).__name__)
        enqueue(runner, sent_message)  # type: ignore[arg-type]

    monkeypatch.setattr(ScriptRunner, "_enqueue_forward_msg", note)
    AppTest.from_function(page).run()
    once = len(sent)
    states = message()
    restarts.hold_first_message()
    for is_slow, times in ((False, 1), (True, 2)):
        sent.clear()
        app = AppTest.from_function(page)
        app.session_state["is slow"] = is_slow
        app._run(states)
        assert len(sent) == times * once


def test_a_newer_message_is_merged_with_the_one_that_waits() -> None:
    restarts.hold_first_message()
    state = SessionState()
    state.on_script_will_rerun(message())
    first = vars(state.query_params)[restarts._NOTE]
    state.on_script_will_rerun(message(submitted=False))
    assert any(widget.trigger_value for widget in first.held.widgets)
    assert not state._new_widget_state.states
    first.is_drawn = True
    state.on_script_will_rerun(message(submitted=False))
    assert first.held is None
    assert any("form" in identifier.lower() or "Check" in identifier for identifier in state._new_widget_state.states)


def test_what_a_component_sent_is_there_only_before_it_is_drawn() -> None:
    restarts.hold_first_message()
    app = AppTest.from_function(page)
    app._run(message())
    assert app.text[1].value == ""
    assert restarts.sent_by("keeper") == ""  # outside of a run


def test_the_launcher_does_it(launch: Callable[[], object]) -> None:
    launch()
    assert noted(message()) == "['7']"
