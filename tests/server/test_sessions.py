"""Two runs of one session, of which one moves on while the other still draws."""

import runpy
import threading

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed
from streamlit.runtime.state import SafeSessionState, SessionState

from bertcalc.server import sessions


def overlap() -> list[BaseException]:
    """What goes wrong where one run reads all values, as a selectbox does, while others begin, a thousand times."""
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


def test_a_run_that_begins_does_not_break_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SafeSessionState, "__init__", SafeSessionState.__init__)  # put back afterwards
    sessions.share_lock()
    assert len(locks()) == 1
    assert not overlap()


def test_streamlit_has_two_locks_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SafeSessionState, "__init__", sessions._made)
    assert len(locks()) == 2


def test_the_launcher_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SafeSessionState, "__init__", sessions._made)
    runpy.run_path("app.py")
    assert len(locks()) == 1


def test_no_message_is_so_large_that_the_browser_is_asked_to_keep_it() -> None:
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * 10**6
    populate_hash_if_needed(message)
    assert not message.metadata.cacheable
