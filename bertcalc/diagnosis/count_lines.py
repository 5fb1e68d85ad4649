"""Parse the lines of a hand count: a name, a calculation, and the results after it.

>>> from bertcalc import BertConfig
>>> [(line.name, line.value) for line in read("vocab: 30522*768 = 23.4M; pooler = H*H + H", BertConfig())]
[('vocab', Fraction(23440896, 1)), ('pooler', Fraction(590592, 1))]
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, prod
from typing import NamedTuple

from bertcalc.config import Config, Problem, letters
from bertcalc.model.modules import Shape
from bertcalc.text import N_
from bertcalc.text.amounts import amount
from bertcalc.text.arguments import checked
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.digits import brief, size
from bertcalc.text.problem import InputError

MOST_LINES = 40
LONGEST = 4000
_FLOAT32 = 4  # bytes per parameter
_TWO_DIGITS = 20  # a value with two digits is at least this many times its uncertainty


class TypedLine(NamedTuple):
    """A line of a hand count: its name, which may be empty, and the value of its calculation.

    ``value`` is None if the calculation cannot be parsed. A rounded value may be off by ``reach``, or by ``rough`` if
    its trailing zeros are not significant. ``times`` is the number of layers in a line such as "x 12 layers", and 0 in
    any other line. The value of such a line is computed later, from the lines above it. ``uses_others`` is True if the
    value depends on the lines above it.
    """

    name: str
    text: str
    value: Fraction | None
    problem: Problem | None = None  # why the line cannot be parsed, or which of its sides are not equal
    reach: Fraction = Fraction(0)
    rough: Fraction = Fraction(0)
    times: int = 0
    uses_others: bool = False

    @property
    def exact(self) -> int | None:
        """The value if it is an unrounded whole number, otherwise None."""
        return int(self.value) if self.value is not None and self.value.denominator == 1 and not self.reach else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest count that round to the value, or to 0 if there is no value."""
        value = self.value or Fraction(0)
        return ceil(value - self.reach), floor(value + self.reach)

    def means(self, count: int) -> bool:
        """Whether a count equals the value or rounds to it."""
        return self.value is not None and abs(count - self.value) <= self.reach

    def means_roughly(self, count: int) -> bool:
        """Whether a count rounds to the value if trailing zeros are not significant, as 109.4 million rounds to 110M.

        A value with a single significant digit, such as 100M, is too imprecise to mean any count.
        """
        value = self.value or Fraction(0)
        return 0 < _TWO_DIGITS * self.rough <= value and abs(count - value) <= self.rough


class _LineSide(NamedTuple):
    value: Fraction
    reach: Fraction = Fraction(0)
    unit: str | None = None
    rough: Fraction = Fraction(0)
    may_be_bytes: bool = False  # whether a calculation ends with a number of bytes for each element


@checked
def read(text: str, config: Config) -> list[TypedLine]:
    """Parse the lines of a hand count, such as ``attention = 12 * 4 * H * H``.

    Letters stand for sizes of the configuration. Semicolons also separate lines, and so do commas between equations.
    Exact or rounded results may follow after further equals signs. A later line may contain the name of a line above
    it, as in total = embeddings + 12 * layer. A line may be a row of a Markdown table, and it may contain LaTeX. Text
    beyond the limits is ignored; ``problem`` reports it.
    """
    sizes = letters(config)
    names: dict[str, int] = {**sizes}
    lines = []
    for written in _lines(text[:LONGEST])[:MOST_LINES]:
        line = _read(written, names)
        depends = names != sizes and line.value != _read(written, sizes).value
        lines.append(line._replace(uses_others=depends))
        if line.exact is not None and line.name not in _OWN_LETTERS and _DEFINED.fullmatch(line.name):
            names[line.name] = line.exact
    return lines


@checked
def problem(text: str) -> Problem | None:
    """Return a problem if the text is too long, otherwise None."""
    if len(text) <= LONGEST and len(_lines(text)) <= MOST_LINES:
        return None
    message = N_("The count is too long: at most {lines} lines and {characters} characters in all.")
    return Problem("terms", None, message, {"lines": f"{MOST_LINES}", "characters": f"{LONGEST:,}"})


def wrong_result(text: str, config: Config) -> Problem | None:
    """Return a problem if a calculation has another value than the result after it, as in 768*768 = 589,842."""
    lines = _lines(text[:LONGEST])
    names = letters(config)
    return _read(lines[0], names).problem if len(lines) == 1 and len(_parts(lines[0], names)[1]) > 1 else None


def shape_in(text: str) -> Shape | None:
    """Return the shape in a line, such as torch.Size([768, 768]) or [768, 768]; None if there is none."""
    match = _PRINTED.search(text)
    return tuple(int(side) for side in (match[1] or match[2]).split(",") if side.strip()) if match else None


def written_value(value: Fraction) -> str:
    """Format a value with thousands separators; a value that is not whole is rounded to six digits."""
    return f"{int(value):,}" if value.denominator == 1 else brief(value)


# The bullet or number of a list item.
_BULLET = re.compile(r"^(?:[-*•]\s+|\(?[0-9]{1,2}[.)、]\s+)(?=\D)")
# A dash or an arrow counts as an equals sign only between a word and a number: "word embeddings -> 23.4M".
_EQUALS = re.compile(r"[=＝]+\s*[≈~]?|[≈≃]|(?<=[^\W\d_]{3})\s+(?:[-–—]|->|→|⇒)\s+(?=[0-9(])")
# A name and a value without an equals sign between them: "word embeddings 23,440,896", "12层共 85054464",
# "query.weight torch.Size([3, 3])".
_UNSEPARATED = re.compile(
    r"(?P<name>(?:[0-9]{1,3}\s*(?!thousand|million|billion|[百千万亿])(?=[^\W\d_]{2}|[㐀-鿿]))?"
    r"(?:[^\W\d][^=*×+]*?[^\W\d]|[㐀-鿿])(?:[\w.*]*[\s,]+|(?<=[㐀-鿿])))"
    r"(?P<value>(?:torch\.Size)?[(\[]*[0-9][^a-zA-Z]*[a-zA-Z]{0,10})\W*"
)
_COLUMNS = re.compile(r"\s{2,}|\t|(?<=[\])])\s+")
_SHAPE = re.compile(r"(?:torch\.Size)?\s*(?:\(\[|\[|\()\s*([0-9]+(?:\s*,\s*[0-9]+)*),?\s*(?:\]\)|\]|\))")
_PRINTED = re.compile(r"torch\.Size\s*\(\s*\[([0-9,\s]+)\]\s*\)|\[([0-9]+(?:\s*,\s*[0-9]+)+)\]")
# (pattern, replacement) pairs that simplify LaTeX and Markdown.
_MARKUP = (
    (re.compile(r"\\(?:times|cdot|ast)\b"), "*"),
    (re.compile(r"\\approx\b"), "≈"),
    (re.compile(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:left|right|quad)\b|\\[,;! ]|[$`]"), ""),
    (re.compile(r"(?<![\w)\s])\*\*(?=\S)([^*\n]*\S)\*\*|(?<!\S)\*\*(?=\S)([^*\n]*\S)\*\*"), r"\1\2"),
    (re.compile(r"(?<=[\w)])[.。,，]\s*$", re.M), ""),
    (re.compile(r"(?<=[0-9)])(\s*)[xX](\s*)(?=[0-9(])"), r"\1×\2"),  # 768x2 is a product, not a name
)
_HEADING = re.compile(r"(?=[^=*×+]*[^\W\d_])[^=*×+]{1,80}[:：]")  # a heading of the lines below it: "per layer:"
_NAME = re.compile(r"[^\W\d_]{2}|[:：=]")  # evidence that a line has a name: a word, or a sign after a name
_NO_ROW = re.compile(r"[\s|:+-]*-[\s|:+-]*|\|[^0-9]*")  # matches the header of a table, and the line below it
# Words inside a calculation: a noun after a factor (12 heads x 64), or a note at its end (per layer).
FACTOR_NOUN = re.compile(
    r"(?<=[0-9])\s*(?!thousand|million|billion|trillion|[百千万亿])(?:[a-z]{3,}(?:[\s-]+[a-z]{3,})*|[㐀-鿿]+)"
    r"\s*(?=[*x×·]\s*[0-9(\[（VHLAI])",
    re.I,
)
_NOTE = re.compile(
    r"(?<=[\w)\]）])(?:\s*[(（][^()（）0-9]*[)）]|\s+(?:per|for|in|each|every|of)\b[^0-9=]*|\s*[/／]\s*(?:layer|层)"
    r"|\s*(?:param(?:eter)?s?|weights|个?参数))$",
    re.I,
)
# A line that only multiplies the lines above it: "x 12 layers", "12 层", "repeated 12 times".
_TIMES = re.compile(
    r"(?:(?:\.\.\.|…)?\s*[*x×·]\s*|all\s+|repeat(?:ed)?\s+|重复|共|所有)?(?P<times>[1-9][0-9]?)\s*"
    r"(?:(?:(?:identical|encoder|transformer|such)\s+)*(?:layers?|blocks?|times)|个?(?:编码器|encoder)?层|次|个)?\W*",
    re.I,
)
_TIMES_WORD = re.compile(r"[*x×·]|layer|block|times|层|次", re.I)
# A verb between a name and its count, in a line that stands alone: "The pooler has 590,592 parameters."
_VERB = re.compile(
    r"(?<=[\w)）])\s+(?:has|have|is|are|takes?|contains?|needs?)\s+(?:exactly |about |only |a total of )?(?=[0-9(])"
    r"|(?<=[\w㐀-鿿)）])\s?(?:的?参数(?:数量|个数|量|数)?)?(?:共?有|总?共|是|为|等于)\s?(?=[0-9(])"
)
# The number of layers before a name: 12 × attention: 4 × 768² = 28.3M
_FACTOR_OF_NAME = re.compile(r"\W{0,3}(?P<times>[1-9][0-9]?)\s*(?:[*x×·]|layers?|层)", re.I)
# Words before the terms of a sum: embedding(768*2) + ffn(768*2).
_TERM_NOUN = re.compile(r"[^\W\d][\w-]{2,}(?=[(（][0-9])")


def _lines(text: str) -> list[str]:
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    pieces = [_BULLET.sub("", piece.strip(), count=1) for piece in re.split(r"[\n\r;；]", text)]
    pieces = [piece for piece in pieces if piece]
    if len(pieces) == 1 and "=" not in _VERB.split(pieces[0], 1)[0]:
        pieces = [_VERB.sub(" = ", pieces[0], 1)]
    whole = _without_headings(pieces)
    return [line for piece in whole if not _NO_ROW.fullmatch(piece) for line in _equations(piece)]


def _without_headings(pieces: Sequence[str]) -> Iterator[str]:
    """Yield the lines without headings such as "per layer:".

    A line without a name is named after the heading directly above it.
    """
    heading = ""
    for number, piece in enumerate(pieces):
        if _HEADING.fullmatch(piece) and number + 1 < len(pieces):
            heading = piece
            continue
        yield f"{heading} {piece}" if heading and not _NAME.search(piece) else piece
        heading = ""


def _equations(text: str) -> list[str]:
    """Split a line such as "W1 = 768*3072, b1 = 3072" into its equations."""
    pieces = re.split(r"[,，]\s*(?=[^\W\d][^=,，]*=)", text)
    return pieces if all("=" in piece for piece in pieces) else [text]


def _read(text: str, names: Mapping[str, int]) -> TypedLine:
    if (multiplied := _TIMES.fullmatch(text)) and _TIMES_WORD.search(text):
        problem = Problem(
            "terms", text, N_("No line above this one counts a single layer, so there is nothing to multiply."), {}
        )
        return TypedLine(text, text, None, problem, times=int(multiplied["times"]))
    name, sides = _parts(text, names)
    try:
        values = [_side(side, names) for side in sides]
    except InputError as error:
        return TypedLine(name, text, None, error.problem)
    # The first exact side is the value; if there is none, the first side is.
    value = next((side for side in values if not side.reach and side.unit is None), values[0])
    if (layers := _FACTOR_OF_NAME.match(name)) and not all(_agree(value, side) for side in values):
        every = value._replace(value=int(layers["times"]) * value.value)
        value = values[0] = every if all(_agree(every, side) for side in values if side != value) else value
    wrong = next((side for side in values if not _agree(value, side)), None)
    width, rough = (_FLOAT32, Fraction(0)) if value.unit == "bytes" else (1, value.rough)
    reach = value.reach / width
    disagreement = wrong and _disagreement(text, values[0], wrong, value)
    return TypedLine(name, text, value.value / width, disagreement, reach, max(reach, rough))


def _parts(text: str, names: Mapping[str, int]) -> tuple[str, Sequence[str]]:
    """Split a line into its name, which may be empty, and the texts between its equals signs."""
    if "|" in text:
        return _row([cell for cell in (cell.strip() for cell in text.split("|")) if cell], names)
    first, *sides = (side.strip() for side in _EQUALS.split(text))
    name, colon, last = (part.strip() for part in re.split(r"(.*)([:：])", first, maxsplit=1)[1:] or ("", "", first))
    if colon and (not sides or _is_written_out(last, names)):
        return name, [last, *sides]
    if not sides and not _is_calculation(first, names) and (apart := _UNSEPARATED.fullmatch(text)):
        return apart["name"].strip(" :,\t"), [column for column in _COLUMNS.split(apart["value"]) if column]
    if not sides or _is_written_out(first, names):
        return "", [first, *sides]
    terms = _TERM_NOUN.sub("", first)
    if terms != first and _is_written_out(terms, names):
        return "", [terms, *sides]
    while len(sides) > 1 and not re.search("[0-9]", sides[0]) and not _is_side(sides[0], names):
        first = f"{first}, {sides.pop(0)}"  # such as Wq = Wk = 768*768
    apart = _UNSEPARATED.fullmatch(first)  # such as position embeddings 512*768 = 393,216
    if apart and re.search(r"[*×+]", apart["value"]) and _is_calculation(apart["value"], names):
        return apart["name"].strip(" :,\t"), [apart["value"], *sides]
    return first, sides


def _row(cells: Sequence[str], names: Mapping[str, int]) -> tuple[str, Sequence[str]]:
    """Return the name of a table row, and its sides: the calculations and shapes, then the last number."""
    sides = [side.strip() for cell in cells for side in _EQUALS.split(cell) if _is_side(side.strip(), names)]
    words = [cell for cell in cells if re.search(r"[^\W\d]", cell) and not _is_side(cell, names)]
    products = [side for side in sides[:-1] if re.search(r"[*x×^+(\[]", side)]
    return words[0].strip(" `:：") if words else "", [*products, *sides[-1:]] or cells


def _is_written_out(text: str, names: Mapping[str, int]) -> bool:
    """Whether a text is a calculation and not just a letter, which may be the name of a line."""
    return bool(re.search(r"[0-9+*/^()]", text)) and _is_side(text, names)


def _side(text: str, names: Mapping[str, int]) -> _LineSide:
    """Parse a calculation, a tensor's shape, or an amount such as 23.8M, ignoring a note after it.

    Raises InputError if the text is none of these.
    """
    try:
        return _amount(text, names)
    except InputError as error:
        if (plain := _NOTE.sub("", text)) == text:
            raise
        try:
            return _amount(plain, names)
        except InputError:
            raise error from None


def _amount(text: str, names: Mapping[str, int]) -> _LineSide:
    try:
        return _LineSide(_evaluated(text, names), _reach(text), may_be_bytes=bool(_BYTES_EACH.search(text)))
    except InputError as error:
        if shape := _SHAPE.fullmatch(text):
            return _LineSide(Fraction(prod(int(side) for side in shape[1].split(","))))
        try:
            number = amount(FACTOR_NOUN.sub("", text), None, names)
        except InputError:
            raise error from None
        in_bytes = bool(_BYTES_EACH.search(text))
        return _LineSide(number.value, number.high - number.value, number.unit, number.reach(rounded=True), in_bytes)


def _reach(text: str) -> Fraction:
    """Return half a unit in the last digit of a number with decimals or an exponent; 0 for any other text."""
    if not (number := _DECIMAL.fullmatch(text)):
        return Fraction(0)
    return Fraction(10) ** (int(number["power"] or 0) - len(number["decimals"] or "")) / 2


_DECIMAL = re.compile(r"\s*[0-9][0-9,]*(?=[.eE])(?:\.(?P<decimals>[0-9]+))?(?:[eE](?P<power>[+-]?[0-9]{1,3}))?\s*")


def _evaluated(text: str, names: Mapping[str, int]) -> Fraction:
    """Evaluate a calculation, ignoring nouns after its factors (12 heads x 64). Raises InputError if it is invalid."""
    letters_of_sizes = {name: value for name, value in names.items() if len(name) == 1}
    for name in sorted(names.keys() - letters_of_sizes.keys(), key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.]|\s*[(（])", f"({names[name]})", text)
    return evaluate(FACTOR_NOUN.sub("", text), letters_of_sizes)


# A name that later lines may use. V is usually the value matrix; H and L keep their meaning.
_DEFINED, _OWN_LETTERS = re.compile(r"[^\W\d_]\w{0,40}"), ("V", "H", "L")


def _agree(value: _LineSide, other: _LineSide) -> bool:
    """Whether a result, within its rounding, equals the value.

    A result in bytes may be the size of that many parameters in 32 or 16 bits, or of the bytes that are calculated.
    """
    per = (_FLOAT32, 2) if other.unit == "bytes" and value.unit != "bytes" else (1,)
    per = (*per, 1) if value.may_be_bytes or other.may_be_bytes else per
    return any(abs(number * value.value - other.value) <= other.reach + number * value.reach for number in per)


_BYTES_EACH = re.compile(r"[*×x]\s?[248](?:\s?bytes?)?\s*$", re.I)


def _disagreement(text: str, first: _LineSide, wrong: _LineSide, value: _LineSide) -> Problem:
    if wrong.unit == "bytes" and abs(value.value / 2**20 - wrong.value / 10**6) <= wrong.reach / 10**6:
        message = N_(
            "{written} is the count divided by 1,024 · 1,024, not the number of bytes: in float32, the parameters "
            "take {bytes}."
        )
        values = {"written": text.rpartition("=")[2].strip(), "bytes": size(int(_FLOAT32 * value.value))}
        return Problem("terms", text, message, values)
    message = N_("The calculation gives {value}, not {written}.")
    right = value if first == wrong else first
    values = {"value": written_value(right.value), "written": written_value(wrong.value)}
    return Problem("terms", text, message, values)


def _is_calculation(text: str, names: Mapping[str, int]) -> bool:
    return _can_be_read(_evaluated, text, names)


def _is_side(text: str, names: Mapping[str, int]) -> bool:
    return _can_be_read(_side, text, names)


def _can_be_read(reader: Callable[[str, Mapping[str, int]], object], text: str, names: Mapping[str, int]) -> bool:
    try:
        reader(text, names)
    except InputError:
        return False
    return True
