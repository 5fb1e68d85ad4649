"""The examples on the Change page: buttons for recipes, which keep the current model if possible."""

from collections.abc import Sequence

import streamlit as st

from bertcalc.change_steps.effects import changed_models
from bertcalc.change_steps.recipes import RECIPES, ChangeRecipe
from bertcalc.change_steps.step_texts import ChangeStep, read_steps
from bertcalc.controls.chosen_model import ChosenModel
from bertcalc.families import counterpart, family_of
from bertcalc.text.problem import InputError
from pages.ui.change.step_controls import menu_key
from pages.ui.change.step_words import refusal
from pages.ui.memory.run import DEVICE_MEMORY
from pages.ui.session import present_model
from pages.ui.shell.controls import set_values
from pages.ui.shell.i18n import _


def show() -> None:
    """Draw a button for each recipe, with a note if the recipe replaces the model or does not work with it."""
    for recipe in RECIPES:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _show(recipe)


def offer(steps: Sequence[ChangeStep]) -> None:
    """Draw a menu of the recipes, which closes when the number of ``steps`` changes."""
    with st.popover(_("Examples"), key=menu_key("examples", steps)):
        for recipe in RECIPES:
            _show(recipe)


def _show(recipe: ChangeRecipe) -> None:
    chosen, words = None, ""
    try:
        chosen = _chosen(recipe)
        _models, problem = changed_models(chosen.model(), read_steps(chosen.changes))
    except InputError as error:
        problem = error.problem
    if problem:
        words = refusal(problem)
    elif chosen:
        words = _replaced(chosen)
    key = f"recipe {recipe.title}"
    st.button(_(recipe.title), key=key, on_click=_take, args=(chosen, recipe), disabled=bool(problem))
    if words:
        st.markdown(f":small[{words}]")


def _take(chosen: ChosenModel, recipe: ChangeRecipe) -> None:
    present_model.take(chosen)
    if recipe.device:
        set_values({DEVICE_MEMORY.name: recipe.device})


def _chosen(recipe: ChangeRecipe) -> ChosenModel:
    """The current model with the steps of a recipe; the recipe can require another preset or architecture."""
    chosen = present_model.track().present
    if chosen.config.vocab_size < recipe.tokens:
        chosen = chosen.reset(recipe.preset)
    if recipe.architecture:
        chosen = chosen.changed({"architecture": counterpart(recipe.architecture, family_of(chosen.config))})
    return chosen.changed({"changes": recipe.steps_for(chosen.model())})


def _replaced(chosen: ChosenModel) -> str:
    """A note on the preset or architecture that a recipe uses instead of the current one; empty if it keeps both."""
    present = present_model.track().present
    if chosen.preset != present.preset:
        return _("uses {preset}").format(preset=chosen.preset)
    if chosen.architecture != present.architecture:
        return _("as {architecture}").format(architecture=chosen.architecture)
    return ""
