"""The model of this session: read from the link, changed by controls, written into the link."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.config import Problem
from bertcalc.presets import DEFAULT_PRESET
from bertcalc.track import NAMES, ChosenModel, Track, read
from pages.ui import address, scale


def begin(place: str = "", preset: str = "") -> None:
    """Read the model from the link in the first run, and after Back and Forward.

    ``place`` is where the reader is, if it is about a preset (a screen of a lecture): it begins with that one, and a
    link without a preset means it there.
    """
    before, st.session_state["place"] = st.session_state.get("place"), place
    st.session_state["meant"] = preset or DEFAULT_PRESET
    if "track" not in st.session_state:
        model, found = read(st.query_params.to_dict(), _meant())
        st.session_state["track"], st.session_state["stood in"] = Track(model), found
    elif address.went_back():
        model, st.session_state["stood in"] = read(st.query_params.to_dict(), _meant())
        track().go_to(model)
    elif preset not in ("", track().kept.preset) and place != before:
        take_preset(preset)


def track() -> Track:
    """The steps of this session."""
    steps: Track = st.session_state["track"]
    return steps


def _meant() -> str:
    preset: str = st.session_state["meant"]
    return preset


def link() -> dict[str, str]:
    """What the link says of the model of the last step."""
    return track().kept.link(_meant())


def own_name(field: str) -> str:
    """What the family of the session's model calls a field."""
    return track().present.config.own_name(field) if "track" in st.session_state else field


def linked(link: Mapping[str, str]) -> ChosenModel:
    """The model of a link, which is not the session's yet."""
    return read(link)[0]


def write_link(page: str) -> None:
    """Write the model of the last step into the link.

    Not in the run that opens another page: Streamlit leaves what it does not know out of the address of a page, and
    what we add would be an entry of its own. The browser puts it in there (see the panel), we with the next run.
    """
    kept = track().kept
    address.open_page(page)
    if not address.is_opened():
        query = st.query_params.to_dict()
        said, wrong = read(query, _meant())
        # Going back adds no entry, so that what no control can show is taken out there, too.
        plain = not address.went_back() or {name: query[name] for name in NAMES if name in query} == link()
        if wrong or said != kept or not plain:
            for step in track().unsaid or [kept]:
                address.write(NAMES, step.link(_meant()))
        track().unsaid.clear()


def stood_in() -> list[Problem]:
    """The impossible values of the link that are still shown as a message."""
    found: list[Problem] = st.session_state["stood in"]
    return found


def change(values: Mapping[str, Any]) -> None:
    """Change fields of the model in one step: in a callback."""
    if not address.went_back():
        track().change(values)


def take_preset(preset: str, **changes: Any) -> None:
    """A preset with some fields changed, in one step: in a callback.

    Not in a run that is the browser's Back or Forward: a control that the browser has not drawn again says what it
    showed before, as Streamlit knows of those that are bound to the link.
    """
    if not address.went_back():
        steps = track()
        steps.take(steps.kept.reset(preset).changed(changes))
        scale.forget()


def reset() -> None:
    """Back to the preset: in a callback."""
    take_preset(track().kept.preset)
