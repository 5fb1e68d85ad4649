"""Format numbers for a page: thousands separators, units, and no more digits than are meaningful."""

import math
from collections.abc import Callable
from fractions import Fraction
from unicodedata import east_asian_width

from bertcalc.charts.labels import SUFFIXES
from pages.ui.i18n import _

MINUS = "\N{MINUS SIGN}"
_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


def percent(part: int, whole: int, decimals: int = 1) -> str:
    """A share; never 0 % for a part above 0, never 100 % for less than the whole."""
    share, least = 100 * part / whole, 10**-decimals
    if part and share < least / 2:
        return percentage(f"<{least:.{decimals}f}")
    nearly = part != whole and 100 - least / 2 <= share <= 100
    return percentage(f">{100 - least:.{decimals}f}" if nearly else f"{share:.{decimals}f}")


def ratio(count: int, first: int) -> str:
    """How many times as large: 3.06 ×, 0.31 ×; three digits below a tenth, 0.00282 ×, so that it never reads 0."""
    times = Fraction(count, first)
    decimals = 2 - math.floor(math.log10(abs(times))) if times and abs(times) < Fraction(1, 10) else 2
    return f"{float(times):,.{decimals}f} ×"


def signed_percent(share: Fraction) -> str:
    """A relative difference to three digits: +12.3 %, -0.0406 %, +7,540 %; ±0 % only if there is none."""
    if not share:
        return percentage("±0")
    figure = 100 * float(share)
    return percentage(f"{figure:+,.{max(0, 2 - math.floor(math.log10(abs(figure))))}f}".replace("-", MINUS))


def percentage(figure: str) -> str:
    """A figure with a percent sign, with a space before it in English and without one in Chinese."""
    return _("{figure} %").format(figure=figure)


def metric_width(least: int, value: str, delta: str) -> int:
    """Pixels for a number in large type and one in small type under it, so that neither is cut off."""
    return max(least, 19 * len(value), 8 * len(delta) + 30)


def text_width(text: str) -> int:
    """The width of a text in Latin letters: a Chinese character is as wide as two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def signed(difference: int, written: Callable[[int], str]) -> str:
    """A difference with its sign, formatted by ``written``; empty for 0."""
    return f"{MINUS if difference < 0 else '+'}{written(abs(difference))}" if difference else ""


def signed_count(difference: int, none: str = "±0") -> str:
    """A difference of counts with its sign, to the last digit; ``none`` for 0."""
    return signed(difference, "{:,}".format) or none


def unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def size(count: int) -> str:
    """A number of bytes in the units of disks and in those of memory: 437.9 MB (417.6 MiB), 1.3 GB (1.2 GiB).

    Less than a thousand is given to the byte, less than a million in kB and KiB.
    """
    if count < 10**3:
        return f"{count} B"
    power = min(4, (len(str(count)) - 1) // 3)
    disk, memory = (("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB"))[power - 1]
    return f"{count / 10 ** (3 * power):,.1f} {disk} ({count / 2 ** (10 * power):,.1f} {memory})"


def figure(count: int, unit: str) -> str:
    """A count to the last digit, or bytes in both units."""
    return size(count) if unit == "bytes" else f"{count:,}"


def counted(count: int, unit: str) -> str:
    """A count to the last digit, with its unit."""
    units = {"parameters": _("{count} parameters"), "bytes": _("{count} bytes")}
    return units.get(unit, f"{{count}} {unit}").format(count=f"{count:,}")


def duration(seconds: Fraction) -> str:
    """A time in the unit that people would use: 4.0 d, 81.4 h, 76.2 min."""
    for unit, length, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 96)):
        if seconds < most * length:
            return f"{float(seconds / length):,.1f} {unit}"
    return f"{float(seconds / 86400):,.1f} d"


def short(count: float, unit: str) -> str:
    """A number in short, for a chart: 109.5M (parameters), 22.35 GFLOPs, 437.9 MB."""
    text = scaled(count, SUFFIXES[unit])
    return text.replace(" ", "").replace("G", "B") if unit == "parameters" else text


def scaled(figure: Fraction | float, unit: str) -> str:
    """A number with four digits and the prefix of its size: 22.35 GFLOPs."""
    power = min(int(math.log10(figure)) // 3, len(_PREFIXES) - 1) if figure >= 1 else 0
    small = float(figure / 1000**power)
    return f"{f'{small:.4g}' if small < 1000 else f'{small:,.0f}'} {_PREFIXES[power]}{unit}"
