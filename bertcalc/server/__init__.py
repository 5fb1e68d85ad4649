"""What stands between browsers and Streamlit: limits, refusals, security headers, and Streamlit's own files."""
