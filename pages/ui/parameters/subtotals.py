"""The subtotals of a layer by part: its attention, its feed-forward and its LayerNorms."""

from bertcalc.live.live_formulas import live_reading
from bertcalc.model.model import Model
from bertcalc.model.names import norm_kind
from bertcalc.model.totals import breakdown, parts_inside
from bertcalc.text import Translate
from bertcalc.text.live_numbers import grouped, joined


def subtotals_inside(model: Model, path: str, _: Translate) -> str:
    """The parts of the module at ``path`` and their counts; empty if its bars already show them."""
    parts = live_reading(parts_inside, model, path)
    if not 1 < len(parts) < len(breakdown(model, path)):
        return ""
    words = [_(part).replace("LayerNorm", norm_kind(model)) for _component, part in parts]
    return joined(
        " · ", [joined(" ", (word, grouped(count))) for word, count in zip(words, parts.values(), strict=True)]
    )
