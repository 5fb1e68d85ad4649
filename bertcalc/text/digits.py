"""Numbers as people read them: thousands separators, units, and no more digits than are meaningful.

Every number with decimals is written here, for the pages, reports and commands, so that none reads as what it is not:
as 0, or as no change. tests/text/test_digits.py finds those that are written elsewhere. Three kinds are not for this
module: a count to the last digit, which Python's own ``f"{count:,}"`` writes as it is; what a browser writes, the axes
of charts and the columns of figures; and what programs read, JSON and CSV. The pages add what depends on the language
(pages/ui/widgets/numbers.py).

>>> fixed(437.93), fixed(0.0041, 2), fixed(Fraction(10_003, 10_000), 2, unlike=1)
('437.9', '0.004', '1.0003')
>>> significant(12.345), significant(0.0406), significant(7_540.6)
('12.3', '0.0406', '7,541')
>>> brief(0.4), brief(2.0), brief(21.837184), brief(1 / 3, 3)
('0.4', '2', '21.8372', '0.333')
"""

from collections.abc import Callable
from fractions import Fraction

MINUS = "\N{MINUS SIGN}"
_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_MOST_PLACES = 12  # a number that needs more decimals is written with a power of ten
_WHOLE = 10**15  # below it a float holds whole numbers exactly


def fixed(number: Fraction | float, places: int = 1, *, unlike: int = 0) -> str:
    """A number with ``places`` decimals, or with more if it would otherwise read as ``unlike`` without being it."""
    exact = Fraction(number)
    distance = abs(exact - unlike)
    if 0 < distance <= Fraction(1, 2 * 10**places):
        places = -powers(distance, 1)[1]
        if not unlike and places > _MOST_PLACES:
            return scientific(exact, 1)
    units = round(abs(exact) * 10**places)
    whole, rest = divmod(units, 10**places)
    return f"{'-' if exact < 0 and units else ''}{whole:,}{f'.{rest:0{places}}' if places else ''}"


def significant(number: Fraction | float, digits: int = 3) -> str:
    """A number with this many significant digits; all digits before the point are kept."""
    return fixed(number, max(0, digits - 1 - powers(number, digits)[1])) if number else "0"


def brief(number: Fraction | float, digits: int = 6) -> str:
    """A number as people type it: at most this many digits and no trailing zeros; a whole number in full."""
    value = float(number)
    return f"{int(value):,}" if value.is_integer() and abs(value) < _WHOLE else f"{value:,.{digits}g}"


def rounded(number: float, digits: int = 3) -> float:
    """The number rounded to this many digits, for a table that holds numbers."""
    return float(f"{number:.{digits}g}")


def scientific(number: Fraction | float, digits: int = 3) -> str:
    """A number with this many digits and a power of ten, as people type it: 1.1e8."""
    return "{}e{}".format(*powers(number, digits))


def powers(number: Fraction | float, digits: int) -> tuple[str, int]:
    """A number as a figure of this many digits and the power of ten that belongs to it: 1.1 and 8."""
    figure, _e, power = f"{float(number):.{digits - 1}e}".partition("e")
    return figure, int(power)


def multiple(count: int, first: int) -> str:
    """How many times as large: 3.06, or with three digits below a tenth, 0.00282; never 0 or 1 unless it is that."""
    times = Fraction(count, first)
    return significant(times) if 0 < times < Fraction(1, 10) else fixed(times, 2, unlike=1)


def share(part: float, whole: float, decimals: int = 1) -> str:
    """A share in percent, without the sign; never 0 for a part above 0, never 100 for less than the whole."""
    found, least = 100 * part / whole, 10**-decimals
    if part and found < least / 2:
        return f"<{fixed(least, decimals)}"
    nearly = part != whole and 100 - least / 2 <= found <= 100
    return f">{fixed(100 - least, decimals)}" if nearly else fixed(found, decimals)


def signed(difference: int, written: Callable[[int], str]) -> str:
    """A difference with its sign, formatted by ``written``; empty for 0."""
    return f"{MINUS if difference < 0 else '+'}{written(abs(difference))}" if difference else ""


def signed_count(difference: int, none: str = "±0") -> str:
    """A difference of counts with its sign, to the last digit; ``none`` for 0."""
    return signed(difference, "{:,}".format) or none


def size(count: int) -> str:
    """A number of bytes in the units of disks and in those of memory: 437.9 MB (417.6 MiB), 1.3 GB (1.2 GiB).

    Less than a thousand is given to the byte, less than a million in kB and KiB.
    """
    if count < 10**3:
        return f"{count} B"
    power = min(4, (len(str(count)) - 1) // 3)
    disk, memory = (("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB"))[power - 1]
    return f"{fixed(count / 10 ** (3 * power))} {disk} ({fixed(count / 2 ** (10 * power))} {memory})"


def figure(count: int, unit: str) -> str:
    """A count to the last digit, or bytes in both units."""
    return size(count) if unit == "bytes" else f"{count:,}"


def duration(seconds: Fraction) -> str:
    """A time in the unit that people would use: 4.0 d, 81.4 h, 76.2 min."""
    for unit, length, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 96)):
        if seconds < most * length:
            return f"{fixed(seconds / length)} {unit}"
    return f"{fixed(seconds / 86400)} d"


def scaled(figure: Fraction | float, unit: str) -> str:
    """A number with four digits and the prefix of its size: 22.35 GFLOPs."""
    power = min(max(0, powers(figure, 4)[1]) // 3, len(_PREFIXES) - 1)
    small = float(figure / 1000**power)
    return f"{brief(small, 4) if small < 1000 else fixed(small, 0)} {_PREFIXES[power]}{unit}"


def latex(text: str) -> str:
    """A written number as LaTeX, which would set a space after each comma: 109{,}482{,}240."""
    return text.replace(",", "{,}")


def latex_number(number: int) -> str:
    """An integer as LaTeX with thousands separators."""
    return latex(f"{number:,}")


def latex_fraction(number: Fraction) -> str:
    """A fraction as LaTeX, or its integer if it is whole."""
    whole = latex_number(number.numerator)
    return whole if number.denominator == 1 else rf"\frac{{{whole}}}{{{latex_number(number.denominator)}}}"


def latex_scientific(number: Fraction) -> str:
    """A number in LaTeX with four digits, 2.901 \\times 10^{19}; below a million without the power of ten."""
    if number < 10**6:
        return brief(number, 4) if number < 1000 else latex_number(round(number))
    return r"{} \times 10^{{{}}}".format(*powers(number, 4))
