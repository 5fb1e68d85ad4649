"""Small calculations as people type them, worked out exactly: 768*3072 + 3072, 4H^2 + 9H, 2^20, 12 × (1,024 + 1).

>>> evaluate("2^20 / 4")
Fraction(262144, 1)
>>> evaluate("4H² + 2HI + 9H + I", {"H": 768, "I": 3072})
Fraction(7087872, 1)
>>> evaluate("4Q")
Traceback (most recent call last):
    ...
bertcalc.arithmetic.CalculationError: Cannot read "Q": use numbers, + - * / ^ and parentheses.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from fractions import Fraction

from bertcalc.text import N_, shorten

# All of these are looked at before the work that they bound is done.
LONGEST = 200
_DEEPEST = 30
_MOST_DIGITS = 40
_MOST_BITS = 512  # of every numerator and denominator on the way, which is 150 digits


class CalculationError(ValueError):
    """The only exception for a text that cannot be worked out: ``message`` is English with placeholders.

    ``values`` fills it with pieces of the text.
    """

    def __init__(self, message: str, **values: str) -> None:
        super().__init__(message.format(**values))
        self.message = message
        self.values = values


def evaluate(text: str, names: Mapping[str, int] | None = None) -> Fraction:
    """The value of a calculation; ``names`` are the letters that may stand for numbers, such as H for 768.

    Signs are + - * / ^ and what people write for them: ** × · x ÷. A letter next to another, to a number before it or
    to a parenthesis is multiplied with it, and binds as * does: 1/2H is (1/2)·H. Powers bind from the right and
    before a minus, as in Python. Raises CalculationError.
    """
    if len(text) > LONGEST:
        raise CalculationError(
            N_('"{text}" is longer than {most} characters: split it into shorter ones.'),
            text=shorten(text),
            most=str(LONGEST),
        )
    return _Reader(_plain(text), names or {}).value()


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "−": "-", "–": "-"})
# Thousands are all separated by the same sign, or not at all. H2 is not read: it may mean 2H or H^2.
_NUMBER = re.compile(
    r"(?:[0-9]{1,3}([, _'])[0-9]{3}(?:\1[0-9]{3})*|[0-9]+|(?=\.[0-9]))(?![0-9])"
    r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2}(?![0-9]))?"
)
_MARKS = str.maketrans("", "", ", _'")


def _plain(text: str) -> str:
    """ASCII for full-width characters and typographic signs, and ^2 for a superscript 2."""
    powers = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda digits: f"^{digits[0].translate(_SUPERSCRIPTS)}", text)
    return unicodedata.normalize("NFKC", powers).translate(_SIGNS).replace("**", "^").strip()


class _Reader:
    """Reads from left to right; each method reads what its grammar rule says, and gives its value."""

    def __init__(self, text: str, names: Mapping[str, int]) -> None:
        self._text = text
        self._names = names
        self._at = 0
        self._depth = 0

    def value(self) -> Fraction:
        """sum, and nothing after it"""
        value = self._sum()
        if self._at < len(self._text):
            raise self._unreadable()
        return value

    def _sum(self) -> Fraction:
        """product (("+" | "-") product)*"""
        value = self._product()
        while sign := self._take("+-"):
            other = self._product()
            value = self._bounded(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Fraction:
        """signed (("*" | "/" | "x" | nothing) signed)*"""
        value = self._signed()
        while (sign := self._take("*/xX")) or self._is_beside():
            other = self._signed() if sign else self._power()
            value = self._quotient(value, other) if sign == "/" else self._bounded(value * other)
        return value

    def _signed(self) -> Fraction:
        """("+" | "-")* power"""
        negative = False
        while sign := self._take("+-"):
            negative ^= sign == "-"
        return -self._power() if negative else self._power()

    def _power(self) -> Fraction:
        """atom ("^" signed)?, from the right"""
        base = self._atom()
        return self._raised(base, self._deeper(self._signed)) if self._take("^") else base

    def _atom(self) -> Fraction:
        """number | letter | "(" sum ")" """
        if self._take("("):
            value = self._deeper(self._sum)
            if not self._take(")"):
                raise CalculationError(N_('In "{text}" a parenthesis is not closed.'), text=shorten(self._text))
            return value
        if number := _NUMBER.match(self._text, self._at):
            return self._number(number[0])
        if (letter := self._letter()) is None:
            raise self._unreadable()
        self._at += 1
        return Fraction(self._names[letter])

    def _number(self, digits: str) -> Fraction:
        if sum(map(str.isdigit, digits)) > _MOST_DIGITS:
            raise self._too_large()
        self._at += len(digits)
        return self._bounded(Fraction(digits.translate(_MARKS)))

    def _letter(self) -> str | None:
        """The name that the letter here stands for, in upper or lower case."""
        letter = self._text[self._at : self._at + 1]
        return next((name for name in (letter, letter.upper()) if name in self._names), None)

    def _is_beside(self) -> bool:
        """Whether what follows is multiplied without a sign: a letter or a parenthesis."""
        self._space()
        return self._text[self._at : self._at + 1] == "(" or self._letter() is not None

    def _take(self, signs: str) -> str:
        """The sign that stands here, if it is one of these."""
        self._space()
        found = self._text[self._at : self._at + 1]
        if not found or found not in signs or (found in "xX" and self._letter() is not None):
            return ""
        self._at += 1
        self._space()
        return found

    def _space(self) -> None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1

    def _deeper(self, rule: Callable[[], Fraction]) -> Fraction:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CalculationError(
                N_('"{text}" nests parentheses too deeply: at most {most} levels.'),
                text=shorten(self._text),
                most=str(_DEEPEST),
            )
        value = rule()
        self._depth -= 1
        return value

    def _quotient(self, value: Fraction, divisor: Fraction) -> Fraction:
        if not divisor:
            raise CalculationError(N_('"{text}" divides by zero.'), text=shorten(self._text))
        return self._bounded(value / divisor)

    def _raised(self, base: Fraction, power: Fraction) -> Fraction:
        if power.denominator != 1:
            raise CalculationError(
                N_('"{text}" has an exponent that is not a whole number: 2^20 works, 2^0.5 does not.'),
                text=shorten(self._text),
            )
        if _bits(base) * abs(power) > _MOST_BITS:
            raise self._too_large()
        if not base and power < 0:
            return self._quotient(Fraction(1), base)
        return base ** int(power)

    def _bounded(self, value: Fraction) -> Fraction:
        if _bits(value) > _MOST_BITS:
            raise self._too_large()
        return value

    def _too_large(self) -> CalculationError:
        return CalculationError(
            N_('"{text}" has numbers that are too large or have too many digits.'), text=shorten(self._text)
        )

    def _unreadable(self) -> CalculationError:
        rest = self._text[self._at :]
        if not rest:
            return CalculationError(
                N_('"{text}" is incomplete: a number is missing at the end.'), text=shorten(self._text)
            )
        if not self._names:
            return CalculationError(
                N_('Cannot read "{rest}": use numbers, + - * / ^ and parentheses.'), rest=shorten(rest)
            )
        return CalculationError(
            N_('Cannot read "{rest}": use numbers, {letters}, + - * / ^ and parentheses.'),
            rest=shorten(rest),
            letters=" ".join(self._names),
        )


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
