"""The server around Streamlit: the run queue, limits, refusals, security headers, and Streamlit's own files."""

from pages.server.requirements import check

check()  # before the other modules are imported: they need the versions that ``check`` requires
