"""How numbers are written on a page: thousands separators, units, and never more digits than they mean."""

import math
from fractions import Fraction
from unicodedata import east_asian_width

_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


def percent(part: int, whole: int) -> str:
    """A share with one decimal; what would read 0.0 % is only said to be less than 0.1 %."""
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.05 or not part else "<0.1 %"


def signed_percent(share: Fraction) -> str:
    """By how much something differs, to three digits: +12.3 %, -0.0406 %, +7,540 %; only no difference is ±0 %."""
    if not share:
        return "±0 %"
    figure = 100 * float(share)
    return f"{figure:+,.{max(0, 2 - math.floor(math.log10(abs(figure))))}f} %"


def metric_width(least: int, value: str, delta: str) -> int:
    """Pixels for a number in large type and one in small type under it, so that neither is cut off."""
    return max(least, 21 * len(value), 8 * len(delta) + 30)


def text_width(text: str) -> int:
    """How wide a text is in Latin letters: a Chinese character is as wide as two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def unbroken(text: str) -> str:
    """The text, to stay on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def size(count: int) -> str:
    """A number of bytes in the units of disks and in those of memory: 437.9 MB (417.6 MiB), 1.3 GB (1.2 GiB).

    Less than a thousand is said to the byte, less than a million in kB and KiB.
    """
    if count < 10**3:
        return f"{count} B"
    power = min(4, (len(str(count)) - 1) // 3)
    disk, memory = (("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB"))[power - 1]
    return f"{count / 10 ** (3 * power):,.1f} {disk} ({count / 2 ** (10 * power):,.1f} {memory})"


def scaled(figure: Fraction | float, unit: str) -> str:
    """A number with four digits and the prefix of its size: 22.35 GFLOPs."""
    power = min(int(math.log10(figure)) // 3, len(_PREFIXES) - 1) if figure >= 1 else 0
    small = float(figure / 1000**power)
    return f"{f'{small:.4g}' if small < 1000 else f'{small:,.0f}'} {_PREFIXES[power]}{unit}"
