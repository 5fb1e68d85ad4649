"""An app with the elements of Parameters and its sidebar in plain Streamlit, without any counting; a floor."""

import streamlit as st

st.set_page_config(layout="wide")
with st.sidebar:
    st.segmented_control("Language", ["en", "zh"], default="en", label_visibility="collapsed")
    st.button("Take away")
    st.button("Present")
    st.selectbox("Start from", ["bert-base-uncased", "bert-large-uncased"])
    st.selectbox("Architecture", ["BertModel", "BertForPreTraining"])
    for field, value in {"vocab_size": 30_522, "hidden_size": 768}.items():
        st.slider(field, 1, 4 * value, value)
        st.number_input(field, value=value, label_visibility="collapsed")
    layers = st.slider("num_hidden_layers", 1, 48, 12)
    st.number_input("num_hidden_layers", value=12, label_visibility="collapsed")
    for field, value in {"num_attention_heads": 12, "intermediate_size": 3_072}.items():
        st.slider(field, 1, 4 * value, value)
        st.number_input(field, value=value, label_visibility="collapsed")
    st.expander("More fields")


def bars(count: int, height: int) -> None:
    """Draw a chart in which the slider moves a bar."""
    x = {"field": "x", "type": "quantitative"}
    y = {"field": "y", "type": "nominal"}
    spec = {"mark": "bar", "width": "container", "height": height, "encoding": {"x": x, "y": y}}
    st.vega_lite_chart({"x": [layers, *range(1, count)], "y": list("abcdefghi"[:count])}, spec)


def page() -> None:
    """Draw the elements of the Parameters page."""
    with st.container(horizontal=True):
        for component in ("Parameters", "embeddings", "encoder", "pooler"):
            st.metric(component, f"{layers * 7_087_872:,}", "5 %")
    st.caption(f"Last change {layers}")
    st.latex(rf"{layers} \cdot \textcolor{{red}}{{H(4H + 2I)}} + \textcolor{{blue}}{{H(V + P + T)}} + H^2 + H")
    bars(3, 60)
    with st.container(horizontal=True):
        st.selectbox("Open", ["the whole model", "encoder"])
        st.caption("Click a bar")
    bars(9, 250)
    st.expander("Tensors")


st.navigation([st.Page(page, title="Parameters", default=True)], position="top").run()
