"""Number formats that depend on the session's language or available space; others are in bertcalc/text/digits.py."""

from fractions import Fraction

from bertcalc.charts.labels import SUFFIXES
from bertcalc.text.digits import compact, multiple, scaled, share, signed_share
from bertcalc.text.live_numbers import fill, grouped, mirrored
from pages.ui.shell.i18n import _


def percent(part: int, whole: int, decimals: int = 1) -> str:
    """A share as a percentage. A positive part is never shown as 0 %, and less than the whole never as 100 %."""
    return percentage(share(part, whole, decimals))


def signed_percent(difference: Fraction | int, whole: int = 1) -> str:
    """A relative difference to three digits: +12.3 %, -0.0406 %, +7,540 %. Only an exact zero is shown as ±0 %."""
    return percentage(signed_share(difference, whole))


def times(count: int, first: int) -> str:
    """The ratio of two counts as a factor: × 3.06."""
    return fill("× {times}", times=multiple(count, first))


def percentage(figure: str) -> str:
    """A figure with a percent sign, which follows a space in English but not in Chinese."""
    return fill(_("{figure} %"), figure=figure)


def metric_width(least: int, value: str, delta: str) -> int:
    """The width in pixels, at least ``least``, at which neither a large number nor the text below it is cut off."""
    return max(least, 19 * len(value), 8 * len(delta) + 30)


@mirrored
def unbroken(text: str) -> str:
    """Replace the spaces of a text with no-break spaces, which keep it on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def counted(count: int, unit: str) -> str:
    """A count with all digits and its unit, such as "109,482,240 parameters"."""
    units = {"parameters": _("{count} parameters"), "bytes": _("{count} bytes")}
    return fill(units.get(unit, f"{{count}} {unit}"), count=grouped(count))


def short(count: Fraction | float, unit: str) -> str:
    """An abbreviated number for a chart: 109.5M (parameters), 22.35 GFLOPs, 437.9 MB."""
    return compact(count) if unit == "parameters" else scaled(count, SUFFIXES[unit])
