"""The sidebar: the controls that all pages share, and the model that these controls define."""

import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from bertcalc import Config
from bertcalc.config.fields import EVERY_LETTER, is_int
from bertcalc.controls.chosen_model import DECIMALS, NUMBERS, OPTIONS, SWITCHES, ChosenModel
from bertcalc.controls.stops import SLIDERS
from bertcalc.families import CLASSES, FAMILIES
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS, preset_named
from bertcalc.model.model import Model
from pages.ui.session import present_model
from pages.ui.session.shown_values import showing
from pages.ui.shell import any_model, any_model_sliders, panel
from pages.ui.shell.controls import Decimal, Number, Reason, Select, Switch, show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import PAGES
from pages.ui.shell.present import SCREENS

_CHANGED = "changed"
_STEPS = {"hidden_dropout_prob": 0.05, "attention_probs_dropout_prob": 0.05, "layer_norm_eps": 1e-12}
# The fields with a control under More fields.
_FOLDED = ("add_pooling_layer", *NUMBERS, *SWITCHES, *OPTIONS, *DECIMALS)


class _PresetSelect(Select[str]):
    """The choice of a preset. A link can also contain the name of its repository: microsoft/deberta-v3-base."""

    def wrong(self, text: str) -> Reason | None:
        return super().wrong(preset_named(text) or text)


def _declare() -> None:
    """Declare a control for every parameter of the link that describes the model, under its name in each family."""
    options: dict[str, Iterable[str]] = {"preset": PRESETS, "architecture": CLASSES, **OPTIONS}
    values = ChosenModel().values()
    for family in FAMILIES.values():
        like = ChosenModel().reset(next(iter(family.presets)))
        for name, default in like.values().items():
            own_name = like.config.own_name(name)
            values.setdefault(own_name, default)
            options.setdefault(own_name, options.get(name, ()))
    kinds: dict[type, Callable[[str, str, Any], object]] = {bool: Switch, int: Number, float: Decimal}
    for name, default in values.items():
        if kind := kinds.get(type(default)):
            kind(name, name, default)
        elif name != "changes":  # the Change page declares and draws this text field
            (_PresetSelect if name == "preset" else Select)(name, name, options[name], default=default)


_declare()


class Choice(NamedTuple):
    """The session's model, and the preset that it started from."""

    model: Model
    preset: str

    @property
    def config(self) -> Config:
        return self.model.config

    @property
    def architecture(self) -> str:
        return self.model.architecture


class _ThreadChoice(threading.local):
    """This thread's latest choice, cached because a run needs it several times and building a model takes time."""

    present: ChosenModel | None = None
    choice: Choice


_LAST = _ThreadChoice()


def choice() -> Choice:
    """The session's model and its preset in this run."""
    present = present_model.track().present
    if _LAST.present is not present:
        _LAST.choice = Choice(present.model(), present.preset)
        _LAST.present = present
    return _LAST.choice


def sizes(page: str) -> dict[str, int]:
    """The current values of the sizes that a page's live numbers depend on, keyed by config field."""
    if page == any_model.PAGE:
        return any_model_sliders.sizes()
    config = present_model.track().present.config
    return {field: value for field, value in config.shared().items() if is_int(value)}


def choose(page: str) -> None:
    """Draw the sidebar's controls for ``page``.

    The page Any model has its own controls, and a lecture screen draws its own sliders. A page that does not show the
    sidebar's model has the preset, the architecture, undo, redo and reset, but no sliders.

    The link contains only values that differ from the preset: preset=bert-large-uncased&vocab_size=21128 is the preset
    with one changed field.
    """
    if page == any_model.PAGE:
        any_model_sliders.show(page)
        return
    steps = present_model.track()
    present = steps.present
    values = present.values() | steps.attempt
    # A changed model is a separate option. So the reader can choose its preset, which resets the model.
    changed = present != present.reset() or bool(steps.attempt)
    source = PRESETS[present.preset].source
    names = {_CHANGED: _("{preset} (changed)").format(preset=present.preset)}
    st.selectbox(
        _("Start from"),
        [_CHANGED, *PRESETS] if changed else list(PRESETS),
        **showing("preset", _CHANGED if changed else present.preset, _take_preset),
        format_func=lambda preset: names.get(preset, preset),
        help=_("Source: {source}").format(source=f"[{_(source.description)}]({source.url})"),
    )
    taken = showing("architecture", present.architecture, partial(_change_field, "architecture"))
    st.selectbox(_("Architecture"), list(CLASSES), **taken)
    st.session_state["place of the sliders"] = place = st.container(key="sliders")
    follows = PAGES[page].follows_sliders
    if page not in SCREENS:
        with place:
            panel.show(page, SLIDERS if follows else ())
    if not follows:
        return
    start = present.reset().values()
    differ = [field for field in _FOLDED if field in start and values.get(field) != start[field]]
    label = _("More fields ({count} changed)").format(count=len(differ)) if differ else _("More fields")
    # Without the stored state, the expander would close whenever its label changes.
    folder = st.expander(label, bool(st.session_state.get("more")), key="more", on_change="rerun")
    # These controls take longer than the rest of the sidebar. If the expander is closed, they are drawn only if a field
    # differs.
    if folder.open or differ:
        with folder:
            _more_fields(values)


def show_only(fields: Collection[str]) -> None:
    """Draw only the sliders of ``fields``, for a screen of a lecture."""
    with st.session_state["place of the sliders"]:
        panel.show("lecture", fields, lecture=True)


def _more_fields(values: dict[str, Any]) -> None:
    problems = {problem.field: problem for problem in present_model.track().problems() if problem.field not in SLIDERS}
    config = present_model.track().present.config
    optional = CLASSES[present_model.track().present.architecture].base.pooler
    for field in [field for field in _FOLDED if field in values and (optional or field != "add_pooling_layer")]:
        call = showing(field, values[field], partial(_change_field, field))
        name = config.own_name(field)
        if field in NUMBERS:
            st.number_input(f"{name} ${EVERY_LETTER[field]}$", step=1, **call)
        elif field in OPTIONS:
            st.selectbox(name, OPTIONS[field], **call)
        elif field in DECIMALS:
            st.number_input(name, step=_STEPS[field], format="%g", **call)
        else:
            st.checkbox(name, **call)
        if field in problems:
            show_problem(problems.pop(field))
    for problem in problems.values():
        show_problem(problem)


def _change_field(field: str, value: Any) -> None:
    present_model.change({field: value})


def _take_preset(preset: str) -> None:
    if preset in PRESETS:  # the browser may still show and send the option for a changed model
        present_model.take_preset(preset)


assert next(iter(PRESETS)) == DEFAULT_PRESET == ChosenModel().preset  # a link without a preset means this preset
