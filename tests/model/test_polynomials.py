import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.model import formula  # noqa: F401  # registers bertcalc's polynomials with SymPy
from bertcalc.model import formula_printers as printers
from bertcalc.model.polynomials import LetterPolynomial

LETTERS = "AHIL"
SYMBOLS = {letter: sympy.Symbol(letter, integer=True, positive=True) for letter in LETTERS}

Term = tuple[int, str, str]
# Terms as programs write them: a coefficient, symbols, and a symbol in the denominator.
terms = st.tuples(st.integers(-4, 4), st.text(LETTERS, max_size=3), st.text(LETTERS, max_size=1))
sums = st.lists(terms, max_size=4)


def polynomial(parts: list[Term]) -> LetterPolynomial:
    whole = LetterPolynomial.of(0)
    for number, above, below in parts:
        part = LetterPolynomial.of(number)
        for letter in above:
            part *= LetterPolynomial.letter(letter)
        for letter in below:
            part //= LetterPolynomial.letter(letter)
        whole += part
    return whole


def expression(parts: list[Term]) -> sympy.Expr:
    """The same sum as a SymPy expression."""
    whole = sympy.Integer(0)
    for number, above, below in parts:
        part = sympy.Integer(number)
        for letter in above:
            part *= SYMBOLS[letter]
        for letter in below:
            part /= SYMBOLS[letter]
        whole += part
    return whole


@given(sums, sums, terms)
def test_arithmetic_is_sympys(left: list[Term], right: list[Term], by: Term) -> None:
    ours, others = polynomial(left), polynomial(right)
    first, second = expression(left), expression(right)
    assert sympy.sympify(ours + others) == sympy.expand(first + second)
    assert sympy.sympify(ours - others) == sympy.expand(first - second)
    assert sympy.sympify(3 - ours) == sympy.expand(3 - first)
    assert sympy.sympify(ours * others) == sympy.expand(first * second)
    assert (ours == others) == (sympy.expand(first - second) == 0)
    if by[0]:
        assert sympy.sympify(ours // polynomial([by])) == sympy.expand(first / expression([by]))


@given(sums)
def test_equal_polynomials_have_the_same_hash_and_text(parts: list[Term]) -> None:
    forwards, backwards = polynomial(parts), polynomial(parts[::-1])
    assert forwards == backwards
    assert hash(forwards) == hash(backwards)
    assert str(forwards) == str(backwards)


@given(st.integers(-9, 9))
def test_a_polynomial_that_is_a_number_is_its_key_in_a_dictionary(number: int) -> None:
    assert {LetterPolynomial.of(number): "number"}[number] == "number"  # type: ignore[index]


@given(terms, st.lists(terms, min_size=1, max_size=1))
def test_a_term_is_written_as_sympys_printer_writes_it(factor: Term, one: list[Term]) -> None:
    assert str(polynomial(one)) == printers.text(expression(one), minus="−")


@pytest.mark.parametrize("text", ["L - 1", "H*(2*P - 1)/A", "3*H*H*(A - 2)/A", "H + 1", "2*G*H*H/A", "12345*H", "H/2"])
def test_a_sum_is_written_as_sympys_printer_writes_it(text: str) -> None:
    symbols = {letter: sympy.Symbol(letter, integer=True, positive=True) for letter in "AGHILP"}
    written = eval(text.replace("/", "//"), {letter: LetterPolynomial.letter(letter) for letter in symbols})
    assert str(written) == printers.text(sympy.sympify(text, locals=symbols), minus="−")


def test_sizes_are_positive_and_nothing_else_is_known_of_them() -> None:
    buckets = LetterPolynomial.letter("D")
    assert buckets > 0
    for unknown in (lambda: buckets > 1, lambda: buckets - 1 > 0, lambda: buckets > buckets):
        with pytest.raises(TypeError):
            unknown()
    with pytest.raises(ValueError, match="unpack"):
        buckets // (buckets + 1)
