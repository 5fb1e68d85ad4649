"""Formulas for miscounts and for the counts of other tools, computed from tensors with symbolic sizes.

>>> from bertcalc import BertConfig
>>> formulas = cause_formulas(Model(BertConfig()), ("pooler", "attention once"))
>>> [formula.latex() for formula in formulas]
['- H \\\\left(H + 1\\\\right)', '- 4 H \\\\left(H + 1\\\\right) \\\\left(L - 1\\\\right)']
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sympy

from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.diagnosis.explain import causes
from bertcalc.diagnosis.layer_parts import Counted, Selection
from bertcalc.diagnosis.miscounts import PADDED_TO, ROUNDED_TO, MiscountSizes, counted, total
from bertcalc.diagnosis.other_tools import TOOLS, corrections, letters
from bertcalc.model.formula import ALL_SYMBOLS, Formula, exact, once, symbolic_model, write
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor


def cause_formulas(model: Model, miscounts: tuple[str, ...], count: Counted | None = None) -> tuple[Formula, ...]:
    """Return formulas for the amount that each miscount adds to the total, or to ``count`` if it is passed.

    The miscounts are keys of ``MISCOUNTS``. They are applied one after the other, so an amount depends on the miscounts
    before it. To evaluate a formula with a padded vocabulary, pass ``padded_vocab_size`` to ``Formula.latex``.
    """
    padded = _PADDED
    # A resized vocabulary uses the same letter as a padded vocabulary, so the padded sizes are numbers here.
    if any(isinstance(change, ResizeVocabulary) for change in model.changes):
        padded = MiscountSizes.of(model.final_config).padded_sizes
    return _cause_formulas(model, miscounts, Selection.of(count) if count else None, padded)


@once(1024)
def _cause_formulas(
    model: Model, miscounts: tuple[str, ...], selection: Selection | None, padded: tuple[Any, ...]
) -> tuple[Formula, ...]:
    tensors, sizes = _tensors(model, selection), SYMBOLIC_SIZES
    if model.changes:
        config = model.final_config
        sizes = MiscountSizes._make((*(getattr(config, field) for field in MiscountSizes._fields[:-1]), padded))
    return tuple(write(sympy.factor(exact(cause.amount))) for cause in causes(tensors, sizes, miscounts))


def _tensors(model: Model, selection: Selection | None) -> tuple[Tensor, ...]:
    """Return the selected tensors with symbolic sizes, or all tensors if ``selection`` is None."""
    tensors = counted(symbolic_model(model))
    return selection.tensors(tensors, SYMBOLIC_SIZES) if selection else tensors


_PADDED = (ALL_SYMBOLS["padded_vocab_size"],) * len((*PADDED_TO, *ROUNDED_TO))
SYMBOLIC_SIZES = MiscountSizes._make((*(ALL_SYMBOLS[field] for field in MiscountSizes._fields[:-1]), _PADDED))


def count_formula(model: Model, count: Counted) -> Formula:
    """Return the formula for the number of parameters in a part, module or tensor of a model."""
    return _count_formula(model, Selection.of(count))


@once(1024)
def _count_formula(model: Model, selection: Selection) -> Formula:
    return write(sympy.factor(exact(total(_tensors(model, selection)))))


class ToolFormulas(NamedTuple):
    """The formula of another tool, and the corrections that turn it into the model's formula."""

    terms: tuple[Formula, ...]  # in the order of the tool's source
    corrections: Mapping[str, Formula]  # keyed by names in REASONS; terms + corrections = the model's formula


@once(1024)
def tool_formulas(model: Model, tool: str) -> ToolFormulas:
    """Return the formula of another tool for a model, and the corrections to it.

    ``tool`` is a key of ``TOOLS``. To evaluate a formula with a padded vocabulary, pass ``padded_vocab_size`` to
    ``Formula.latex``.
    """
    undone = corrections(TOOLS[tool], symbolic_model(model), SYMBOLIC_SIZES)
    return ToolFormulas(
        tuple(write(sympy.sympify(term, letters(SYMBOLIC_SIZES))) for term in TOOLS[tool].terms),
        {correction.miscount: write(sympy.factor(exact(correction.amount))) for correction in undone},
    )
