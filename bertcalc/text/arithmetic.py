"""Evaluate small calculations exactly, as users type them: 768*3072 + 3072, 4H^2 + 9H, 2^20, 12 × (1,024 + 1).

>>> evaluate("2^20 / 4")
Fraction(262144, 1)
>>> evaluate("4H² + 2HI + 9H + I", {"H": 768, "I": 3072})
Fraction(7087872, 1)
>>> evaluate("4Q")
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: Cannot read "Q": use numbers, + - * / ^ and parentheses.
"""

import ast
import operator
import re
import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction

from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError, wrong

# Each limit is checked before the work that it bounds.
LONGEST = 200
_DEEPEST = 30
_MOST_DIGITS = 40
_MOST_BITS = 512  # maximum bits of every intermediate numerator and denominator: about 150 digits


@checked
def evaluate(text: str, names: Mapping[str, int] | None = None) -> Fraction:
    """Evaluate a calculation exactly; ``names`` maps letters to numbers, such as H to 768.

    The operators are + - * / ^ and the alternative spellings ** × · x ÷. A letter next to a number, a letter or a
    parenthesis is multiplied by it, with the precedence of *: 1/2H is (1/2)·H. As in Python, powers associate to the
    right and bind tighter than a minus. Raises InputError if the text is not such a calculation or its numbers are too
    large.
    """
    if len(text) > LONGEST:
        message = N_('"{text}" is longer than {most} characters: split it into shorter expressions.')
        raise wrong(message, text=shorten(text), most=LONGEST)
    return _Calculation(_plain(text), names or {}).value()


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
TIMES = "\u2217\u2731\u2715\u2716\u2a2f\u2a09\u2573"  # other multiplication signs on web pages, such as ∗ and ✕
_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", **dict.fromkeys(TIMES, "*")}
)
# Either the same sign separates all thousands, or none does. H2 is refused: it may mean 2H or H^2.
_NUMBER = re.compile(
    r"(?:[0-9]{1,3}([, _'])[0-9]{3}(?:\1[0-9]{3})*|[0-9]+|(?=\.[0-9]))(?![0-9])"
    r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2}(?![0-9]))?"
)
_MARKS = str.maketrans("", "", ", _'")


def _plain(text: str) -> str:
    """Replace full-width characters and typographic signs by ASCII, and a superscript 2 by ^2."""
    powers = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda digits: f"^{digits[0].translate(_SUPERSCRIPTS)}", text)
    return unicodedata.normalize("NFKC", powers).translate(_SIGNS).replace("**", "^").strip()


_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


class _Calculation:
    """A calculation for Python's parser; names replace its numbers and letters, because Python reads 0.1 as a float."""

    def __init__(self, text: str, names: Mapping[str, int]) -> None:
        self._text = text
        self._names = names
        self._operands: dict[str, Fraction] = {}

    def value(self) -> Fraction:
        """The value of the calculation. Raises InputError."""
        return self._value(ast.parse("".join(self._python()), mode="eval").body)

    def _python(self) -> Iterator[str]:
        """The tokens of the calculation as a Python expression. Raises InputError if it is not valid."""
        index = depth = 0
        complete = False  # whether the expression could end here
        while index < len(self._text):
            sign = self._text[index]
            if sign.isspace():
                index += 1
                continue
            if not complete and (number := _NUMBER.match(self._text, index)):
                yield self._operand(self._number(number[0]))
                index, complete = number.end(), True
                continue
            letter = next((name for name in (sign, sign.upper()) if name in self._names), None)
            if complete and (letter or sign == "("):
                yield "*"  # implied
            if letter:
                yield self._operand(Fraction(self._names[letter]))
                complete = True
            elif sign == "(":
                depth += 1
                self._check_depth(depth)
                yield sign
                complete = False
            elif sign == ")" and complete and depth:
                depth -= 1
                yield sign
            elif sign in "+-" or (complete and sign in "*/^xX"):
                yield {"x": "*", "X": "*", "^": "**"}.get(sign, sign)
                complete = False
            else:
                raise self._unreadable(index)
            index += 1
        if not complete:
            raise wrong(N_('"{text}" is incomplete: a number is missing at the end.'), text=shorten(self._text))
        if depth:
            raise wrong(N_('"{text}" has an unclosed parenthesis.'), text=shorten(self._text))

    def _number(self, digits: str) -> Fraction:
        if sum(map(str.isdigit, digits)) > _MOST_DIGITS:
            raise self._too_large()
        return self._bounded(Fraction(digits.translate(_MARKS)))

    def _operand(self, value: Fraction) -> str:
        name = f"n{len(self._operands)}"
        self._operands[name] = value
        return name

    def _value(self, node: ast.expr, depth: int = 0) -> Fraction:
        """The value of a part of the expression; ``depth`` is the number of exponents around it."""
        match node:
            case ast.Name(name):
                return self._operands[name]
            case ast.UnaryOp(op, operand):
                value = self._value(operand, depth)
                return -value if isinstance(op, ast.USub) else value
            case ast.BinOp(base, ast.Pow(), power):
                self._check_depth(depth + 1)
                return self._raised(self._value(base, depth), self._value(power, depth + 1))
            case ast.BinOp(left, ast.Div(), right):
                return self._quotient(self._value(left, depth), self._value(right, depth))
            case ast.BinOp(left, op, right):
                return self._bounded(_OPERATORS[type(op)](self._value(left, depth), self._value(right, depth)))
        raise AssertionError(node)  # _python yields no other nodes

    def _quotient(self, value: Fraction, divisor: Fraction) -> Fraction:
        if not divisor:
            raise wrong(N_('"{text}" divides by zero.'), text=shorten(self._text))
        return self._bounded(value / divisor)

    def _raised(self, base: Fraction, power: Fraction) -> Fraction:
        if power.denominator != 1:
            message = N_('"{text}" has an exponent that is not a whole number: 2^20 works, 2^0.5 does not.')
            raise wrong(message, text=shorten(self._text))
        if _bits(base) * abs(power) > _MOST_BITS:
            raise self._too_large()
        raised = base ** int(abs(power))
        return raised if power >= 0 else self._quotient(Fraction(1), raised)

    def _bounded(self, value: Fraction) -> Fraction:
        if _bits(value) > _MOST_BITS:
            raise self._too_large()
        return value

    def _check_depth(self, depth: int) -> None:
        if depth > _DEEPEST:
            message = N_('"{text}" nests parentheses too deeply: at most {most} levels.')
            raise wrong(message, text=shorten(self._text), most=_DEEPEST)

    def _too_large(self) -> InputError:
        return wrong(N_('"{text}" has numbers that are too large or have too many digits.'), text=shorten(self._text))

    def _unreadable(self, index: int) -> InputError:
        """The error for text that cannot be read from ``index`` on; it quotes from the start of that word."""
        while 0 < index < len(self._text) and self._text[index].isalpha() and self._text[index - 1].isalpha():
            index -= 1
        rest = self._text[index:]
        if not self._names:
            return wrong(N_('Cannot read "{rest}": use numbers, + - * / ^ and parentheses.'), rest=shorten(rest))
        message = N_('Cannot read "{rest}": use numbers, {letters}, + - * / ^ and parentheses.')
        return wrong(message, rest=shorten(rest), letters=" ".join(self._names))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
