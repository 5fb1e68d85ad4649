"""Reading the lines of a hand count: a name, a calculation, and the results that are written behind it.

>>> from bertcalc import BertConfig
>>> [(line.name, line.value) for line in read("vocab: 30522*768 = 23.4M; pooler = H*H + H", BertConfig())]
[('vocab', Fraction(23440896, 1)), ('pooler', Fraction(590592, 1))]
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, prod
from typing import NamedTuple

from bertcalc.arguments import checked
from bertcalc.arithmetic import evaluate
from bertcalc.config import Config, Problem, letters
from bertcalc.digits import brief, size
from bertcalc.problem import InputError
from bertcalc.text import N_
from bertcalc.typed import typed

MOST_LINES = 40
LONGEST = 4000
_FLOAT32 = 4  # bytes


class TypedLine(NamedTuple):
    """A typed line: its name, which may be empty, and the value of its calculation, if it can be read.

    A rounded value may be off by ``reach``.
    """

    name: str
    text: str
    value: Fraction | None
    problem: Problem | None = None  # why it cannot be read, or that its sides are not equal
    reach: Fraction = Fraction(0)

    @property
    def exact(self) -> int | None:
        """The value if it is a whole number that is not rounded."""
        return int(self.value) if self.value is not None and self.value.denominator == 1 and not self.reach else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest count that the value may mean."""
        value = self.value or Fraction(0)
        return ceil(value - self.reach), floor(value + self.reach)

    def means(self, count: int) -> bool:
        """Whether a count is the value, or rounds to it."""
        return self.value is not None and abs(count - self.value) <= self.reach


class _Side(NamedTuple):
    """What stands on one side of an equals sign."""

    value: Fraction
    reach: Fraction = Fraction(0)
    unit: str | None = None


@checked
def read(text: str, config: Config) -> list[TypedLine]:
    """Read the lines of a hand count, such as ``attention = 12 * 4 * H * H``; letters are the configuration's.

    Semicolons separate lines as well. A line may give its results after further equals signs, also rounded ones. Text
    beyond the limits is ignored; see ``problem``.
    """
    names = letters(config)
    return [_read(line, names) for line in _lines(text[:LONGEST])][:MOST_LINES]


@checked
def problem(text: str) -> Problem | None:
    """The problem of a text that is too long; None if it is not."""
    if len(text) <= LONGEST and len(_lines(text)) <= MOST_LINES:
        return None
    message = N_("The count is too long: at most {lines} lines and {characters} characters in all.")
    return Problem("terms", None, message, {"lines": f"{MOST_LINES}", "characters": f"{LONGEST:,}"})


def written_value(value: Fraction) -> str:
    """The value of a line with thousands separators, to six digits if it is not whole."""
    return f"{int(value):,}" if value.denominator == 1 else brief(value)


# What stands in front of an item of a list.
_BULLET = re.compile(r"^(?:[-*•]\s+|\(?[0-9]{1,2}[.)、]\s+)(?=\D)")
_EQUALS = re.compile(r"[=＝]+\s*[≈~]?|[≈≃]")
# A name without a sign behind it: "word embeddings 23,440,896", "query.weight torch.Size([768, 768])".
_UNSEPARATED = re.compile(
    r"(?P<name>[^\W\d][^=*×+]*?[^\W\d][\w.*]*)[\s,|]+(?P<value>(?:torch\.Size)?[(\[]*[0-9][^a-zA-Z]*[a-zA-Z]{0,10})\W*"
)
_COLUMNS = re.compile(r"\s*\|\s*|\s{2,}|\t|(?<=[\])])\s+")
_SHAPE = re.compile(r"(?:torch\.Size)?\s*(?:\(\[|\[|\()\s*([0-9]+(?:\s*,\s*[0-9]+)*),?\s*(?:\]\)|\]|\))")


def _lines(text: str) -> list[str]:
    pieces = [_BULLET.sub("", piece.strip(), count=1) for piece in re.split(r"[\n\r;；]", text)]
    return [piece for piece in pieces if piece]


def _read(text: str, names: Mapping[str, int]) -> TypedLine:
    name, sides = _parts(text, names)
    try:
        values = [_side(side, names) for side in sides]
    except InputError as error:
        return TypedLine(name, text, None, error.problem)
    # Of several sides that agree, one that is not rounded is the value.
    value = next((side for side in values if not side.reach and side.unit is None), values[0])
    wrong = next((side for side in values if not _agree(value, side)), None)
    parameters = value.value / _FLOAT32 if value.unit == "bytes" else value.value
    reach = value.reach / _FLOAT32 if value.unit == "bytes" else value.reach
    return TypedLine(name, text, parameters, wrong and _disagreement(text, values[0], wrong, value), reach)


def _parts(text: str, names: Mapping[str, int]) -> tuple[str, Sequence[str]]:
    """The name of a line, and the sides of its equals signs."""
    first, *sides = (side.strip() for side in _EQUALS.split(text))
    name, colon, last = (part.strip() for part in re.split(r"(.*)([:：])", first, maxsplit=1)[1:] or ("", "", first))
    if colon and (not sides or _is_calculation(last, names)):
        return name, [last, *sides]
    if not sides and not _is_calculation(first, names) and (apart := _UNSEPARATED.fullmatch(text)):
        return apart["name"].strip(" :|,\t"), [column for column in _COLUMNS.split(apart["value"]) if column]
    if not sides or (re.search(r"[0-9+*/^()]", first) and _is_calculation(first, names)):
        return "", [first, *sides]
    return first, sides


def _side(text: str, names: Mapping[str, int]) -> _Side:
    """Read a calculation, the shape of a tensor, or an amount such as 23.8M. Raises InputError."""
    try:
        return _Side(evaluate(text, names))
    except InputError as error:
        if shape := _SHAPE.fullmatch(text):
            return _Side(Fraction(prod(int(side) for side in shape[1].split(","))))
        try:
            amount = typed(text)
        except InputError:
            raise error from None
        return _Side(amount.value, amount.high - amount.value, amount.unit)


def _agree(value: _Side, other: _Side) -> bool:
    """Whether a result is the value, perhaps rounded, or its bytes in 32 or 16 bits."""
    per = (_FLOAT32, 2) if other.unit == "bytes" and value.unit != "bytes" else (1,)
    return any(abs(number * value.value - other.value) <= other.reach + number * value.reach for number in per)


def _disagreement(text: str, first: _Side, wrong: _Side, value: _Side) -> Problem:
    if wrong.unit == "bytes" and abs(value.value / 2**20 - wrong.value / 10**6) <= wrong.reach / 10**6:
        message = N_("{written} is the count divided by 1,024 · 1,024, not its bytes: in float32 it takes {bytes}.")
        shown = {"written": text.rpartition("=")[2].strip(), "bytes": size(int(_FLOAT32 * value.value))}
        return Problem("terms", text, message, shown)
    message = N_("The calculation gives {value}, not {written}.")
    shown = {"value": written_value(first.value), "written": written_value(wrong.value)}
    if first == wrong:
        shown["value"] = written_value(value.value)
    return Problem("terms", text, message, shown)


def _is_calculation(text: str, names: Mapping[str, int]) -> bool:
    try:
        evaluate(text, names)
    except InputError:
        return False
    return True
