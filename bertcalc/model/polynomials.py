"""Polynomials in letters: the sizes of tensors when a program runs on symbolic sizes.

Exponents may be negative. SymPy could do the same, but importing it takes longer than the rest of a count.

>>> hidden, heads = LetterPolynomial.letter("H"), LetterPolynomial.letter("A")
>>> print(4 * hidden * hidden, (2 * hidden - 1) * hidden // heads)
4H² H(2H − 1)/A
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, prod
from typing import Any, Self

from bertcalc.text.digits import superscript
from bertcalc.text.live_numbers import MINUS

Monomial = tuple[tuple[str, int], ...]  # letters and their exponents, in alphabetical order; () is 1


class LetterPolynomial:
    """A sum of terms: monomials with coefficients other than 0.

    ``free_symbols`` and ``is_integer`` are named as in SymPy, so that functions accept symbols of either kind.
    """

    is_integer = True  # H/A is an integer, too: in valid configurations, the heads divide the hidden size

    def __init__(self, terms: Mapping[Monomial, int | Fraction]) -> None:
        self.terms = {monomial: Fraction(coefficient) for monomial, coefficient in terms.items() if coefficient}

    @classmethod
    def letter(cls, letter: str) -> Self:
        """The polynomial that consists of a single letter."""
        return cls({((letter, 1),): 1})

    @classmethod
    def of(cls, value: "int | Fraction | LetterPolynomial") -> "LetterPolynomial":
        """Convert a number to a constant polynomial; return a polynomial unchanged."""
        return value if isinstance(value, LetterPolynomial) else cls({(): value})

    @property
    def free_symbols(self) -> set[str]:
        """The letters in the polynomial."""
        return {letter for monomial in self.terms for letter, _exponent in monomial}

    def value(self, sizes: Mapping[str, int]) -> Fraction:
        """The value of the polynomial at ``sizes``, keyed by letter.

        >>> (LetterPolynomial.letter("H") * 4 + 2).value({"H": 768})
        Fraction(3074, 1)
        """
        terms = self.terms.items()
        return sum(
            (number * prod(Fraction(sizes[letter]) ** power for letter, power in term) for term, number in terms),
            Fraction(0),
        )

    @property
    def coefficient(self) -> Fraction:
        """The largest number that divides all coefficients."""
        numbers = self.terms.values()
        return Fraction(gcd(*(n.numerator for n in numbers)), lcm(*(n.denominator for n in numbers)))

    @property
    def factor(self) -> "LetterPolynomial":
        """The largest single term that divides all terms."""
        exponents = list(map(dict, self.terms))
        lowest = {letter: min(powers.get(letter, 0) for powers in exponents) for letter in self.free_symbols}
        return LetterPolynomial({_monomial(lowest): self.coefficient})

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int | LetterPolynomial):
            return NotImplemented
        sums = dict(self.terms)
        for monomial, coefficient in LetterPolynomial.of(other).terms.items():
            sums[monomial] = sums.get(monomial, Fraction(0)) + coefficient
        return LetterPolynomial(sums)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int | LetterPolynomial):
            return NotImplemented
        parts = (
            LetterPolynomial({_product(left, right): by * times})
            for left, by in self.terms.items()
            for right, times in LetterPolynomial.of(other).terms.items()
        )
        return sum(parts, LetterPolynomial({}))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return -1 * self

    def __sub__(self, other: Any) -> Any:
        return -1 * other + self

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __floordiv__(self, other: "int | Fraction | LetterPolynomial") -> "LetterPolynomial":
        """The exact quotient; the divisor must be a single term."""
        [(monomial, coefficient)] = LetterPolynomial.of(other).terms.items()
        inverse = LetterPolynomial({tuple((letter, -exponent) for letter, exponent in monomial): 1 / coefficient})
        quotient: LetterPolynomial = self * inverse
        return quotient

    def __eq__(self, other: object) -> bool:
        return (
            self.terms == LetterPolynomial.of(other).terms
            if isinstance(other, int | LetterPolynomial)
            else NotImplemented
        )

    def __gt__(self, other: object) -> bool:
        """Compare with 0: True if all coefficients are positive, because sizes are positive."""
        return True if other == 0 and all(number > 0 for number in self.terms.values()) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        constant = self.terms.get((), Fraction(0))
        return hash(frozenset(self.terms.items()) if self.free_symbols else constant)  # a constant equals its number

    def __str__(self) -> str:
        """The polynomial in mathematical notation, with common factors in front of a sum."""
        if len(self.terms) < 2:
            return next((_text(monomial, number) for monomial, number in self.terms.items()), "0")
        letters, factor = sorted(self.free_symbols), self.factor
        rest = (self // factor).terms
        in_order = sorted(rest, key=lambda monomial: [-dict(monomial).get(letter, 0) for letter in letters])
        first, *others = (_text(monomial, rest[monomial]) for monomial in in_order)
        signs = (f" {MINUS} {text[1:]}" if text.startswith(MINUS) else f" + {text}" for text in others)
        inside = first + "".join(signs)
        [(monomial, number)] = factor.terms.items()
        return inside if factor == 1 else _text(monomial, number, f"({inside})")

    __repr__ = __str__


def _product(left: Monomial, right: Monomial) -> Monomial:
    exponents = dict(left)
    for letter, exponent in right:
        exponents[letter] = exponents.get(letter, 0) + exponent
    return _monomial(exponents)


def _monomial(exponents: Mapping[str, int]) -> Monomial:
    return tuple(sorted((letter, exponent) for letter, exponent in exponents.items() if exponent))


def _text(monomial: Monomial, number: Fraction, inside: str = "") -> str:
    """A term in mathematical notation: 3H²(A − 2)/A, where (A − 2) is ``inside``."""
    above = "".join(_power(letter, exponent) for letter, exponent in monomial if exponent > 0) + inside
    below = "".join(_power(letter, -exponent) for letter, exponent in monomial if exponent < 0)
    quotient = f"/{_side(number.denominator, below)}" if below or number.denominator > 1 else ""
    return _side(number.numerator, above) + quotient


def _side(number: int, letters: str) -> str:
    sign = MINUS if number < 0 else ""
    return sign + (letters if letters and abs(number) == 1 else f"{abs(number):,}{letters}")


def _power(letter: str, exponent: int) -> str:
    return letter if exponent == 1 else f"{letter}{superscript(exponent)}"
