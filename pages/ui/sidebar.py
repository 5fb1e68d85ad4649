"""The controls that all pages share, and the one typed value that comes out of them."""

from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import streamlit as st

from bertcalc import ARCHITECTURES, BertConfig, Module, build
from bertcalc.activations import ACTIVATIONS
from bertcalc.config import LETTERS, POSITION_EMBEDDING_TYPES, Problem, problems
from bertcalc.memory.footprint import Subject
from bertcalc.presets import DEFAULT_PRESET, PRESETS
from pages.ui.controls import assignment, change, repair, set_values, show_problem, whole_number
from pages.ui.i18n import translator

# The range and the step of each slider: the models that people build. The number field beside it takes any value.
SLIDERS: dict[str, tuple[int, int, int]] = {
    "vocab_size": (1_000, 130_000, 1_000),
    "hidden_size": (64, 2_048, 64),
    "num_hidden_layers": (1, 48, 1),
    "num_attention_heads": (1, 32, 1),
    "intermediate_size": (256, 8_192, 256),
}
NUMBERS = ("max_position_embeddings", "type_vocab_size", "num_labels")
SWITCHES = ("tie_word_embeddings", "is_decoder", "add_cross_attention")
OPTIONS: dict[str, tuple[str, ...]] = {
    "position_embedding_type": POSITION_EMBEDDING_TYPES,
    "hidden_act": tuple(ACTIVATIONS),
}
DECIMALS: dict[str, tuple[float, str]] = {  # step and format
    "hidden_dropout_prob": (0.05, "%g"),
    "attention_probs_dropout_prob": (0.05, "%g"),
    "layer_norm_eps": (1e-12, "%g"),
}
# The fields that have a control; every other field of the configuration has its default.
FIELDS = (*SLIDERS, *NUMBERS, *SWITCHES, *OPTIONS, *DECIMALS)


class Choice(NamedTuple):
    """The model that every page shows."""

    config: BertConfig
    architecture: str
    add_pooling_layer: bool
    preset: str
    current: bool  # False: the controls make no model, and this is the last or the nearest that is possible

    @property
    def options(self) -> dict[str, bool]:
        """The options of the architecture, as ``build`` and the formulas take them."""
        return {"add_pooling_layer": self.add_pooling_layer} if self.architecture == "BertModel" else {}

    @property
    def subject(self) -> Subject:
        """The chosen model, as the quantities take it."""
        return Subject(self.config, self.architecture, tuple(self.options.items()))

    def model(self) -> Module:
        """Its tree."""
        return self.subject.model()

    def from_preset(self) -> int:
        """Parameters that the model has more than the preset it started from, in the same architecture."""
        return self.model().num_parameters() - _preset_parameters(self.preset, self.architecture)


@cache
def _preset_parameters(preset: str, architecture: str) -> int:
    return build(PRESETS[preset].config, architecture).num_parameters()


def choice() -> Choice:
    """What the sidebar of this run says."""
    chosen: Choice = st.session_state["choice"]
    return chosen


def choose() -> Choice:
    """Draw the controls and return what they say.

    All of them are bound to the link under their own names. A value that equals the preset's is not in the link:
    preset=bert-large-uncased&vocab_size=21128 is the preset with one field changed.
    """
    _ = translator()
    repair()
    preset = st.selectbox(
        _("Start from"),
        list(PRESETS),
        key="preset",
        on_change=_take_chosen,
        bind="query-params",
        help=PRESETS.get(_value("preset", DEFAULT_PRESET), PRESETS[DEFAULT_PRESET]).source,
    )
    architecture = st.selectbox(_("Architecture"), list(ARCHITECTURES), key="architecture", bind="query-params")
    defaults = PRESETS[preset].config
    values = _values(defaults)
    found = list(problems(values))
    drawn: dict[str, Any] = {}
    for field in SLIDERS:
        drawn[field] = _slider(field, values[field], getattr(defaults, field))
        for problem in found:
            if problem.field == field:
                show_problem(problem)
    for problem in found:
        if problem.field not in SLIDERS:
            show_problem(problem)
    said = set(st.query_params)
    changed = [field for field, default in _more(defaults) if field in said or values[field] != default]
    label = _("More fields ({count} changed)").format(count=len(changed)) if changed else _("More fields")
    more = st.expander(label, key="more", on_change="rerun")
    # Eleven controls cost more than the rest of the sidebar: closed, they are drawn only if one holds a value.
    if more.open or changed:
        with more:
            drawn |= _more_fields(defaults)
    if drawn != {field: values[field] for field in drawn}:
        st.rerun()  # a step back: known only when the controls have read it
    return _remember(values, found, architecture, preset)


def stand_in(chosen: Choice) -> str:
    """The fields in which the model that is shown differs from the controls."""
    controls = _values(PRESETS[chosen.preset].config)
    return ", ".join(
        assignment(field, value) for field, value in vars(chosen.config).items() if value != controls[field]
    )


def _values(defaults: BertConfig) -> dict[str, Any]:
    values = {**vars(defaults), "add_pooling_layer": True}
    return values | {field: _value(field, values[field]) for field in (*FIELDS, "add_pooling_layer")}


def _value(field: str, default: Any) -> Any:
    """What a control says; before its first run what the link says, as far as that can be."""
    value = st.session_state.get(field)
    text = st.query_params.get(field) if value is None else None
    if text is None:
        return default if value is None else value
    if isinstance(default, bool):
        return text.lower() == "true"
    with suppress(ValueError):  # a step back to a link that was wrong: the control clears it
        return type(default)(text)
    return default


def _more(defaults: BertConfig) -> list[tuple[str, Any]]:
    """The folded fields with the values that a link leaves out."""
    return [("add_pooling_layer", True), *((field, getattr(defaults, field)) for field in FIELDS[len(SLIDERS) :])]


def _remember(values: dict[str, Any], found: list[Problem], architecture: str, preset: str) -> Choice:
    add_pooling_layer = values.pop("add_pooling_layer")
    if not found:
        config = BertConfig(**values)
    elif "choice" in st.session_state:
        config = st.session_state["choice"].config
    else:  # a link to something impossible: the nearest model that is possible
        config = _nearest(values)
    chosen = Choice(config, architecture, add_pooling_layer, preset, not found)
    st.session_state["choice"] = chosen
    return chosen


def _nearest(values: dict[str, Any]) -> BertConfig:
    while problem := next(problems(values), None):
        values = {**values, **problem.remedies[0]}
    return BertConfig(**values)


def _slider(field: str, value: int, default: int) -> int:
    """A slider and a number field for one dimension, side by side; the slider follows as far as it reaches.

    The style sheet puts them beside each other: a container for each pair is five more messages in every run.
    """
    _ = translator()
    low, high, step = SLIDERS[field]
    key, label = f"{field}_slider", f"{field} ${LETTERS[field]}$"
    shown = min(max(value, low), high)
    if st.session_state.get(key) != shown:
        st.session_state[key] = shown
    # The value is its default, too: after a first run that was cut short a browser would begin at the minimum.
    st.slider(label, low, high, shown, step=step, format="%,d", key=key, on_change=_slide, args=(field,))
    exact = _("{field}, exact value").format(field=field)
    return whole_number(exact, field, default, label_visibility="collapsed", width=92)


def _more_fields(defaults: BertConfig) -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    for field in NUMBERS:
        drawn[field] = whole_number(f"{field} ${LETTERS[field]}$", field, getattr(defaults, field))
    switches = {"add_pooling_layer": True} | {field: getattr(defaults, field) for field in SWITCHES}
    for field, default in switches.items():
        drawn[field] = st.checkbox(field, value=default, key=field, bind="query-params")
    for field, options in OPTIONS.items():
        drawn[field] = st.selectbox(field, options, key=field, bind="query-params")
    for field, (step, shown) in DECIMALS.items():
        default = getattr(defaults, field)
        drawn[field] = st.number_input(field, value=default, step=step, format=shown, key=field, bind="query-params")
    return drawn


def _slide(field: str) -> None:
    st.session_state[field] = st.session_state[f"{field}_slider"]


def take_preset(preset: str, **changes: Any) -> None:
    """Put a preset into the controls, with some fields changed: in a callback."""
    defaults = PRESETS[preset].config
    fields = {field: getattr(defaults, field) for field in FIELDS}
    set_values({"preset": preset, "add_pooling_layer": True, **fields})
    change(changes)


def _take_chosen() -> None:
    take_preset(st.session_state["preset"])


assert next(iter(PRESETS)) == DEFAULT_PRESET  # the first option is what a link without a preset means
