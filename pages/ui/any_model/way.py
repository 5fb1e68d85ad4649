"""The way to the page from others, which have no formula of their own for a model."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.discover.given import Given, read
from bertcalc.discover.shipped import with_count
from bertcalc.discover.types import types
from bertcalc.problem import InputError, Problem
from pages.ui.any_model.choice import FIELDS, MODEL_CLASS, MODEL_TYPE, classes_of, text_of
from pages.ui.i18n import _

_MOST = 3


def show_way(model_type: str, cls: str | None = None, fields: Mapping[str, Any] | None = None) -> None:
    """A link to the page with a model type, a class and fields, as far as a link has room for them."""
    if model_type not in types():
        return
    given = dict(fields or {})
    if len(text_of(given)) > FIELDS.longest:
        given = {name: value for name, value in given.items() if not isinstance(value, list | dict)}
    said = {
        MODEL_TYPE.name: model_type,
        MODEL_CLASS.name: cls or classes_of(model_type)[0],
        FIELDS.name: text_of(given) if len(text_of(given)) <= FIELDS.longest else "",
    }
    st.page_link(
        "any_model.py",
        label=_("Its formula, on the page for any model: {kind} →").format(kind=said[MODEL_CLASS.name]),
        icon=":material/travel_explore:",
        query_params={name: text for name, text in said.items() if text},
    )


def show_way_of_config(text: str) -> None:
    """The same for a config.json, if it is one."""
    try:
        given: Given = read(text)
    except InputError:
        return
    show_way(given.model_type, given.cls, given.fields)


def show_way_of_problem(problem: Problem) -> None:
    """The same for the model type that a page has refused."""
    if problem.field == "model_type" and isinstance(problem.value, str):
        show_way(problem.value)


def show_way_of_count(low: int, high: int) -> None:
    """The same for the models that have a number of parameters, with their default sizes."""
    for model_type, cls in with_count(low, high)[:_MOST]:
        show_way(model_type, cls)
