"""Compute over the sequence length, and the lengths at which one part overtakes others."""

from fractions import Fraction
from typing import NamedTuple

import streamlit as st

from bertcalc.compute.flop_formulas import crossover, value
from bertcalc.compute.flops import PARTS, Part, as_stated, by_part
from bertcalc.formula import Formula, latex_number
from bertcalc.forward.outputs import run
from pages.ui.batch import SEQUENCE_LENGTH
from pages.ui.compute.count import Count
from pages.ui.compute.length_chart import length_areas, length_frame
from pages.ui.export.shown import draw_chart
from pages.ui.i18n import _
from pages.ui.present import lower


class Crossing(NamedTuple):
    """The sequence length at which scores and context overtake ``parts``, and its formula."""

    parts: tuple[Part, ...]
    formula: Formula
    length: Fraction


def crossings(count: Count) -> list[Crossing]:
    """The lengths at which scores and context overtake the feed-forward, and feed-forward and projections together."""
    found = []
    for parts in _OVERTAKEN:
        formula = crossover(count.letters, count.convention, parts)
        if formula and (length := value(formula, count.choice.config, **count.sizes)) > 0:
            found.append(Crossing(parts, formula, length))
    return found


_OVERTAKEN: tuple[tuple[Part, ...], ...] = (("feed-forward",), ("feed-forward", "projections"))


def crossing_formula(count: Count, crossing: Crossing) -> str:
    """LaTeX for the length of a crossing: letters, numbers, result."""
    length = crossing.length
    result = latex_number(length.numerator) if length.denominator == 1 else f"{float(length):,.1f}".replace(",", "{,}")
    return "S = " + " = ".join(dict.fromkeys([*count.written(crossing.formula), result]))


def show_lengths(count: Count, look: str) -> None:
    """Show each part's share over the sequence length, and where one overtakes others."""
    crossed = crossings(count)
    config = count.choice.config
    sentences = (
        _("Scores and context overtake the feed-forward at"),
        _("and feed-forward and projections together at"),
    )
    said = dict(zip(_OVERTAKEN, sentences, strict=True))
    st.markdown("\n\n".join(f"{said[one.parts]} ${crossing_formula(count, one)}$" for one in crossed))
    marks: list[tuple[float, str]] = [
        (count.call.sequence_length, "S ="),
        (config.longest, "max_position_embeddings =" if config.longest == config.max_position_embeddings else "S ≤"),
        *((float(crossing.length), _("crossover")) for crossing in crossed),
    ]
    # Twice the largest mark, but a distant crossover does not stretch the axis without limit.
    longest = round(max(2 * min(length, _LONGEST) for length, _text in marks))
    first = min(_SHORTEST, config.longest, count.call.sequence_length)
    lengths = sorted({round(first * (longest / first) ** (at / _POINTS)) for at in range(_POINTS + 1)})
    costs = [_parts_at(count, length) for length in lengths]
    names = {part: _(part) for part in PARTS}
    shown = [(length, f"{text} {length:,.0f}") for length, text in marks if length <= longest]
    draw_chart(
        length_frame(lengths, costs, names, shown),
        lower(length_areas(look, _("Share")), 270),
        numbers={"length": SEQUENCE_LENGTH.title, "name": _("Part"), "share": _("Share")},
        alt=_("Share of each part over the sequence length"),
    )


_POINTS = 40
_SHORTEST, _LONGEST = 16, 500_000


def _parts_at(count: Count, length: int) -> dict[Part, int]:
    call = count.call._replace(batch_size=1, sequence_length=length)  # shares do not depend on the batch
    steps = run(count.choice.subject, call)
    return by_part(as_stated(steps, count.convention, length), count.convention)
