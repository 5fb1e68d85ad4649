"""Models of any transformers class in a comparison: the choice of a class, and the discovery of its formula."""

from collections.abc import Mapping, Sequence

import streamlit as st

from bertcalc.discover.results.comparable import DiscoveredModel
from bertcalc.discover.results.config_input import json_of
from bertcalc.discover.results.config_input import read_config as read_pasted
from bertcalc.discover.results.known_results import refusal
from bertcalc.discover.results.result import NOT_ASKED
from bertcalc.discover.results.types import types
from bertcalc.model_ref import ModelRef
from bertcalc.proof import real_model
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem, wrong
from pages.ui.any_model.discovering import MISSING, look
from pages.ui.any_model.link_to import link_of
from pages.ui.shell.any_model import MODEL_TYPE, classes_of, request_of, selection_of
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.navigation import page_at

_FAILED = "compared without a formula"


def choose() -> ModelRef:
    """Draw the choice of a model type and a class; return a reference to the model."""
    left, right = st.columns(2)
    kinds = list(types())
    kind = left.selectbox(
        _("Any transformers model"),
        kinds,
        kinds.index(MODEL_TYPE.default),
        key="compared type",
        persist_state="session",
    )
    cls = right.selectbox(_("Class"), classes_of(kind), key=f"compared class of {kind}")
    return ModelRef.of_class(kind, cls)


def read_config(text: str) -> ModelRef:
    """A reference to the model of a config.json with any model type. Raises InputError for an invalid text."""
    config = read_pasted(text)
    cls = config.cls or classes_of(config.model_type)[0]
    return ModelRef.of_class(config.model_type, cls, config=json_of(config.fields))


def show_limits(models: Mapping[ModelRef, DiscoveredModel], measure: str) -> None:
    """Show which figures of ``models`` are available, and links for deriving missing FLOPs formulas.

    Show nothing if there are no discovered models.
    """
    if not models:
        return
    message = _(
        "For {models}, only the parameter count, the bytes of the weights and, if derived, the FLOPs of a forward "
        "pass are known; memory and training show –. The numbers of layers and heads are inferred from tensor "
        "names."
    )
    st.caption(message.format(models=listed(dict.fromkeys(model.architecture for model in models.values()))))
    for item, model in models.items():
        if measure == "forward" and model.discovery.no_flops == NOT_ASKED and not model.discovery.compute:
            st.page_link(
                page_at("any_model"),
                label=_("Find the FLOPs of {cls} →").format(cls=model.architecture),
                icon=":material/bolt:",
                query_params=link_of(item),
            )


def discover(items: Sequence[ModelRef]) -> None:
    """Discover the missing formulas of ``items`` one by one, and rerun the page after each success.

    Problems are recorded for ``build``.
    """
    failed: dict[tuple[str, str], Problem] = {}
    st.session_state[_FAILED] = failed  # valid for this run only, so the next run tries again
    for item in items:
        selection = selection_of(item.model_type, item.cls, item.fields())
        if selection.discovery or not real_model.installed():
            continue
        problem = refusal(request_of(item.model_type, item.cls, selection.fields)) or look(selection)
        if problem is None:
            st.rerun()
        failed[item.base, item.config] = problem


def build(item: ModelRef) -> DiscoveredModel:
    """The model with its discovered formula.

    Raises:
        InputError: if there is no formula, or if it does not allow the model's changed sizes.
    """
    discovered = selection_of(item.model_type, item.cls, item.fields()).discovery
    if discovered is None:
        failed = st.session_state[_FAILED].get((item.base, item.config))
        raise InputError(failed) if failed else wrong(MISSING)
    if discovered.unexplained and item.changes:
        raise wrong(N_("not all of its parameters have a formula, so its sizes cannot be changed."))
    model = DiscoveredModel(discovered, item.changes)
    if problem := model.problem():
        raise InputError(problem)
    return model
