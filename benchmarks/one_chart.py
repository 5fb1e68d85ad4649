"""A minimal app with a slider, a number and a chart, the floor for a first visit."""

import streamlit as st

layers = st.slider("num_hidden_layers", 1, 48, 12)
st.metric("Parameters", f"{layers * 7_087_872:,}")
st.vega_lite_chart(
    {"layers": list(range(1, layers + 1))},
    {"mark": "bar", "encoding": {"x": {"field": "layers", "type": "quantitative"}}},
)
