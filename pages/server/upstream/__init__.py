"""The only code that uses undocumented parts of Streamlit, uvicorn and websockets.

Each ``Internal`` lists names, the reason for using them, the public issue, and what the app loses without them. If the
installed version lacks a name, or if the parameters of a replaced method differ, this is logged once, and the app
works without the feature. To try a new version, start the app, read the log, and run tests/server.
"""

from pages.server.upstream import streamlit_internals, uvicorn_internals
from pages.server.upstream.internals import Internal, is_usable

INTERNALS = {
    name: value
    for module in (streamlit_internals, uvicorn_internals)
    for name, value in vars(module).items()
    if isinstance(value, Internal)
}


def log_differences() -> None:
    """Log each of the ``INTERNALS`` that the installed versions lack."""
    for internal in INTERNALS.values():
        is_usable(internal)
