"""The heading of a page, the line under it, and the title of the browser's tab."""

from html import escape

import streamlit as st

from bertcalc.config import LETTERS
from bertcalc.controls.stops import SLIDERS
from bertcalc.model_ref import ModelRef, item_of
from pages.ui.session import present_model
from pages.ui.shell import any_model
from pages.ui.shell.controls import assignment
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import PAGES, page_at
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import Choice

_MOST_CHANGES = 3  # maximum number of changed fields in the tab's title


def show_heading(path: str, choice: Choice) -> None:
    """Draw a page's heading and the line under it, which projector view omits; set the title of the browser's tab."""
    page = PAGES[path]
    if path == any_model.PAGE:
        state = any_model.state()
        model = [escape(state)]
    else:
        item = item_of(choice.model, choice.preset)
        state, model = state_of(choice, item), _model(choice, item)
    st.set_page_config(page_title=f"{_(page.title)} · {state} · bertcalc")
    with st.container(key="heading", gap=None):
        st.title(_(page.heading), anchor=False)
        if page.line and not presenting():
            st.markdown(_(page.line))
        # Visible only in print, where style.css hides the navigation and the sidebar.
        st.html(f'<div class="on-paper">{"<br>".join([f"<b>bertcalc · {escape(_(page.title))}</b>", *model])}</div>')


def _model(choice: Choice, item: ModelRef) -> list[str]:
    """The lines of HTML that describe the model in print: its class and preset, its sizes, and its changed fields."""
    sizes = " · ".join(
        f"{choice.config.own_name(field)} <i>{LETTERS[field]}</i> = {getattr(choice.config, field):,}"
        for field in SLIDERS
    )
    changed = " · ".join(escape(assignment(field, value)) for field, value in item.changes if field != "architecture")
    return [
        f"{choice.architecture} · {choice.preset}",
        sizes,
        *([_("Changed: {fields}").format(fields=f"<b>{changed}</b>")] if changed else []),
    ]


def state_of(choice: Choice, item: ModelRef) -> str:
    """A short description of the model: its preset, its class unless it is the base model, and a few changed fields."""
    changes = sorted(item.changes, key=lambda change: change[0] != "architecture")
    own_name = choice.config.own_name
    texts = [
        value if field == "architecture" else assignment(LETTERS.get(field, own_name(field)), value)
        for field, value in changes
    ]
    return ", ".join([item.base, *texts[:_MOST_CHANGES], *("…" for _more in texts[_MOST_CHANGES : _MOST_CHANGES + 1])])


def say_left_out() -> None:
    """If the model has steps of the Change page, state that this page ignores them, as a link to the Change page."""
    if present_model.track().present.changes:
        st.page_link(page_at("change"), label=_("This page omits the steps of the Change page →"))
