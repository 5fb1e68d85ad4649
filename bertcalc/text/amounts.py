"""Parse amounts exactly, as users type them: 30M, 1.1e8, 22.4 GFLOPs, 16 GiB, 75,641,856, 30 million, 1亿1千万.

A comma is read as a decimal sign, and dots as thousands separators, only if the amount has no other reading: 109,5M.

>>> typed("72.1 MB")
Typed(value=Fraction(72100000, 1), low=Fraction(72050000, 1), high=Fraction(72150000, 1), unit='bytes', zeros=False)
>>> typed("109,482,240").means(109_482_241)
False
>>> typed("110M").means(109_482_240)
False
>>> typed("1.1e8").means(109_482_240)
True
>>> typed("149.014.272") == typed("149'014'272") == typed("149 014 272") == typed("1亿4901万4272")
True
>>> typed("1亿1千万") == typed("一亿一千万") == typed("1.1e8")
True
>>> amount("12 × 7,087,872").value
Fraction(85054464, 1)
>>> whole("1e5"), whole("30,522"), whole("1.5")
(100000, 30522, '1.5')
"""

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from math import ceil, floor
from typing import Literal, NamedTuple

from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.problem import InputError, wrong

Unit = Literal["parameters", "FLOPs", "MACs", "bytes"]
UNITS: tuple[Unit, ...] = (N_("parameters"), N_("FLOPs"), N_("MACs"), N_("bytes"))
LARGEST = 10**30  # far above any count, and small enough to compute with quickly
LONGEST = 60
_LARGEST_WHOLE = 2**53 - 1  # JavaScript's largest safe integer


class Typed(NamedTuple):
    """A number as typed: its value, the lowest and the highest number that round to it, and its unit, if any.

    An integer without prefix or exponent is exact; 110M means 109.5 to 110.5 million. ``zeros`` says whether the
    decimals end in a zero, which is then significant: 90.0M.
    """

    value: Fraction
    low: Fraction
    high: Fraction
    unit: Unit | None
    zeros: bool = False

    def means(self, count: int) -> bool:
        """Whether a count rounds to the text."""
        return self.low <= count <= self.high

    def reach(self, *, rounded: bool) -> Fraction:
        """The largest possible rounding error of the text: half a unit in its last digit.

        With ``rounded``, trailing zeros are not significant, so it is half a unit in the last nonzero digit. There are
        two exceptions: a final zero after the decimal point is significant, and a whole number is exact unless it ends
        in three zeros.
        """
        reach = self.high - self.value
        if not rounded or not self.value or self.zeros:
            return reach
        if not reach:
            reach = Fraction(1, 2) if self.value % 1000 == 0 else reach
        while reach and self.value % (20 * reach) == 0:
            reach *= 10
        return reach


# A billion is 10**9, as in papers. All spellings are in lower case.
_FACTORS = {
    **dict.fromkeys(("k", "thousand"), 10**3),
    **dict.fromkeys(("m", "million", "mio", "mln"), 10**6),
    **dict.fromkeys(("g", "b", "bn", "billion"), 10**9),
    **dict.fromkeys(("t", "trillion"), 10**12),
}
_PREFIXES = {**_FACTORS, "p": 10**15, "e": 10**18}  # p and e are valid only before a unit
_BINARY = {f"{prefix}i": 1024**power for power, prefix in enumerate("kmgtpe", 1)}
_BYTES_WRITTEN_OUT = 10**5  # from here on, B means bytes: 440,473,133 B; in 175B it means billions
_BYTES = ("b", "byte", "bytes", "字节")
_UNITS: dict[str, Unit] = {
    **dict.fromkeys(("param", "params", "parameter", "parameters", "参数", "个参数"), "parameters"),
    **dict.fromkeys(("flop", "flops"), "FLOPs"),
    **dict.fromkeys(("mac", "macs"), "MACs"),
    **dict.fromkeys(_BYTES, "bytes"),
}
# Everything that may follow a number, the likeliest first: spelling, factor and unit.
_SPELLINGS: tuple[tuple[str, int, Unit | None], ...] = (
    ("", 1, None),
    *((unit, 1, meaning) for unit, meaning in _UNITS.items()),
    *((factor, worth, None) for factor, worth in _FACTORS.items()),
    *((prefix + unit, worth, meaning) for unit, meaning in _UNITS.items() for prefix, worth in _PREFIXES.items()),
    *((prefix + unit, worth, "bytes") for unit in _BYTES for prefix, worth in _BINARY.items()),
)
_EXAMPLES: dict[Unit | None, str] = {
    "parameters": N_("30M, 1.1e8 or 109,482,240"),
    "FLOPs": N_("22.4 GFLOPs or 2e10"),
    "MACs": N_("11.2 GMACs or 1e10"),
    "bytes": N_("16 GB, 16 GiB or 437.9 MB"),
    None: N_("110M, 1.1e8, 72.1 MB or 75,641,856"),
}
# Either the same sign separates all thousands, or none does; Chinese also separates groups of four digits.
_GROUPED = r"[0-9]{1,3}(?:(?P<mark>[, _'])[0-9]{3})(?:(?P=mark)[0-9]{3})*"
_NUMBER = re.compile(
    rf"(?P<whole>{_GROUPED}|[0-9]{{1,4}}(?:,[0-9]{{4}}){{2,}}|[0-9]+)"
    r"(?:\.(?P<decimals>[0-9]+))?(?:e(?P<power>[+-]?[0-9]{1,3}))?(?P<rest>[^0-9.,_'+-]*)"
)
# Numbers in which the dots must be thousands separators, or the comma must be the decimal sign.
_COMMA = re.compile(
    r"(?:[0-9]{1,3}(?:\.[0-9]{3}){2,}(?:,[0-9]+)?|[1-9][0-9]{0,2}\.[0-9]{3},[0-9]+|0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,}))"
    r"(?![0-9.,])"
)
_EXCHANGED = str.maketrans(".,", ",.")
_POWER = re.compile(r"(?<=[.,])([0-9]+)\s*[x×*·]\s*10\s*(?:\^|\*\*)\s*(\{?[+-]?[0-9]{1,3}\}?)(?!\d)")
_ABOUT = re.compile(r"\s*(?:[~≈∼]|about\b|approx\.?|ca\.?(?=\W)|约|大约)\s*")
_CHINESE = str.maketrans("〇零一二两三四五六七八九萬億", "001223456789万亿")
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10**4, "亿": 10**8}
_CHINESE_PART = re.compile(rf"\s*(?P<number>(?:{_GROUPED}|[0-9]+)(?:\.[0-9]+)?)?\s*(?P<unit>[十百千万亿])?")
_EXACT = 1_000  # a Chinese number with a last digit worth less than this is exact, not rounded
_RAISED = re.compile(r"(?<=10)(?=[⁰¹²³⁴-⁹])")
_MARKS = str.maketrans("", "", ", _'")
_TOO_LARGE = N_('"{text}" is too large: the limit is 1e30.')


@checked
def typed(text: str, unit: Unit | None = None) -> Typed:
    """Read an amount in ``unit``, which the text may omit. If ``unit`` is None, any unit is allowed.

    B means a billion, unless the unit is bytes, B follows a prefix, or the number has six digits or more. Raises
    InputError if the text is not an amount in this unit, exceeds 1e30, or cannot be a whole number.
    """
    match = _NUMBER.fullmatch(_plain(text) if len(text) <= LONGEST else "")
    if match is None:
        message = N_('"{text}" is not a valid amount: write it like {examples}.')
        raise wrong(message, text=shorten(text), examples=_EXAMPLES[unit])
    rest = match["rest"].strip()
    if rest == "b" and int(match["whole"].translate(_MARKS)) >= _BYTES_WRITTEN_OUT and unit in (None, "bytes"):
        rest = "bytes"
    scale, written_unit, scaled = _scale(rest, unit, text)
    decimals, power = match["decimals"] or "", int(match["power"] or 0)
    place = Fraction(10) ** (power - len(decimals)) * scale  # the place value of the last digit
    value = int(match["whole"].translate(_MARKS) + decimals) * place
    if value > LARGEST:
        raise wrong(_TOO_LARGE, text=shorten(text))
    rounded = 0 if not (scaled or decimals or match["power"]) else place / 2
    low, high = max(value - rounded, Fraction(0)), value + rounded
    if ceil(low) > floor(high):
        raise _not_whole(text, unit)
    return Typed(value, low, high, written_unit or unit, decimals.endswith("0"))


def _not_whole(text: str, unit: Unit | None) -> InputError:
    message = N_('"{text}" is not a whole number: write the count like {examples}.')
    return wrong(message, text=shorten(text), examples=_EXAMPLES[unit])


@checked
def whole(text: str) -> int | str:
    """Read an integer between -(2**53 - 1) and 2**53 - 1; return any other text unchanged."""
    plain = text.strip()
    with suppress(InputError):
        value, _low, _high, unit, _zeros = typed(plain.removeprefix("-"))
        if unit is None and value.denominator == 1 and value <= _LARGEST_WHOLE:
            return -int(value) if plain.startswith("-") else int(value)
    return text


def _plain(text: str) -> str:
    """Convert a text to English notation in lower case, with ASCII characters and a decimal point."""
    plain = _RAISED.sub("^", text.replace("’", "'").replace("{,}", ","))
    plain = unicodedata.normalize("NFKC", plain).strip().lower()
    plain = _ABOUT.sub("", plain, 1) if _ABOUT.match(plain) else plain
    if comma := _COMMA.match(plain):
        plain = comma[0].translate(_EXCHANGED) + plain[comma.end() :]
    return _POWER.sub(lambda power: f"{power[1]}e{power[2].strip('{}')}", _in_digits(plain), 1)


def _in_digits(plain: str) -> str:
    """Write a leading number with Chinese units in digits: 1亿948万2240 as 109482240.

    Trailing units become an exponent: 1亿1千万 becomes 11e7.
    """
    text = plain.translate(_CHINESE)
    value, below, place, last, end = Fraction(0), Fraction(0), Fraction(1), 0, 0
    while (part := _CHINESE_PART.match(text, end)) and (part["number"] or part["unit"]):
        digits = (part["number"] or "").translate(_MARKS)
        if not part["unit"]:
            if not last or not (digits[0] == "0" or 10 ** len(digits) in (10, last)) or "." in digits:
                return plain
            place = Fraction(last, 10) if digits[0] != "0" and len(digits) == 1 else Fraction(1)  # 两万五 is 25,000
            below, end = below + int(digits) * place, part.end()
            break
        last, end = _CHINESE_UNITS[part["unit"]], part.end()
        if digits:
            place = Fraction(1, 10 ** len(digits.partition(".")[2]))
        elif not (value or below):
            digits = "1"  # 百万 has no digit before its unit
        if last < _CHINESE_UNITS["万"]:
            below += Fraction(digits or 1) * last
        elif value < last:
            value, below = (value + below + Fraction(digits or 0)) * last, Fraction(0)
        else:
            value, below = value + (below + Fraction(digits or 0)) * last, Fraction(0)
        place *= last
    total = value + below
    step = Fraction(1) if place < _EXACT and total.denominator == 1 else place
    if not last or (total / step).denominator != 1:
        return plain
    power, figure = len(f"{step.numerator}") - len(f"{step.denominator}"), f"{total / step}"
    if step > 1 and "." in digits and digits.endswith("0"):  # keep a trailing zero as a decimal: 0.60亿 is 6.0e7
        power, figure = power + 1, f"{figure[:-1] or 0}.0"
    return figure + (f"e{power}" if power else "") + plain[end:]


_SIGNS = re.compile(r"[-+*/^×·÷()²³]|(?<=[0-9)])\s*x\s*(?=[0-9(])", re.I)
_WITH_UNIT = re.compile(r"(.*[0-9)²³])\s*([^\W\d_]+)\s*")


@checked
def amount(text: str, unit: Unit | None = None, names: Mapping[str, int] | None = None) -> Typed:
    """Read an amount, or a calculation with an optional unit: 85M, 2^20, 4H^2 + 9H, 4 * 25 kB.

    ``names`` maps letters to numbers. Raises InputError if the text is neither, or if its value is negative, too large
    or not a whole number.
    """
    try:
        return typed(text, unit)
    except InputError as error:
        not_typed = error
    try:
        value = evaluate(text, names)
    except InputError as error:
        plain = unicodedata.normalize("NFKC", text).replace("×", "*")  # full-width signs are operators as well
        match = _WITH_UNIT.fullmatch(plain)
        if match is None or not _SIGNS.search(plain):
            raise (error if _SIGNS.search(plain) else not_typed) from error
        value = evaluate(match[1], names)
        try:
            one = typed(f"1 {match[2]}", unit)
            value, unit = value * one.value, one.unit
        except InputError as unknown:  # quote the user's text, which has no 1 before the unit
            problem = unknown.problem
            raise InputError(problem._replace(values=problem.values | {"text": shorten(text)})) from None
    if value < 0:
        raise wrong(N_('"{text}" is negative, but a count cannot be negative.'), text=shorten(text))
    if value > LARGEST:
        raise wrong(_TOO_LARGE, text=shorten(text))
    if value.denominator != 1:
        raise _not_whole(text, unit)
    return Typed(value, value, value, unit)


def _scale(rest: str, wanted: Unit | None, text: str) -> tuple[int, Unit | None, bool]:
    """The factor and unit in the letters after a number, and whether the letters include a factor.

    Raises InputError for an unknown unit, or for a unit other than ``wanted``.
    """
    for spelled, factor, unit in _SPELLINGS:
        if spelled != rest.replace(" ", "") or (spelled == "b" and unit == "bytes" != wanted):
            continue
        if unit is None or wanted in (None, unit):
            return factor, unit, factor != 1
        message = N_('"{text}" is in {found}, but {wanted} are needed here: write it like {examples}.')
        raise wrong(message, text=shorten(text), found=unit, wanted=wanted, examples=_EXAMPLES[wanted])
    message = N_('"{text}" has an unknown unit: write it like {examples}.')
    raise wrong(message, text=shorten(text), examples=_EXAMPLES[wanted])
