"""The launcher, run in the tests' own process."""

from collections.abc import Callable
from functools import partial
from runpy import run_path
from typing import Any

import pytest
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.runtime.state.query_params import QueryParams

from tests.browser.launch import ROOT

# The methods of Streamlit that app.py replaces.
_REPLACED = (
    (SafeSessionState, "__init__"),
    (SessionState, "on_script_will_rerun"),
    (ScriptRunner, "_maybe_handle_execution_control_request"),
    (QueryParams, "populate_from_query_string"),
    (MemorySessionStorage, "__init__"),
    (DeferredFileHandler, "handle"),
)


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """Run app.py and return its names; Streamlit's methods are put back afterwards."""
    for kind, name in _REPLACED:
        monkeypatch.setattr(kind, name, getattr(kind, name))
    return partial(run_path, f"{ROOT / 'app.py'}")
