"""Links to the page Any model, for models of types that the other pages do not support."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.discover.results.config_input import ParsedConfig, json_of, read_config
from bertcalc.discover.results.from_config import counted_config
from bertcalc.discover.results.other_config import remarks_on
from bertcalc.discover.results.shipped import with_count
from bertcalc.discover.results.size_steps import write_sizes
from bertcalc.discover.results.types import types
from bertcalc.families.presets import DEFAULT_PRESET
from bertcalc.model_ref import ModelRef
from bertcalc.text.problem import InputError
from pages.ui.any_model.discovered_formula import formula
from pages.ui.shell.any_model import FIELDS, MODEL_CLASS, MODEL_TYPE, SIZES, classes_of
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at
from pages.ui.shell.theme import colors
from pages.ui.widgets.metrics import show_figure
from pages.ui.widgets.total_formula.show import draw_formula

_MOST = 3


def show_link(model_type: str, cls: str | None, fields: Mapping[str, Any] | None = None) -> None:
    """Show a link that opens the page Any model with a model type, a class, and as many fields as the link can hold.

    Without a class, the link has the first class of the type. An unknown model type has no link.
    """
    if model_type not in types():
        return
    ref = ModelRef.of_class(model_type, cls or classes_of(model_type)[0], config=_within(dict(fields or {})))
    st.page_link(
        page_at("any_model"),
        label=_("Show the formula of {kind} on the Any model page →").format(kind=ref.cls),
        icon=":material/travel_explore:",
        query_params=link_of(ref),
    )


def show_compare_link(ref: ModelRef) -> None:
    """Show a link that compares a model with the default preset."""
    st.page_link(
        page_at("compare"),
        label=_("Compare it with {preset} →").format(preset=DEFAULT_PRESET),
        icon=":material/compare_arrows:",
        query_params={"models": f"{DEFAULT_PRESET} {ref}"},
    )


def link_of(ref: ModelRef) -> dict[str, str]:
    """Return the query parameters that open a model on the page Any model."""
    query = {
        MODEL_TYPE.name: ref.model_type,
        MODEL_CLASS.name: ref.cls,
        FIELDS.name: ref.config if len(ref.config) <= FIELDS.longest else "",
        SIZES.name: write_sizes(dict(ref.changes)),
    }
    return {name: text for name, text in query.items() if text}


def _within(fields: dict[str, Any]) -> str:
    """Return the fields as JSON; if this is too long for the link, leave out lists and nested objects."""
    if len(json_of(fields)) > FIELDS.longest:
        fields = {name: value for name, value in fields.items() if not isinstance(value, list | dict)}
    return json_of(fields)


def show_config_link(text: str) -> bool:
    """If a config.json has a model type that the page Any model supports, show its count and a link.

    Return whether the text is such a config.json.
    """
    try:
        config: ParsedConfig = read_config(text)
    except InputError:
        return False
    if config.model_type not in types():
        return False
    with st.container(border=True, key="another-type"):
        st.markdown(_("This is a {kind}.").format(kind=f"**{config.cls or config.model_type}**"))
        cls = _show_count(config)
        show_link(config.model_type, cls or config.cls, config.fields)
        for remark in config.remarks:
            st.caption(sentence(remark))
    return True


def _show_count(config: ParsedConfig) -> str:
    """Show the parameter count of a config.json and return its class; if this fails, show why and return ""."""
    try:
        counted = counted_config(config.model_type, config.cls, config.fields)
    except InputError as error:
        st.caption(sentence(error.problem))
        return ""
    discovery, sizes = counted.discovery, counted.discovery.values(**counted.changes)
    show_figure(_("Parameters in {architecture}").format(architecture=discovery.cls), counted.parameters, least=290)
    draw_formula(formula(discovery, sizes, colors()))
    for remark in remarks_on(counted):
        st.caption(sentence(remark))
    return discovery.cls


def show_links_of_count(low: int, high: int) -> None:
    """Show links to at most _MOST models that have from ``low`` to ``high`` parameters at their default sizes."""
    for model_type, cls in with_count(low, high)[:_MOST]:
        show_link(model_type, cls)
