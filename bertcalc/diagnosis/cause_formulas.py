"""Formulas for miscounts and for other tools: the same changes applied to tensors with symbolic sizes.

>>> from bertcalc import BertConfig
>>> found = cause_formulas(Subject(BertConfig()), ("pooler", "attention once"))
>>> [formula.latex() for formula in found]
['- H \\\\left(H + 1\\\\right)', '- 4 H \\\\left(H + 1\\\\right) \\\\left(L - 1\\\\right)']
"""

from collections.abc import Mapping
from typing import NamedTuple

import sympy

from bertcalc.diagnosis.explain import causes
from bertcalc.diagnosis.layer_parts import Counted, Selection
from bertcalc.diagnosis.miscounts import PADDED_TO, ROUNDED_TO, MiscountSizes, counted, total
from bertcalc.diagnosis.other_tools import TOOLS, corrections, letters
from bertcalc.model.formula import ALL_SYMBOLS, Formula, exact, once, symbolic_model, write
from bertcalc.model.modules import Tensor
from bertcalc.model.subject import Subject


def cause_formulas(subject: Subject, miscounts: tuple[str, ...], count: Counted | None = None) -> tuple[Formula, ...]:
    """The amount that each miscount adds to the total, or to one count of the model, made one after the other.

    To put numbers into a formula with a padded vocabulary, pass ``padded_vocab_size`` to ``Formula.latex``.
    """
    return _cause_formulas(subject, miscounts, Selection.of(count) if count else None)


@once(4096)
def _cause_formulas(subject: Subject, miscounts: tuple[str, ...], selection: Selection | None) -> tuple[Formula, ...]:
    tensors = _tensors(subject, selection)
    return tuple(write(sympy.factor(exact(cause.amount))) for cause in causes(tensors, SYMBOLIC_SIZES, miscounts))


def _tensors(subject: Subject, selection: Selection | None) -> tuple[Tensor, ...]:
    """Tensors with symbolic sizes: the selected ones, or all."""
    tensors = counted(symbolic_model(subject))
    return selection.tensors(tensors, SYMBOLIC_SIZES) if selection else tensors


_PADDED = (ALL_SYMBOLS["padded_vocab_size"],) * len((*PADDED_TO, *ROUNDED_TO))
SYMBOLIC_SIZES = MiscountSizes._make((*(ALL_SYMBOLS[field] for field in MiscountSizes._fields[:-1]), _PADDED))


def count_formula(subject: Subject, count: Counted) -> Formula:
    """The number of parameters of a part, module or tensor of a model."""
    return _count_formula(subject, Selection.of(count))


@once(1024)
def _count_formula(subject: Subject, selection: Selection) -> Formula:
    return write(sympy.factor(exact(total(_tensors(subject, selection)))))


class ToolFormulas(NamedTuple):
    """The formula of another tool, and the corrections that turn it into the model's."""

    terms: tuple[Formula, ...]  # in the order of the tool's source
    corrections: Mapping[str, Formula]  # by names in REASONS; terms and corrections sum to the model's formula


@once(1024)
def tool_formulas(subject: Subject, tool: str) -> ToolFormulas:
    """The formula of a tool by its name, and its corrections for a model.

    To put numbers into a formula with a padded vocabulary, pass ``padded_vocab_size`` to ``Formula.latex``.
    """
    found = corrections(TOOLS[tool], symbolic_model(subject), SYMBOLIC_SIZES)
    return ToolFormulas(
        tuple(write(sympy.sympify(term, letters(SYMBOLIC_SIZES))) for term in TOOLS[tool].terms),
        {one.miscount: write(sympy.factor(exact(one.amount))) for one in found},
    )
