"""Judge whether the sides of an equation agree: 4 * 768 * 768 = 2,359,296.

>>> from bertcalc.proofreading.mentions.calculations import find
>>> [entry] = find("2 * 768 * 768 = 1,179,684", {})
>>> print(judge_chain(entry, "").reasons[0])
The calculation gives 1,179,648, not 1,179,684.

Words may state a product, too: 25 LayerNorms of 1,536 parameters, 36,864 in total.

>>> judge_several("25 LayerNorms of ", Fraction(1536), " parameters, ", "in total", Fraction(36864)).right_value
Fraction(38400, 1)
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.written_sizes import NUMBER_WORDS, in_digits
from bertcalc.proofreading.verdicts import LEAST, NO_CLAIM, UNKNOWN, Judged, is_far
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import Typed, Unit, typed
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem

_GIVES = N_("The calculation gives {value}, not {written}.")
_RATIO_IS = N_("The ratio is {ratio}.")
_IS_DIVIDED = N_(
    "{written} is the count divided by 1,024 · 1,024, not the number of bytes: in float32, the parameters take {bytes}."
)


def judge_chain(entry: WrittenNumber, before: str) -> Judged | None:
    """Judge whether the sides of a chain are equal; return None for one side, or if they need not be equal.

    ``before`` is the text before the chain on its line, because a result may include numbers from there.
    """
    sides = entry.sides
    if len(sides) < 2:
        return None
    if _multiplies_matrices(sides):
        return NO_CLAIM
    sides = _without_label(sides)
    if any(map(_rounds_vocabulary, sides)):
        sides = tuple(side for side in sides if not side.letters) or sides
    first = next((side for side in sides if side.is_calculation or side.is_shape), sides[0])
    if not (first.is_calculation or first.is_shape) and first.value < _LEAST_PLAIN < LEAST < sides[-1].value:
        return None  # a small number before an equals sign is part of something else: f(x, 4) = 62,219,904
    if ratio := _judge_proportion(sides, before, entry.after):
        return ratio
    sides = _last_product(sides)
    first = first if first in sides else sides[0]
    is_restated = all(_agree(first, side) for side in sides)
    spoken = first if is_restated else _with_terms_before(first, before)
    if not is_restated and spoken is first:
        spoken = _times_number_before(first, before)
    sides = tuple(spoken if side is first else side for side in sides)
    is_short = spoken is not first and len(before) >= _MOST_BEFORE  # the words may begin with an earlier term
    first = spoken
    if first.is_shape and sides[-1].value == _with_bias(first) and _LINEAR.search(entry.before):
        return None  # Linear(768, 768) has 590,592 parameters: 768 * 768 and 768 biases
    if len(sides) > _OF_PLAIN and (_is_sum_in_steps(sides) or _goes_on_from_result(sides)):
        return Judged("right")
    for number, side in enumerate(sides):
        converted = _in_operations(first, side)
        if not _agree(converted, side) and not any(_are_same_size(other, side) for other in sides[:number]):
            is_torn = side.unit == "bytes" and _TORN.search(entry.before)
            is_part = (
                is_torn
                or is_short
                or _has_lost_signs(first, side)
                or _is_part_of_sentence(first, side, before or entry.before)
                or _is_multiple(first, side)
            )
            return UNKNOWN if is_part else _disagreement(converted, side)
    return Judged("right")


def _multiplies_matrices(sides: Sequence[ChainSide]) -> bool:
    """Whether a chain says which shape the product of two matrices has: (512 × 64) × (64 × 512) = 512 × 512."""
    factors, result = _TWO_SHAPES.fullmatch(sides[0].text.strip()), _ONE_SHAPE.fullmatch(sides[-1].text.strip())
    if factors is None or result is None:
        return False
    return factors.group("rows", "columns") == result.group("rows", "columns")


_TWO_SHAPES = re.compile(
    r"\(?(?P<rows>[0-9]+)\s?[×x*]\s?(?P<inner>[0-9]+)\)?\s?[×x*@·⋅]\s?\((?P=inner)\s?[×x*]\s?(?P<columns>[0-9]+)\)"
)
_ONE_SHAPE = re.compile(r"\(?(?P<rows>[0-9]+)\s?[×x*]\s?(?P<columns>[0-9]+)\)?")


def _without_label(sides: tuple[ChainSide, ...]) -> tuple[ChainSide, ...]:
    """Drop a count that the calculation of its size repeats: 163M = 163 * 4 * 1e6 / 1024 / 1024 = 622 MB."""
    count, *rest = sides
    if count.is_calculation or count.unit == "bytes" or rest[-1].unit != "bytes" or len(rest) < _OF_PLAIN:
        return sides
    repeats = any(count.value in (number, number * 10**6, number * 10**9) for number in rest[0].numbers)
    return tuple(rest) if repeats and rest[0].is_calculation else sides


def _is_part_of_sentence(first: ChainSide, stated: ChainSide, before: str) -> bool:
    """Whether a result includes more than the calculation beside it: a running sum, or a product before it."""
    if _GOES_ON_WITH.search(before):
        return True  # a running sum: 16,622,592; + 85,054,464 = 101,677,056
    if first.value < 1 <= stated.value and stated.unit is None and not stated.is_percent:
        return True  # a share of a size: reduced to 2/3, i.e. 2,048
    if first.is_calculation and stated.means(first.value * 10**6):
        return True  # operands in millions: 85 / 12 = 7.1M
    if first.is_calculation and stated.means(first.value * 10**4) and "万" in before:
        return True  # 一层 708万, 708 * 12 = 85M
    earlier = [_product(shape) for shape in _PRODUCT_OF_SIZES.finditer(before[-_NEAR_PRODUCTS:])]
    if earlier and first.value + earlier[-1] == stated.value:
        return True  # a sum of two products: A is 8 × 768, B is 768 × 8, that is 12,288 parameters
    sizes = [int(size) for size in re.findall("[0-9]{1,6}", first.text)]
    rank = stated.value / (sum(sizes) or 1)
    return len(sizes) == _OF_PLAIN and bool(re.search(rf"\b(?:r|rank|秩) ?[=为]? ?{rank}\b", before, re.I))


_GOES_ON_WITH = re.compile(r"(?:^|\S)\s*[+−]\s*$|[;；,，]\s*-\s*$")
# A term before an equation, and the words between the term and the next term or the factor.
_TERM = re.compile(
    r"(?<![\w.,])(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{4,13}|[0-9]{1,4}(?:\.[0-9]{1,4})?\s?(?:[MK万亿]|million\b))(?![\w,.]\d)"
)
_PLUS_BETWEEN = re.compile(r"[^=≈:：+;；。/*×]{0,50}?(?:\+|\bplus\b|加上?)[^=≈:：+;；。/*×]{0,40}", re.I)
_TIMES_BETWEEN = re.compile(r"[^=≈:：+;；。/*×]{0,50}?[,，;；\s]\s?(?:and )?(?:times|multiplied by|乘以|乘上)\s?", re.I)
_MOST_TERMS, _MOST_BEFORE = 8, 100


def _with_terms_before(last: ChainSide, before: str) -> ChainSide:
    """Complete a number before an equals sign by the terms in the words before it; return ``last`` if there are none.

    The words form a sum, as in 42,527,232 in 6 layers, plus 23,835,648 = 66,362,880, or a product, as in 7,087,872 per
    layer, times 12 = 85,054,464. The terms of a sum may have labels.
    """
    if last.is_calculation or last.is_shape or last.is_decimal or not last.counts_parameters:
        return last
    cut = len(before) >= _MOST_BEFORE  # its first number may lack its first digits
    terms = [term for term in _TERM.finditer(before) if not cut or term.start()][-_MOST_TERMS:]
    value, reach, end = last.value, last.reach, len(before)
    for term in reversed(terms):
        between, amount = before[term.end() : end], _amount(term[0])
        if amount is None:
            break
        if last.value < _LEAST_PLAIN:
            if not _TIMES_BETWEEN.fullmatch(between) or last.value.denominator != 1:
                break
            return last._replace(value=value * amount.value, reach=value * (amount.high - amount.value))
        if not _PLUS_BETWEEN.fullmatch(between):
            break
        value, reach, end = value + amount.value, reach + amount.high - amount.value, term.start()
    return last if value == last.value else last._replace(value=value, reach=reach)


def _times_number_before(first: ChainSide, before: str) -> ChainSide:
    """A plain side times the number of parts before it, as in 12 layers of 7,087,872 = 85,054,464, or ``first``."""
    several = None if first.is_calculation or first.is_shape else _SEVERAL.search(before)
    if several is None:
        return first
    number = in_digits(several["number"])
    return first._replace(value=number * first.value, reach=number * first.reach, rough=number * first.rough)


def _is_multiple(first: ChainSide, stated: ChainSide) -> bool:
    """Whether two plain numbers are too far apart for a slip. Then words are part of their equation."""
    is_plain = not (first.is_calculation or stated.is_calculation or first.unit or stated.unit or stated.is_percent)
    return is_plain and bool(first.value) and not Fraction(1, 2) < stated.value / first.value < 2


def _amount(text: str) -> Typed | None:
    """Parse an amount; None if it is invalid, such as 1.2345 K, which is not a whole number of parameters."""
    try:
        return typed(text)
    except InputError:
        return None


_RATIO_BEFORE = re.compile(rf"(?P<number>{_TERM.pattern})\s?[:：∶]\s?(?:[^\d:：∶=,;，；。]{{0,40}}\s)?$", re.I)
_FIRST_OF_RATIO = re.compile(rf"\s?[:：∶]\s?{_TERM.pattern}\s?[=≈]")


def is_first_of_ratio(after: str) -> bool:
    """Whether the text after a number makes it the first term of a ratio: 335.1M : 109.5M ≈ 3.06."""
    return bool(_FIRST_OF_RATIO.match(after))


_OF_RATIO = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{1,3})?|0\.[0-9]{0,2}[1-9]")
_RATIO_BEHIND = re.compile(rf"\s?[:：∶]\s?(?P<number>{_OF_RATIO.pattern})(?![0-9,])")


def _judge_proportion(sides: Sequence[ChainSide], before: str, after: str) -> Judged | None:
    """Judge the ratio of two counts, as in 2,362,368 : 4,722,432 = 1 : 2; return None if there is none.

    ``before`` and ``after`` are the texts on both sides of the chain, which contains only the inner two numbers.
    """
    counted, *results = sides
    first, behind = _RATIO_BEFORE.search(before), _RATIO_BEHIND.match(after)
    if first is None or len(results) != 1 or counted.is_calculation or counted.value < _LEAST_PLAIN:
        return None
    written = (results[0].text.strip(), behind["number"] if behind else "1")
    count = _amount(first["number"])
    if not all(map(_OF_RATIO.fullmatch, written)) or count is None or not count.value:
        return None
    ratio, stated = count.value / counted.value, Fraction(written[0]) / Fraction(written[1])
    is_upside_down = stated < 1
    long = written[is_upside_down]
    reach = Fraction(1, 2 * 10 ** len(long.partition(".")[2])) / Fraction(written[not is_upside_down])
    rough = (count.high - count.value) / count.value + counted.reach / counted.value
    compare = 1 / ratio if is_upside_down else ratio
    if abs(compare - (1 / stated if is_upside_down else stated)) <= reach + rough * compare:
        return Judged("right")
    return Judged("wrong", ratio, reasons=(Problem.of(_RATIO_IS, ratio=fixed(ratio, 2)),))


def _in_operations(first: ChainSide, other: ChainSide) -> ChainSide:
    """Convert a side to the unit of the other side: 11.2 GMACs to 22.4 GFLOPs, and 3 × 715 to 2,145 GFLOPs.

    Return the side itself if there is nothing to convert.
    """
    converted = {("MACs", "FLOPs"): Fraction(2), ("FLOPs", "MACs"): Fraction(1, 2)}
    scale = next((factor for units, factor in converted.items() if units == (first.unit, other.unit)), Fraction(1))
    prefix = _PREFIX_OF_OPERATIONS.search(other.text)
    if prefix and first.is_calculation and first.unit is None and first.value * 1000 <= other.value:
        scale = Fraction(1000) ** ("KMGTP".index(prefix[1].upper()) + 1)
    if scale == 1:
        return first
    value, reach, rough = (number * scale for number in (first.value, first.reach, first.rough))
    return first._replace(value=value, reach=reach, rough=rough, unit=other.unit)


_PREFIX_OF_OPERATIONS = re.compile(r"([KMGTP])(?:FLOPs?|MACs?)$", re.I)
_PRODUCT_OF_SIZES, _NEAR_PRODUCTS = re.compile(r"(?P<first>[0-9]{1,6})\s?[×x*]\s?(?P<second>[0-9]{1,6})"), 60


def _product(sizes: re.Match[str]) -> int:
    return int(sizes["first"]) * int(sizes["second"])


def _with_bias(shape: ChainSide) -> Fraction:
    """The parameters of a linear layer, with biases; the last of its two sizes is the number of outputs."""
    return shape.value + int(re.findall("[0-9]+", shape.text)[-1])


_LINEAR = re.compile(r"(?:linear|dense|线性层?|全连接层?)\W{0,3}$", re.I)


def _last_product(sides: tuple[ChainSide, ...]) -> tuple[ChainSide, ...]:
    """Drop the sides before the last step that multiplies the previous result: 4 × 768² = 2.4M × 12 = 28.3M."""
    for index in range(len(sides) - 2, 0, -1):
        step, before = sides[index], sides[:index]
        factors = step.operands if step.is_calculation and _IS_PRODUCT.fullmatch(step.text) else ()
        if len(factors) != _OF_PRODUCT or before[0].letters:
            continue
        shown = _TYPED_FACTOR.match(step.text)
        reach = typed(shown[0]).reach(rounded=True) if shown else Fraction(0)
        if all(abs(side.value - factors[0].value) <= reach + side.reach for side in before):
            return sides[index:]
    return sides


_TYPED_FACTOR = re.compile(r"[0-9][0-9,.]*\s?[KMBG万亿]?")
_LEAST_PLAIN = 1000


def _rounds_vocabulary(side: ChainSide) -> bool:
    """Whether a calculation rounds the vocabulary size to thousands: V × d = 30k × 768, where V is exact."""
    numbers = side.numbers if side.is_calculation and not side.letters else ()
    return any(number >= _LEAST_VOCABULARY and number % 1000 == 0 for number in numbers)


_LEAST_VOCABULARY = 20_000
_OF_PLAIN = 2  # number of sides of a plain equation
_TORN = re.compile(r"[0-9]\s*$|[*×·⋅/^]\s*$")  # the text before the rest of a split calculation: 110 × 1 0 6 × 4 bytes


_JOINED_FACTORS = re.compile(r"[0-9]{5,12}(?:\s*\+\s*[0-9]{5,12}){1,3}")


def _has_lost_signs(calculation: ChainSide, stated: ChainSide) -> bool:
    """Whether a page removed asterisks as markup for emphasis: 30522128 + 128768 is 30522*128 + 128*768."""
    if not _JOINED_FACTORS.fullmatch(calculation.text.strip()):
        return False
    sums = {0}
    for term in re.findall("[0-9]+", calculation.text):
        products = {int(term[:end]) * int(term[end:]) for end in range(2, len(term) - 1) if term[end] != "0"}
        sums = {value + product for value in sums for product in products}
    return any(map(stated.may_mean, sums))


def _is_sum_in_steps(sides: Sequence[ChainSide]) -> bool:
    """Whether each sum continues from the previous sum's last term, not from its total: 1 + 2 * 3 = 6 + 4 = 11."""
    *steps, result = sides
    if any(side.letters for side in steps) or not any(len(_terms(side.text)) > 1 for side in steps[1:]):
        return False
    tolerance = Fraction(1, _RULE_OF_THUMB) if any(side.about for side in sides) else Fraction(0)
    values: list[Fraction] = []
    try:
        for step in steps:
            first, *rest = map(evaluate, _terms(step.text) if step.is_calculation else [f"{step.value}"])
            if values and abs(values[-1] - first) > tolerance * first:
                return False
            values += rest if values else [first, *rest]
    except InputError:
        return False
    apart = abs(sum(values) - result.value)
    return apart <= max(result.rough, tolerance * result.value)


def _goes_on_from_result(sides: Sequence[ChainSide]) -> bool:
    """Whether a later side adds terms to the result before it: 2 * 768 = 1,536 + 768 = 2,304."""
    value, result = sides[0].value, sides[-1]
    for side in sides[1:-1]:
        first = _terms(side.text)[0] if side.is_calculation else f"{side.value}"
        if not re.fullmatch("[0-9]+", first.strip()) or int(first) != value:
            return False
        value = side.value
    return value == result.value


def _terms(text: str) -> list[str]:
    """The terms of a sum; parentheses are part of one term."""
    terms, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "+" and not depth:
            terms.append("")
        else:
            terms[-1] += sign
    return terms


def _agree(value: ChainSide, other: ChainSide) -> bool:
    """Whether a result equals a value, possibly after rounding, truncation or conversion to bytes."""
    if other.unit == "bytes" and value.unit != "bytes":
        return _agree_in_bytes(value, other)
    if _is_near(value, other.value, other.rough):
        return True
    if len(re.sub(r"\D", "", other.text)) >= _DIGITS_OF_DOUBLE and float(value.value) == float(other.value):
        return True  # equal as floats: Python printed the digits
    if other.about and 0 <= value.value - other.value <= 2 * other.reach:
        return True  # truncated: 768 × 3072 ≈ 2.3M
    if (other.about or value.about) and not other.rough and _is_approximate(value.value, other.value):
        return True
    if value.is_calculation and value.reach and value.value < _MOST_WITH_PREFIX <= other.value:
        return any(_is_near_scaled(value, other, scale) for scale in _DECIMAL)
    if other.is_percent and _is_near(value, 100 * other.value, 100 * other.reach):
        return True
    return bool(other.unit is None and value.value < 1 and _is_near(value, other.value, 2 * other.reach))


_DIGITS_OF_DOUBLE = 15


def _are_same_size(size: ChainSide, other: ChainSide) -> bool:
    """Whether two sizes in bytes are the same, in decimal or in binary units: 437.9 MB ≈ 0.408 GB."""
    if size.unit != "bytes" or other.unit != "bytes" or (size.is_calculation and _is_flattened(size)):
        return False
    return any(
        abs(first * size.value - second * other.value) <= second * other.rough + first * size.reach
        for first in size.unit_factors
        for second in other.unit_factors
    )


def _is_flattened(side: ChainSide) -> bool:
    """Whether an exponent may have lost its superscript format: 7×109×4 for 7×10⁹×4."""
    return any(operand.text in ("106", "109", "1012") for operand in side.operands)


def _is_approximate(value: Fraction, other: Fraction) -> bool:
    """Whether a rule of thumb is close to a count: 7,087,872 ≈ 12 × 768²."""
    return abs(value - other) * _RULE_OF_THUMB <= max(value, other)


_RULE_OF_THUMB = 100


def _is_near(value: ChainSide, stated: Fraction, reach: Fraction) -> bool:
    difference = value.value - stated
    return -reach - value.reach <= difference <= max(reach, 2 * reach * (reach < 1)) + value.reach


def _is_near_scaled(value: ChainSide, other: ChainSide, scale: int) -> bool:
    """Whether a sum gives a result if its terms are thousands, millions or billions: 23.4 + 85.1 = 108.5M."""
    return abs(value.value * scale - other.value) <= other.rough + value.reach * scale


def _agree_in_bytes(value: ChainSide, other: ChainSide) -> bool:
    """Whether a size is a count times the bytes per parameter, perhaps divided by a unit prefix."""
    divided = bool(_DIVIDED.search(value.text))
    decimal = _DECIMAL if divided or value.value < _MOST_WITH_PREFIX else ()
    binary = [width * ratio for width in ((1, 2, 4, 8) if divided else (2, 4, 8)) for ratio in _BINARY]
    factors = map(Fraction, (*_WIDTHS, *decimal, *binary))
    return any(abs(value.value * factor - other.value) <= other.rough + value.reach * factor for factor in factors)


_DIVIDED = re.compile(r"/\(?1,?024|/\(?2\^[123]0|/\(?10\^|/\(?1000")
# Bytes per parameter, also with gradients and moments; 1/8 converts bits.
_WIDTHS = (1, 2, 4, 8, 12, 16, Fraction(1, 8))
_DECIMAL = (10**3, 10**6, 10**9)
_BINARY = [Fraction(decimal, 1024**power) for power, decimal in enumerate(_DECIMAL, 1)]
_MOST_WITH_PREFIX = 10**4  # a larger number is not in kilobytes, megabytes or gigabytes


def _disagreement(first: ChainSide, other: ChainSide) -> Judged:
    if other.unit == "bytes" and _is_flattened(first):
        return UNKNOWN
    if other.unit == "bytes" and first.unit is None:
        for power in (2, 3):
            if other.may_mean(first.value * 1000**power / 1024**power):
                return _divided(first.value, other)
    if other.unit == "bytes":
        return _scaled_bytes(first, other) or _other_bytes(first, other) or UNKNOWN
    return _in_binary_millions(first, other) or gives(first.value, _in_full(other))


def _in_full(side: ChainSide) -> str:
    """A side as a reader would write it. A calculation is followed by its value: 12 × 7,675,392 = 92,104,704."""
    if not side.is_calculation or side.letters:
        return shorten(side.text)
    grouped = re.sub("(?<![0-9.])[0-9]{4,}", lambda digits: f"{int(digits[0]):,}", side.text)
    spaced = re.sub(r"\s*([*+])\s*", lambda sign: f" {sign[1]} ".replace("*", "×"), grouped)
    return f"{shorten(spaced)} = {in_words(side.value)}"


def _in_binary_millions(first: ChainSide, other: ChainSide) -> Judged | None:
    """Judge a count that is right if its M means 1,024 · 1,024, as in 23835648 = 22.7 M; otherwise return None."""
    if not _MILLIONS.search(other.text) or not 0 < other.reach * _OF_BINARY <= other.value:
        return None
    if not other.means(first.value * 10**6 / 1024**2):
        return None
    message = N_("This is correct if M means 1,024 · 1,024; in millions, it is {right}.")
    right = f"{fixed(first.value / 10**6, 1)}M"
    return Judged("conditional", first.value, None, (Problem.of(message, right=right),))


# The two meanings of M differ by a twentieth, so the number must be rounded more finely than that.
_MILLIONS, _OF_BINARY = re.compile(r"[0-9]\s?M$"), 50


_SCALED = re.compile(r"/\(?(?:10\^(?P<power>[369])\)?|1e(?P<exponent>[369])|(?P<digits>1000{2,8}))$")


def _scaled_bytes(first: ChainSide, other: ChainSide) -> Judged | None:
    """Judge a size after a calculation that divides by its unit: 32 × 384 × 768 × 4 / 10^9 = 1.19 GB."""
    scaled = _SCALED.search(first.text)
    if scaled is None or not first.operands:
        return None
    scale = 10 ** int(scaled["power"] or scaled["exponent"] or len(scaled["digits"]) - 1)
    unit = re.search(r"([KMG])B", other.text)
    if unit is None or scale != 1000 ** ("KMG".index(unit[1]) + 1):
        return None
    return gives(first.value * scale, shorten(other.text), "bytes")


def _other_bytes(first: ChainSide, other: ChainSide) -> Judged | None:
    """Judge a size that is not the count times the bytes per parameter: 110M × 4 bytes = 44 MB."""
    is_size, width = first.unit == "bytes", min(first.numbers, default=0)
    if len(first.operands) < _OF_PRODUCT or first.value < (LEAST if is_size else _LEAST_COUNT):
        return None
    if (
        not is_size
        and len(first.operands) == _OF_PRODUCT
        and (width not in _WIDTHS or first.value < width * _LEAST_COUNT)
    ):
        return None
    if not (is_size or _IS_PRODUCT.fullmatch(first.text)):
        return None
    sizes = [first.value * factor for factor in ((1,) if is_size else _WIDTHS)]
    for size, unit in product(sizes, other.unit_factors):
        if abs(size - other.value * unit) <= max(other.rough * unit, size * _NEAR_PRODUCT) + first.reach:
            return None
    return gives(first.value, shorten(other.text), "bytes")


_OF_PRODUCT, _NEAR_PRODUCT = 2, Fraction(1, 50)
_LEAST_COUNT, _IS_PRODUCT = 10**6, re.compile(r"[^-+/^]*[*×·⋅xX][^-+/^]*")


def gives(value: Fraction, written: str, unit: Unit | None = None) -> Judged:
    """Return the verdict that a calculation is wrong: its result is ``value``, not ``written``."""
    return Judged("wrong", value, reasons=(Problem.of(_GIVES, value=in_words(value, unit), written=written),))


def _divided(count: Fraction, other: ChainSide) -> Judged:
    reason = Problem.of(_IS_DIVIDED, written=other.text, bytes=in_words(4 * count, "bytes"))
    return Judged("wrong", 4 * count, reasons=(reason,))


def table_in_every_layer(entry: WrittenNumber, vocabulary: int, layers: int) -> Judged | None:
    """Judge a sum that multiplies the word embeddings by the number of layers: L·(12·d² + V·d).

    ``vocabulary`` and ``layers`` are the vocabulary size and the number of layers in the text. Return None for
    other sums.
    """
    side = entry.calculation
    if side is None or not {vocabulary, layers} <= {*side.numbers} or layers < 2:
        return None
    try:
        without, once, without_once = (
            evaluate(_with(_with(side.text, vocabulary, words), layers, times))
            for words, times in ((0, layers), (vocabulary, 1), (0, 1))
        )
    except InputError:
        return None
    table = once - without_once
    if not 0 < without < side.value or side.value - without != layers * table or layers * without_once != without:
        return None
    message = N_(
        "The word embeddings are counted in each of the {layers} layers; if they are counted once, the calculation "
        "gives {right}."
    )
    reason = Problem.of(message, layers=layers, right=in_words(without + table))
    return Judged("wrong", without + table, reasons=(reason,))


def _with(text: str, number: int, value: int) -> str:
    """A calculation with one of its numbers replaced."""
    return re.sub(rf"(?<![0-9.]){number}(?![0-9.])", f"{value}", text)


def is_miscalculated(judged: Judged) -> bool:
    """Whether a verdict says that a calculation has a wrong result, no matter what the result counts."""
    return (
        judged.verdict == "wrong"
        and bool(judged.reasons)
        and judged.reasons[0].message in (_GIVES, _IS_DIVIDED, _RATIO_IS)
    )


def divided_count(entry: WrittenNumber, right_of: Callable[[Fraction], Fraction | None]) -> Judged | None:
    """Judge a count divided by 1,024 · 1,024 and called MB: 75641856 / 1024 / 1024 = 72.1 MB.

    ``right_of`` returns the right value of an earlier number in the text, or None if the number does not occur earlier.
    Return None unless the size is such a quotient of an earlier number.
    """
    stated = entry.stated
    if stated.unit != "bytes" or len(entry.sides) < 2:
        return None
    value = entry.sides[-2].value
    for count in (number for side in entry.sides[:-1] for number in side.numbers):
        right = right_of(count) if abs(count / 2**20 - value) * 2**20 < 1 else None
        if right is not None:
            return _divided_further(_divided(count, stated), right)
    return None


def _divided_further(judged: Judged, right: Fraction) -> Judged:
    """Correct the verdict on the bytes of a count that is itself wrong; ``right`` is the right count."""
    if judged.right_value == 4 * right:
        return judged
    message = N_("The parameter count is wrong as well: the correct count, {count}, takes {bytes}.")
    reason = Problem.of(message, count=in_words(right), bytes=in_words(4 * right, "bytes"))
    return judged._replace(right_value=4 * right, reasons=(*judged.reasons, reason))


_SEVERAL = re.compile(
    rf"(?<![\w.,-])(?P<number>[0-9]{{1,3}}|{'|'.join(NUMBER_WORDS)})"
    r"(?:[ -](?:[^\W\d][\w-]{1,20} ){1,4}(?:of|with|having|at)(?: about)?"
    r"|\s?个?[^\W\d]{1,16}[,，]?(?:每层|每个|各)(?:有|是)?)\s?[*`]{0,2}$",
    re.I,
)
_MAKE = re.compile(
    r"[*`]{0,2}\s?(?:(?:parameters?|params|weights) ?)?(?:each ?)?[,，:：]? ?(?:(?:which|that|and|so|they) ?)?"
    r"(?:(?P<make>makes?|gives?|equals?|is|are|yields?|come to|add up to|sum to|together|altogether"
    r"|in total|总共|一共|共|合计)"
    r"(?: have| is|有|是|为)?)?[:：]? ?[*`]{0,2}",
    re.I,
)
_IN_TOTAL = re.compile(
    r"[*`]{0,2}\s?(?:(?:parameters?|params|weights) ?)?(?:in total|together|altogether|in all)\b", re.I
)
_MOST_APART = 4


def judge_several(before: str, value: Fraction, between: str, after: str, total: Fraction) -> Judged | None:
    """Judge a number that should be a multiple of the previous number; return None if no words say so.

    ``before`` are the words before ``value``, ``between`` the words from ``value`` to ``total``, and ``after`` the
    words after ``total``.
    """
    several = _SEVERAL.search(before)
    make = _MAKE.fullmatch(between) if several else None
    if several is None or make is None or not (make["make"] or _IN_TOTAL.match(after)) or value < LEAST:
        return None
    product = in_digits(several["number"]) * value
    if is_far(total, product, _MOST_APART):
        return None
    return Judged("right") if total == product else gives(product, in_words(total))
