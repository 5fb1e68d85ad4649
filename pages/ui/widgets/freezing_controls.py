"""Controls for frozen parameters, shared by the pages about training."""

from dataclasses import replace
from typing import Any

import streamlit as st

from bertcalc import Config
from bertcalc.model.freezing import TRAIN, Freezing
from bertcalc.text import N_
from pages.ui.shell.controls import Control, Number, Select, Switch, show_problem
from pages.ui.shell.i18n import _

FREEZE_LAYERS = Number("freeze_layers", N_("Frozen layers"), 0, width=160)
TRAINED = Select(
    "train",
    N_("What is trained"),
    TRAIN,
    {"all": N_("Everything"), "head": N_("Head only"), "bias+LayerNorm": N_("Biases and LayerNorms")},
    width=220,
)
FREEZE_EMBEDDINGS = Switch("freeze_embeddings", N_("Freeze the embeddings"))


def frozen(freezing: Freezing) -> dict[str, object]:
    """The values of ``freezing`` that differ from the defaults, keyed by the names of their controls."""
    controls: dict[Control[Any], object] = {
        FREEZE_LAYERS: freezing.layers,
        TRAINED: freezing.train,
        FREEZE_EMBEDDINGS: freezing.embeddings,
    }
    return {control.name: value for control, value in controls.items() if value != control.default}


def choose_freezing(config: Config) -> Freezing:
    """Draw the controls; return the chosen freezing, with the nearest possible number of layers for this model."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layers = FREEZE_LAYERS.show(help=_("Freeze the first n layers"))
        train = TRAINED.show(help=_("Everything else is frozen."))
        chosen = Freezing(FREEZE_EMBEDDINGS.show(), layers, train)
    if problem := chosen.problem(config):
        show_problem(problem)
        return replace(chosen, layers=problem.remedies[0]["freeze_layers"])
    return chosen
