"""Batch size and sequence length, shared by all pages that show shapes."""

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.config import Config
from bertcalc.model.batch import BATCH, Batch, batch_problems
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from bertcalc.text import N_
from pages.ui.shell.controls import Number, set_values, show_problem
from pages.ui.shell.i18n import _

# The widths, in pixels, fit the labels.
BATCH_SIZE = Number("batch_size", N_("Batch size"), BATCH["batch_size"], letter=CALL_LETTERS["batch_size"], width=94)
SEQUENCE_LENGTH = Number(
    "sequence_length",
    N_("Sequence length"),
    BATCH["sequence_length"],
    letter=CALL_LETTERS["sequence_length"],
    width=128,
)
# BERT's pre-training (Devlin et al. 2019, appendix A.2): 1,000,000 steps of 256 sequences with 512 tokens.
TRAINED_BATCH = Number("trained_batch", N_("Batch size"), 256, letter=CALL_LETTERS["batch_size"], width=110)
TRAINED_LENGTH = Number("trained_length", N_("Sequence length"), 512, letter=CALL_LETTERS["sequence_length"], width=128)
_TRAINED = {TRAINED_BATCH.name, TRAINED_LENGTH.name}


def linked_batch() -> Batch:
    """The batch in the link, for pages that do not draw the controls; missing or invalid sizes are the defaults."""
    texts = {name: st.query_params.get(name, "") for name in BATCH}
    sizes: dict[str, Any] = {
        name: int(text) if re.fullmatch("[0-9]{1,15}", text) else BATCH[name] for name, text in texts.items()
    }
    return Batch(**sizes)


def choose_batch(config: Config, *, sidebar: bool = True) -> Batch:
    """Draw both controls and return the batch, or the last valid batch if the model does not support these values.

    With ``sidebar``, ``config`` is the config in the sidebar, and the remedies include changes to its fields.
    """
    values: dict[str, Any] = {control.name: control.show() for control in (BATCH_SIZE, SEQUENCE_LENGTH)}
    if problem := next(batch_problems(config, values), None):
        remedies = [remedy for remedy in problem.remedies if sidebar or remedy.keys() <= BATCH.keys()]
        show_problem(problem._replace(remedies=tuple(remedies)))
        values = present_batch(config, values).sizes()
    st.session_state["batch"] = Batch(**values)
    return Batch(**values)


def choose_training_batch(config: Config) -> Batch:
    """Draw the controls for the batch of a training run.

    The default is the batch of BERT's pre-training, or the batch set on another page. If the model does not support
    the values, the nearest valid batch is returned.
    """
    of_page = {TRAINED_BATCH: BATCH_SIZE, TRAINED_LENGTH: SEQUENCE_LENGTH}
    is_told = any(control.is_changed for control in of_page.values())
    if is_told and TRAINED_BATCH.name not in st.session_state and not st.query_params.keys() & _TRAINED:
        before = present_batch(config, linked_batch().sizes())
        set_values({control.name: getattr(before, shared.name) for control, shared in of_page.items()})
    values: dict[str, Any] = {shared.name: control.show() for control, shared in of_page.items()}
    problem = next(batch_problems(config, values), None)
    if problem and (TRAINED_BATCH.is_changed or TRAINED_LENGTH.is_changed):
        names = {shared.name: control.name for control, shared in of_page.items()}
        remedies = tuple(
            {names.get(field, field): value for field, value in remedy.items()} for remedy in problem.remedies
        )
        show_problem(problem._replace(remedies=remedies))
    return _adjusted(config, values)


def present_batch(config: Config, otherwise: Mapping[str, int] = BATCH) -> Batch:
    """The last valid batch of this session, or else ``otherwise``, adjusted to sizes that this model supports."""
    last: Batch | None = st.session_state.get("batch")
    # A new session has not drawn the controls yet, but may have restored their values.
    values = last.sizes() if last else {name: st.session_state.get(name, otherwise[name]) for name in BATCH}
    return _adjusted(config, values)


def _adjusted(config: Config, values: dict[str, Any]) -> Batch:
    """The batch with these values, or the nearest batch that the model supports."""
    while problem := next(batch_problems(config, values), None):
        values = {**values, **problem.remedies[0]}
    return Batch(**values)


def show_seen(model: Model) -> None:
    """State the assumed length of the encoder output for cross-attention, on pages without a control for it."""
    if model.reads_encoder:
        st.caption(_("The cross-attention attends to an encoder output that is as long as the sequence."))
