"""The controls for what is frozen: for every page that shows what is trained."""

from dataclasses import replace
from typing import Any

import streamlit as st

from bertcalc import BertConfig
from bertcalc.tree.freezing import TRAIN, Freezing
from pages.ui.controls import choose, show_problem, whole_number
from pages.ui.i18n import translator
from pages.ui.labels import label_of


def choose_freezing(config: BertConfig) -> Freezing:
    """Draw the controls, and return what they say, or the nearest that is possible in the model."""
    _ = translator()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layers = whole_number(
            label_of("freeze_layers"), "freeze_layers", 0, width=160, help=_("Freeze the first n layers")
        )
        train: Any = choose(
            "train",
            TRAIN,
            width=220,
            help=_("Everything else is frozen."),
        )
        embeddings = st.toggle(label_of("freeze_embeddings"), key="freeze_embeddings", bind="query-params")
    chosen = Freezing(embeddings, layers, train)
    if problem := chosen.problem(config):
        show_problem(problem)
        return replace(chosen, layers=problem.remedies[0]["freeze_layers"])
    return chosen
