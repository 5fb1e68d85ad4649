"""Models of any class of transformers in a comparison: choosing one, and discovering its formula."""

from collections.abc import Mapping, Sequence

import streamlit as st

from bertcalc.discover.comparable import FoundModel, WrittenFound, text_of
from bertcalc.discover.discovery_worker import refusal
from bertcalc.discover.results.result import NOT_ASKED
from bertcalc.discover.results.types import types
from bertcalc.discover.search.config_input import read
from bertcalc.proof import real_model
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem, wrong
from pages.ui.any_model.discovering import MISSING, look
from pages.ui.any_model.link_to import link_of
from pages.ui.shell.any_model import classes_of, of
from pages.ui.shell.i18n import _, listed

_FAILED = "compared without a formula"


def choose() -> WrittenFound:
    """Draw the choice of a model type and a class, and return the model."""
    left, right = st.columns(2)
    kind = left.selectbox(_("Any model of transformers"), list(types()), key="compared type", persist_state="session")
    cls = right.selectbox(_("Class"), classes_of(kind), key=f"compared class of {kind}")
    return WrittenFound(kind, cls)


def read_config(text: str) -> WrittenFound:
    """The model of a config.json of any model type. Raises InputError."""
    given = read(text)
    return WrittenFound(given.model_type, given.cls or classes_of(given.model_type)[0], given=text_of(given.fields))


def show_limits(models: Mapping[WrittenFound, FoundModel], measure: str) -> None:
    """Show what is known of discovered models, if there are any, and links to where missing FLOPs can be found."""
    if not models:
        return
    message = _(
        "For {models}, only the parameters, the bytes of the weights and, where discovered, the FLOPs of a forward "
        "pass are known; memory and training show –. Layers and heads are read off the names of tensors."
    )
    st.caption(message.format(models=listed(dict.fromkeys(model.architecture for model in models.values()))))
    for item, model in models.items():
        if measure == "forward" and model.found.no_flops == NOT_ASKED and not model.found.compute:
            st.page_link(
                "any_model.py",
                label=_("Find the FLOPs of {cls} →").format(cls=model.architecture),
                icon=":material/bolt:",
                query_params=link_of(item),
            )


def discover(items: Sequence[WrittenFound]) -> None:
    """Discover the formulas that are not known yet, one after another, rerunning the page after each."""
    failed: dict[tuple[str, str], Problem] = {}
    st.session_state[_FAILED] = failed  # of this run alone: the next one tries again what may succeed
    for item in items:
        now = of(item.model_type, item.cls, item.fields())
        if now.found or not real_model.installed():
            continue
        problem = refusal(now.model_type, now.cls, now.given) or look(now)
        if problem is None:
            st.rerun()
        failed[item.base, item.given] = problem


def build(item: WrittenFound) -> FoundModel:
    """The model with its discovered formula. Raises InputError."""
    found = of(item.model_type, item.cls, item.fields()).found
    if found is None:
        failed = st.session_state[_FAILED].get((item.base, item.given))
        raise InputError(failed) if failed else wrong(MISSING)
    if found.unexplained and item.changes:
        raise wrong(N_("not all of it has a formula, so that its sizes cannot be changed."))
    model = FoundModel(found, item.changes)
    if problem := model.problem():
        raise InputError(problem)
    return model
