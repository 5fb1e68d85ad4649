"""How much goes through the model at once: shared by all pages that show shapes, and in the link."""

from typing import NamedTuple

import streamlit as st

from bertcalc.config import BertConfig
from bertcalc.formula import CALL_LETTERS
from bertcalc.forward import BATCH, batch_problems
from pages.ui.controls import show_problem, whole_number

_WIDTHS = {"batch_size": 94, "sequence_length": 134}  # as their names need


class Batch(NamedTuple):
    """Sequences at once, and tokens in each."""

    batch_size: int
    sequence_length: int


def choose_batch(config: BertConfig) -> Batch:
    """Draw both controls where we are; what they say, or as long as that is not possible what they said last."""
    values = {
        field: whole_number(f"{field} ${CALL_LETTERS[field]}$", field, default, width=_WIDTHS[field])
        for field, default in BATCH.items()
    }
    last: Batch = st.session_state.get("batch", Batch(**BATCH))
    if problem := next(batch_problems(config, values), None):
        show_problem(problem)
        values = {**last._asdict(), "sequence_length": min(last.sequence_length, config.max_position_embeddings)}
    batch = Batch(**values)
    st.session_state["batch"] = batch
    return batch
