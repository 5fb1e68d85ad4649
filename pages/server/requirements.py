"""Check the Streamlit version and Python's optimization level at startup.

Without this check, the server would report that it is healthy, but no page would work.
"""

import logging
import os
import re
import sys

import streamlit

from pages.server.upstream.internals import WRITTEN_FOR

# The first Streamlit version with which every page works. In 1.65, components that are created at import are not
# registered.
STREAMLIT = (1, 66)


def check() -> None:
    """End the process with a message if no page can work; log a warning if this Streamlit version is untested.

    The process ends with os._exit, because a Streamlit version without ``App`` does not import the launcher. It runs
    the launcher in a thread for the first visitor, where SystemExit would not end the process.
    """
    if problem := problem_of(streamlit.__version__, sys.flags.optimize):
        print(problem, file=sys.stderr, flush=True)
        os._exit(1)
    tested = WRITTEN_FOR["streamlit"]
    if _release(streamlit.__version__) != _release(tested):
        logging.getLogger("bertcalc").warning(
            "bertcalc is tested with Streamlit %s; this is %s.", tested, streamlit.__version__
        )


def problem_of(version: str, optimize: int) -> str | None:
    """Return a message if no page works with this Streamlit version or Python optimization level, or None."""
    if optimize > 1:
        return "bertcalc needs docstrings: start Python without -OO, and without PYTHONOPTIMIZE=2."
    if _release(version) < STREAMLIT:
        needed = ".".join(map(str, STREAMLIT))
        return (
            f"bertcalc needs Streamlit {needed} or newer, and this is {version}: "
            "install it with pip install -r requirements-lite.txt."
        )
    return None


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
