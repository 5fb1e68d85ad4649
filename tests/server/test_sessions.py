"""Two runs of one session: one starts while the other still draws the page or runs a callback."""

import threading
from collections.abc import Callable
from types import SimpleNamespace

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed
from streamlit.runtime.runtime import RuntimeConfig
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1 import AppTest

from pages.server import sessions
from pages.server.upstream import streamlit_internals


def overlap() -> list[BaseException]:
    """Return the errors of a run that reads all values, as a selectbox does, while a thousand values are added."""
    state = SessionState()
    drawing, beginning = (SafeSessionState(state, lambda: None) for _run in range(2))
    wrong: list[BaseException] = []
    ended = threading.Event()

    def draw() -> None:
        try:
            while not ended.is_set():
                assert drawing.filtered_state.keys() <= {f"value {number}" for number in range(1000)}
        except RuntimeError as error:
            wrong.append(error)

    thread = threading.Thread(target=draw)
    thread.start()
    for number in range(1000):
        beginning[f"value {number}"] = number
        beginning.on_script_will_rerun(None)
        if wrong:
            break
    ended.set()
    thread.join()
    return wrong


def locks() -> set[object]:
    state = SessionState()
    return {SafeSessionState(state, lambda: None)._lock for _run in range(2)}


def test_a_run_that_begins_does_not_break_the_one_before() -> None:
    streamlit_internals.share_lock()
    assert len(locks()) == 1
    assert not overlap()


def test_streamlit_has_two_locks_without_it() -> None:
    assert len(locks()) == 2


def page() -> None:
    """Draw a button with a callback that requests the next run before it records the press."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    def press() -> None:
        context = get_script_run_ctx()
        assert context is not None
        assert context.script_requests is not None
        context.script_requests.request_rerun(RerunData(page_script_hash=context.page_script_hash))
        st.session_state["pressed"] = True

    st.button("Press", on_click=press)
    st.text(st.session_state.get("pressed", False))


def is_pressed() -> bool:
    text: str = AppTest.from_function(page).run().button[0].click().run().text[0].value
    return text == "True"


def test_a_click_is_not_lost_when_the_next_run_begins() -> None:
    assert not is_pressed()
    streamlit_internals.finish_callbacks()
    assert is_pressed()


def test_the_launcher_does_it(launch: Callable[[], object]) -> None:
    launch()
    assert len(locks()) == 1
    assert is_pressed()


def test_no_message_is_so_large_that_the_browser_is_asked_to_keep_it() -> None:
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * 10**6
    populate_hash_if_needed(message)
    assert not message.metadata.cacheable


def test_as_many_sessions_are_stored_as_two_classes_have(launch: Callable[[], object]) -> None:
    """If many readers lose the network at the same moment, each finds their session again."""
    assert stored(200) == 128  # Streamlit's own storage is too small for one class
    launch()
    assert stored(200) == 200
    assert stored(500) == sessions.STORED


def stored(count: int) -> int:
    """Return how many of ``count`` sessions are still stored."""
    storage = RuntimeConfig("", None, None, None, None, None).session_storage  # type: ignore[arg-type]
    for number in range(count):
        session = SimpleNamespace(id=f"{number}")
        storage.save(SessionInfo(None, session, 0))  # type: ignore[arg-type]
    return sum(storage.get(f"{number}") is not None for number in range(count))
