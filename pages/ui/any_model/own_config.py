"""Choose the model of the page Any model with a config.json that is pasted or read from the Hub."""

from typing import Any

import streamlit as st

from bertcalc.discover.results.config_input import read_config
from bertcalc.families.hf_json import LARGEST
from bertcalc.hub import hub_workers, reader
from bertcalc.text import N_
from bertcalc.text.live_numbers import MINUS
from bertcalc.text.problem import InputError
from pages.server.run_queue import RUN_QUEUE
from pages.ui.session import kept
from pages.ui.shell.any_model import TypeSelection, choose, too_long
from pages.ui.shell.controls import Fold, sentence
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.real_answers import wanted

BRING = Fold("any_bring", N_("Your own config.json, or a name on the Hub"))


def show_bring(selection: TypeSelection) -> None:
    """Show the given config fields, and draw the controls for another config.json in an expander."""
    if selection.fields:
        fields = ", ".join(f"{name} = {_brief(value)}" for name, value in list(selection.fields.items())[:6])
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                _("Reset to the default {kind} configuration").format(kind=selection.model_type),
                key="any default",
                on_click=choose,
                args=(selection.model_type, selection.cls, {}),
            )
            st.caption(_("Fields set: {fields}").format(fields=fields + (" ..." if len(selection.fields) > 6 else "")))
        _show_derived(selection)
        if too_long(selection):
            st.caption(
                _(
                    "The config.json is too long for the link: users who open the link see the default configuration "
                    "of its type."
                )
            )
    BRING.around(_show_ways)


def _show_derived(selection: TypeSelection) -> None:
    """Show which given fields have the value that transformers derives from other fields.

    This is common, because a config.json lists every field.
    """
    derived = selection.discovery.derived if selection.discovery else {}
    for name in (name for name in selection.fields if name in derived):
        message = _("{field} has the value that transformers derives, so it follows {leaders} here.")
        st.caption(message.format(field=name, leaders=listed(derived[name])))


def _show_ways() -> None:
    left, right = st.columns(2)
    kept.hold_text("any config")
    with left:
        st.text_area(
            "config.json",
            key="any config",
            height=130,
            max_chars=LARGEST,
            placeholder='{"model_type": "llama", "hidden_size": 2048, ...}',
            persist_state="session",
        )
        st.button(_("Find its formula"), key="any take", on_click=lambda: _take(st.session_state["any config"]))
    with right:
        if reader.installed():
            st.text_input(_("Name on the Hub"), "openai-community/gpt2-xl", key="any repo", max_chars=reader.LONGEST)
            if st.button(_("Read its config.json"), key="any hub"):
                _take_hub()
    for problem in st.session_state.get("any problems", ()):
        st.error(sentence(problem))
    for remark in st.session_state.get("any remarks", ()):
        st.caption(sentence(remark))


def _take(text: str) -> None:
    st.session_state["any remarks"] = st.session_state["any problems"] = ()
    try:
        config = read_config(text)
    except InputError as error:
        st.session_state["any problems"] = error.problems
        return
    st.session_state["any remarks"] = config.remarks
    choose(config.model_type, config.cls, config.fields)


def _take_hub() -> None:
    try:
        with st.spinner(_("Querying the Hub ...")), RUN_QUEUE.pause():
            text = hub_workers.ask_config(st.session_state["any repo"].strip(), wanted)
    except InputError as error:
        st.session_state["any problems"] = error.problems
    else:
        _take(text)
    st.rerun()


def _brief(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, list | dict):
        return "..."
    return "`" + "".join(sign for sign in f"{value}"[:30] if sign.isalnum() or sign in "_-. ") + "`"
