"""The Compare page's models and controls: the models in the link, the batch, the quantity, and the order."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.config import Problem
from bertcalc.controls.stops import SLIDERS
from bertcalc.discover.results.comparable import (
    DiscoveredCase,
    DiscoveredModel,
    components_of,
    explain,
    explain_components,
    explain_whole,
    figure,
)
from bertcalc.explore.compare import PAIRS, Breakdown
from bertcalc.explore.figure_formulas import LiveCase, live_components, live_explanation, live_figure
from bertcalc.explore.quantities import EVERY_QUANTITY, Case, Quantity
from bertcalc.families import family_of
from bertcalc.families.hf_json import PASTED, is_of_another_type
from bertcalc.families.hf_json import read as read_json
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import LARGEST, Batch
from bertcalc.model.model import Model
from bertcalc.model.totals import COMPONENTS
from bertcalc.model_ref import LONGEST, MOST, PRESENT, ModelRef, Wrong, item_of, read, write
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.text import N_
from bertcalc.text.problem import InputError
from pages.ui.change.step_controls import steps_of_link
from pages.ui.compare import discovered_models
from pages.ui.compare.compare_words import names_of
from pages.ui.session.present_model import own_name
from pages.ui.shell.controls import Reason, Select, Text, change, sentence, set_values, view
from pages.ui.shell.i18n import _, filled
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.batch_controls import BATCH_SIZE, SEQUENCE_LENGTH, choose_batch
from pages.ui.widgets.quantity_words import QUANTITY_NAMES, reason

_BASE, _LARGE = "bert-base-uncased", "bert-large-uncased"


VIEW = view(
    "compare",
    {
        "differences": N_("Differences"),
        "table": N_("Table"),
        "bars": N_("Bars"),
        "scatter": N_("Scatter plot"),
        "glance": N_("At a glance"),
    },
)
MODELS = Text("models", N_("The comparison, as written in the link"), "", LONGEST)
_PRESENT = ModelRef(PRESENT)


class _ModelChoice(Select[str]):
    """A choice among the models of the comparison. Its options have the format of the models in ``MODELS``."""

    def wrong(self, text: str) -> Reason | None:
        return MODELS.wrong(text)

    def choose(self, names: Mapping[str, str]) -> None:
        """Draw the choice; ``names`` maps each model to its name. The link omits the first model, the default."""
        options = [*names]
        if self.show(options, format_func=lambda item: names.get(item, item)) == options[0]:
            st.session_state["drawn choices"][self.name] = None


EXPLAINED = _ModelChoice("explained", N_("Explain"), [""], width=430)
COMPARE_BY = Select("compare_by", N_("Compare by"), EVERY_QUANTITY, QUANTITY_NAMES, width=190)
# The choice of the quantity on the vertical axis of the scatter plot.
VERTICAL = Select(
    "vertical",
    N_("Vertical axis"),
    [name for name, quantity in EVERY_QUANTITY.items() if quantity.unit != "parameters"],
    QUANTITY_NAMES,
    width=190,
)
FIGURES = ("forward", "training_memory", "inference_memory")  # the quantities in the table besides parameters
_OF_STEPS = ("trainable", "weights", "file")  # further quantities in the table if a model has steps
GLANCE = ("parameters", "embeddings", "forward", "training_memory")  # the columns of "At a glance"
_ORDERS = {"descending": N_("Largest first"), "ascending": N_("Smallest first"), "chosen": N_("As chosen")}
ORDER = Select[str]("order", N_("Order"), words=_ORDERS, width=250)


class ComparedModel(NamedTuple):
    """A model of the comparison: its reference in the link, its name, and the model itself."""

    item: ModelRef
    name: str
    model: Model | DiscoveredModel
    follows: frozenset[str] = frozenset()  # the fields whose values follow the sliders
    shown: int = 1  # 0 if the model is hidden until a slider moves; can be live
    base: QuantizedModel | None = None  # the part of the model that a step quantizes

    @property
    def steps(self) -> tuple[ChangeStep, ...]:
        return ChangedModel(self.model, self.base).steps if isinstance(self.model, Model) else ()


@dataclass(frozen=True)
class PresentModel:
    """The current model, its steps from the Change page, and the problem with the text of the steps, if any."""

    model: Model
    steps: Sequence[ChangeStep]
    problem: Problem | None

    @cached_property
    def after_steps(self) -> ChangedModel:
        """The model after the steps. Raises InputError if the steps are invalid."""
        return self._made(_PRESENT)

    def changed(self, item: ModelRef) -> ChangedModel:
        """The model to which ``item`` refers. Raises InputError if the model is invalid."""
        return self.after_steps if item == _PRESENT else self._made(item)

    def _made(self, item: ModelRef) -> ChangedModel:
        if self.problem and item.has_steps_of_present:
            raise InputError(self.problem)
        return item.changed(self.model, self.steps)


def present_with_steps(choice: Choice) -> PresentModel:
    """The current model with the steps in the link."""
    steps, wrong = steps_of_link()
    return PresentModel(choice.model, steps, wrong[0][1] if wrong else None)


class Comparison(NamedTuple):
    """A comparison of models, as set by the controls; the first model is the baseline."""

    view: str
    models: list[ComparedModel]
    batch: Batch
    measure: str
    order: str = "chosen"

    @property
    def quantity(self) -> Quantity:
        return EVERY_QUANTITY[self.measure]

    @property
    def figures(self) -> tuple[str, ...]:
        """The quantities in the table besides parameters; there are more if a model has steps."""
        return (*_OF_STEPS, *FIGURES) if any(model.steps for model in self.models) else FIGURES

    def case(self, compared: ComparedModel) -> Case | DiscoveredCase:
        """A model together with the batch of the comparison."""
        if isinstance(compared.model, DiscoveredModel):
            return DiscoveredCase(compared.model, self.batch)
        return Case(compared.model, self.batch, base=compared.base)

    def figure_of(self, model: ComparedModel, measure: str = "") -> int | None:
        """A model's figure for ``measure``, by default the chosen quantity; None if it cannot be computed."""
        with suppress(InputError):
            return self._known_figure(model, measure or self.measure)
        return None

    def _known_figure(self, model: ComparedModel, measure: str) -> int:
        side = self.side(model)
        return live_figure(measure, side) if side else figure(measure, self.case(model))

    def side(self, model: ComparedModel) -> LiveCase | None:
        """A model that can follow the sliders, together with the batch; None for a discovered model."""
        case = self.case(model)
        return LiveCase(case, model.follows) if isinstance(case, Case) else None

    def unknown(self) -> dict[str, list[str]]:
        """The reasons for each "–" in this view; each reason maps to the names of the models to which it applies.

        Discovered models are left out, because ``show_limits`` explains them. Reasons that are visible elsewhere are
        left out as well: the scatter plot omits such models, and the explained difference has its own message.
        """
        measures = {"glance": GLANCE, "table": self.figures, "scatter": ()}.get(self.view, (self.measure,))
        covered = (self.models[0], explained(self.models)) if self.view == "differences" and self.models[1:] else ()
        reasons: dict[str, list[str]] = {}
        for compared in self.models:
            if isinstance(compared.model, Model) and compared not in covered:
                for why in dict.fromkeys(reason(measure, self.case(compared)) for measure in measures):
                    reasons.setdefault(why, []).append(compared.name)
        reasons.pop("", None)
        return reasons

    def components(self, model: ComparedModel) -> dict[Any, int]:
        """The parameters of each component of a model, live if the model follows the sliders."""
        side = self.side(model)
        return live_components(side) if side else dict(components_of(self.case(model)).items())

    def names(self) -> dict[str, str]:
        """The names of the components, which are less specific if there is a discovered model.

        The components of a discovered model are derived from tensor names alone.
        """
        parts: dict[str, str] = {part: _(part) for part in COMPONENTS}
        if any(isinstance(compared.model, DiscoveredModel) for compared in self.models):
            parts |= {"encoder": _("layers"), "pooler": _("pooler, other parts")}
        return parts

    def explained(self, model: ComparedModel) -> Breakdown | None:
        """Like ``explain``, but return None if a figure cannot be computed."""
        with suppress(InputError):
            return self.explain(model)
        return None

    def explain(self, model: ComparedModel) -> Breakdown:
        """Explain the difference between the first model's figure and the figure of ``model``.

        Raises:
            InputError: if a figure cannot be computed.
        """
        first = self.models[0]
        sides = [self.side(side) for side in (first, model)]
        if sides[0] and sides[1]:
            return live_explanation(sides[0], sides[1], self.measure)
        if not any(sides):
            return explain(self.case(first), self.case(model), self.measure)
        before, after = (self._known_figure(side, self.measure) for side in (first, model))
        if self.measure != "parameters":
            return explain_whole(before, after)
        return explain_components(self.components(first), self.components(model))


def models_of_link(choice: Choice, present: PresentModel) -> tuple[list[ModelRef], list[Wrong]]:
    """Return the models in the link, and the problems with the link's invalid models.

    A link without models means the default comparison (see ``begin``).
    """
    text = st.session_state[MODELS.name]
    return read(text, type(choice.config)) if text.strip() else ([*begin(choice, present)], [])


def begin(choice: Choice, present: PresentModel) -> list[ModelRef]:
    """The default comparison: the current model without and with its steps.

    If there are no steps, compare the current model with bert-large-uncased, or with bert-base-uncased if
    bert-large-uncased is the current preset. The list does not depend on sizes, so it stays the same after a drag.
    """
    if present.steps or present.problem:
        return [_PRESENT.with_steps(()), _PRESENT]
    return [_PRESENT, ModelRef(_BASE if choice.preset == _LARGE else _LARGE)]


def choose_measure(view: str) -> str:
    """Draw the choice of a quantity and return it.

    It is the quantity to sort by in the view "glance", the vertical axis in the view "scatter", and the quantity to
    compare in the others.
    """
    if view == "scatter":
        measure = COMPARE_BY.value()
        is_new = VERTICAL.name not in st.session_state and VERTICAL.name not in st.query_params
        if is_new and measure in VERTICAL.options:
            st.session_state[VERTICAL.name] = measure
        return VERTICAL.show(help=VERTICAL.meanings({name: EVERY_QUANTITY[name].meaning for name in VERTICAL.options}))
    glance = {"label": _("Sort by"), "width": 300} if view == "glance" else {}
    offered = GLANCE if glance else tuple(EVERY_QUANTITY)
    words = COMPARE_BY.meanings({name: EVERY_QUANTITY[name].meaning for name in offered})
    return COMPARE_BY.show(offered, help=words, **glance)


def choose_common_batch(models: Sequence[ComparedModel], present: Model, view: str) -> Batch:
    """Draw the batch controls; return a batch that all models with a known limit support."""
    configs = [compared.model.config for compared in models if isinstance(compared.model, Model)]
    if models and not configs and view != "scatter":
        return Batch(BATCH_SIZE.show_within(1, LARGEST), SEQUENCE_LENGTH.show_within(1, LARGEST))
    configs = configs or [present.config]
    if view == "scatter":
        configs += [preset.config for preset in PRESETS.values()]
    return choose_batch(min(configs, key=lambda config: config.longest), sidebar=False)


def choose_models(items: Sequence[ModelRef], choice: Choice, present: PresentModel) -> None:
    """Draw the list of compared models, where the reader can add and remove models."""
    written = list(map(str, items))
    names = dict(zip(written, names_of(items, present.steps), strict=True))
    # The key changes with the comparison, because a control in a closed popover would send its old value to the server.
    # After a choice in the control itself, the key stays, so that the control keeps the focus for typing the next name.
    picker: _Picker = st.session_state.get("picker", _Picker(0, ""))
    if picker.models != write(items):
        picker = _Picker(picker.number + 1, write(items))
        st.session_state["picker"] = picker
    key = f"picker {picker.number}"
    options = list(dict.fromkeys([PRESENT, *PRESETS, *written]))
    st.multiselect(
        _("Models (the first is the baseline)"),
        options,
        default=written,
        key=key,
        format_func=lambda item: names.get(item, item),
        max_selections=MOST,
        placeholder=_("none"),
        select_all=False,  # otherwise Enter would select all models instead of the typed model
        on_change=_take_chosen,
        args=(picker.number, options),
    )
    help_text = _("Keeps this model in the comparison, even if the current model changes later.")
    pin = item_of(choice.model, choice.preset).with_steps(present.steps)
    _add_button(_("Pin the current model"), items, pin, icon=":material/keep:", help=help_text)
    other = discovered_models.choose()
    _add_button(_("Add {model}").format(model=other.cls), items, other, icon=":material/add:")


def add_preset(items: Sequence[ModelRef]) -> None:
    """Draw a list of presets; choosing a preset adds it to the comparison and explains its difference."""
    there = set(map(str, items))
    st.selectbox(
        _("Add a model"),
        [preset for preset in PRESETS if preset not in there],
        index=None,
        key="add preset",
        placeholder=_("Add a preset"),
        on_change=_take_added,
        args=(write(items),),
        label_visibility="collapsed",
        disabled=len(items) >= MOST,
        width=230,
    )


def _take_added(models: str) -> None:
    preset = st.session_state["add preset"]
    st.session_state["add preset"] = None
    longer = f"{models} {preset}".strip()
    if preset in PRESETS and len(longer) <= LONGEST:
        change({"models": longer})
        set_values({EXPLAINED.name: preset})


class _Picker(NamedTuple):
    """The number in the key of the control for choosing models, and the models that the control shows."""

    number: int
    models: str


def _take_chosen(number: int, options: Sequence[str]) -> None:
    # If an option has disappeared, its label arrives instead (see controls.Select). The option of the current model
    # disappears while a slider changes it.
    models = " ".join(item for item in st.session_state[f"picker {number}"] if item in options)
    st.session_state["picker"] = _Picker(number, models)
    change({"models": models})


def paste(items: Sequence[ModelRef]) -> None:
    """Draw a text area for a config.json, and below it a button that adds its model to the comparison.

    If the text is invalid, show its problems instead of the button.
    """
    text = st.text_area(_("Paste a Hugging Face config.json"), key="config_json", height=110, max_chars=PASTED)
    if not text.strip():
        return
    try:
        config, architecture, remarks = read_json(text)
    except InputError as error:
        if is_of_another_type(error.problems):
            with suppress(InputError):
                other = discovered_models.read_config(text)
                st.text(_("{architecture}: its formula will be derived").format(architecture=other.cls))
                _add_button(_("Add to the comparison"), items, other)
                return
        with st.container(border=True):
            _quote(error.problems)
        return
    _quote(remarks)
    model = Model(config, architecture or family_of(config).base.name)
    count = model.num_parameters()
    st.text(_("{architecture}: {count:,} parameters").format(architecture=model.architecture, count=count))
    _add_button(_("Add to the comparison"), items, item_of(model))


def _quote(problems: Iterable[Problem]) -> None:
    for problem in problems:
        # Problems quote untrusted text. st.text does not interpret it as Markdown.
        st.text(sentence(problem, str))


def _add_button(label: str, items: Sequence[ModelRef], item: ModelRef, **look: Any) -> None:
    """Draw a button that appends a model; it is disabled if the comparison already has the model or is full."""
    models = write([*items, item])
    full = item in items or len(items) >= MOST or len(models) > LONGEST
    st.button(label, on_click=change, args=({"models": models},), disabled=full, **look)


def show_pairs() -> None:
    """Draw a button for each prepared comparison that fits the view; if one is shown, also show its lesson."""
    present = st.session_state["models"]
    with st.container(horizontal=True, gap="xsmall", key="pairs"):
        for key, pair in PAIRS.items():
            chosen = pair.models == present
            if pair.view not in ("", st.session_state[VIEW.name]) and not chosen:
                continue  # omit comparisons that belong to other views, so that the buttons fit into a row
            icon = ":material/check:" if chosen else None
            taken = {"models": pair.models} | ({VIEW.name: pair.view} if pair.view else {})
            st.button(_(pair.name), key=f"pair {key}", on_click=change, args=(taken,), icon=icon)
    for pair in PAIRS.values():
        if pair.models == present:
            st.markdown(_(pair.lesson))


def build(items: Sequence[ModelRef], present: PresentModel) -> tuple[list[ComparedModel], list[Wrong]]:
    """Build the models; return the valid models, and the problems with the invalid ones."""
    models, wrong = [], []
    for item, name in zip(items, names_of(items, present.steps), strict=True):
        try:
            if item.is_discovered:
                models.append(ComparedModel(item, name, discovered_models.build(item)))
                continue
            changed = present.changed(item)
        except InputError as error:
            wrong.append(Wrong(name, error.problem))
        else:
            fixed = {field for field, _value in item.changes}
            follows = frozenset(SLIDERS) - fixed if item.base == PRESENT else frozenset[str]()
            models.append(ComparedModel(item, name, changed.model, follows, base=changed.base))
    return models, wrong


def show_wrong(wrong: Sequence[Wrong], models: Sequence[ComparedModel]) -> None:
    """List the models that are left out, with reasons, and draw a button that removes them from the link."""
    with st.container(border=True, key="left_out"):
        for model, problem in wrong:
            # The reason quotes the link, which is untrusted. st.text does not interpret it as Markdown.
            why = sentence(problem, str, label=own_name)
            st.text(_("{model} is left out: {why}").format(model=model, why=why))
        right = write([model.item for model in models])
        st.button(_("Remove it from the link"), on_click=change, args=({"models": right},))


def choose_explained(models: Sequence[ComparedModel]) -> None:
    """Draw the choice of the model to explain, and a button that makes this model the baseline."""
    if len(models) > 2:
        names = {str(model.item): model.name for model in models[1:]}
        EXPLAINED.choose(names)
    other = explained(models)
    turned = write([other.item, *(model.item for model in models if model is not other)])
    help_text = filled(_("Compare all other models with {model}."), model=other.name)
    st.button(_("Use as baseline"), on_click=change, args=({"models": turned},), help=help_text)


def offer_preset(items: Sequence[ModelRef], choice: Choice) -> None:
    """Draw a button that compares the current model with its preset."""
    models = write([ModelRef(choice.preset), _PRESENT])
    label = _("Compare with the preset")
    is_preset = choice.model == ModelRef(choice.preset).model()
    st.button(label, on_click=change, args=({"models": models},), disabled=is_preset or write(items) == models)


def discovered_in(comparison: Comparison) -> dict[ModelRef, DiscoveredModel]:
    """The models of the comparison that have a discovered formula, keyed by their references."""
    return {
        compared.item: compared.model
        for compared in comparison.models
        if compared.item.is_discovered and isinstance(compared.model, DiscoveredModel)
    }


def explained(models: Sequence[ComparedModel]) -> ComparedModel:
    """The model whose difference from the baseline is explained: the chosen model, or by default the second."""
    key = st.session_state.get("explained")
    return next((model for model in models[1:] if str(model.item) == key), models[1])
