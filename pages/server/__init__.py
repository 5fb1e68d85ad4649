"""The server around Streamlit: run queue, limits, refusals, security headers, and Streamlit's static files."""

from pages.server.requirements import check

check()  # before the other modules are imported: they need the versions that ``check`` requires
