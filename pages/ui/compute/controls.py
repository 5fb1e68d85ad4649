"""What is counted on the Compute page: the model, what goes through it, and by which convention."""

from typing import Any, NamedTuple

import streamlit as st

from bertcalc.compute.conventions import RULES
from bertcalc.compute.devices import DEVICES, PRECISIONS
from bertcalc.compute.flops import Convention, as_stated, has_masked_head, masked_positions
from bertcalc.compute.formula import Letters, letters
from bertcalc.formula import CALL_LETTERS, Formula
from bertcalc.forward.outputs import Call, attends, possible, problems, reads_encoder, run
from bertcalc.forward.steps import Step
from bertcalc.text import N_
from pages.ui.batch import choose_batch
from pages.ui.controls import Number, Parameters, choose, show_problem, whole_number
from pages.ui.i18n import translator
from pages.ui.labels import label_of, option_of
from pages.ui.sidebar import Choice

VIEWS = ("forward", "length", "conventions", "time")
CHOICES: dict[str, tuple[str, ...]] = {
    "compute": VIEWS,
    "unit": ("FLOPs", "MACs"),
    "operations": ("matmul", "all"),
    "logits": ("all", "masked"),
    "training": ("3x", "4x"),
    "rule": tuple(RULES),
    "budget": ("steps", "tokens"),
    "device": tuple(DEVICES),
    "format": PRECISIONS,
}
# Default and most of each whole number; the least is 1.
LIMITS: dict[str, tuple[int, int]] = {
    "steps": (10**6, 10**12),
    "tokens": (10**10, 10**15 - 1),
    "devices": (8, 10**6),
    "utilisation": (40, 100),
}
PARAMETERS = Parameters(
    whole_numbers=tuple(LIMITS), booleans=("modules", "pytorch"), decimals=("price",), choices=CHOICES
)
# What each choice of a convention means.
MEANINGS: dict[tuple[str, str], str] = {
    ("unit", "FLOPs"): N_("2 FLOPs for each multiply-add"),
    ("unit", "MACs"): N_("multiply-adds only: element-wise operations have none"),
    ("operations", "matmul"): N_("matrix products only"),
    ("operations", "all"): N_("matrix products and element-wise operations"),
    ("logits", "all"): N_("logits at every position"),
    ("logits", "masked"): N_("logits at the 15 % of positions that are masked"),
    ("training", "3x"): N_("training: forward, and backward twice as much"),
    ("training", "4x"): N_("training: forward, the layers forward again, and backward twice as much"),
}


class Count(NamedTuple):
    """What is counted on this page: a model, what goes through it, by which convention; and the steps of that."""

    choice: Choice
    call: Call
    convention: Convention
    steps: list[Step]

    @property
    def letters(self) -> Letters:
        """The same steps in letters."""
        cross = attends(self.choice.config, self.choice.architecture, self.call)
        return letters(
            self.choice.config, self.choice.architecture, self.convention, cross=cross, **self.choice.options
        )

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers for the letters that are no fields of the configuration."""
        length = self.call.sequence_length
        return {field: getattr(self.call, field) for field in CALL_LETTERS} | {
            "masked_positions": masked_positions(length)
        }

    def written(self, formula: Formula) -> tuple[str, str]:
        """LaTeX with letters, and with numbers."""
        return formula.latex(), formula.latex(self.choice.config, **self.sizes)


def choose_count(choice: Choice) -> Count:
    """Draw what goes through and how it is counted; the last or the nearest of it that is possible."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        call = _choose_call(choice)
        steps = run(choice.config, choice.architecture, call, **choice.options)
        said: dict[str, Any] = {
            field: _segmented(field) for field in Convention._fields if field != "logits" or has_masked_head(steps)
        }
    convention = Convention(**said)
    return Count(choice, call, convention, as_stated(steps, convention, call.sequence_length))


def _choose_call(choice: Choice) -> Call:
    config, architecture = choice.config, choice.architecture
    said = Call(*choose_batch(config))
    if reads_encoder(config, architecture):
        said = said._replace(encoder_sequence_length=_size("encoder_sequence_length", None, 205))
    if architecture == "BertForMultipleChoice":
        said = said._replace(num_choices=_size("num_choices", said.num_choices, 130))
    for problem in problems(config, architecture, said):
        if problem.field in CALL_LETTERS:
            show_problem(problem)
    return possible(config, architecture, said)


def _size(field: str, default: Number, width: int) -> Number:
    return whole_number(f"{label_of(field)} ${CALL_LETTERS[field]}$", field, default, width=width)


def _segmented(field: str) -> str:
    _ = translator()
    options = CHOICES[field]
    meanings = "  \n".join(f"**{option_of(field, option)}**: {_(MEANINGS[field, option])}" for option in options)
    return choose(field, options, st.segmented_control, required=True, help=meanings)


def show_convention(count: Count) -> None:
    """What the figures count, said in words."""
    _ = translator()
    said = count.convention._asdict()
    if not has_masked_head(count.steps):
        del said["logits"]
    st.caption(" · ".join(_(MEANINGS[choice]) for choice in said.items()))
