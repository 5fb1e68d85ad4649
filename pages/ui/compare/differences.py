"""Differences on the Compare page: one model's figure explained from another's, as a sum, as bars, and step by step."""

import re
from itertools import accumulate, pairwise

import streamlit as st

from bertcalc.charts.bar_charts import Piece, PieceBar
from bertcalc.discover.comparable import explain
from bertcalc.explore.compare import Attribution, Explanation, PartChange
from bertcalc.text import written
from bertcalc.text.digits import latex_number, scaled, size
from bertcalc.text.problem import InputError
from pages.ui.compare.compare_words import relative, signed
from pages.ui.compare.comparison import Comparison, explained
from pages.ui.shell.controls import show_problem
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.widgets.bars import draw_pieces
from pages.ui.widgets.formulas import aligned
from pages.ui.widgets.numbers import text_width
from pages.ui.widgets.quantity_words import title_of
from pages.ui.widgets.tables import show_rows

_MANY = 6
_HEIGHT, _LOW = 270, 170  # pixels for all bars together, unless labels become unreadable; _LOW on the projector
_TERMS = 66  # digits and letters of a sum that fit on a line beside sidebar and figure at 1280 pixels


def difference(comparison: Comparison) -> Explanation | None:
    """The difference of the explained model from the first; None, with the reason on the page, if it is not known."""
    first, other = comparison.models[0], explained(comparison.models)
    try:
        return explain(comparison.case(first), comparison.case(other), comparison.measure)
    except InputError as error:
        show_problem(error.problem)
        return None


def how_found(comparison: Comparison, explanation: Explanation) -> str:
    """How the parts of a difference were found, in a sentence."""
    if not explanation.by_part:
        return _(
            "The fields are changed one after another in this order, and the model is counted after each change, so "
            "the parts add up to the difference. Another order would give different parts."
        )
    if comparison.measure == "parameters":
        return _("These models have different configurations, so their parts are compared.")
    return _("These models have different configurations, so the difference cannot be assigned to parts.")


def show_parts(comparison: Comparison, explanation: Explanation) -> None:
    """Draw the parts of a difference as a waterfall of bars, and their sum; if there are many, leave out those of 0."""
    parts = [part for part in explanation.parts if part.difference or part.moved or len(explanation.parts) <= _MANY]
    ends = accumulate((part.difference for part in parts), initial=0)
    bars = [
        PieceBar(
            _phrase(part),
            [Piece("more" if part.difference >= 0 else "fewer", start, end)],
            _cancelled(part) or _label(comparison, part.difference),
            {"difference": part.difference},
        )
        for part, (start, end) in zip(parts, pairwise(ends), strict=True)
    ]
    whole = explanation.difference
    label = _label(comparison, whole) if whole else "0"
    bars.append(PieceBar(_("together"), [Piece("together", 0, whole)], label, {"difference": whole}))
    draw_pieces(
        bars,
        max(22, min(42, (_LOW if presenting() else _HEIGHT) // len(bars))),
        numbers={"name": _("Part"), "difference": _("Difference")},
        alt=_("The parts of the difference"),
    )


def show_steps(comparison: Comparison, explanation: Explanation) -> None:
    """Show the sum as a table, with the fields to change in the sidebar to check each line."""
    first, other = comparison.models[0], explained(comparison.models)
    steps = [
        (_phrase(part), _assignments(part), f"{part.total:,}", signed(part.difference)) for part in explanation.parts
    ]
    end = (f"**{other.name}**", "", f"**{explanation.after:,}**", f"**{signed(explanation.difference)}**")
    titles = (_("Step"), _("Changed"), _("Running total"), _("Difference"))
    rows = [(first.name, "", f"{explanation.before:,}", ""), *steps, end]
    show_rows(titles, rows, _("The difference, step by step"))


def show_all(comparison: Comparison, chosen_explanation: Explanation) -> None:
    """Show the difference of each model from the first; that of the explained model is given."""
    first, *others = comparison.models
    chosen = explained(comparison.models)
    st.markdown(_("**All models, compared to {first}**").format(first=first.name))
    rows = []
    for model in others:
        explanation = chosen_explanation if model is chosen else comparison.explained(model)
        figures = (
            (f"{explanation.after:,}", signed(explanation.difference), relative(explanation))
            if explanation
            else ("–", "", "")
        )
        rows.append((model.name, *figures))
    titles = (_("Model"), title_of(comparison.quantity), _("Difference"), _("Share"))
    show_rows(titles, rows, _("The differences from the baseline"))


def _phrase(part: Attribution) -> str:
    """The changes of a part in words."""
    sentences = (change.sentence(alone=len(part.changes) == 1) for change in part.changes)
    return listed(_(message).format(**values) for message, values in sentences)


def _assignments(part: Attribution) -> str:
    """The old and new values of a part's changes; fields are named, components already are in the column before."""
    names = ["" if isinstance(change, PartChange) else f"`{change.field}` " for change in part.changes]
    changes = [f"{written(change.before)} → {written(change.after)}" for change in part.changes]
    return "  \n".join(name + change for name, change in zip(names, changes, strict=True))


def _cancelled(part: Attribution) -> str:
    """Say how much is removed and added, if both are equal; else empty."""
    if not part.moved:
        return ""
    message = _("{fewer} and {more} cancel out")
    return "0  ·  " + message.format(fewer=signed(-part.moved), more=signed(part.moved))


def _label(comparison: Comparison, difference: int) -> str:
    """A difference in exact and in abbreviated form."""
    if not difference:
        return "0  ·  " + _("changes nothing")
    unit = comparison.quantity.unit
    if unit == "parameters":
        return signed(difference)
    short = size(abs(difference)) if unit == "bytes" else scaled(abs(difference), unit)
    return f"{signed(difference)}  ·  {short}"


def sum_latex(explanation: Explanation) -> str:
    """LaTeX for the difference as a sum, with words under each term."""
    lines = [f"& {latex_number(explanation.after)} - {latex_number(explanation.before)}"]
    width: float = _TERMS
    for part in explanation.parts:
        if not part.difference:
            continue
        phrase = _phrase(part)
        sign = "-" if part.difference < 0 else "+"
        needed = max(1.2 * len(signed(part.difference)), 0.72 * text_width(phrase)) + 2
        if width + needed > _TERMS:
            first = len(lines) == 1
            lines.append("& = " if first else r"& \quad ")
            sign, width = ("" if first and sign == "+" else sign), 0
        lines[-1] += rf"{sign} \underbrace{{{latex_number(abs(part.difference))}}}_{{\text{{{_escaped(phrase)}}}}}"
        width += needed
    if len(lines) == 1:
        lines[0] += " = 0"
    return aligned(lines)


def _escaped(text: str) -> str:
    return re.sub(r"([_%&#$])", r"\\\1", text)
