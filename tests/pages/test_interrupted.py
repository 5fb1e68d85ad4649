"""A reader's next message ends the current run, at any of the points where Streamlit can end a run."""

import threading
from itertools import count

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException, ScriptRunner, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from tests.pages.apptest import open_app, texts, total
from tests.pages.test_kept import opened_with

_end_here = ScriptRunner._maybe_handle_execution_control_request
FIRST = 60  # points in the part that all pages share; each is tried on the Parameters page


class Interruption:
    """Counts the points of the first run and ends it at one of them. The next run continues to its end."""

    def __init__(self, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.points = at, 0
        monkeypatch.setattr(ScriptRunner, "_maybe_handle_execution_control_request", lambda runner: self._end(runner))

    def _end(self, runner: ScriptRunner) -> None:
        _end_here(runner)
        if runner._execing and runner._script_thread is threading.current_thread():
            self.points += 1
            context = get_script_run_ctx()
            if self.points == self.at and context:
                link, page = context.query_string, context.page_script_hash
                raise RerunException(RerunData(query_string=link, page_script_hash=page))


def points(page: str, link: dict[str, str]) -> list[int]:
    """All of the first points on one page, a sample on other pages, and a sample of the later points."""
    with pytest.MonkeyPatch.context() as patch:
        interruption = Interruption(0, patch)
        open_app(page, **link)
    return [*range(1, FIRST, 6 if page else 1), *range(FIRST, interruption.points, max(1, interruption.points // 20))]


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("", {"num_hidden_layers": "5", "batch_size": "inf"}),
        ("any_model.py", {"sizes": "n_layer=3"}),
        ("verify.py", {}),
    ],
)
def test_a_first_run_can_end_anywhere(page: str, link: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for at in points(page, link):
        Interruption(at, monkeypatch)
        app = open_app(page, **link)
        assert not app.error, at
        if not page:
            assert total(app) == "59,867,136", at
            assert any("batch_size" in text for text in texts(app)), at


def restored() -> AppTest:
    values = {"controls": {"lang": "zh"}, "steps": {"steps": ["num_hidden_layers=5"], "at": 0, "attempt": {}}}
    return opened_with(values, num_hidden_layers="5")


def test_the_first_run_of_a_new_session_can_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for at in count(1):
        interruption = Interruption(at, monkeypatch)
        app = restored()
        assert total(app) == "59,867,136", at
        assert app.session_state["lang"] == "zh"
        assert app.session_state["lang is chosen"]
        if at > FIRST or interruption.points < at:
            break
