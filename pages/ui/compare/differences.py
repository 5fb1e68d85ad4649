"""The view Differences of the Compare page: the difference between two figures as a sum, as bars, and step by step."""

from itertools import accumulate, pairwise
from typing import Any

import streamlit as st

from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.charts.bar_charts import Piece, PieceBar
from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.compare import COUNTED_PHRASES, Attribution, Breakdown, FieldChange, PartChange, counted_words
from bertcalc.explore.model_values import STEPS
from bertcalc.model.names import PART_NAMES
from bertcalc.text import code
from bertcalc.text.digits import scaled, size
from bertcalc.text.live_choices import differ, distance, either, if_negative
from bertcalc.text.live_numbers import between, fill, grouped, is_live, joined, staying
from bertcalc.text.problem import InputError
from pages.ui.change.step_words import brief
from pages.ui.compare.compare_words import relative, signed, value_text
from pages.ui.compare.comparison import Comparison, explained
from pages.ui.shell import live
from pages.ui.shell.controls import show_problem
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.widgets.bars import draw_pieces
from pages.ui.widgets.quantity_words import title_of
from pages.ui.widgets.tables import show_rows, stacked_on_a_phone

_MANY = 6
# The height in pixels of all bars together; with many bars, it is exceeded to keep labels readable. _LOW is for
# projector view.
_HEIGHT, _LOW = 270, 170


def difference(comparison: Comparison) -> Breakdown | None:
    """The explained model's difference from the first model; if it cannot be computed, show why and return None."""
    try:
        return comparison.explain(explained(comparison.models))
    except InputError as error:
        show_problem(error.problem)
        return None


def how_found(comparison: Comparison, explanation: Breakdown) -> str:
    """A sentence on how the parts of a difference were computed."""
    if not explanation.by_part:
        return _(
            "The fields are changed one after another in this order, and the model is counted after each change, "
            "so the parts add up to the difference. In a different order, the parts may differ."
        )
    if comparison.measure == "parameters":
        return _("These models have different configurations, so their parts are compared.")
    return _("These models have different configurations, so the difference cannot be assigned to parts.")


def show_parts(comparison: Comparison, explanation: Breakdown, *, changing: bool = False) -> None:
    """Draw the parts of a difference, and their sum, as a waterfall chart.

    Parts with a difference of 0 are omitted if there are many parts, or if ``changing`` is true.
    """
    changing = changing or len(explanation.parts) > _MANY
    shown = [(part, _is_shown(part, changing)) for part in explanation.parts]
    shown = [(part, now) for part, now in shown if now or is_live(now)]
    parts = [part for part, _now in shown]
    ends = accumulate((part.difference for part in parts), initial=0)
    bars = [
        PieceBar(
            phrase(part),
            [Piece(if_negative(part.difference, "fewer", "more"), start, end)],
            _cancelled(part) or _label(comparison, part.difference),
            {"difference": part.difference if now else None},
            now,
        )
        for (part, now), (start, end) in zip(shown, pairwise(ends), strict=True)
    ]
    whole = explanation.difference
    label = _label(comparison, whole, "")
    bars.append(PieceBar(_("together"), [Piece("together", 0, whole)], label, {"difference": whole}))
    draw_pieces(
        bars,
        max(22, min(42, (_LOW if presenting() else _HEIGHT) // sum(bool(bar.shown) for bar in bars))),
        numbers={"name": _("Part"), "difference": _("Difference")},
        alt=_("The parts of the difference"),
    )


def _is_shown(part: Attribution, changing: bool) -> int:
    """Return 1 if a part is shown now, otherwise 0. The result is live if a slider can change it."""
    if not changing or part.moved:
        return _is_change(part)
    moves = any(change.field in SLIDERS for change in part.changes)
    return differ([part.difference], [0]) if moves else int(part.difference != 0)


def _is_change(part: Attribution) -> int:
    """Return 1 if a part has a change now, or 0 if it has a change only after a slider moves."""
    changes = [change for change in part.changes if change.field in SLIDERS]
    if len(changes) < len(part.changes):
        return 1
    return differ([change.before for change in changes], [change.after for change in changes])


def show_steps(comparison: Comparison, explanation: Breakdown) -> None:
    """Show the sum as a table with a row for each step: its fields, the running total, and the difference.

    Readers can check each row by changing its fields in the sidebar. The browser cannot add rows while a slider moves,
    so the table is marked as outdated when a field begins or ceases to differ.
    """
    first, other = comparison.models[0], explained(comparison.models)
    steps = [
        (phrase(part), _assignments(part), grouped(part.total), signed(part.difference))
        for part in explanation.parts
        if _is_change(part) and part.has_effect
    ]
    whole = signed(explanation.difference)
    after, difference = fill("**{after:,}**", after=explanation.after), fill("**{whole}**", whole=whole)
    end = (f"**{other.name}**", "", after, difference)
    titles = (_("Step"), _("Changed"), _("Running total"), _("Difference"))
    rows = [(first.name, "", grouped(explanation.before), ""), *steps, end]
    with live.container_within(tuple(map(staying, map(_is_change, explanation.parts)))), stacked_on_a_phone():
        show_rows(titles, rows, _("The difference, step by step"))
    for part in explanation.parts:
        if part.inside:
            _show_inside(part)
    if fields := explanation.fields_without_effect:
        st.caption(_("These fields differ but have no effect: {fields}.").format(fields=", ".join(map(code, fields))))


def _show_inside(part: Attribution) -> None:
    grown = sorted(part.inside, key=lambda growth: -abs(growth[1]))
    amounts = [f"{_(PART_NAMES[key])} {signed(difference)}" for key, difference in grown]
    with live.older(f"inside-{len(part.changes)}-{part.changes[0].field}"):
        st.markdown(_("**{change}**: {amounts}").format(change=phrase(part), amounts=" · ".join(amounts)))


def show_all(comparison: Comparison, chosen_explanation: Breakdown) -> None:
    """Show the difference of each model from the first; ``chosen_explanation`` belongs to the explained model."""
    first, *others = comparison.models
    chosen = explained(comparison.models)
    st.markdown(_("**All models, compared with {first}**").format(first=first.name))
    rows = []
    for model in others:
        explanation = chosen_explanation if model is chosen else comparison.explained(model)
        figures = (
            (grouped(explanation.after), signed(explanation.difference), relative(explanation))
            if explanation
            else ("–", "", "")
        )
        rows.append((model.name, *figures))
    titles = (_("Model"), title_of(comparison.quantity), _("Difference"), _("Factor"))
    show_rows(titles, rows, _("The differences from the baseline"))


def phrase(part: Attribution) -> str:
    """The changes of a part as text."""
    texts = [_change(change, alone=len(part.changes) == 1) for change in part.named]
    return joined(_(", "), texts) if any(map(is_live, texts)) else listed(texts)


def _change(change: FieldChange | PartChange, *, alone: bool) -> str:
    if change.field in SLIDERS and is_live((change.before, change.after)) and not getattr(change, "sharing", 0):
        return counted_words(tuple(map(_, COUNTED_PHRASES[change.field])), change.before, change.after)
    if change.field == STEPS and isinstance(change, FieldChange):
        before, after = ([brief(step) for step in steps] for steps in (change.before, change.after))
        change = change._replace(before=before, after=after)
    message, values = change.sentence(alone=alone)
    return fill(_(message), **values)


def _assignments(part: Attribution) -> str:
    """The old and new values of a part's changes, one change per line, with the names of fields.

    Names of components are left out, because another column has them.
    """
    names = ["" if isinstance(change, PartChange) else f"`{change.field}` " for change in part.changes]
    changes = [
        fill("{before} → {after}", before=_value_text(change.before), after=_value_text(change.after))
        for change in part.changes
    ]
    lines = [fill("{name}{change}", name=name, change=change) for name, change in zip(names, changes, strict=True)]
    return between("  \n", lines)


def _value_text(value: object) -> str:
    return value_text((written_steps(value) or "–") if isinstance(value, tuple) else value)


def _cancelled(part: Attribution) -> str:
    """The amounts that a part removes and adds, if they cancel out; otherwise empty."""
    if not part.moved:
        return ""
    message = _("{fewer} and {more} cancel out")
    return "0  ·  " + message.format(fewer=signed(-part.moved), more=signed(part.moved))


def _label(comparison: Comparison, difference: int, nothing: str | None = None) -> str:
    """A difference in exact and abbreviated form. A difference of 0 is followed by ``nothing``."""
    nothing = _("changes nothing") if nothing is None else nothing
    unit, amount = comparison.quantity.unit, distance(difference, 0)
    short = "" if unit == "parameters" else size(amount) if unit == "bytes" else scaled(amount, unit)
    return joined("  ·  ", (signed(difference), either(difference, 0, nothing, short)))


def sum_formula(explanation: Breakdown) -> dict[str, Any]:
    """The data of the difference as a sum with text under each term, in the format of formula_parts.py."""
    before, after, whole = explanation.before, explanation.after, explanation.difference
    terms: list[dict[str, Any]] = []
    for part in explanation.parts:
        number = part.difference
        if number or is_live(number):
            # A term of 0 is empty, and so is the sign of a positive first term.
            sign = either(number, 0, "", if_negative(number, "−", "+" if terms else ""))
            amount = ["digit", either(number, 0, "", grouped(distance(number, 0)))]
            term = {"is": "part", "brace": either(number, 0, "", phrase(part)), "parts": [amount]}
            terms.append({"is": "unit", "parts": [["sign", sign], term]})
    total = ["digit", either(whole, 0, "0", "")]
    both = [["digit", grouped(after)], ["sign", "−"], ["digit", grouped(before)]]
    return {
        "label": fill("{after:,} − {before:,} = {whole}", after=after, before=before, whole=signed(whole)),
        "lines": [
            {"is": "line", "parts": [{"is": "start", "parts": []}, {"is": "unit", "parts": both}]},
            {
                "is": "line",
                "parts": [{"is": "start", "parts": [["between", "="]]}, {"is": "sum", "parts": [*terms, total]}],
            },
        ],
        "tips": {},
    }
