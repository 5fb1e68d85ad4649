"""Configure how many sessions are stored, and how the runs of a session follow each other."""

from pages.server.upstream import streamlit_internals

# The number of sessions without a connection that are stored: two classes of 200, of which one has lost the network and
# one has left.
STORED = 400


def keep_sessions() -> None:
    """Change how Streamlit treats sessions; ``upstream`` explains why.

    The runs of a session share one lock, callbacks finish before the next run, a page opens without changing the
    address, the sessions of two classes are stored, and controls read only the values that they need. Without these
    changes, tests/server/test_sessions.py and tests/browser/test_links.py fail.
    """
    streamlit_internals.share_lock()
    streamlit_internals.finish_callbacks()
    streamlit_internals.open_pages_quietly()
    streamlit_internals.store_sessions(STORED)
    streamlit_internals.read_values_singly()
