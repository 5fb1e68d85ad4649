"""The session's model, which is read from the link, changed by controls, and written into the link."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from bertcalc.config import Problem
from bertcalc.controls.chosen_model import NAMES, ChosenModel, read
from bertcalc.controls.model_history import ModelHistory
from bertcalc.families.presets import DEFAULT_PRESET
from pages.ui.session import address, kept, scale

NOTED = "link"  # the name under which the browser keeps the link whose messages are shown
_ASIDE = "model before the lecture"


def begin(place: str = "", preset: str = "") -> None:
    """Read the model from the link in the session's first run, and after Back and Forward.

    In a lecture, ``place`` names the screen ("lecture/screen"), and ``preset`` is the screen's preset, if any. The
    screen starts with this preset, which is also the default preset of a link to the screen. Leaving the lecture
    restores the model from before the lecture's first screen with a preset.
    """
    lecture = place.partition("/")[0]
    before, st.session_state["place"] = st.session_state.get("place"), place
    st.session_state["meant"] = preset or DEFAULT_PRESET
    is_new = "track" not in st.session_state
    if not is_new:
        _bring_back(lecture)
    if preset and not kept.get(_ASIDE):
        kept.put(_ASIDE, {"lecture": lecture, "link": (ChosenModel() if is_new else track().present).link()})
    if is_new:
        link = st.query_params.to_dict()
        model, problems = read(link, _meant())
        # The link of a page that just opened has no model until the panel adds it.
        is_linked = address.went_back() or not address.is_opened() or not link.keys().isdisjoint(NAMES)
        st.session_state["stood in"] = problems or read(noted_link(), _meant())[1]
        # "track" is set last. Streamlit may interrupt the run at any access to the session state; without "track", the
        # next run starts over.
        st.session_state["track"] = ModelHistory.restored(model, kept.get("steps"), is_linked=is_linked)
    elif address.went_back():
        model, st.session_state["stood in"] = read(st.query_params.to_dict(), _meant())
        track().go_to(model)
    elif preset not in ("", track().present.preset) and place != before:
        take_preset(preset)


def _bring_back(lecture: str) -> None:
    """Restore the model from before the lecture if the reader has left the lecture.

    After the browser's Back or Forward, the link decides instead.
    """
    match kept.get(_ASIDE):
        case {"lecture": name, "link": link} if name != lecture:
            take(read(_texts(link))[0])
            kept.put(_ASIDE, None)


def noted_link() -> dict[str, str]:
    """The parameters of the link whose messages are still shown, from the browser's memory; {} if there is none."""
    return _texts(kept.get(NOTED))


def _texts(link: object) -> dict[str, str]:
    return {name: text for name, text in link.items() if isinstance(text, str)} if isinstance(link, dict) else {}


def track() -> ModelHistory:
    """The history of this session's model."""
    steps: ModelHistory = st.session_state["track"]
    return steps


def _meant() -> str:
    preset: str = st.session_state["meant"]
    return preset


def link() -> dict[str, str]:
    """The parameters of the link that describe the session's model."""
    return track().present.link(_meant())


def own_name(field: str) -> str:
    """The name of a config field in the family of the session's model; ``field`` if no model has been read yet."""
    return own_names((field,))[field]


def own_names(fields: Iterable[str]) -> dict[str, str]:
    """The results of ``own_name``, keyed by field."""
    if "track" not in st.session_state:
        return {field: field for field in fields}
    config = track().present.config
    return {field: config.own_name(field) for field in fields}


def linked(link: Mapping[str, str]) -> ChosenModel:
    """The model that ``link`` describes, independent of the session's model."""
    return read(link)[0]


def write_link() -> None:
    """Write the session's model into the link.

    A run that opens another page does not write it. Streamlit has dropped the parameters from the new page's URL, and
    adding them here would make another history entry. Instead, the panel adds them in the browser after the run.
    """
    kept.put("steps", track().written())
    present = track().present
    if not address.is_opened():
        query = st.query_params.to_dict()
        in_link, wrong = read(query, _meant())
        # After Back, a change of the link adds no history entry, so superfluous parameters can be removed.
        plain = not address.went_back() or {name: query[name] for name in NAMES if name in query} == link()
        if wrong or in_link != present or not plain:
            for step in track().unsaid or [present]:
                address.write(NAMES, step.link(_meant()))
        track().unsaid.clear()


def stood_in() -> list[Problem]:
    """The problems with invalid values in the link, as long as their messages are shown."""
    problems: list[Problem] = st.session_state["stood in"]
    return problems


def change(values: Mapping[str, Any]) -> None:
    """Change fields of the model in one step. Call this only in callbacks."""
    if not address.went_back():
        track().change(values)


def take_preset(preset: str, **changes: Any) -> None:
    """Load a preset, with ``changes`` to some fields, in one step. Call this only in callbacks."""
    take(track().present.reset(preset).changed(changes))


def take(model: ChosenModel) -> None:
    """Load another model in one step. Call this only in callbacks.

    This does nothing in a run that the browser's Back or Forward caused. In such a run, a control that the browser has
    not redrawn still sends its old value. Streamlit ignores the old value only if the control is bound to the link.
    """
    if not address.went_back():
        track().take(model)
        scale.forget()


def plain() -> ChosenModel:
    """The preset of the session's model, without changed fields or steps."""
    return track().present.reset()._replace(changes="")


def reset() -> None:
    """Go back to the unchanged preset. Call this only in callbacks."""
    take_preset(track().present.preset, changes="")
