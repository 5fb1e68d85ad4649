"""The floor of a first visit: a slider, a number and a chart."""

import streamlit as st

layers = st.slider("num_hidden_layers", 1, 48, 12)
st.metric("Parameters", f"{layers * 7_087_872:,}")
st.vega_lite_chart(
    {"layers": list(range(1, layers + 1))},
    {"mark": "bar", "encoding": {"x": {"field": "layers", "type": "quantitative"}}},
)
