"""Format numbers for readers: thousands separators, units, and no more digits than are meaningful.

Pages, reports and commands format every number with decimals through this module. A small number then never reads as 0,
and a small change never reads as no change. tests/text/test_digits.py reports formatting elsewhere. Three kinds of
numbers do not need this module: exact counts, for which ``f"{count:,}"`` is enough; axes and columns that a browser
formats; and the numbers in JSON and CSV. Formatting that depends on the language is in pages/ui/widgets/numbers.py.

>>> fixed(437.93), fixed(0.0041, 2), fixed(Fraction(10_003, 10_000), 2, unlike=1)
('437.9', '0.004', '1.0003')
>>> significant(12.345), significant(0.0406), significant(7_540.6)
('12.3', '0.0406', '7,541')
>>> brief(0.4), brief(2.0), brief(21.837184), brief(1 / 3, 3)
('0.4', '2', '21.8372', '0.333')
"""

from collections.abc import Callable
from fractions import Fraction

from bertcalc.text.live_choices import distance, with_sign
from bertcalc.text.live_numbers import MINUS, grouped, mirrored

_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_MOST_PLACES = 12  # a number that needs more decimals is written with a power of ten
_WHOLE = 10**15  # below this, a float represents whole numbers exactly


@mirrored
def fixed(number: Fraction | float, places: int = 1, unlike: int = 0) -> str:
    """Format a number with ``places`` decimals, or with more if it would otherwise round to ``unlike``.

    A number that would need more than 12 decimals to differ from 0 is written with a power of ten.
    """
    top, below = _ratio(number)
    distance = abs(top - unlike * below)  # the distance from ``unlike``, in units of 1 / ``below``
    if 0 < distance * 2 * 10**places <= below:
        places = -powers(Fraction(distance, below), 1)[1]
        if not unlike and places > _MOST_PLACES:
            return scientific(number, 1)
    units = _nearest(abs(top) * 10**places, below)
    whole, rest = divmod(units, 10**places)
    return f"{'-' if top < 0 and units else ''}{whole:,}{f'.{rest:0{places}}' if places else ''}"


def _ratio(number: Fraction | float) -> tuple[int, int]:
    """A number as a ratio of integers in lowest terms. Integer arithmetic is much faster than Fraction."""
    return (number if isinstance(number, int | float) else Fraction(number)).as_integer_ratio()


def _nearest(top: int, below: int) -> int:
    """Round a ratio of positive integers to the nearest integer; a tie rounds to the even integer."""
    whole, rest = divmod(top, below)
    return whole + (2 * rest > below or (2 * rest == below and whole % 2))


@mirrored
def significant(number: Fraction | float, digits: int = 3) -> str:
    """Format a number with ``digits`` significant digits, but keep all digits before the decimal point."""
    return fixed(number, max(0, digits - 1 - powers(number, digits)[1])) if number else "0"


@mirrored
def brief(number: Fraction | float, digits: int = 6) -> str:
    """Format a number with at most ``digits`` digits and no trailing zeros.

    A whole number below 10**15 keeps all its digits. Other numbers get a power of ten if they are below 0.0001,
    or have more than ``digits`` digits before the decimal point.
    """
    top, below = _ratio(number)
    if below == 1 and abs(top) < _WHOLE:
        return f"{top:,}"
    figure, power = powers(number, digits)
    if not -5 < power < digits:
        return f"{_without_zeros(figure)}e{'-' if power < 0 else '+'}{abs(power):02}"
    whole, point, decimals = fixed(number, digits - 1 - power).partition(".")
    return _without_zeros(f"{whole}{point}{decimals}")


def _without_zeros(figure: str) -> str:
    return figure.rstrip("0").removesuffix(".") if "." in figure else figure


def rounded(number: float, digits: int = 3) -> float:
    """Round a number to ``digits`` significant digits and return a float."""
    return float(f"{number:.{digits}g}")


def scientific(number: Fraction | float, digits: int = 3) -> str:
    """Format a number with ``digits`` significant digits and a power of ten: 1.1e8."""
    return "{}e{}".format(*powers(number, digits))


def powers(number: Fraction | float, digits: int) -> tuple[str, int]:
    """Split a number into a figure of ``digits`` digits and a power of ten: 1.1 and 8. Ties round to the even digit."""
    top, below = _ratio(number)
    top = abs(top)
    power = len(str(top)) - len(str(below)) if top else 0
    if top * 10 ** max(0, -power) < below * 10 ** max(0, power) and top:
        power -= 1
    shift = power - digits + 1
    units = _nearest(top * 10 ** max(0, -shift), below * 10 ** max(0, shift))
    if units == 10**digits:  # 9.99 rounds to 10.0
        units, power = units // 10, power + 1
    figure = f"{units:0{digits}}"
    point = "." if digits > 1 else ""
    return f"{'-' if number < 0 else ''}{figure[0]}{point}{figure[1:]}", power


@mirrored
def multiple(count: int, first: int) -> str:
    """Format the ratio of two counts with two decimals: 3.06.

    A ratio below 0.1 has three significant digits: 0.00282. The result reads 0 or 1 only if the ratio is
    exactly 0 or 1.
    """
    times = Fraction(count, first)
    return significant(times) if 0 < times < Fraction(1, 10) else fixed(times, 2, unlike=1)


@mirrored
def share(part: Fraction | float, whole: Fraction | float, decimals: int = 1) -> str:
    """Format a share in percent, without the percent sign.

    With one decimal, a part above 0 never reads 0 but <0.1, and a part below the whole never reads 100 but >99.9.
    """
    (part_top, part_below), (top, below) = _ratio(part), _ratio(whole)
    percent, least = Fraction(100 * part_top * below, part_below * top), Fraction(1, 10**decimals)
    if part and percent < least / 2:
        return f"<{fixed(least, decimals)}"
    nearly = part != whole and 100 - least / 2 <= percent <= 100
    return f">{fixed(100 - least, decimals)}" if nearly else fixed(percent, decimals)


@mirrored
def signed_share(difference: Fraction | int, whole: int) -> str:
    """Format a relative difference in percent to three digits, without the percent sign: +12.3, -0.0406, ±0."""
    sign = MINUS if difference < 0 else "+" if difference else "±"
    return f"{sign}{significant(100 * abs(Fraction(difference)) / whole)}"


def signed(difference: int, written: Callable[[int], str]) -> str:
    """Format a difference with its sign; ``written`` formats the absolute value. The result is empty for 0."""
    return with_sign(difference, written(distance(difference, 0)))


@mirrored
def signed_count(difference: int, none: str = "±0") -> str:
    """Format an exact difference of counts with its sign; return ``none`` for 0."""
    return signed(difference, grouped) or none


@mirrored
def size(count: int) -> str:
    """Format a number of bytes in decimal and binary units: 437.9 MB (417.6 MiB), 1.34 GB (1.25 GiB), 12 B.

    A figure has at least three digits, so that readers can check a share of two sizes.
    """
    if count < 10**3:
        return f"{count} B"
    power = min(4, (len(str(count)) - 1) // 3)
    disk, memory = (("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB"))[power - 1]
    decimal, binary = (Fraction(count, base**power) for base in (10**3, 2**10))
    return f"{_three_digits(decimal)} {disk} ({_three_digits(binary)} {memory})"


def _three_digits(number: Fraction) -> str:
    return fixed(number, 2 if number < 10 else 1)


def figure(count: int, unit: str) -> str:
    """Format an exact count or, if ``unit`` is "bytes", a size in decimal and binary units."""
    return size(count) if unit == "bytes" else grouped(count)


@mirrored
def decimal(number: Fraction | float, places: int = 1) -> str:
    """Format a number with ``places`` decimals, but a whole number without decimals."""
    return fixed(number, 0 if Fraction(number).denominator == 1 else places)


@mirrored
def duration(seconds: Fraction) -> str:
    """Format a duration in a suitable unit: 4.0 d, 81.4 h, 76.2 min."""
    for unit, length, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 96)):
        if seconds < most * length:
            return f"{fixed(Fraction(seconds) / length)} {unit}"
    return f"{fixed(Fraction(seconds) / 86400)} d"


@mirrored
def scaled(figure: Fraction | float, unit: str) -> str:
    """Format a number with four digits and an SI prefix: 22.35 GFLOPs."""
    power = min(max(0, powers(figure, 4)[1]) // 3, len(_PREFIXES) - 1)
    top, below = _ratio(figure)
    small = Fraction(top, below * 1000**power)
    return f"{brief(small, 4) if small < 1000 else fixed(small, 0)} {_PREFIXES[power]}{unit}"


def decimal_size(count: int) -> str:
    """Format a number of bytes in one decimal unit, which may follow a sign: 680.4 MB."""
    return scaled(count, "B")


@mirrored
def compact(figure: Fraction | float) -> str:
    """Format a number briefly with four digits, for a chart: 109.5M, 1.09B."""
    return scaled(figure, "").replace(" ", "").replace("G", "B")


def latex(text: str) -> str:
    """Write a formatted number in LaTeX, where a plain comma adds a space: 109{,}482{,}240."""
    return text.replace(",", "{,}")


def latex_number(number: int) -> str:
    """Write an integer in LaTeX with thousands separators."""
    return latex(f"{number:,}")


def latex_fraction(number: Fraction) -> str:
    """Write a fraction in LaTeX, or an integer if the fraction is whole."""
    whole = latex_number(number.numerator)
    return whole if number.denominator == 1 else rf"\frac{{{whole}}}{{{latex_number(number.denominator)}}}"


def superscript(number: int) -> str:
    """Write an integer in superscript digits: ¹² for 12."""
    return f"{number}".translate(_SUPERSCRIPTS)


_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@mirrored
def on_paper(number: Fraction | int) -> str:
    """Write a number with four digits and a power of ten: 2.901 × 10¹⁹. Below a million, there is no power of ten."""
    if number < 10**6:
        return brief(number, 4) if number < 1000 else f"{round(number):,}"
    figure, power = powers(number, 4)
    return f"{figure} × 10{superscript(power)}"
