"""The server around Streamlit: the run queue, limits, refusals, security headers, and Streamlit's own files."""
