"""Design."""

import streamlit as st

st.write("design")
