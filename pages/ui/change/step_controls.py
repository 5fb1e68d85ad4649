"""The controls of the Change page: a card for each step, and menus of steps to add."""

import re
from collections.abc import Sequence
from dataclasses import Field, fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.first_steps import added, first_step
from bertcalc.change_steps.step_texts import (
    ChangeStep,
    argument_texts,
    kind_of,
    read_steps,
    with_argument,
    without_spaces,
)
from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.config import Problem
from bertcalc.model.model import Model
from bertcalc.text import N_, literal
from bertcalc.text.problem import InputError
from pages.ui.change import live_steps
from pages.ui.change.step_words import GROUPS, HELP, TITLES, refusal, summary, title
from pages.ui.session import present_model
from pages.ui.session.shown_values import showing
from pages.ui.shell.controls import Text, more_controls
from pages.ui.shell.i18n import _, with_colon

# This module draws the control, but does not bind it to the link. The steps belong to the model's history, which writes
# the link.
CHANGES = Text("changes", N_("The steps, as written in the link"), "", 2_000)
_VALUE = re.compile("=([^,;]*)")


def steps_of_link() -> tuple[list[ChangeStep], list[tuple[str, Problem]]]:
    """The steps in the link, and a (text, problem) pair for each part of the text that is not a step.

    Spaces in values are read as plus signs, because a browser reads a plus sign in a URL as a space.
    """
    steps, wrong = list[ChangeStep](), list[tuple[str, Problem]]()
    text = _VALUE.sub(lambda value: value[0].replace(" ", "+"), present_model.track().present.changes)
    for part in text.split(";"):
        try:
            steps += read_steps(part)
        except InputError as error:
            wrong.append((part, error.problem))
    return steps, wrong


def put(steps: Sequence[ChangeStep]) -> None:
    """Replace the steps of the session's model. Call this only in callbacks."""
    present_model.change({CHANGES.name: written_steps(steps)})


def show_text() -> None:
    """Draw a field with the steps as text, which the reader can edit."""
    taken = showing(CHANGES.name, present_model.track().present.changes, _take_text)
    steps = _("Steps separated by semicolons: lora,r=16;bitfit")
    st.text_input(CHANGES.title, max_chars=CHANGES.longest, help=steps, **taken)


def _take_text(text: str) -> None:
    present_model.change({CHANGES.name: without_spaces(text)[: CHANGES.longest]})


def menu_key(name: str, steps: Sequence[ChangeStep]) -> str:
    """A key for a menu. It changes with the number of steps, so that the menu closes after a choice."""
    return f"{name} {len(steps)}"


def offer_steps(steps: Sequence[ChangeStep], model: Model) -> None:
    """Draw menus of steps to append, and a button that removes all steps."""
    for group, kinds in GROUPS.items():
        with st.popover(_(group), icon=":material/add:", key=menu_key(group, steps)):
            for name in kinds:
                extended = added(steps, first_step(name, model))
                st.button(_(TITLES[name]), key=f"add {name}", on_click=put, args=(extended,), width="stretch")
    if steps:
        st.button(_("Remove all"), icon=":material/delete:", key="remove all", on_click=put, args=((),))


def show_steps(steps: Sequence[ChangeStep], models: Sequence[ChangedModel], impossible: Problem | None = None) -> None:
    """Draw a card for each step, with its arguments and its problem, if any.

    ``models`` holds the model before the first step and the model after each possible step. ``impossible`` is the
    problem with the step after these.
    """
    refused: _RefusedArgument | None = st.session_state.pop("refused argument", None)
    for number, step in enumerate(steps):
        with st.container(border=True, key=f"step-{number}", gap="xxsmall"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{number + 1}. {title(step)}**", width="stretch")
                _move_buttons(steps, number)
            _show_arguments(steps, number, models, refused)
            if refused and number == refused.number:
                st.error(refusal(refused.problem))
            elif impossible and number == len(models) - 1:
                st.error(refusal(impossible))


def show_wrong(wrong: Sequence[tuple[str, Problem]]) -> None:
    """Show an error for each part of the link that is not a step."""
    for part, problem in wrong:
        st.error(with_colon(literal(part.strip()), refusal(problem)))


def show_impossible(steps: Sequence[ChangeStep], made: int, problem: Problem) -> None:
    """Show why the step after the first ``made`` steps is impossible."""
    st.error(with_colon(f"{made + 1} · {title(steps[made])}", refusal(problem)))


def say_steps(steps: Sequence[ChangeStep], models: Sequence[ChangedModel]) -> None:
    """Show the steps, if any, in a line with their sliders, for projector view."""
    if not steps:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        words, sliders = st.empty(), st.container(horizontal=True, width="content")
    texts = []
    with sliders:
        for number, step in enumerate(steps):
            names = [
                name
                for name in _SHOWN[kind_of(step)][0]
                if live_steps.show_slider(steps, number, name, models, partial(_put_argument, number, name))
            ]
            texts.append(summary(step, without=names))
    words.markdown(" → ".join(texts), width="content")


def _move_buttons(steps: Sequence[ChangeStep], number: int) -> None:
    def moved(by: int) -> list[ChangeStep]:
        order = list(steps)
        order.insert(number + by, order.pop(number))
        return order

    up, remove = ":material/arrow_upward:", ":material/delete:"
    if number:
        st.button(up, key=f"up {number}", on_click=put, args=(moved(-1),), help=_("Move the step up"), type="tertiary")
    rest = [*steps[:number], *steps[number + 1 :]]
    st.button(remove, key=f"remove {number}", on_click=put, args=(rest,), help=_("Remove the step"), type="tertiary")


class _RefusedArgument(NamedTuple):
    """An invalid value for a step's argument. The field still shows it, but the step keeps its previous value."""

    number: int
    name: str
    value: Any
    problem: Problem


def _show_arguments(
    steps: Sequence[ChangeStep], number: int, models: Sequence[ChangedModel], refused: _RefusedArgument | None
) -> None:
    step = steps[number]
    parts = {part.name: part for part in fields(step)}  # type: ignore[arg-type]  # all steps are dataclasses
    first, *others = _SHOWN[kind_of(step)]
    if not first:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name in first:
            _show_argument(steps, number, parts[name], models, refused)
        for names in others:
            with more_controls(_("More"), len(argument_texts(step).keys() & set(names))):
                for name in names:
                    _show_argument(steps, number, parts[name], models, refused)


def _show_argument(
    steps: Sequence[ChangeStep],
    number: int,
    part: Field[Any],
    models: Sequence[ChangedModel],
    refused: _RefusedArgument | None,
) -> None:
    step = steps[number]
    if live_steps.show_slider(steps, number, part.name, models, partial(_put_argument, number, part.name)):
        return
    hint = get_type_hints(type(step))[part.name]
    value = getattr(step, part.name)
    choices = _choices(hint)
    if refused and refused[:2] == (number, part.name):
        value = refused.value
    elif choices:
        value = value or choices[0]
    elif hint is not bool and not _is_number(hint):
        value = argument_texts(step).get(part.name, "")
    take = partial(_change_argument, number, part.name)
    look = {**showing(f"argument {number} {kind_of(step)} {part.name}", value, take), "help": _(HELP[part.name])}
    if hint is bool:
        st.checkbox(part.name, **look)
    elif choices:
        st.selectbox(part.name, choices, width=210, format_func=lambda option: str(option or "–"), **look)
    elif _is_number(hint):
        draw: Any = st.number_input  # its overloads do not cover a value that may be None
        draw(
            part.name,
            step=1,
            width=max(130, 9 * len(part.name) + 45),
            value=None,  # the session state has the value; an empty field means the default
            **look,
        )
    else:
        st.text_input(part.name, width=230, **look)


def _is_number(hint: Any) -> bool:
    """Whether an annotation is int, possibly in a union with None or the literal -1."""
    parts = _parts(hint)
    return int in parts and all(part in (int, NoneType, Literal[-1]) for part in parts)


def _choices(hint: Any) -> list[str]:
    """The options of a Literal annotation, with "" for None; an empty list for any other annotation."""
    words = [part for part in _parts(hint) if get_origin(part) is Literal]
    if not words or _is_number(hint):
        return []
    return [*(("",) if NoneType in _parts(hint) else ()), *get_args(words[0])]


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _change_argument(number: int, name: str, value: Any) -> None:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()
    _put_argument(number, name, text, value)


def _put_argument(number: int, name: str, text: str, value: Any = None) -> None:
    """Change an argument of a step, or record the problem with its value. Call this only in callbacks.

    ``text`` is the new value as in the link; ``value`` is what the control shows if the new value is invalid. The steps
    are read from the link again, because another slider can have moved since they were drawn.
    """
    steps, _wrong = steps_of_link()
    if number >= len(steps) or name not in {part.name for part in fields(steps[number])}:  # type: ignore[arg-type]  # all steps are dataclasses
        return
    try:
        step = with_argument(steps[number], name, text)
    except InputError as error:
        st.session_state["refused argument"] = _RefusedArgument(number, name, value, error.problem)
        return
    put([*steps[:number], step, *steps[number + 1 :]])


# The arguments that have a control. The arguments in the second tuple of a step are in a menu. All other arguments can
# be set only in the text of the steps.
_SHOWN: dict[str, tuple[tuple[str, ...], ...]] = {
    "lora": (
        ("r", "target_modules", "task_type"),
        ("bias", "lora_dropout", "modules_to_save", "layers_to_transform", "use_dora", "use_rslora", "lora_bias"),
    ),
    "ia3": (("target_modules", "feedforward_modules", "task_type"), ("modules_to_save",)),
    "ln_tuning": (("target_modules", "task_type"), ("modules_to_save",)),
    "prompt_tuning": (("num_virtual_tokens", "task_type"),),
    "prefix_tuning": (("num_virtual_tokens", "task_type"), ("prefix_projection", "encoder_hidden_size")),
    "p_tuning": (("num_virtual_tokens", "task_type"), ("encoder_reparameterization_type", "encoder_hidden_size")),
    "bitfit": (("head",),),
    "vocabulary": (("new_num_tokens", "pad_to_multiple_of"),),
    "layers": (("layers",),),
    "heads": (("heads",),),
    "feed_forward": (("intermediate_size",),),
    "embeddings": (("embedding_size",),),
    "bitsandbytes": (
        ("load_in_8bit", "load_in_4bit", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant"),
        ("llm_int8_skip_modules", "llm_int8_threshold"),
    ),
    "gguf": (("type", "pure"),),
    "gptq": (("bits", "group_size"),),
    "awq": (("group_size",),),
    "torchao_int8": ((),),
    "torchao_intx": (("weight_dtype", "granularity"),),
    "torch_dynamic": ((),),
    "onnx_dynamic": ((),),
}
