"""The view Sequence length of the Compute page: cost by part, and lengths at which attention overtakes other parts."""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from bertcalc.charts.length_chart import length_areas, length_frame
from bertcalc.compute.flop_formulas import crossover, value
from bertcalc.compute.flops import PARTS, Part
from bertcalc.config import unchecked
from bertcalc.live.live_formulas import with_formula
from bertcalc.model.batch import rows_for
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import decimal, fixed
from bertcalc.text.live_numbers import between
from pages.ui.compute.count import Count, part_costs
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import lower
from pages.ui.widgets.batch_controls import SEQUENCE_LENGTH
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.numbers import percent

_OVERTAKEN: dict[tuple[Part, ...], str] = {
    ("feed-forward",): N_("The scores and the context cost more than the feed-forward layers from"),
    ("feed-forward", "projections"): N_("and more than the feed-forward layers and projections together from"),
}


class Crossing(NamedTuple):
    """The length at which attention scores and context overtake other parts, and its formula as text; both are live."""

    length: Fraction
    text: str


def crossings(count: Count) -> list[Crossing]:
    """The positive lengths beyond which attention scores and context cost more than the parts in ``_OVERTAKEN``."""
    found = []
    for parts, sentence in _OVERTAKEN.items():
        formula = crossover(count.letters, count.convention, parts)
        if formula and (length := value(formula, count.choice.config, **count.sizes)) > 0:
            length = with_formula(length, formula.expression, count.values)
            sides = count.written(formula)[1:] if formula.expression.args else ()
            text = between(" = ", (f"{_(sentence)} $S = {formula.latex()}$", *sides, decimal(length)))
            found.append(Crossing(length, text))
    return found


def show_lengths(count: Count, crossed: Iterable[Crossing], look: str) -> None:
    """Chart each part's share of the cost over the sequence length.

    Marks show the current length, the model's limit and the crossovers. ``look`` is "light" or "dark".
    """
    config = count.choice.config
    marks: list[tuple[float, str]] = [
        (count.call.sequence_length, "S ="),
        (config.longest, "max_position_embeddings =" if config.longest == config.max_position_embeddings else "S ≤"),
        *((float(crossing.length), _("crossover")) for crossing in crossed),
    ]
    # The axis ends at twice the largest mark. _LONGEST limits the effect of a distant crossover.
    longest = round(max(2 * min(length, _LONGEST) for length, _text in marks))
    first = min(_SHORTEST, config.longest, count.call.sequence_length)
    lengths = sorted({round(first * (longest / first) ** (point / _POINTS)) for point in range(_POINTS + 1)})
    call = count.call._replace(batch_size=1)  # shares do not depend on the batch size
    costs = [
        part_costs(_reaching(count, length), call._replace(sequence_length=length), count.convention)
        for length in lengths
    ]
    names = {part: _(part) for part in PARTS}
    labels = [(length, f"{text} {fixed(length, 0)}") for length, text in marks if length <= longest]
    with live.older("lengths"):  # the chart is not live, because the server computes the axis from the marks
        draw_chart(
            length_frame(lengths, costs, names, labels, percent),
            lower(length_areas(look, _("Share")), 270),
            numbers={"length": SEQUENCE_LENGTH.title, "name": _("Part"), "share": _("Share")},
            alt=_("Share of each part by sequence length"),
        )


def _reaching(count: Count, length: int) -> Model:
    """The model with enough positions for ``length``, because the chart continues beyond the model's limit."""
    model = count.choice.model
    config = model.config
    return model.changed(config=unchecked(config, max_position_embeddings=rows_for(config, length)))


_POINTS = 40
_SHORTEST, _LONGEST = 16, 500_000
