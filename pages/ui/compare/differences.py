"""Differences on the Compare page: one model's figure explained from another's, as a sum, as bars, and step by step."""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

import streamlit as st

from bertcalc.discover.compared import explain
from bertcalc.explore.compare import Attribution, Explanation, PartChange
from bertcalc.formula import latex_number
from bertcalc.problem import InputError
from bertcalc.text import written
from pages.ui.compare.compare_words import relative, signed
from pages.ui.compare.comparison import Comparison, explained
from pages.ui.controls import show_problem
from pages.ui.formulas import aligned
from pages.ui.i18n import _, listed
from pages.ui.metrics import show_metric
from pages.ui.numbers import scaled, size, text_width
from pages.ui.piece_bars import Piece, PieceBar, draw_pieces
from pages.ui.present import presenting
from pages.ui.quantity_words import title_of
from pages.ui.tables import show_rows

_MANY = 6
_HEIGHT, _LOW = 270, 170  # pixels for all bars together, unless labels become unreadable; _LOW on the projector
_TERMS = 66  # digits and letters of a sum that fit on a line beside sidebar and figure at 1280 pixels


def show_differences(comparison: Comparison) -> None:
    """Show the difference between two models as a sum, as bars and as a table, then the differences of all models."""
    models, quantity = comparison.models, comparison.quantity
    if len(models) < 2:
        st.info(_("A difference needs two models: choose another one under Models."))
        return
    first, other = models[0], explained(models)
    try:
        found = explain(comparison.case(first), comparison.case(other), comparison.measure)
    except InputError as error:
        show_problem(error.problem)
        return
    phrases = [_phrase(part) for part in found.parts]
    names = f"**{other.name} − {first.name}**"
    st.markdown(_("{name}: {what}").format(name=names, what=title_of(quantity)))
    with st.container(horizontal=True, vertical_alignment="center"):
        value, share = signed(found.difference), relative(found)
        show_metric(_("Difference"), value, share, least=230, label_visibility="collapsed")
        st.latex(_sum_latex(found, phrases), width="content")
    show_parts(comparison, found)
    if not found.by_part:
        said = _(
            "The fields are changed one after another, in this order, with a count after each, so "
            "that the parts add up to the difference. Another order would give different parts."
        )
    elif comparison.measure == "parameters":
        said = _("These models have no configuration in common, so what each part has is compared.")
    else:
        said = _("These models have no configuration in common, and it is not known which part this comes from.")
    st.caption(said)
    if presenting():
        return
    _show_steps(comparison, found, phrases)
    if len(models) > 2:
        _show_all(comparison)


def show_parts(comparison: Comparison, found: Explanation) -> None:
    """Draw the parts of a difference as a waterfall of bars, and their sum; if there are many, without those of 0."""
    parts = [part for part in found.parts if part.difference or part.moved or len(found.parts) <= _MANY]
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
    whole = found.difference
    label = _label(comparison, whole) if whole else "0"
    bars.append(PieceBar(_("together"), [Piece("together", 0, whole)], label, {"difference": whole}))
    draw_pieces(
        bars,
        max(22, min(42, (_LOW if presenting() else _HEIGHT) // len(bars))),
        numbers={"name": _("Part"), "difference": _("Difference")},
        alt=_("The parts of the difference"),
    )


def _show_steps(comparison: Comparison, found: Explanation, phrases: Sequence[str]) -> None:
    """Show the sum as a table, with the fields to change in the sidebar to check each line."""
    first, other = comparison.models[0], explained(comparison.models)
    steps = [
        (phrase, _assignments(part), signed(part.difference), f"{part.total:,}")
        for phrase, part in zip(phrases, found.parts, strict=True)
    ]
    end = (f"**{other.name}**", "", f"**{signed(found.difference)}**", f"**{found.after:,}**")
    titles = (_("Step"), _("Changed"), _("Difference"), _("Running total"))
    rows = [(first.name, "", "", f"{found.before:,}"), *steps, end]
    show_rows(titles, rows, _("The difference, step by step"))


def _show_all(comparison: Comparison) -> None:
    first, *others = comparison.models
    st.markdown(_("**All models, compared to {first}**").format(first=first.name))
    rows = []
    for model in others:
        found = comparison.explained(model)
        figures = (f"{found.after:,}", signed(found.difference), relative(found)) if found else ("–", "", "")
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
    """Say what goes and what comes, if it is the same."""
    if not part.moved:
        return ""
    said = _("{fewer} and {more} cancel each other")
    return "0  ·  " + said.format(fewer=signed(-part.moved), more=signed(part.moved))


def _label(comparison: Comparison, difference: int) -> str:
    """A difference in exact and in abbreviated form."""
    if not difference:
        return "0  ·  " + _("changes nothing")
    unit = comparison.quantity.unit
    if unit == "parameters":
        return signed(difference)
    short = size(abs(difference)) if unit == "bytes" else scaled(abs(difference), unit)
    return f"{signed(difference)}  ·  {short}"


def _sum_latex(found: Explanation, phrases: Sequence[str]) -> str:
    """LaTeX for the difference as a sum, with words under each term."""
    lines = [f"& {latex_number(found.after)} - {latex_number(found.before)}"]
    width: float = _TERMS
    for phrase, part in zip(phrases, found.parts, strict=True):
        if not part.difference:
            continue
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
