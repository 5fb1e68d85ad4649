"""Find the numbers and calculations in a text, with their values, positions, and the words around them.

>>> [entry] = find("attention: 4 * (768*768 + 768) = 2,362,368 parameters", {})
>>> [int(side.value) for side in entry.sides], entry.before, entry.after
([2362368, 2362368], 'attention:', 'parameters')
>>> [int(entry.value) for entry in find("110M, with 12 layers; 1.1亿", {})]
[110000000, 12, 110000000]
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.typos import is_slip
from bertcalc.text.amounts import Typed, Unit, typed
from bertcalc.text.arithmetic import LONGEST, evaluate
from bertcalc.text.problem import InputError

PRIMES = ("'", "′", "’")


class Operand(NamedTuple):
    """A number in a calculation, and its position."""

    value: Fraction
    text: str
    start: int
    end: int


class ChainSide(NamedTuple):
    """One side of an equals sign: a calculation, a shape or an amount.

    ``reach`` is its largest possible rounding error. ``rough`` is the same error if trailing zeros are not significant,
    so it is at least ``reach``.
    """

    value: Fraction
    start: int
    end: int
    text: str
    operands: tuple[Operand, ...] = ()
    reach: Fraction = Fraction(0)
    rough: Fraction = Fraction(0)
    unit: Unit | None = None
    is_calculation: bool = False
    is_shape: bool = False
    letters: bool = False  # whether it contains letters for sizes, such as H
    about: bool = False  # whether it follows ≈
    is_decimal: bool = False  # a decimal or a percentage, not a count

    def means(self, count: Fraction | int) -> bool:
        """Whether a count equals the number or rounds to it."""
        return abs(count - self.value) <= self.reach

    def may_mean(self, count: Fraction | int, factor: Fraction | int = 1) -> bool:
        """Whether a count rounds to ``factor`` times the number if trailing zeros are not significant."""
        return abs(count - factor * self.value) <= factor * self.rough

    @property
    def unit_factors(self) -> tuple[Fraction, ...]:
        """The factors by which the unit may scale a size: 1, and for MB also MiB / MB, since MB often means MiB."""
        written = " ".join(operand.text for operand in self.operands) if self.is_calculation else self.text
        unit = re.search(r"([kmgt])i?b\b", written, re.I)
        power = "kmgt".index(unit[1].lower()) + 1 if unit else 0
        return (Fraction(1), Fraction(1024, 1000) ** power) if power else (Fraction(1),)

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """The values of its operands, in order."""
        return tuple(operand.value for operand in self.operands)

    @property
    def counts_parameters(self) -> bool:
        """Whether it has no unit other than parameters."""
        return self.unit in (None, "parameters")

    @property
    def is_percent(self) -> bool:
        return self.text.endswith("%")

    @property
    def typed(self) -> Typed:
        return Typed(self.value, self.value - self.reach, self.value + self.reach, self.unit)

    @property
    def line(self) -> TypedLine:
        """The line of a hand count with only this number."""
        return TypedLine("", self.text, self.value, None, self.reach, self.rough)


class WrittenNumber(NamedTuple):
    """A number or a chain of equal sides, with the words before and after it and its line number."""

    sides: tuple[ChainSide, ...]
    before: str
    after: str
    line: int
    cells: tuple[str, ...] = ()  # the cells of its row, if it is in a table
    column: int = 0  # the index of its cell in the row

    @property
    def start(self) -> int:
        return self.sides[0].start

    @property
    def end(self) -> int:
        return self.sides[-1].end

    @property
    def stated(self) -> ChainSide:
        """The side that states the result: the last side."""
        return self.sides[-1]

    @property
    def best(self) -> ChainSide:
        """The most precise side: an exact side without a unit of bytes or operations, or else the last side.

        If the last side only rounds the amount before it, that amount is the most precise side.
        """
        exact = [side for side in self.sides if not side.reach and side.counts_parameters]
        if exact:
            return exact[-1]
        before, stated = self.sides[-2:] if len(self.sides) > 1 else (self.stated, self.stated)
        restated = not before.is_calculation and before.unit == stated.unit and 0 < before.reach < stated.reach
        return before if restated else stated  # as in 6,907M ≈ 7B

    @property
    def value(self) -> Fraction:
        return self.stated.value

    @property
    def numbers(self) -> frozenset[Fraction]:
        """The values of the operands of all sides."""
        return frozenset(number for side in self.sides for number in side.numbers)

    @property
    def calculation(self) -> ChainSide | None:
        """The first side that is a calculation; None if there is none."""
        return next((side for side in self.sides if side.is_calculation), None)

    @property
    def factors(self) -> tuple[Fraction, ...]:
        """The values of the operands of its calculations, in order."""
        return tuple(number for side in self.sides if side.is_calculation for number in side.numbers)

    @property
    def computes(self) -> bool:
        """Whether it contains a calculation or a shape."""
        return any(side.is_calculation or side.is_shape for side in self.sides)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int
    amount: Typed | None = None


_DIGITS = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,9}(?![0-9,]*,[0-9]{1,2}(?![0-9]))|[0-9]{1,3}(?:[_'][0-9]{3})+(?![0-9])"
    r"|[0-9]{1,3}(?:[ ][0-9]{3}){2,3}(?![0-9])|[0-9]{1,4}(?:,[0-9]{4}){2,3}(?![0-9])|[0-9]{1,60}+)"
    r"(?:\.[0-9]{1,60})?(?:[eE][+-]?[0-9]{1,2}(?![0-9A-Za-z]))?"
)
_SUFFIX = (
    r"(?:\s{0,3}(?:[Mm]illion|[Bb]illion|[Tt]housand|[Tt]rillion|mio|mln|bn)\b(?:\s(?:bytes|FLOPs|MACs)\b)?"
    r"|\s{0,3}(?:[kKMGTP]?(?:FLOPs?|FLOPS|MACs?)|[kKMGT]i?B|[kmg]b(?=\s?/|\s?per\b)|[kKMGTB]|(?<=[0-9]{8})b|bytes?)(?![A-Za-z0-9_])"
    r"|\s?(?:[十百千万亿]{1,2}(?:[0-9]{1,4}[百千万]{0,2}){0,3})(?:\s?字节)?|\s{0,9}字节|\s?(?:%|percent(?!age)\b|per\scent\b))"
)
_TOKEN = re.compile(
    rf"""(?P<comment>(?<=[\w)])[ \t]{{0,40}}(?:\#|//)[ \t]?(?:=>?[ \t]?)?(?=[0-9]))
    |(?P<which>[,，][ ]?(?:也就是|就是|即|which[ ]is|that[ ]is|that's|i\.e\.,?)[ ]?(?=[0-9]))
    |(?P<skip>(?<![\d.])[0-9]{{1,20}}(?:\.[0-9]{{1,20}}){{2,10}}|(?<![\d])[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?![\d])
        |\#[0-9]+|\barXiv:?\s?[0-9]{{4}}\.[0-9]{{4,5}})
    |(?P<shape>(?:torch\.Size\s?\(\s?)?\[\s?[0-9]{{1,7}}(?:\s?,\s?[0-9]{{1,7}}){{0,5}},?\s?\](?:\s?\))?
        |\(\s?[0-9]{{1,7}}(?:\s?,\s[0-9]{{1,7}}){{1,5}}\s?\))
    |(?P<equals>={{1,2}}\s?[≈~]?|[≈≃]|->|→|⇒)
    |(?P<operator>(?<=[\d)）\]\s])[xX](?=\s?~?[\d(])|(?<=[0-9)])\s?x\s?(?=[0-9(])|(?<=[A-Z)0-9]\s)x(?=\s[A-Z(])|\*\*|[-+*/^×·⋅∙÷−⁰¹²³⁴⁵⁶⁷⁸⁹])
    |(?P<name>size(?=[0-9]{{2}})|(?<!['"‘’`])[A-Za-z]{{1,2}}['′’](?![\w'])|[A-Za-z_][A-Za-z0-9_]{{0,200}}+(?:[-.][A-Za-z0-9_]{{1,200}})*+)
    |(?P<number>(?:{_DIGITS})(?P<suffix>{_SUFFIX})?)
    |(?P<bracket>[()])
    |(?P<word>[㐀-鿿]+)
    |(?P<bar>\|)
    |(?P<other>\S)""",
    re.X,
)
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]")
_ARROWS = ("->", "→", "⇒")
_MOST_TOKENS, _DEEPEST = 200, 8  # maximum number of tokens in a calculation; maximum depth of its parentheses
_LONGEST_LINE = 4000


def find(text: str, letters: Mapping[str, int], bound: Collection[str] = ()) -> list[WrittenNumber]:
    """Find all numbers and calculations in a text; ``letters`` maps the letters in calculations (also H') to sizes.

    ``bound`` are the letters that the text itself defines.
    """
    entries: list[WrittenNumber] = []
    start = 0
    for number, line in enumerate(text.split("\n")):
        for first in range(0, len(line), _LONGEST_LINE):
            entries += _of_line(line[first : first + _LONGEST_LINE], start + first, number, letters, bound)
        start += len(line) + 1
    return entries


def _with_products(line: str) -> str:
    """Rewrite a line, without changing its length, so that its calculations can be read.

    The shapes in a sum become products, as in (2, 768) + (768) * 2, and [...] * 12 becomes (...) * 12. Spaces replace
    the time stamps in a log, and the calculation of a term that already has a result: 4,718,592 (3072*768*2) + 768, or
    2,359,296 + (768*4=3072).
    """
    line = _COMPUTED_TERM.sub(_without_calculation, line)
    line = _RESULT_IN_BRACKETS.sub(_without_sides, line)
    line = _LIST_OF_SHAPES.sub(_as_sum, line)
    line = _TIME.sub(lambda time: " " * len(time[0]), line)
    line = _FACTOR_IN_BRACKETS.sub(lambda factor: f"({factor['inside']})", line)
    return _SHAPE_IN_SUM.sub(lambda shape: shape[0].replace(",", "*"), line)


def _without_calculation(term: re.Match[str]) -> str:
    try:
        is_result = evaluate(term["calculation"], {}) == int(term["value"].replace(",", ""))
    except InputError:
        return term[0]
    return f"{term['value']}{' ' * (len(term[0]) - len(term['value']))}" if is_result else term[0]


def _as_sum(shapes: re.Match[str]) -> str:
    """Rewrite a list of shapes, such as [768, 3072], [3072], as an equally long sum of products."""
    inside = re.sub(r"\[[^\]]*\]", lambda shape: f"({shape[0][1:-1].replace(',', '*')})", shapes[0])
    return re.sub(r"\),", ")+", inside)


_LIST_OF_SHAPES = re.compile(r"(?:\[[0-9][0-9, ]{1,30}\], ?){1,5}\[[0-9][0-9, ]{1,30}\](?=\)?\s{0,3}=>? ?[0-9])")


def _without_sides(brackets: re.Match[str]) -> str:
    try:
        is_result = evaluate(brackets["calculation"], {}) == int(brackets["value"].replace(",", ""))
    except InputError:
        return brackets[0]
    return f"({brackets['value']:>{len(brackets[0]) - 2}})" if is_result else brackets[0]


_RESULT_IN_BRACKETS = re.compile(
    r"[(（](?P<calculation>[0-9][0-9 ]{0,9}[*×·+][0-9 *×·+]{1,60})=\s?(?P<value>[0-9][0-9,]{1,14})[)）](?=\s?[+=])"
)
_COMPUTED_TERM = re.compile(
    r"(?<![0-9,.])(?P<value>[0-9][0-9,]{3,14})\s?"
    r"[(（](?P<calculation>[0-9][0-9 ]{0,9}[*×·+][0-9 *×·+]{1,60})[)）](?=\s?[+=])"
)
_SIZES_OF_SHAPE = r"(?<![A-Za-z_])[(（][0-9]{1,6}, ?[0-9]{1,6}[)）]"
_TIME = re.compile(r"(?<![0-9:])[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,6})?(?![0-9:])")  # a time stamp
_FACTOR_IN_BRACKETS = re.compile(r"\[(?P<inside>[0-9\s()*×·+^-]{3,200}[*×·+][0-9\s()*×·+^/-]{1,200})\](?=\s?[*×·])")
_SHAPE_IN_SUM = re.compile(rf"{_SIZES_OF_SHAPE}(?= ?[+])|(?<=[+]){_SIZES_OF_SHAPE}|(?<=[+] ){_SIZES_OF_SHAPE}")


def _of_line(
    line: str, offset: int, number: int, letters: Mapping[str, int], bound: Collection[str]
) -> Iterator[WrittenNumber]:
    if not any(map(str.isdigit, line)) and "=" not in line and not _PRODUCT_OF_LETTERS.search(line):
        return
    tokens = [_token(match) for match in _TOKEN.finditer(_with_products(line))]
    chains = [sides for sides in _chains(tokens, letters, bound) if not _is_word(sides, line)]
    cells = cells_of(line)
    sizes = frozenset(letters.values())
    weighty = [sides for sides in chains if not _is_minor(sides, sizes)]
    before_at = {id(sides): last[-1].end for last, sides in pairwise(weighty)}
    after_at = {id(sides): following[0].start for sides, following in pairwise(weighty)}
    named = ""
    for sides in chains:
        before = line[before_at.get(id(sides), 0) : sides[0].start]
        named = before if not _COMPARED.fullmatch(before) else f"{named}{before}"
        after = line[sides[-1].end : after_at.get(id(sides), len(line))]
        column = line.count("|", 0, sides[0].start)
        placed = tuple([_placed(side, offset) for side in sides])
        yield WrittenNumber(placed, named.strip(), after.strip(), number, cells, column)


def _is_word(sides: Sequence[ChainSide], line: str) -> bool:
    """Whether a formula in letters without an operator is a word or a duration: AI, HP, IA³, 4h."""
    [side, *others] = sides
    is_formula = others or not side.letters or line[side.start - 1 : side.start] in ("$", "`")
    return not is_formula and bool(_WORD_OF_LETTERS.fullmatch(line[side.start : side.end]))


_WORD_OF_LETTERS = re.compile(r"[0-9]{0,4}[A-Za-z]{1,2}|[A-Za-z]{2}[²³]")
_PRODUCT_OF_LETTERS = re.compile(r"(?<![A-Za-z])[A-Za-z]\s?[*×·]\s?[(A-Za-z](?![A-Za-z*])|(?<![A-Za-z])[A-Z][²³]")

# Text between two numbers for the same quantity: 85,054,464 -> 42,527,232.
_COMPARED = re.compile(r"\s*(?:->|→|⇒|vs\.?|versus|到|变为|降到|降至)\s*")


def _is_minor(sides: Sequence[ChainSide], sizes: Collection[int]) -> bool:
    """Whether a number is small, a shape, or a size or version of a model (12 layers, 7B).

    Words before such a number may belong to the next number.
    """
    only = sides[0]
    if len(sides) == 1 and not (only.is_calculation or only.unit or only.is_decimal) and only.value in sizes:
        return True
    if only.is_decimal and only.is_percent:
        return False
    if len(sides) == 1 and only.is_shape:
        return True  # a number after a shape counts the same tensor
    if len(sides) == 1 and re.fullmatch(r"[0-9.]{1,5} ?B", only.text):
        return True  # the name of a model: 7B
    return len(sides) == 1 and not (only.is_calculation or only.is_shape or only.unit) and only.value < 1000


def cells_of(line: str) -> tuple[str, ...]:
    """The cells of a table row; empty if the line is not a row."""
    return tuple(cell.strip() for cell in line.split("|")) if line.count("|") > 1 or "\t" in line else ()


def _placed(side: ChainSide, offset: int) -> ChainSide:
    operands = tuple(
        operand._replace(start=operand.start + offset, end=operand.end + offset) for operand in side.operands
    )
    return side._replace(start=side.start + offset, end=side.end + offset, operands=operands)


def _token(match: re.Match[str]) -> _Token:
    kind = match.lastgroup or "number"
    kind = "number" if match["number"] else kind
    token = _Token(kind, match[0], match.start(), match.end())
    if kind != "number":
        return token
    if match["suffix"] and _PERCENT.fullmatch(match["suffix"]):
        return token._replace(kind="percent", text=_PERCENT.sub("%", match[0]))
    if _BYTES.fullmatch(match[0]):
        return token._replace(amount=_typed(match[0][:-1].strip() + " bytes"))
    try:
        return token._replace(amount=_typed(match[0]))
    except InputError:
        return token._replace(kind="decimal" if re.fullmatch(r"[0-9,]*\.[0-9]+", match[0]) else "other")


_PERCENT = re.compile(r"\s?(?:%|per\s?cent)$")
_BYTES = re.compile(r"[0-9]{1,3}(?:,[0-9]{3}){1,5}\s?B|[0-9]{6,18}\s?B|[0-9]{8,18}b")  # B means bytes: 440,473,133 B
_typed = lru_cache(maxsize=4096)(typed)


def _chains(
    tokens: Sequence[_Token], letters: Mapping[str, int], bound: Collection[str]
) -> Iterator[tuple[ChainSide, ...]]:
    index = 0
    while index < len(tokens):
        side, end = _side(tokens, index, letters)
        if side is None:
            index = max(end, index + 1)
            continue
        if side.is_calculation and index and tokens[index - 1].text == "[" and tokens[end : end + 1]:
            end += tokens[end].text == "]"  # a shape: [30522 × 768] = 23.4M
        sides = [side]
        while (
            not _is_last_term(tokens, index, side)
            and end + 1 < len(tokens)
            and (
                tokens[end].kind == "equals"
                or _is_comment_on(side, tokens, end)
                or _is_in_words(side, tokens, end)
                or _in_next_cell(tokens, index, end, letters)
            )
        ):
            if tokens[end].text in _ARROWS and not (sides[-1].is_shape or sides[-1].is_calculation):
                break
            following, after = _side(tokens, end + 1, letters)
            if following is None or (following.is_shape and tokens[end].text in _ARROWS):
                break
            if following.is_decimal and following.is_percent and sides[-1].value > _MOST_OF_WHOLE:
                break  # the share of a count: 38.6M of 124M ≈ 31%
            plain = re.fullmatch(r"([0-9][0-9,]*)\s?B", following.text) if side.is_calculation else None
            if plain and (side.unit == "bytes" or side.value == int(plain[1].replace(",", ""))):
                value = _typed(f"{following.text[:-1].strip()} bytes").value  # B means bytes: 16 × 128 × 2B = 4096B
                following = following._replace(value=value, reach=Fraction(0), rough=Fraction(0), unit="bytes")
            sides.append(following._replace(about=bool(re.search("[≈≃~]", tokens[end].text))))
            end = after
        index = end
        yield from _worthwhile(sides, bound)


_MOST_OF_WHOLE = Fraction(3, 2)  # a larger value is a count, not a ratio that a percentage can repeat


def _is_comment_on(side: ChainSide, tokens: Sequence[_Token], index: int) -> bool:
    """Whether a comment after a calculation is only its result: 4 * (768 * 768 + 768)  # 2,362,368.

    The comment may also repeat a sum with calculated terms: 30522 * 768 + 512 * 768  # 23,440,896 + 393,216 = ...
    """
    if tokens[index].kind != "comment" or not side.is_calculation:
        return False
    repeated, after = _side(tokens, index + 1, {})
    if repeated and repeated.is_calculation and not side.letters and "(" not in side.text:
        is_result = tokens[after : after + 1] and tokens[after].kind == "equals"
        return bool(is_result) and 0 < side.text.count("+") == repeated.text.count("+") == len(repeated.operands) - 1
    amount = tokens[index + 1].amount
    is_last = index + 2 == len(tokens) or tokens[index + 2].text in ("parameters", "params", "weights", "per", ")")
    return is_last and amount is not None and amount.value >= _LEAST_IN_COMMENT


_LEAST_IN_COMMENT = 1000


def _is_in_words(side: ChainSide, tokens: Sequence[_Token], index: int) -> bool:
    """Whether words introduce the result of a calculation: 30522 × 768, that is 23,440,896."""
    amount = tokens[index + 1].amount
    is_result = tokens[index].kind == "which" and side.is_calculation and not side.letters
    return is_result and amount is not None and amount.unit is None and amount.value >= _LEAST_IN_COMMENT


def _in_next_cell(tokens: Sequence[_Token], first: int, end: int, letters: Mapping[str, int]) -> bool:
    """Whether a calculation fills a table cell and its result the next cell: | 2*768*3072 | 4,718,592 |."""
    if tokens[end].kind != "bar" or not first or tokens[first - 1].kind != "bar":
        return False
    side, after = _side(tokens, end + 1, letters)
    if side is None or side.is_calculation or side.is_shape or side.letters or after >= len(tokens):
        return False
    computed, _after = _side(tokens, first, letters)
    if computed is None or not computed.is_calculation or tokens[after].kind != "bar":
        return False
    if side.unit == "bytes":  # a count divided by 1024² may be called MB; other sizes belong to another column
        return side.may_mean(computed.value * 10**6 / 1024**2)
    return side.may_mean(computed.value) or not _may_be_apart(computed, side)


def _may_be_apart(computed: ChainSide, side: ChainSide) -> bool:
    """Whether a cell may be independent of the previous cell: a size, the count of one layer, or not a count at all."""
    if not side.counts_parameters or computed.value < _LEAST_IN_CELLS or side.value < _LEAST_IN_CELLS:
        return True
    ratio = max(computed.value, side.value) / min(computed.value, side.value)
    return len(computed.operands) < 3 or computed.letters or ratio.denominator == 1


_LEAST_IN_CELLS = 10_000  # smaller numbers in a table are sizes, not counts


def _worthwhile(sides: Sequence[ChainSide], bound: Collection[str]) -> Iterator[tuple[ChainSide, ...]]:
    """Yield the chain without the formulas in letters that disagree with its numbers; yield nothing for a range."""
    numeric = [side for side in sides if not side.letters]
    if not numeric and len({side.value for side in sides}) > 1 and not _are_sums(sides):
        sides = sides[:1]  # a definition: keep only its left side
    kept = [
        side
        for side in sides
        if not side.letters
        or not numeric
        or any(other.means(side.value) or _is_mistyped(side, other) for other in numeric)
        or _is_bound(side, numeric, bound)
    ]
    if len(kept) == 1 and kept[0].is_calculation and _is_range(kept[0]):
        return
    if kept:
        yield tuple(kept)


def _is_mistyped(formula: ChainSide, other: ChainSide) -> bool:
    """Whether a result equals the value of a formula in letters except for two exchanged digits."""
    long = formula.value.denominator == other.value.denominator == 1 and other.value >= _LEAST_OF_WHOLE
    exchanged = long and sorted(str(formula.value)) == sorted(str(other.value))
    return exchanged and is_slip(int(other.value), int(formula.value))


def _are_sums(sides: Sequence[ChainSide]) -> bool:
    """Whether all sides are sums in the same letters and must therefore agree: 12d² + 13d + 2d = 12d² + 15d."""
    return len({_letters_in(side) for side in sides}) == 1 and all("+" in side.text for side in sides)


def _is_bound(side: ChainSide, numeric: Sequence[ChainSide], bound: Collection[str]) -> bool:
    """Whether a formula in letters is certainly about the number beside it, although their values differ.

    The text must define all letters of the formula, or the formula must be for a whole model: 12·L·d² + 2·V·d ≈ 124M.
    """
    low, high = sorted((side.value, numeric[0].value))
    letters = _letters_in(side)
    if len(numeric) > 1 or low < _LEAST_OF_BOUND or high >= _MOST_APART * low or (high / low).denominator == 1:
        return False
    is_whole = {"V", "H", "L"} <= letters and low >= _LEAST_OF_WHOLE and high / low > _LEAST_APART
    return is_whole or (letters <= set(bound) and not numeric[0].may_mean(side.value))


_LEAST_OF_BOUND, _LEAST_OF_WHOLE = 10**4, 10**6
_LEAST_APART, _MOST_APART = Fraction(51, 50), 3


def _letters_in(side: ChainSide) -> frozenset[str]:
    return frozenset(re.findall("[A-Z]", side.text))


def _is_range(side: ChainSide) -> bool:
    return len(side.operands) == 2 and not re.search(r"[*×·^+xX⋅]", side.text)


def _side(tokens: Sequence[_Token], index: int, letters: Mapping[str, int]) -> tuple[ChainSide | None, int]:
    """The side of a chain that begins at a token (None if there is none), and the index of the next token."""
    token = tokens[index]
    if token.kind == "shape":
        sizes = [int(size) for size in re.findall("[0-9]+", token.text)]
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if not (len(sizes) == 1 and re.fullmatch(r"[-+*/^×·]", following)):
            return ChainSide(Fraction(prod(sizes)), token.start, token.end, token.text, is_shape=True), index + 1
    if token.kind in ("decimal", "percent") and not _is_factor(tokens, index):
        value, reach = _decimal(token)
        side = ChainSide(value, token.start, token.end, token.text, reach=reach, rough=reach, is_decimal=True)
        return side, index + 1
    if token.kind not in ("number", "bracket", "name", "word", "decimal", "percent"):
        return None, index + 1
    if token.kind == "number" and _is_part_of_word(tokens, index):
        return None, index + 1
    return _CalculationReader(tokens, index, letters).side()


def _decimal(token: _Token) -> tuple[Fraction, Fraction]:
    """The value of a decimal or a percentage, and half a unit in its last digit."""
    text = re.sub("[,%\\s]", "", token.text)
    scale = 100 if token.kind == "percent" else 1
    return Fraction(text) / scale, Fraction(1, 2 * 10 ** len(text.partition(".")[2])) / scale


def _is_factor(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a decimal or a percentage is multiplied by the next operand, or added to it: 0.4 × 28.3M."""
    following = tokens[index + 1 : index + 3]
    goes_on = len(following) == 2 and following[0].text.strip() in (*_TIMES_SIGNS, "+")
    return goes_on and following[1].kind in ("number", "bracket", "decimal")


def _is_operand(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a decimal or a percentage is part of a calculation."""
    return _is_factor(tokens, index) or (index > 0 and tokens[index - 1].text.strip() in (*_TIMES_SIGNS, "+", "("))


def _is_part_of_word(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a number belongs to the word before it, as in 第13层. Names such as GPT-2 and v2 are single tokens."""
    before = tokens[index - 1] if index else None
    return bool(before and before.end == tokens[index].start and (before.text.endswith(("第", "_"))))


class _Written(NamedTuple):
    """How far a calculation has been read: its numbers of pieces (for ``evaluate``) and operands, and its end."""

    pieces: int
    operands: int
    after: int  # the index of the next token
    end: int


class _CalculationReader:
    """The longest calculation that begins at a token; a single amount also counts as one."""

    def __init__(self, tokens: Sequence[_Token], first: int, letters: Mapping[str, int]) -> None:
        self._tokens, self._letters = tokens, letters
        self._first = self._index = first
        self._start = tokens[first].start
        self._pieces: list[str] = []  # the text for ``evaluate``
        self._operands: list[Operand] = []
        self._amounts: list[Typed] = []
        self._depth, self._is_complete, self._has_letters = 0, False, False
        self._best: _Written | None = None
        while self._index < min(len(tokens), self._first + _MOST_TOKENS) and self._reads(tokens[self._index]):
            pass

    def _reads(self, token: _Token) -> bool:
        """Read a token, or skip words that are not part of the calculation; return False at its end."""
        if not self._takes(token):
            after = self._after_words(token)
            self._index = after or self._index
            return bool(after)
        self._index += 1
        if self._is_complete and not self._depth:
            self._best = _Written(len(self._pieces), len(self._operands), self._index, token.end)
        return True

    def _takes(self, token: _Token) -> bool:
        """Whether a token belongs to the calculation; if so, it is added."""
        tokens, index, complete = self._tokens, self._index, self._is_complete
        spelled = _letters(tokens, index, self._letters) if token.kind == "name" else ""
        if not complete and token.kind == "number" and token.amount:
            amount = _bytes_of_each(tokens, index, self._operands) or token.amount
            whole = amount.value.denominator == 1
            self._add(token, amount, f"{amount.value.numerator}" if whole else _quotient(amount.value))
        elif not complete and token.kind in ("decimal", "percent") and _is_operand(tokens, index):
            value, reach = _decimal(token)
            self._add(token, Typed(value, value - reach, value + reach, None), _quotient(value))
        elif spelled and (not complete or token.start == tokens[index - 1].end or _is_spaced(tokens, index)):
            self._pieces.append(("*" if complete else "") + spelled)
            self._has_letters = self._is_complete = True
        elif not complete and token.text == "(" and self._depth < _DEEPEST:
            self._open("(")
        elif complete and token.kind == "operator" and _SUPERSCRIPT.fullmatch(token.text):
            self._pieces.append(f"^{'⁰¹²³⁴⁵⁶⁷⁸⁹'.index(token.text)}")
        elif complete and token.kind == "operator":
            self._pieces.append("*" if token.text.strip() in "xX" else token.text)
            self._is_complete = False
        elif complete and token.text == ")" and self._depth:
            self._depth -= 1
            self._pieces.append(")")
        elif complete and token.text == "(" and self._multiplies(token):
            self._open("*(")
        else:
            return False
        return True

    def _add(self, token: _Token, amount: Typed, piece: str) -> None:
        self._pieces.append(piece)
        self._operands.append(Operand(amount.value, token.text, token.start, token.end))
        self._amounts.append(amount)
        self._is_complete = True

    def _open(self, piece: str) -> None:
        self._pieces.append(piece)
        self._depth, self._is_complete = self._depth + 1, False

    def _multiplies(self, token: _Token) -> bool:
        """Whether the factor in a parenthesis follows without a sign: 4 (768^2 + 768), (a + b)(c + d)."""
        is_behind = token.start == self._tokens[self._index - 1].end and self._pieces[-1] == ")"
        is_factor = is_behind and not _note(self._tokens, self._index)
        return _is_multiplied(self._tokens, self._index) or is_factor

    def _after_words(self, token: _Token) -> int:
        """The index after words that are not part of the calculation; 0 if there are none."""
        tokens, index = self._tokens, self._index
        if not self._is_complete and index > self._first:
            # A rounded factor: 12 × ~7.1M; a noun before the terms in parentheses: embedding(768*2)
            return index + 1 if token.text == "~" else _heading(tokens, index) or _named_factor(tokens, index)
        if not self._is_complete:
            if token.kind not in ("name", "word") or not _opens_sum(tokens, index + 1):
                return 0
            self._first = index + 1
            self._start = tokens[index + 1].start if _INTRODUCES.search(token.text) else self._start
            return index + 1
        note = _note(tokens, index) if token.text == "(" else 0
        after = note or _noun(tokens, index)
        if after and self._best and not self._depth and (note or tokens[after].kind == "equals"):
            self._best = self._best._replace(after=after)
        return after

    def side(self) -> tuple[ChainSide | None, int]:
        """The calculation as a side of a chain (None if there is none), and the index of the next token."""
        best, tokens, first = self._best, self._tokens, self._first
        if best is None:
            return None, first + 1
        if _is_cut(tokens, first, best.after) and not (best.pieces == 1 and _goes_on_with_words(tokens, best.after)):
            return None, best.after
        if _ends_with_number_of(tokens, best.after):
            return None, best.after
        inside = tuple(self._operands[: best.operands])
        text = "".join(self._pieces[: best.pieces])
        if tokens[first].text == "(" and len(inside) == 1 and not re.search(r"[-+*^]", text):
            return None, first + 1  # a number in parentheses is read without them
        if best.pieces == 1 and len(inside) == 1:
            only, start = self._amounts[0], self._start
            reach, rough = only.high - only.value, only.reach(rounded=True)
            return ChainSide(only.value, start, best.end, inside[0].text, inside, reach, rough, only.unit), best.after
        if not inside or (self._has_letters and not re.search(r"[*+/^-]", text)):
            # VH is a product, but (HA) may be a fraction without its bar.
            between = tokens[first : best.after]
            in_brackets = tokens[first].text == "(" and not any(token.kind == "operator" for token in between)
            if not self._has_letters or in_brackets or (best.pieces == 1 and "*" not in text):
                return None, best.after
            return self._evaluated(text, best.end, ()), best.after
        return self._evaluated(text, best.end, inside), best.after

    def _evaluated(self, text: str, end: int, operands: tuple[Operand, ...]) -> ChainSide | None:
        if len(text) > LONGEST:
            return None
        try:
            value = evaluate(text, self._letters)
        except InputError:
            return None
        amounts = self._amounts[: len(operands)]
        inexact = (
            amount
            for amount, operand in zip(amounts, operands, strict=True)
            if amount.value and not _SCALE.fullmatch(operand.text)
        )
        rounded = [(amount.high - amount.value) / amount.value for amount in inexact]
        reach = abs(value) * sum(rounded, Fraction(0))
        in_bytes = [amount.unit == "bytes" for amount in amounts]
        is_size = "/" not in text and (any(in_bytes) if not re.search("[-+]", text) else in_bytes and all(in_bytes))
        unit: Unit | None = "bytes" if is_size else None
        is_in_letters = self._has_letters
        return ChainSide(
            value, self._start, end, text, operands, reach, reach, unit, is_calculation=True, letters=is_in_letters
        )


_SCALE = re.compile(r"1(?:\.0)?e\+?0?(?:3|6|9|12)", re.I)  # an exact factor: 109482240 * 4 / 1e6


def _quotient(value: Fraction) -> str:
    return f"({value.numerator}/{value.denominator})"


def _bytes_of_each(tokens: Sequence[_Token], index: int, operands: Sequence[Operand]) -> Typed | None:
    """The bytes of a last factor such as 2B in 16 × 128 × 2B; None for 8 × 7B, where B means billions."""
    is_factor = index > 0 and tokens[index - 1].text.strip() in _TIMES_SIGNS
    if not is_factor or not re.fullmatch(r"[1248]\s?B", tokens[index].text):
        return None
    is_many = prod(operand.value for operand in operands) >= _LEAST_OF_NUMBERS
    return _typed(f"{tokens[index].text[0]} bytes") if is_many else None


_TIMES_SIGNS, _LEAST_OF_NUMBERS = ("x", "X", "*", "×", "·", "⋅", "∙"), 100


def _is_spaced(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a letter belongs to the number before it despite a space: 3 H^2."""
    before, following = tokens[index - 1], tokens[index + 1 : index + 2]
    is_number = before.kind == "number" and re.fullmatch("[0-9]{1,2}", before.text)
    return bool(is_number and following and following[0].text in ("^", "²", "**"))


# Words with these endings introduce a calculation and do not name its first term: 参数量为(768*64+64)*3
_INTRODUCES = re.compile("(?:为|是|有|等于|约|共|即|参数量?|数量?)$")


def _beside_operator(tokens: Sequence[_Token], index: int) -> bool:
    """Whether an operator other than a dash follows or precedes a token."""
    beside = (*tokens[max(0, index - 1) : index], *tokens[index + 1 : index + 2])
    return any(token.kind == "operator" and token.text not in "-−" for token in beside)


def _letters(tokens: Sequence[_Token], index: int, letters: Mapping[str, int]) -> str:
    """A name as a product of letters: H*I for HI; empty for words. A and I are words unless an operator is near."""
    token = tokens[index]
    if token.text.endswith(PRIMES):  # a separate letter: beside H, H' is the intermediate size
        before, primed = token.text[:-2].upper(), letters.get(f"{token.text[-2]}'")
        return f"{before}{'*' * len(before)}{primed}" if primed and (not before or before in letters) else ""
    is_word = token.text in ("a", "A", "I", "p", "P") and not _beside_operator(tokens, index)
    if len(token.text) > 2 or is_word:
        return letters_of(token.text)
    if len(token.text) == 2 and not token.text.isupper():
        return ""
    return (
        "*".join(token.text.upper()) if all(sign.upper() in letters for sign in token.text) else letters_of(token.text)
    )


_LONG_LETTERS = {"d_model": "H", "d_ff": "I", "dff": "I", "d": "H", "hidden_size": "H", "vocab_size": "V"}


def letters_of(name: str) -> str:
    """The letter that a name such as d_model stands for; empty for other names."""
    return _LONG_LETTERS.get(name, "")


def _is_cut(tokens: Sequence[_Token], first: int, end: int) -> bool:
    """Whether a calculation has an unreadable operand before or after it: 768 * n_layers."""
    if end < len(tokens) and tokens[end].kind == "operator" and tokens[end].text not in ("-", "−"):
        following = tokens[end + 1 : end + 2]
        amount = tokens[end - 1].amount
        if (
            amount
            and amount.unit == "bytes"
            and tokens[end].text == "/"
            and _PER.fullmatch(following[0].text if following else "")
        ):
            return False
        if following and following[0].kind in ("name", "word", "bracket", "shape"):
            return True
    if first and tokens[first - 1].kind == "operator" and tokens[first - 1].text.strip() in ("x", "X", "×"):
        return True
    if first < 2 or tokens[first - 1].kind != "operator" or tokens[first - 1].text in ("-", "−"):
        return False
    cut = tokens[first - 2]
    return cut.kind in ("name", "word", "number") or cut.text == ")" or bool(_SUPERSCRIPT.fullmatch(cut.text))


def _ends_with_number_of(tokens: Sequence[_Token], end: int) -> bool:
    """Whether a sum ends with the number of things that a later term counts: + 2 LayerNorms (3,072)."""
    last = tokens[end - 1]
    if last.kind != "number" or not re.fullmatch("[0-9]{1,2}", last.text) or tokens[end - 2].text != "+":
        return False
    after = next((place for place in range(end, min(len(tokens), end + 4)) if tokens[place].text == "("), end)
    is_named = after > end and all(token.kind in ("name", "word") for token in tokens[end:after])
    return is_named and [token.kind for token in tokens[after + 1 : after + 2]] == ["number"]


_PER = re.compile(r"(?:tok(?:en)?|layer|head|sequence|seq|request|user|param(?:eter)?|每|词元)s?", re.I)  # 0.5 MB/token


def _named_factor(tokens: Sequence[_Token], index: int) -> int:
    """The index of a number after a times sign and one to three words: × hidden size 768; 0 if there is none."""
    if tokens[index - 1].text.strip() not in _TIMES_SIGNS:
        return 0
    for after in range(index, min(len(tokens), index + 4)):
        if tokens[after].kind == "number":
            return after if after > index else 0
        if tokens[after].kind not in ("name", "word") or len(tokens[after].text) < 3:
            return 0
    return 0


def _is_last_term(tokens: Sequence[_Token], first: int, side: ChainSide) -> bool:
    """Whether an amount is the last term of a sum in words, not a separate side: + pooler 0.6M = 109.5M."""
    if side.is_calculation or side.is_shape:
        return False
    for before in range(first - 1, max(-1, first - 5), -1):
        if tokens[before].kind == "operator" and tokens[before].text not in ("-", "−"):
            return before < first - 1
        if tokens[before].kind not in ("name", "word"):
            return False
    return False


def _goes_on_with_words(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a plus sign and a named number follow an amount: 4,198,400 + feed-forward 8,393,728."""
    if index >= len(tokens) or tokens[index].text != "+":
        return False
    for after in range(index + 1, min(len(tokens), index + 5)):
        if tokens[after].kind == "number":
            return after > index + 1
        if tokens[after].kind not in ("name", "word") and tokens[after].text not in ("-", ":", "："):
            return False
    return False


def _heading(tokens: Sequence[_Token], index: int) -> int:
    """The index of a parenthesis with a number after one to five words: feed forward(768*2); 0 if there is none."""
    for after in range(index, min(len(tokens), index + 5)):
        if tokens[after].kind not in ("name", "word"):
            return 0
        if _opens(tokens, after + 1, spaces=1):
            return after + 1
    return 0


def _opens(tokens: Sequence[_Token], index: int, spaces: int = 0) -> bool:
    """Whether a parenthesis with a number follows after at most ``spaces`` spaces."""
    if index + 1 >= len(tokens) or tokens[index].text != "(":
        return False
    return tokens[index].start - tokens[index - 1].end <= spaces and tokens[index + 1].kind == "number"


def _opens_sum(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a parenthesis with a number follows, and then another term: embedding(768*2) + ffn(768*2)."""
    if not _opens(tokens, index):
        return False
    for offset, token in enumerate(tokens[index : index + 20]):
        if token.text == ")":
            after = index + offset + 1
            return after < len(tokens) and tokens[after].text.strip() in (*_TIMES_SIGNS, "+")
    return False


def _is_multiplied(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a small number multiplies a sum in parentheses that has a result: 4 (768^2 + 768) = 2,362,368."""
    factor = tokens[index - 1]
    if factor.kind != "number" or not re.fullmatch("[0-9]{1,3}", factor.text):
        return False
    inside = tokens[index : index + 20]
    end = next((number for number, token in enumerate(inside) if token.text == ")"), 0)
    following = tokens[index + end + 1 : index + end + 2]
    is_sum = any(token.text == "+" for token in inside[:end])
    return is_sum and bool(following) and following[0].kind in ("equals", "operator")


def _note(tokens: Sequence[_Token], index: int) -> int:
    """The index after a note in parentheses: 21,635,072(token), 768*3072(4H in the paper); 0 if there is none."""
    has_words = False
    for after in range(index + 1, min(len(tokens), index + 12)):
        token = tokens[after]
        if token.text == ")":
            return after + 1 if has_words else 0
        has_words = has_words or token.kind in ("name", "word", "other")
        is_digit = token.kind == "number" and len(token.text) == 1
        if not is_digit and token.kind not in ("name", "word", "other") and token.text != "-":
            return 0
    return 0


_COUNTED = re.compile("(?:heads?|layers?|blocks?|matrices|each|params?|parameters|个?头|个?层)", re.I)


def _noun(tokens: Sequence[_Token], index: int) -> int:
    """The index of the times sign after a number and its noun, as in 12 heads x 64; 0 if there is none.

    A calculation may also end with a noun, as in 3 × 64 × 12 heads = 2304. Then it is the index of the equals sign.
    """
    for after in range(index, min(len(tokens), index + 4)):
        token = tokens[after]
        if token.kind == "equals" and after == index + 1 and _COUNTED.fullmatch(tokens[index].text):
            factor = index - 2 - (tokens[index - 2].text == "~")
            return after if factor >= 0 and tokens[factor].kind == "operator" else 0
        if token.kind == "operator" and token.text.strip() in _TIMES_SIGNS and after > index:
            following = next((other for other in tokens[after + 1 : after + 3] if other.text != "~"), None)
            return after if following and (following.kind == "number" or following.text == "(") else 0
        if token.kind not in ("name", "word") or len(token.text) < 2:
            return 0
    return 0
