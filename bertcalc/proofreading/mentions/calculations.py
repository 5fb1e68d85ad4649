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

    ``reach`` is its largest possible rounding error; ``rough`` is that error if trailing zeros are not significant.
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

    @property
    def unit_factors(self) -> tuple[Fraction, ...]:
        """The factors by which the unit may scale a size: 1, and for MB also MiB / MB, since MB often means MiB."""
        written = " ".join(operand.text for operand in self.operands) if self.is_calculation else self.text
        unit = re.search(r"([kmgt])i?b\b", written, re.I)
        power = "kmgt".index(unit[1].lower()) + 1 if unit else 0
        return (Fraction(1), Fraction(1024, 1000) ** power) if power else (Fraction(1),)


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
        exact = [side for side in self.sides if not side.reach and side.unit in (None, "parameters")]
        if exact:
            return exact[-1]
        before, stated = self.sides[-2:] if len(self.sides) > 1 else (self.stated, self.stated)
        restated = not before.is_calculation and before.unit == stated.unit and 0 < before.reach < stated.reach
        return before if restated else stated  # as in 6,907M ≈ 7B

    @property
    def value(self) -> Fraction:
        return self.stated.value

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
    r"|\s?(?:[十百千万亿]{1,2}(?:[0-9]{1,4}[百千万]{0,2}){0,3})(?:\s?字节)?|\s?字节|\s?(?:%|percent(?!age)\b|per\scent\b))"
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
    if only.is_decimal and only.text.endswith("%"):
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
            if following.is_decimal and following.text.endswith("%") and sides[-1].value > _MOST_OF_WHOLE:
                break  # the share of a count: 38.6M of 124M ≈ 31%
            if side.unit == "bytes" and side.is_calculation and re.fullmatch(r"[0-9][0-9,]*\s?B", following.text):
                value = _typed(f"{following.text[:-1].strip()} bytes").value  # B means bytes: 16 × 128 × 2B = 4096B
                following = following._replace(value=value, reach=Fraction(0), rough=Fraction(0), unit="bytes")
            sides.append(following._replace(about=bool(re.search("[≈≃~]", tokens[end].text))))
            end = after
        index = end
        yield from _worthwhile(sides, bound)


_MOST_OF_WHOLE = Fraction(3, 2)  # a larger value is a count, not a ratio that a percentage can repeat


def _is_comment_on(side: ChainSide, tokens: Sequence[_Token], index: int) -> bool:
    """Whether a comment after a calculation is only its result: 4 * (768 * 768 + 768)  # 2,362,368."""
    if tokens[index].kind != "comment" or not side.is_calculation:
        return False
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
        return abs(computed.value / 1024**2 - side.value / 10**6) * 10**6 <= max(side.reach, side.rough)
    return abs(computed.value - side.value) <= max(side.reach, side.rough) or not _may_be_apart(computed, side)


def _may_be_apart(computed: ChainSide, side: ChainSide) -> bool:
    """Whether a cell may be independent of the previous cell: a size, the count of one layer, or not a count at all."""
    if side.unit not in (None, "parameters") or computed.value < _LEAST_IN_CELLS or side.value < _LEAST_IN_CELLS:
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
        or any(abs(side.value - other.value) <= other.reach or _is_mistyped(side, other) for other in numeric)
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
    return is_whole or (letters <= set(bound) and abs(high - low) > numeric[0].rough)


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
    return _calculation(tokens, index, letters)


def _decimal(token: _Token) -> tuple[Fraction, Fraction]:
    """The value of a decimal or a percentage, and half a unit in its last digit."""
    text = re.sub("[,%\\s]", "", token.text)
    scale = 100 if token.kind == "percent" else 1
    return Fraction(text) / scale, Fraction(1, 2 * 10 ** len(text.partition(".")[2])) / scale


def _is_factor(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a decimal or a percentage is multiplied by the next operand, or added to it: 0.4 × 28.3M."""
    following = tokens[index + 1 : index + 3]
    goes_on = len(following) == 2 and following[0].text.strip() in ("*", "×", "x", "·", "+")
    return goes_on and following[1].kind in ("number", "bracket", "decimal")


def _is_operand(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a decimal or a percentage is part of a calculation."""
    return _is_factor(tokens, index) or (index > 0 and tokens[index - 1].text.strip() in ("*", "×", "x", "·", "+", "("))


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


def _calculation(tokens: Sequence[_Token], first: int, letters: Mapping[str, int]) -> tuple[ChainSide | None, int]:
    """The side with the longest calculation that begins at a token (None if there is none), and the next index.

    A single amount is a side, but not a calculation.
    """
    pieces: list[str] = []
    operands: list[Operand] = []
    amounts: list[Typed] = []
    depth, complete, has_letters, best = 0, False, False, None
    index, start = first, tokens[first].start
    while index < min(len(tokens), first + _MOST_TOKENS):
        token = tokens[index]
        spelled = _letters(tokens, index, letters) if token.kind == "name" else ""
        if not complete and token.kind == "number" and token.amount:
            amount = _bytes_of_each(tokens, index, operands) or token.amount
            value = amount.value
            pieces.append(
                f"{value.numerator}" if value.denominator == 1 else f"({value.numerator}/{value.denominator})"
            )
            operands.append(Operand(value, token.text, token.start, token.end))
            amounts.append(amount)
            complete = True
        elif not complete and token.kind in ("decimal", "percent") and _is_operand(tokens, index):
            value, reach = _decimal(token)
            amounts.append(Typed(value, value - reach, value + reach, None))
            pieces.append(f"({value.numerator}/{value.denominator})")
            operands.append(Operand(value, token.text, token.start, token.end))
            complete = True
        elif spelled and (not complete or token.start == tokens[index - 1].end or _is_spaced(tokens, index)):
            pieces.append(("*" if complete else "") + spelled)
            has_letters = complete = True
        elif not complete and token.text == "(" and depth < _DEEPEST:
            depth += 1
            pieces.append("(")
        elif not complete and index > first and token.text == "~":
            index += 1
            continue  # a rounded factor: 12 × ~7.1M
        elif not complete and index > first and (after := _heading(tokens, index)):
            index = after
            continue  # a noun before the terms in parentheses: embedding(768*2)
        elif not complete and index > first and (after := _named_factor(tokens, index)):
            index = after
            continue
        elif not complete and index == first and token.kind in ("name", "word") and _opens_sum(tokens, index + 1):
            first = index = index + 1
            start = tokens[first].start if _INTRODUCES.search(token.text) else start
            continue
        elif complete and token.kind == "operator":
            if _SUPERSCRIPT.fullmatch(token.text):
                pieces.append(f"^{'⁰¹²³⁴⁵⁶⁷⁸⁹'.index(token.text)}")
            else:
                pieces.append("*" if token.text.strip() in "xX" else token.text)
                complete = False
        elif complete and token.text == ")" and depth:
            depth -= 1
            pieces.append(")")
        elif complete and token.text == "(" and token.kind == "bracket" and _is_multiplied(tokens, index):
            pieces.append("*(")
            depth, complete = depth + 1, False
        elif complete and token.text == "(" and (after := _note(tokens, index)):
            index = after
            best = best._replace(after=after) if best and not depth else best
            continue
        elif complete and token.text == "(" and token.start == tokens[index - 1].end and pieces[-1] == ")":
            pieces.append("*(")
            depth, complete = depth + 1, False
        elif complete and (after := _noun(tokens, index)):
            index = after
            best = best._replace(after=after) if best and not depth and tokens[after].kind == "equals" else best
            continue
        else:
            break
        index += 1
        if complete and not depth:
            best = _Written(len(pieces), len(operands), index, token.end)
    if best is None:
        return None, first + 1
    if _is_cut(tokens, first, best.after) and not (best.pieces == 1 and _goes_on_with_words(tokens, best.after)):
        return None, best.after
    inside = tuple(operands[: best.operands])
    text = "".join(pieces[: best.pieces])
    if tokens[first].text == "(" and len(inside) == 1 and not re.search(r"[-+*^]", text):
        return None, first + 1  # a number in parentheses is read without them
    if best.pieces == 1 and len(inside) == 1:
        only = amounts[0]
        side = ChainSide(
            only.value,
            start,
            best.end,
            inside[0].text,
            inside,
            only.high - only.value,
            only.reach(rounded=True),
            only.unit,
        )
        return side, best.after
    if not inside or (has_letters and not re.search(r"[*+/^-]", text)):
        # VH is a product, but (HA) may be a fraction without its bar.
        in_brackets = tokens[first].text == "(" and not any(
            token.kind == "operator" for token in tokens[first : best.after]
        )
        computes = has_letters and not in_brackets and not (best.pieces == 1 and "*" not in text)
        return _evaluated(text, letters, start, best, (), (), True) if computes else None, best.after
    return _evaluated(text, letters, start, best, inside, amounts[: best.operands], has_letters), best.after


def _evaluated(
    text: str,
    letters: Mapping[str, int],
    start: int,
    best: _Written,
    operands: tuple[Operand, ...],
    amounts: Sequence[Typed],
    has_letters: bool,
) -> ChainSide | None:
    if len(text) > LONGEST:
        return None
    try:
        value = evaluate(text, letters)
    except InputError:
        return None
    rounded = [(amount.high - amount.value) / amount.value for amount in amounts if amount.value]
    reach = abs(value) * sum(rounded, Fraction(0))
    in_bytes = [amount.unit == "bytes" for amount in amounts]
    is_size = "/" not in text and (any(in_bytes) if not re.search("[-+]", text) else in_bytes and all(in_bytes))
    unit: Unit | None = "bytes" if is_size else None
    return ChainSide(
        value, start, best.end, text, operands, reach, reach, unit, is_calculation=True, letters=has_letters
    )


def _bytes_of_each(tokens: Sequence[_Token], index: int, operands: Sequence[Operand]) -> Typed | None:
    """The bytes of a last factor such as 2B in 16 × 128 × 2B; None for 8 × 7B, where B means billions."""
    is_factor = index > 0 and tokens[index - 1].text.strip() in _TIMES_SIGNS
    if not is_factor or not re.fullmatch(r"[1248]\s?B", tokens[index].text):
        return None
    is_many = prod(operand.value for operand in operands) >= _LEAST_OF_NUMBERS
    return _typed(f"{tokens[index].text[0]} bytes") if is_many else None


_TIMES_SIGNS, _LEAST_OF_NUMBERS = ("x", "X", "*", "×", "·", "⋅"), 100


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


_PER = re.compile(r"(?:tok(?:en)?|layer|head|sequence|seq|request|user|param(?:eter)?|每|词元)s?", re.I)  # 0.5 MB/token


def _named_factor(tokens: Sequence[_Token], index: int) -> int:
    """The index of a number after a times sign and one to three words: × hidden size 768; 0 if there is none."""
    if tokens[index - 1].text.strip() not in ("x", "X", "*", "×", "·"):
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
            return after < len(tokens) and tokens[after].text in ("+", "*", "×")
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
        if token.kind == "operator" and token.text.strip() in ("x", "X", "*", "×", "·") and after > index:
            following = next((other for other in tokens[after + 1 : after + 3] if other.text != "~"), None)
            return after if following and (following.kind == "number" or following.text == "(") else 0
        if token.kind not in ("name", "word") or len(token.text) < 2:
            return 0
    return 0
