"""The steps of the Change page: recipes, a card for each step, and what can be added."""

from collections.abc import Sequence
from dataclasses import Field, fields
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.recipes import RECIPES, ChangeRecipe
from bertcalc.change_steps.step_texts import Step, argument_texts, kind_of, read_steps, with_argument
from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.config import Problem
from bertcalc.text import N_
from bertcalc.text.problem import InputError
from pages.ui.change import live_steps
from pages.ui.change.step_words import FIRST, TITLES, summary, title
from pages.ui.session import present_model
from pages.ui.shell.controls import Reason, Text, set_values, show_problem
from pages.ui.shell.i18n import _

_LONGEST = 2_000
_IN_A_LINK = N_("{name}={text} in the link is not possible: it must be steps such as lora,r=8.")


def _check(text: str) -> Reason | None:
    try:
        read_steps(text)
    except InputError:
        return _IN_A_LINK, {}
    return None


CHANGES = Text("changes", N_("The steps, as they are in the link"), "", _LONGEST, check=_check)


def steps_in(text: str) -> tuple[tuple[Step, ...], Problem | None]:
    """The steps of a text; the last readable ones, and the problem, if it is wrong."""
    try:
        steps = read_steps(text)
    except InputError as error:
        return read_steps(st.session_state.get("readable changes", "")), error.problem
    st.session_state["readable changes"] = text
    return steps, None


def put(steps: Sequence[Step]) -> None:
    """In a callback: put steps into the link."""
    set_values({CHANGES.name: written_steps(steps)})


def show_recipes() -> None:
    """Draw a button for each recipe."""
    with st.container(horizontal=True, gap="small"):
        for recipe in RECIPES:
            st.button(_(recipe.title), key=f"recipe {recipe.title}", on_click=_take, args=(recipe,))


def _take(recipe: ChangeRecipe) -> None:
    present_model.take_preset(recipe.preset, architecture=recipe.architecture)
    set_values({CHANGES.name: recipe.steps})


def show_steps(steps: Sequence[Step], models: Sequence[ChangedModel], impossible: Problem | None) -> None:
    """Draw a card for each step, with its arguments.

    ``models`` are those before the first step and after each one; ``impossible`` is the problem with the next one.
    """
    unread, problem = st.session_state.pop("wrong argument", (-1, None))
    for number, step in enumerate(steps):
        with st.container(border=True, key=f"step-{number}"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{number + 1}. {title(step)}**", width="stretch")
                _move_buttons(steps, number)
            with st.container(horizontal=True, vertical_alignment="bottom"):
                for part in fields(step):  # type: ignore[arg-type]  # all steps are dataclasses
                    if part.name in _SHOWN[kind_of(step)]:
                        _show_argument(steps, number, part, models)
            if number == unread:
                show_problem(problem)
            if impossible and number == len(models) - 1:
                show_problem(impossible)


def say_steps(steps: Sequence[Step]) -> None:
    """Write the steps in a line, for the projector."""
    if steps:
        st.markdown(" → ".join(map(summary, steps)))


def _move_buttons(steps: Sequence[Step], number: int) -> None:
    def moved(by: int) -> list[Step]:
        order = list(steps)
        order.insert(number + by, order.pop(number))
        return order

    up, remove = ":material/arrow_upward:", ":material/delete:"
    if number:
        st.button(up, key=f"up {number}", on_click=put, args=(moved(-1),), help=_("Move the step up"), type="tertiary")
    rest = [*steps[:number], *steps[number + 1 :]]
    st.button(remove, key=f"remove {number}", on_click=put, args=(rest,), help=_("Remove the step"), type="tertiary")


def _show_argument(steps: Sequence[Step], number: int, part: Field[Any], models: Sequence[ChangedModel]) -> None:
    """Draw the control of an argument, under the name that the library gives it."""
    step = steps[number]
    if live_steps.show_slider(steps, number, part.name, models, partial(_put_argument, steps, number, part.name)):
        return
    key = f"argument {number} {kind_of(step)} {part.name}"
    hint = get_type_hints(type(step))[part.name]
    value = getattr(step, part.name)
    changed = partial(_change_argument, steps, number, part.name, key)
    look: dict[str, Any] = {"key": key, "on_change": changed}
    options = [option for option in get_args(hint) if get_origin(option) is Literal] or [hint]
    if hint is bool:
        st.session_state[key] = value
        st.checkbox(part.name, **look)
    elif get_origin(options[0]) is Literal:
        choices = [*(("",) if type(None) in get_args(hint) else ()), *get_args(options[0])]
        st.session_state[key] = value or choices[0]
        st.selectbox(part.name, choices, width=210, format_func=lambda option: option or "–", **look)
    elif hint in (int, int | None):
        st.session_state[key] = value
        draw: Any = st.number_input  # its overloads know no value that may be None
        draw(part.name, step=1, width=130, **({"value": None} if value is None else {}), **look)
    else:
        st.session_state[key] = argument_texts(step).get(part.name, "")
        st.text_input(part.name, width=230, **look)


def _change_argument(steps: Sequence[Step], number: int, name: str, key: str) -> None:
    value: Any = st.session_state[key]
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()
    _put_argument(steps, number, name, text)


def _put_argument(steps: Sequence[Step], number: int, name: str, text: str) -> None:
    """In a callback: give a step another argument, or remember the problem with it."""
    try:
        step = with_argument(steps[number], name, text)
    except InputError as error:
        st.session_state["wrong argument"] = number, error.problem
        return
    put([*steps[:number], step, *steps[number + 1 :]])


def offer_steps(steps: Sequence[Step]) -> None:
    """Draw a menu of the steps that can be added."""
    with st.popover(_("Add a step"), icon=":material/add:"):
        for name, title in TITLES.items():
            (step,) = read_steps(FIRST.get(name, name))
            st.button(_(title), key=f"add {name}", on_click=put, args=([*steps, step],), width="stretch")


# The arguments with a control; others are in the link only.
_SHOWN: dict[str, tuple[str, ...]] = {
    "lora": (
        *("r", "target_modules", "task_type", "bias", "lora_dropout", "modules_to_save", "layers_to_transform"),
        *("use_dora", "use_rslora", "lora_bias"),
    ),
    "ia3": ("target_modules", "feedforward_modules", "task_type", "modules_to_save"),
    "ln_tuning": ("target_modules", "task_type", "modules_to_save"),
    "prompt_tuning": ("num_virtual_tokens", "task_type"),
    "prefix_tuning": ("num_virtual_tokens", "task_type", "prefix_projection", "encoder_hidden_size"),
    "p_tuning": ("num_virtual_tokens", "task_type", "encoder_reparameterization_type", "encoder_hidden_size"),
    "bitfit": ("head",),
    "vocabulary": ("new_num_tokens", "pad_to_multiple_of"),
    "layers": ("layers",),
    "heads": ("heads",),
    "feed_forward": ("intermediate_size",),
    "embeddings": ("embedding_size",),
    "bitsandbytes": ("load_in_8bit", "load_in_4bit", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant"),
    "gguf": ("type",),
    "gptq": ("bits", "group_size"),
    "awq": ("bits", "group_size"),
    "torchao_int8": (),
    "torchao_intx": (),
    "torch_dynamic": (),
    "onnx_dynamic": (),
}
