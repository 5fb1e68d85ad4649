"""Compare."""

import streamlit as st

st.write("compare")
