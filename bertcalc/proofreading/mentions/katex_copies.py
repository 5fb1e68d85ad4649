r"""Find formulas copied from a page on which KaTeX rendered them: three copies without a space between them.

KaTeX writes each formula three times: for screen readers, as LaTeX, and for display. In copied text, the three
versions of a formula become one word.

>>> line = r"Pooler: H×H=589,824H \times H = 589,824H×H=589,824 weights"
>>> [line[copy.start : copy.end] for copy in copied_formulas(line)]
['H \\times H = 589,824']
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_MARKS = re.compile(r"\\(?:text|mathrm|mathbf)\b|\\[,;:! ]|[\s{}^_\\\u200b]")
_SIGNS = {r"\times": "×", r"\cdot": "⋅", r"\approx": "≈", r"\to": "→", r"\rightarrow": "→", r"\div": "÷"}
_SIGN = re.compile(r"\\(?:times|cdot|approx|to|rightarrow|div)(?![a-zA-Z])")
_SAME = {"·": "⋅", "∗": "*"}
_SHORTEST, _LONGEST, _LONGEST_LINE = 3, 200, 2000
_OPERATORS = re.compile(r"[=×⋅*+/≈→,.-]")
# Only a formula is written three times: it has a sign or a number with thousands separators.
_IS_FORMULA = re.compile(r"[=×⋅*+/≈→]|[0-9],[0-9]{3}")


class Copies(NamedTuple):
    """Three copies of a formula in a line, from ``first`` to ``last``; ``start`` and ``end`` bound the second copy."""

    first: int
    start: int
    end: int
    last: int


def copied_formulas(line: str) -> Iterator[Copies]:
    """Yield the formulas that a line contains three times in a row; none for a very long line."""
    if len(line) > _LONGEST_LINE:
        return
    signs, places = _without_marks(line)
    index = 0
    while index + 3 * _SHORTEST <= len(signs):
        for length in _repeated(signs, index):
            copies = [places[index + number * length : index + (number + 1) * length] for number in range(3)]
            if _is_formula(signs, index, length) and _touch(line, copies):
                yield Copies(copies[0][0][0], copies[1][0][0], copies[1][-1][1], copies[2][-1][1])
                index += 3 * length
                break
        else:
            index += 1


def _is_formula(signs: str, index: int, length: int) -> bool:
    """Whether a repeated text is a whole formula, not the repeated term of a sum: 2×768+2×768+2×768."""
    formula = signs[index : index + length]
    is_cut = bool(_OPERATORS.fullmatch(formula[0]) or _OPERATORS.fullmatch(formula[-1]))
    is_cut = is_cut or (index > 0 and signs[index - 1].isdigit() and formula[0].isdigit())
    return not is_cut and bool(_IS_FORMULA.search(formula))


def _touch(line: str, copies: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether nothing but braces and backslashes is between the copies."""
    return not any(line[before[-1][1] : after[0][0]].strip("{}\\") for before, after in pairwise(copies))


def _repeated(signs: str, index: int) -> Iterator[int]:
    """The lengths of the texts that occur three times in a row, starting at ``index``, the shortest first."""
    begin = signs[index : index + _SHORTEST]
    place = index + _SHORTEST - 1
    while (place := signs.find(begin, place + 1, index + _LONGEST + _SHORTEST)) >= 0:
        length = place - index
        copy = signs[index:place]
        if signs.startswith(copy, place) and signs.startswith(copy, place + length):
            yield length


def _without_marks(line: str) -> tuple[str, list[tuple[int, int]]]:
    """The characters of a line without its spaces, braces and commands, and the bounds of each in the line."""
    signs: list[str] = []
    places: list[tuple[int, int]] = []
    index = 0
    while index < len(line):
        if sign := _SIGN.match(line, index):
            signs.append(_SIGNS[sign[0]])
            places.append(sign.span())
        elif mark := _MARKS.match(line, index):
            index = mark.end()
            continue
        else:
            signs.append(_SAME.get(line[index], line[index]))
            places.append((index, index + 1))
        index = places[-1][1]
    return "".join(signs), places
