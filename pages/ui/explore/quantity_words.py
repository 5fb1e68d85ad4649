"""How quantities and their figures are said, on all pages that explore."""

from bertcalc.explore.quantities import Quantity
from pages.ui.i18n import translator
from pages.ui.numbers import size


def title_of(quantity: Quantity) -> str:
    """What is counted, with the unit where the words do not say it."""
    _ = translator()
    return _(quantity.meaning) + (" (B)" if quantity.unit == "bytes" else "")


def figure(quantity: Quantity, count: int) -> str:
    """A figure to the last digit, with its unit."""
    return size(count) if quantity.unit == "bytes" else f"{count:,}"
