"""The smallest Streamlit app with a slider and a number, the floor for reruns."""

import streamlit as st

layers = st.slider("num_hidden_layers", 1, 48, 12)
st.metric("Parameters", f"{layers * 7_087_872:,}")
