"""The parameter counts of a layer's parts: its attention, its feed-forward network and its LayerNorms."""

from bertcalc.live.live_formulas import live_reading
from bertcalc.model.model import Model
from bertcalc.model.names import norm_kind
from bertcalc.model.totals import breakdown, parts_inside
from bertcalc.text.live_numbers import grouped, joined
from pages.ui.shell import live
from pages.ui.shell.i18n import _


def show_subtotals(model: Model, path: str) -> None:
    """Show the parameter counts of the parts of the module at ``path``.

    Show nothing if there is only one part, or if the bars already show the same parts.
    """
    parts = live_reading(parts_inside, model, path)
    if 1 < len(parts) < len(breakdown(model, path)):
        words = [_(part).replace("LayerNorm", norm_kind(model)) for _component, part in parts]
        counts = [joined(" ", (word, grouped(count))) for word, count in zip(words, parts.values(), strict=True)]
        live.markdown(joined(" · ", counts))
