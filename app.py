"""Launch the app: ``streamlit run app.py``.

The script that draws the app is pages/main.py, not this file. A script beside a folder called ``pages`` would start in
Streamlit's old multipage mode, where the first request of a fresh server opens the wrong page
(streamlit/streamlit#8860).
"""

import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pages.server  # noqa: F401  # ends the process with a message if no page can work

# isort: split
import streamlit as st
from starlette.middleware import Middleware
from streamlit.starlette import App  # with this import, even Streamlit 1.54 runs the app at startup

from pages.server import scripts
from pages.server.assets import Assets
from pages.server.connections import guard
from pages.server.downloads import take_turns
from pages.server.gate import Gate
from pages.server.headers import SecurityHeaders
from pages.server.limited_log import LimitedLog
from pages.server.preview import Preview
from pages.server.restarts import hold_first_message
from pages.server.sessions import keep_sessions
from pages.server.upstream import log_differences
from pages.ui.shell.i18n import translator, translator_of
from pages.ui.shell.navigation import about
from pages.ui.shell.present import sheets

FAILURES = LimitedLog("A page failed")


def say_sorry(error: Exception) -> bool:
    """Show an error message, and log the traceback at most once a minute for each place in the code.

    Return True, which suppresses Streamlit's own error message.
    """
    FAILURES.trace(error)
    _ = translator()
    st.error(
        _(
            "This page could not be shown. Reload it. If that does not help, remove the part of the address after "
            "“?” and try again."
        )
    )
    return True


def preloaded(page: str, presents: bool) -> tuple[str, ...]:
    """Return the HTML tags that make a browser preload a page's files.

    ``page`` is the page's address. ``presents`` is true in projector view.
    """
    return scripts.preloaded(page, sheets(page, presents=presents))


def warm_up() -> None:
    """Fill the caches for the first page, and exclude the objects created so far from garbage collection.

    SymPy, Altair and pandas create half a million permanent objects. With many readers, scanning them took 250 ms every
    few seconds. A run creates about 10,000 objects and drops most of them at its end. With Python's default threshold
    of 700, Python would collect garbage fifteen times in a run.
    """
    from bertcalc.charts.bar_charts import ranked_bars
    from bertcalc.charts.blocks import with_config
    from bertcalc.charts.colors import COLORS
    from bertcalc.charts.columns import sent
    from bertcalc.charts.vega import compiled
    from bertcalc.controls.chosen_model import ChosenModel
    from bertcalc.model.formula import symbolic_model
    from pages.ui.opening import link  # noqa: F401  # loads most other modules
    from pages.ui.widgets.bars import words

    model = ChosenModel().model()
    symbolic_model(model)
    for appearance in COLORS:
        compiled(with_config(appearance, ranked_bars(appearance, 8, "parameters", words("parameters", str))))
    sent({"parameters": [model.num_parameters()]})
    scripts.script(scripts.VEGA)
    preloaded("", presents=False)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Warm up in a thread, while the server already answers requests."""
    threading.Thread(target=warm_up, daemon=True).start()
    yield


log_differences()
guard()
keep_sessions()
hold_first_message()
take_turns(translator_of)
app = App(
    "pages/main.py",
    routes=[scripts.route()],
    on_script_error=say_sorry,
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(Gate),
        Middleware(Preview, about, preloaded),
        Middleware(Assets),
    ],
    lifespan=lifespan,
)
