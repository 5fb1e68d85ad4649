"""Undocumented features of Streamlit that the app uses. Each test fails if Streamlit changes them (1.67 today).

Other files test the run queue (tests/server/test_run_queue.py), the policy for the scripts of index.html
(tests/browser/test_security.py), uvicorn's and websockets' methods (tests/server/test_connections.py), the allowed
WebSockets (tests/server/test_gate.py), and the files that never change (tests/server/test_assets.py).
"""

import re
from copy import copy
from pathlib import Path

import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui.shell import navigation
from tests.pages.apptest import ROOT

SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"


def test_style_sheets_and_scripts_know_streamlits_elements_by_their_names() -> None:
    """They use data-testid, and classes such as stElementContainer."""
    wanted = set[str]()
    for path in (ROOT / "pages").rglob("*"):
        if path.suffix in (".css", ".js", ".py"):
            named = re.finditer(
                r"""(?:data-testid[*^~|$]?=["'\\]*|\.(?=st[A-Z]))(\w+)""", path.read_text(encoding="utf-8")
            )
            wanted |= {one[1] for one in named}
    streamlits = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js"))
    assert len(wanted) > 40
    # The quote is checked behind the name: a pattern that begins with plain text is matched ten times as fast.
    assert sorted(name for name in wanted if not re.search(rf"""{name}(?<=["'`]{name})\b""", streamlits)) == []


def test_style_sheets_and_scripts_know_streamlits_states_by_their_attributes() -> None:
    """Style sheets use data-collapsed and similar attributes, and scripts use dataset."""
    wanted, made = set[str](), set[str]()
    for path in (ROOT / "pages").rglob("*"):
        if path.suffix in (".css", ".js", ".py"):
            source = path.read_text(encoding="utf-8")
            wanted |= {name[1] for name in re.finditer(r"\[(data-[a-z-]+)", source)}
            used = {*re.findall(r"dataset\.(\w+)", source)}
            for names in re.findall(r"\{([^{}]*)\} = [^;]*\bdataset\b", source):
                used |= {name.strip() for name in names.split(",")}
            wanted |= {f"data-{re.sub('[A-Z]', lambda letter: f'-{letter[0].lower()}', name)}" for name in used}
            # Set by the app's own scripts.
            made |= {f"data-{name}" for name in re.findall(r"dataset\.(\w+) = ", source)}
    assert {"data-collapsed", "data-selected", "data-test-script-state"} <= wanted - made
    streamlits = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js"))
    assert (
        sorted(name for name in wanted - made if not re.search(rf"""{name}(?<=["'`]{name})["'`]""", streamlits)) == []
    )


def test_a_page_that_is_kept_can_be_copied_for_each_run() -> None:
    """st.navigation marks the page that may run.

    Nothing else of a page changes, and its copies share no mutable values.
    """
    navigation._page.cache_clear()
    AppTest.from_file(f"{ROOT}/pages/main.py", default_timeout=60).run()
    made = navigation._page.cache_info().misses
    kept = [
        navigation._page(path, entry.title, entry.icon, entry.is_listed) for path, entry in navigation.PAGES.items()
    ]
    assert navigation._page.cache_info().misses == made
    for page in kept:
        copied = copy(page)
        copied._can_be_called = True
        assert not page._can_be_called
        assert {type(value) for value in vars(page).values()} <= {str, bool, type(Path()), type(None)}


MOVED_ON = """
import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

from pages.ui.widgets.real_answers import wanted

if st.session_state.setdefault("runs", 0):
    st.write("began anew")
else:
    st.session_state["runs"] = 1
    get_script_run_ctx().script_requests.request_rerun(RerunData())
    wanted()
    st.session_state["went on"] = True
"""


def test_a_run_that_waits_ends_where_its_reader_has_moved_on() -> None:
    app = AppTest.from_string(MOVED_ON).run()
    assert app.markdown[0].value == "began anew"
    assert "went on" not in app.session_state
