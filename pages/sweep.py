"""Sweep."""

import streamlit as st

st.write("sweep")
