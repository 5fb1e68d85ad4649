"""Links to the page from others, which have no formula of their own for a model."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.discover.comparable import WrittenFound, text_of
from bertcalc.discover.results.shipped import with_count
from bertcalc.discover.results.size_steps import write
from bertcalc.discover.results.types import types
from bertcalc.discover.search.config_input import Given, read
from bertcalc.families.presets import DEFAULT_PRESET
from bertcalc.text.problem import InputError
from pages.ui.shell.any_model import FIELDS, MODEL_CLASS, MODEL_TYPE, SIZES, classes_of
from pages.ui.shell.i18n import _

_MOST = 3


def show_way(model_type: str, cls: str | None = None, fields: Mapping[str, Any] | None = None) -> None:
    """Show a link to the page with a model type, a class and fields, as far as a link has room for them."""
    if model_type not in types():
        return
    one = WrittenFound(model_type, cls or classes_of(model_type)[0], given=_within(dict(fields or {})))
    st.page_link(
        "any_model.py",
        label=_("Its formula, on the page for any model: {kind} →").format(kind=one.cls),
        icon=":material/travel_explore:",
        query_params=link_of(one),
    )


def show_way_to_compare(one: WrittenFound) -> None:
    """Show a link that compares a model with the default preset."""
    st.page_link(
        "compare.py",
        label=_("Compare it with {preset} →").format(preset=DEFAULT_PRESET),
        icon=":material/compare_arrows:",
        query_params={"models": f"{DEFAULT_PRESET} {one}"},
    )


def link_of(one: WrittenFound) -> dict[str, str]:
    """The query parameters of the page's link for a model."""
    said = {
        MODEL_TYPE.name: one.model_type,
        MODEL_CLASS.name: one.cls,
        FIELDS.name: one.given if len(one.given) <= FIELDS.longest else "",
        SIZES.name: write(dict(one.changes)),
    }
    return {name: text for name, text in said.items() if text}


def _within(given: dict[str, Any]) -> str:
    """The given fields as JSON, without lists and nested fields if the link has no room for all."""
    if len(text_of(given)) > FIELDS.longest:
        given = {name: value for name, value in given.items() if not isinstance(value, list | dict)}
    return text_of(given)


def show_way_of_config(text: str) -> bool:
    """Show that a config.json of another type is counted on the page of any model, if it is; return whether it is."""
    try:
        given: Given = read(text)
    except InputError:
        return False
    if given.model_type not in types():
        return False
    with st.container(border=True, key="another-type"):
        message = _("This is a {kind}, not one of the families that bertcalc has as a program of its own.")
        st.markdown(message.format(kind=f"**{given.cls or given.model_type}**"))
        show_way(given.model_type, given.cls, given.fields)
    return True


def show_way_of_count(low: int, high: int) -> None:
    """Show links for the models with a number of parameters in a range, at their default sizes."""
    for model_type, cls in with_count(low, high)[:_MOST]:
        show_way(model_type, cls)
