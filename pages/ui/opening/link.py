"""Check the link that starts a session: report and drop its invalid parameters.

A control is registered when the module that declares it is imported. Streamlit runs the script of only one page, so
this module imports all modules that declare controls.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

import streamlit as st

from bertcalc.text import N_, shorten
from pages.ui.any_model import discovering, own_config, tensors  # noqa: F401
from pages.ui.bring import pasted_view, report_view  # noqa: F401
from pages.ui.change import effects_view, step_controls  # noqa: F401
from pages.ui.checkpoints import inputs  # noqa: F401
from pages.ui.compare import comparison  # noqa: F401
from pages.ui.compute import count, forward, rules, training_run  # noqa: F401
from pages.ui.design import nearest  # noqa: F401
from pages.ui.diagnosis import miscounts_view, terms_view, your_number  # noqa: F401
from pages.ui.exercises import answering  # noqa: F401
from pages.ui.lecture import screen_files  # noqa: F401
from pages.ui.memory import peak_view, run, saved_view  # noqa: F401
from pages.ui.session import kept, present_model
from pages.ui.shell import any_model, present  # noqa: F401
from pages.ui.shell.controls import CONTROLS, Reason, Select, assignments, sentence
from pages.ui.shell.i18n import LANGUAGES, _, filled
from pages.ui.sweep import growth_view, sweep_view  # noqa: F401
from pages.ui.tools import tool_counts  # noqa: F401
from pages.ui.walk import walk_steps  # noqa: F401
from pages.ui.widgets import (  # noqa: F401
    bars,
    batch_controls,
    call_controls,
    freezing_controls,
    module_tree,
    tables,
    verdict,
)

Select("lang", "Language", LANGUAGES)
KNOWN = sorted(CONTROLS)
_MOST_UNKNOWN = 20
_LONGEST = 100  # only the first characters of an unknown name are compared with known names


def check(before_rerun: Callable[[], object]) -> None:
    """Check the link that started the session; if it has invalid parameters, remove them and rerun the script.

    ``before_rerun`` must call st.navigation: after a run that ends without this call, Streamlit opens the first page.

    Call ``check`` before any control reads the link, because Streamlit fails on inf as a whole number, and reads 1e3 as
    1000. Valid values can still form an invalid model; ``present_model.begin`` then uses the nearest model.
    """
    if "rejected" in st.session_state:
        return
    parameters = st.query_params.to_dict()
    # The link comes from a run that was interrupted below, from a lost session, or from this run.
    noted = st.session_state.get("link with notes") or present_model.noted_link() or parameters
    st.session_state["link with notes"] = noted
    if rejected := rejections(parameters):
        before_rerun()
        names = {name for name, *_why in rejected}
        st.query_params.from_dict({name: parameters[name] for name in parameters if name not in names})
    # "rejected" is set last. Streamlit may interrupt the run at any command, and each run repeats the check until this
    # key is set.
    st.session_state["rejected"] = rejections(noted)
    if rejected:
        st.rerun()


def rejections(parameters: Mapping[str, str]) -> list[tuple[str, str, str, dict[str, str]]]:
    """The invalid parameters of a link, as (name, text, English message, placeholder values) tuples.

    An unknown parameter is included only if its name resembles a known name; otherwise it probably belongs to another
    tool. At most _MOST_UNKNOWN unknown names are checked, because a link can have any number of parameters.
    """
    unknown = islice((name for name in parameters if name not in CONTROLS), _MOST_UNKNOWN)
    names = [*(name for name in parameters if name in CONTROLS), *unknown]
    return [(name, parameters[name], *reason) for name in names if (reason := _reason(name, parameters))]


def show_rejected() -> None:
    """Show the problems with the link, if any, until the reader presses a button."""
    rejected, stood_in = st.session_state["rejected"], present_model.stood_in()
    if not (rejected or stood_in):
        kept.put(present_model.NOTED, None)
        return
    kept.put(present_model.NOTED, st.session_state["link with notes"])
    with st.container(border=True, key="rejected"):
        # The text of a link is untrusted. st.text does not interpret it as Markdown.
        for name, text, message, values in rejected:
            control = CONTROLS.get(name)
            if isinstance(control, Select) and "nearest" in values:  # the label depends on the language of this run
                values = values | {"nearest": control.named(values["nearest"])}
            st.text(_(message).format(name=shorten(name), text=shorten(text), **values))
        for problem in stood_in:
            if not problem.remedies:
                st.text(sentence(problem, str))
                continue
            alternative = assignments(problem.remedies[0])
            message = _("The link describes an invalid model: {problem} Showing {shown} instead.")
            st.text(filled(message, problem=sentence(problem, str), shown=alternative))
        with st.container(horizontal=True):
            for remedy in (remedy for problem in stood_in for remedy in problem.remedies[1:]):
                label = assignments(remedy)
                st.button(label, key=f"instead {label}", on_click=_take_instead, args=(remedy,))
            st.button(_("Got it"), on_click=_got_it)


def _take_instead(remedy: Mapping[str, Any]) -> None:
    present_model.change(remedy)
    present_model.stood_in().clear()


def _got_it() -> None:
    st.session_state["rejected"].clear()
    present_model.stood_in().clear()


def _reason(name: str, parameters: Mapping[str, str]) -> Reason | None:
    if name in CONTROLS:
        return CONTROLS[name].wrong_in(parameters)
    whole = [control for control in KNOWN if control == f"model_{name}"]  # "class" probably means model_class
    if meant := [*whole, *get_close_matches(name[:_LONGEST], KNOWN, n=1, cutoff=0.8)]:
        return N_("{name} in the link is unknown: did you mean {nearest}?"), {"nearest": meant[0]}
    return None  # the parameter probably belongs to another tool, such as utm_source
