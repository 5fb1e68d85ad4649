"""The controls of the Compute page (batch, sequence length, counting convention), and the resulting count."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.compute.flop_formulas import Letters, letters, name_expressions, part_expressions, total_expression
from bertcalc.compute.flops import (
    PYTORCH,
    Convention,
    CostRow,
    Part,
    Phase,
    as_stated,
    by_name,
    by_part,
    has_masked_head,
    masked_positions,
    tokens,
    total,
)
from bertcalc.explore.factor_formulas import Side
from bertcalc.forward.outputs import Call, attends, possible, problems, run
from bertcalc.forward.step_formulas import call_sizes
from bertcalc.live.live_formulas import live_sizes, with_formula, with_formulas
from bertcalc.model.batch import batch_problems
from bertcalc.model.formula import Formula, in_numbers
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from bertcalc.model.trace import Step
from bertcalc.text import N_
from pages.ui.shell import live
from pages.ui.shell.controls import Select, show_problem, view
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.bars import preset_of
from pages.ui.widgets.batch_controls import choose_batch, choose_training_batch
from pages.ui.widgets.call_controls import ENCODER_SEQUENCE_LENGTH, NUM_CHOICES

VIEW = view(
    "compute",
    {
        "forward": N_("Forward pass"),
        "length": N_("Sequence length"),
        "conventions": N_("Conventions"),
        "time": N_("Training time"),
    },
)
# One control for each field of Convention.
CONVENTION: dict[str, Select[str]] = {
    "unit": Select("unit", N_("Unit"), ("FLOPs", "MACs"), row=True),
    "operations": Select[str](
        "operations", N_("Operations"), words={"matmul": N_("Matrix products"), "all": N_("All")}, row=True
    ),
    "logits": Select[str]("logits", N_("Logits"), words={"all": N_("All"), "masked": N_("Masked")}, row=True),
    "training": Select[str]("training", N_("Training step"), words={"3x": "3 ×", "4x": "4 ×"}, row=True),
}
# Maps the name of a control and its option to the option's meaning.
MEANINGS: dict[tuple[str, str], str] = {
    ("unit", "FLOPs"): N_("2 FLOPs for each multiply-add"),
    ("unit", "MACs"): N_("multiply-adds only, as fvcore counts: element-wise operations have none"),
    ("operations", "matmul"): N_("matrix products only"),
    ("operations", "all"): N_("also element-wise operations: activations, softmax, LayerNorm, biases"),
    ("logits", "all"): N_("logits at every position"),
    ("logits", "masked"): N_("logits at the 15 % of positions that are masked"),
    ("training", "3x"): N_("training: the forward pass, plus twice as much for the backward pass"),
    ("training", "4x"): N_(
        "training: the forward pass, a second forward pass of the layers, plus twice as much for the backward pass"
    ),
}


class Count(NamedTuple):
    """A count of FLOPs or MACs: the chosen model, the call, the counting convention, and the counted steps."""

    choice: Choice
    call: Call
    convention: Convention
    steps: list[Step]

    @property
    def letters(self) -> Letters:
        model = self.choice.model
        return letters(model, self.convention, cross=attends(model, self.call))

    @property
    def formulas(self) -> Mapping[Part, Any]:
        """The forward cost of each part as a symbolic expression."""
        return part_expressions(self.letters, self.convention)

    @property
    def costs(self) -> dict[Part, int]:
        """The forward cost of each part, as a live number in the convention's unit."""
        costs: dict[Part, int] = with_formulas(by_part(self.steps, self.convention), self.formulas, self.values)
        return costs

    def total(self, phase: Phase = "forward") -> int:
        """The cost of all steps in a phase, as a live number in the convention's unit."""
        formula = total_expression(self.letters, self.convention, phase)
        whole: int = with_formula(total(self.steps, self.convention, phase), formula, self.values)
        return whole

    @property
    def rows(self) -> list[CostRow]:
        """The copies and the forward cost of every module and step, as live numbers."""
        rows = by_name(self.steps, self.convention)
        live_rows: list[CostRow] = with_formulas(rows, [*name_expressions(self.letters, self.convention)], self.values)
        return live_rows

    @property
    def tokens(self) -> int:
        """The number of tokens in the batch, as a live number."""
        number: int = with_formula(tokens(self.steps), tokens(self.letters), self.values)
        return number

    @property
    def of_pytorch(self) -> "Count":
        """The count of the same call in PyTorch's convention."""
        return self._replace(convention=PYTORCH, steps=run(self.choice.model, self.call))

    @property
    def of_preset(self) -> "Count | None":
        """The count of the preset for the same call, or None if the preset cannot run this call."""
        start = preset_of(self.choice)
        if any(batch_problems(start.config, self.call._asdict())) or possible(start.model, self.call) != self.call:
            return None
        steps = as_stated(run(start.model, self.call), self.convention, self.call.sequence_length)
        return self._replace(choice=start, steps=steps)

    def side(self, figures: Mapping[Any, int], formulas: Mapping[Any, Any]) -> Side:
        """Combine figures with their formulas, as one side of a comparison."""
        return Side(figures, formulas, self.values)

    @property
    def values(self) -> dict[str, Any]:
        """The values of all letters in the formulas, keyed by field name."""
        return {**self.choice.config.shared(), **self.sizes}

    @property
    def sizes(self) -> dict[str, int]:
        """The values of the letters that are not config fields, such as batch_size.

        The encoder length is included only if the model attends to an encoder.
        """
        return call_sizes(self.call) | {"masked_positions": masked_positions(self.call.sequence_length)}

    def written(self, formula: Formula) -> tuple[str, str]:
        """A formula as two texts: with letters, and with live numbers."""
        return f"{formula}", in_numbers(formula.expression, {**live_sizes(self.choice.config), **self.sizes})


def part_costs(model: Model, call: Call, convention: Convention) -> dict[Part, int]:
    """The forward cost of each part of a model, in the convention's unit."""
    return by_part(as_stated(run(model, call), convention, call.sequence_length), convention)


def choose_count(choice: Choice, *, trained: bool, pytorch: bool) -> Count:
    """Draw the controls and return the count for their values, or for the nearest valid values.

    With ``trained``, the batch is the batch of a training run. With ``pytorch``, the convention is PyTorch's, and the
    reader cannot choose it.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        call = _choose_call(choice.model, trained=trained)
        steps = run(choice.model, call)
        options: dict[str, Any] = {
            field: control.show(help=_meanings(control))
            for field, control in ({} if pytorch else CONVENTION).items()
            if (field != "logits" or has_masked_head(steps))
            and (field != "training" or "full" in choice.model.family.recomputes)
        }
    convention = PYTORCH if pytorch else Convention(**options)
    count = Count(choice, call, convention, as_stated(steps, convention, call.sequence_length))
    live.note_sizes(count.sizes)
    return count


def _choose_call(model: Model, *, trained: bool) -> Call:
    call = Call(*(choose_training_batch if trained else choose_batch)(model.config).shape)
    if model.reads_encoder:
        call = call._replace(encoder_sequence_length=ENCODER_SEQUENCE_LENGTH.show())
    if model.cls.takes_choices:
        call = call._replace(num_choices=NUM_CHOICES.show())
    for problem in problems(model, call):
        if problem.field in CALL_LETTERS:
            show_problem(problem)
    return possible(model, call)


def _meanings(control: Select[str]) -> str:
    return control.meanings({option: MEANINGS[control.name, option] for option in control.options})


def show_convention(count: Count) -> None:
    """Show the meaning of each chosen option of the counting convention."""
    options = count.convention._asdict()
    if not has_masked_head(count.steps):
        del options["logits"]
    st.caption(" · ".join(_(MEANINGS[choice]) for choice in options.items()))
