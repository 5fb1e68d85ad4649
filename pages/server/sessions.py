"""Configure how many sessions Streamlit stores, and how it runs the script and the callbacks of a session."""

from pages.server.upstream import streamlit_internals

# The number of sessions without a connection that are stored: two classes of 200, one of which has lost the network,
# while the other has left.
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
