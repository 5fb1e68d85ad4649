"""What a link says that cannot be: named in a message, while the rest of the link counts."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from typing import Any

import streamlit as st

from bertcalc import ARCHITECTURES, BertConfig, build
from bertcalc.forward.steps import BATCH, forward
from bertcalc.forward.walk import walk
from bertcalc.moves import SLIDERS
from bertcalc.presets import PRESETS
from bertcalc.text import N_, shorten
from bertcalc.track import DECIMALS as FIELDS_WITH_DECIMALS
from bertcalc.track import NUMBERS, OPTIONS, SWITCHES
from bertcalc.tree.freezing import TRAIN
from bertcalc.tree.totals import openable
from pages.ui import call, model, present
from pages.ui.bring import bring
from pages.ui.charts import WHOLE
from pages.ui.check import exercises, explain, tools
from pages.ui.compute import controls as compute
from pages.ui.controls import Parameters, assignments, sentence
from pages.ui.explore import compare, design, sweep
from pages.ui.i18n import LANGUAGES, translator
from pages.ui.lecture import files as lecture
from pages.ui.memory import controls as memory

# Everything that the chart can open in any architecture; it shows the whole model where this one has no such part.
_FULL = BertConfig(is_decoder=True, add_cross_attention=True, tie_word_embeddings=False)
OPENABLE = dict.fromkeys(path or WHOLE for name in ARCHITECTURES for path in openable(build(_FULL, name)))
# Every stop of any walk; a walk without it begins at its first.
_RELATIVE = replace(_FULL, position_embedding_type="relative_key_query")
STEPS = dict.fromkeys(
    stop.name
    for name in ARCHITECTURES
    for config in (_FULL, _RELATIVE)
    for stop in walk(forward(build(config, name), **BATCH, encoder_sequence_length=1), layer=1)
)
# What the controls of the sidebar and of the first pages read, then those of the modules that say it themselves.
_PARAMETERS: tuple[Parameters, ...] = (
    Parameters(
        whole_numbers=(*SLIDERS, *NUMBERS, "freeze_layers", *BATCH, "layer"),
        booleans=(
            *SWITCHES,
            "add_pooling_layer",
            "lock_heads",
            "lock_intermediate",
            "tensors",
            "unfold",
            "heads",
            "rows",
            "counts",
            "freeze_embeddings",
            "returned",
        ),
        decimals=tuple(FIELDS_WITH_DECIMALS),
        choices={
            "lang": LANGUAGES,
            "preset": tuple(PRESETS),
            "architecture": tuple(ARCHITECTURES),
            "open": tuple(OPENABLE),
            "step": tuple(STEPS),
            "view": ("tree", "parts", "notebook", "freezing"),
            "beside": ("none", *ARCHITECTURES),
            "train": TRAIN,
            **OPTIONS,
        },
    ),
    call.PARAMETERS,
    compute.PARAMETERS,
    memory.PARAMETERS,
    compare.PARAMETERS,
    sweep.PARAMETERS,
    design.PARAMETERS,
    explain.PARAMETERS,
    tools.PARAMETERS,
    exercises.PARAMETERS,
    bring.PARAMETERS,
    present.PARAMETERS,
    lecture.PARAMETERS,
)
WHOLE_NUMBERS = {name for some in _PARAMETERS for name in some.whole_numbers}
BOOLEANS = {name for some in _PARAMETERS for name in some.booleans}
DECIMALS = {name for some in _PARAMETERS for name in some.decimals}
CHOICES = {name: options for some in _PARAMETERS for name, options in some.choices.items()}
TEXTS = {name: check for some in _PARAMETERS for name, check in some.texts.items()}
_ALL = {*WHOLE_NUMBERS, *BOOLEANS, *DECIMALS, *CHOICES, *TEXTS}
KNOWN = sorted(_ALL)
_MOST_UNKNOWN = 20
_LONGEST = 100  # characters of a name or an option that may be meant


def check(before_rerun: Callable[[], object]) -> None:
    """Look at the link that started the session; take out what no control could show, and run again.

    ``before_rerun`` has to call st.navigation: a run that ends before it would begin again on the first page.

    It has to go before any control reads it: Streamlit reads inf for a whole number as an error, 1e3 as 1000.
    Values that are read, but make no model, are left to the model of the session, which takes the nearest.
    """
    if "rejected" in st.session_state:
        return
    given = st.query_params.to_dict()
    st.session_state["rejected"] = rejected = rejections(given)
    if rejected:
        before_rerun()
        names = {name for name, *_why in rejected}
        st.query_params.from_dict({name: given[name] for name in given if name not in names})
        st.rerun()


def rejections(given: Mapping[str, str]) -> list[tuple[str, str, str, dict[str, str]]]:
    """The parameters of a link that cannot be: name, text, and what is wrong, which is English with placeholders.

    Of the names that are not known the first few are compared with those that are: a link can have any number.
    """
    unknown = islice((name for name in given if name not in _ALL), _MOST_UNKNOWN)
    names = [*(name for name in given if name in _ALL), *unknown]
    return [(name, given[name], *reason) for name in names if (reason := _reason(name, given[name]))]


def show_rejected() -> None:
    """Name what was wrong, until somebody has read it."""
    rejected, stood_in = st.session_state["rejected"], model.stood_in()
    if not (rejected or stood_in):
        return
    _ = translator()
    with st.container(border=True, key="rejected"):
        # st.text, because a link is somebody else's text: none of it is Markdown.
        for name, text, message, values in rejected:
            st.text(_(message).format(name=shorten(name), text=shorten(text), **values))
        for problem in stood_in:
            shown = assignments(problem.remedies[0])
            message = _("The link asks for a model that is not possible: {problem} Showing {shown} instead.")
            st.text(message.format(problem=sentence(problem, str), shown=shown))
        with st.container(horizontal=True):
            for remedy in (remedy for problem in stood_in for remedy in problem.remedies[1:]):
                label = assignments(remedy)
                st.button(label, key=f"instead {label}", on_click=_take_instead, args=(remedy,))
            st.button(_("Got it"), on_click=_got_it)


def _take_instead(remedy: Mapping[str, Any]) -> None:
    model.change(remedy)
    model.stood_in().clear()


def _got_it() -> None:
    st.session_state["rejected"].clear()
    model.stood_in().clear()


_Reason = tuple[str, dict[str, str]]


def _reason(name: str, text: str) -> _Reason | None:
    if name in WHOLE_NUMBERS:
        # Fifteen digits: beyond 2**53 a browser cannot hold the number.
        if re.fullmatch(r"-?[0-9]{1,15}", text):
            return None
        return N_("{name}={text} in the link is not possible: it must be a whole number."), {}
    if name in DECIMALS:
        return (
            None if _is_decimal(text) else (N_("{name}={text} in the link is not possible: it must be a number."), {})
        )
    if name in BOOLEANS:
        if text.lower() in ("true", "false"):
            return None
        return N_("{name}={text} in the link is not possible: it must be true or false."), {}
    if name in TEXTS:
        return TEXTS[name](text)
    if name in CHOICES:
        return None if text in CHOICES[name] else _not_an_option(text, list(CHOICES[name]))
    if meant := get_close_matches(name[:_LONGEST], KNOWN, n=1, cutoff=0.8):
        return N_("{name} in the link is unknown: did you mean {nearest}?"), {"nearest": meant[0]}
    return None  # somebody else's parameter, such as utm_source


def _not_an_option(text: str, options: list[str]) -> _Reason:
    nearest = get_close_matches(text[:_LONGEST], options, n=1, cutoff=0.0)
    message = N_("{name}={text} in the link is not possible: it must be one of the options, such as {nearest}.")
    return message, {"nearest": nearest[0] if nearest else options[0]}


def _is_decimal(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
