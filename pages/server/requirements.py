"""Check Python and Streamlit at the start.

Otherwise the server would report that it is healthy, but no page would work.
"""

import logging
import os
import re
import sys

import streamlit

# The first Streamlit with which every page works. With a newer one the app starts and logs a warning; ``upstream`` logs
# what the app does without.
STREAMLIT = (1, 67)


def check() -> None:
    """End the process with a sentence if no page can work; log a warning if Streamlit is newer than the tested version.

    Streamlit without App does not import the launcher but runs it in a thread for the first visitor, where SystemExit
    would end nothing.
    """
    if problem := problem_of(streamlit.__version__, sys.flags.optimize):
        print(problem, file=sys.stderr, flush=True)
        os._exit(1)
    if _release(streamlit.__version__) > STREAMLIT:
        logging.getLogger("bertcalc").warning(
            "bertcalc is tested with Streamlit %s.%s; this is %s.", *STREAMLIT, streamlit.__version__
        )


def problem_of(version: str, optimize: int) -> str | None:
    """Return why no page works with this version of Streamlit and this level of optimization in Python, or None."""
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
