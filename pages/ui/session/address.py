"""Write the page's URL with one entry in the browser's history for each step.

Streamlit 1.67 does not do this for controls with ``bind="query-params"``. They write their parameters one by one, so a
change of several fields would leave entries with intermediate models. Typing into such a control leaves no entry.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st

from pages.server.restarts import is_rehearsal
from pages.server.upstream import streamlit_internals
from pages.ui.session import kept


def for_others(url: str) -> str:
    """The URL, or "" if other readers cannot open it because its host is this computer."""
    host = urlsplit(url).hostname or "localhost"
    try:
        address = ip_address(host)
        is_here = address.is_loopback or address.is_unspecified
    except ValueError:
        is_here = host == "localhost" or host.endswith(".localhost")
    return "" if is_here else url


def went_back() -> bool:
    """Whether the browser's Back or Forward caused this run."""
    return streamlit_internals.went_back()


def restore() -> None:
    """After Back or Forward, restore all parameters of the URL. Call this before any control is drawn.

    If the pages before and after Back have a control of the same name, Streamlit 1.67 drops its parameter, because it
    mistakes the parameter for the other page's. Then the control would start at its default.
    """
    if went_back():
        streamlit_internals.restore_parameters()


def open_page(page: str) -> None:
    """Record the page of this run, and whether the previous run drew another page.

    The previous run may belong to a session that the server has lost; the browser keeps the page's name.
    """
    before = st.session_state.setdefault("page of the link", kept.get("page") or page)
    st.session_state["opened"] = before != page
    if not is_rehearsal():  # after a rehearsal, the next run opens the page again
        st.session_state["page of the link"] = page
        kept.put("page", page)


def is_opened() -> bool:
    """Whether this run opens a page, which means that the previous run drew another page."""
    opened: bool = st.session_state["opened"]
    return opened


def drop_with_next(names: Collection[str]) -> None:
    """Remove parameters together with the next change of a bound control, as one history entry.

    Call this only in callbacks.
    """
    streamlit_internals.set_parameters(names, {})


def write(names: Collection[str], values: Mapping[str, str]) -> None:
    """Replace the parameters ``names`` of the link with ``values``, as one history entry.

    ``st.query_params`` cannot remove several parameters at once: each ``del`` would be a separate entry. A run that
    opens a page sends nothing to the browser now. At the end of such a run, the panel gives the browser the whole URL,
    without a history entry.
    """
    if not streamlit_internals.set_parameters(names, values if is_opened() else {}):
        for name in {*names} - values.keys():
            st.query_params.pop(name, None)
        st.query_params.update(values)
    elif not is_opened():
        st.query_params.update(values)
