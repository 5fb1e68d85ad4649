"""Calculations as users type them, compared with Python's own arithmetic with fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, build
from bertcalc.config import LETTERS
from bertcalc.model.formula import formula
from bertcalc.model.model import Model
from bertcalc.text.arithmetic import LONGEST, evaluate
from bertcalc.text.problem import InputError

NAMES = {letter: getattr(BertConfig(), field) for field, letter in LETTERS.items()}


@st.composite
def calculations(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """Draw a calculation as a user types it, and the same calculation in Python."""
    kind = draw(
        st.sampled_from(["number", "letter", "sum", "product", "power", "minus", "group"] if depth else ["number"])
    )
    if kind == "number":
        number = draw(st.integers(0, 10**7))
        mark = draw(st.sampled_from(["", ",", "_", " ", "'"]))
        return f"{number:,}".replace(",", mark), f"Fraction({number})"
    if kind == "letter":
        letter = draw(st.sampled_from(sorted(NAMES)))
        return draw(st.sampled_from([letter, letter.lower()])), f"Fraction({NAMES[letter]})"
    one, one_python = draw(calculations(depth=depth - 1))
    if kind == "minus":
        return f"-{one}", f"-{one_python}"
    if kind == "group":
        return f"({one})", f"({one_python})"
    if kind == "power":
        power = draw(st.integers(0, 3))
        sign = draw(st.sampled_from(["^", "**", " ^ "]))
        return f"({one}){sign}{power}", f"({one_python})**{power}"
    other, other_python = draw(calculations(depth=depth - 1))
    space = draw(st.sampled_from(["", " "]))
    signs = [("+", "+"), ("-", "-"), ("−", "-")]
    if kind == "product":
        signs = [("*", "*"), ("×", "*"), ("·", "*"), ("x", "*"), ("/", "/"), ("÷", "/")]
    sign, python = draw(st.sampled_from(signs))
    return f"{one}{space}{sign}{space}{other}", f"{one_python}{python}{other_python}"


@given(calculations())
def test_the_value_is_what_python_works_out(calculation: tuple[str, str]) -> None:
    text, python = calculation
    try:
        expected = eval(python, {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(InputError, match="divides by zero"):
            evaluate(text, NAMES)
        return
    if len(text) <= LONGEST and max(abs(expected.numerator), expected.denominator) < 10**30:
        assert evaluate(text, NAMES) == expected


@given(st.text(max_size=60) | st.text("0123456789+-*/^().,eExVHL ²×", max_size=260))
def test_any_text_has_a_value_or_one_sentence(text: str) -> None:
    try:
        value = evaluate(text, NAMES)
    except InputError as caught:
        error = caught
    else:
        assert isinstance(value, Fraction)
        return
    assert str(error) == error.problem.message.format(**error.problem.values)
    assert str(error).endswith(".")
    assert len(str(error)) < 200


@pytest.mark.parametrize("path", ["", "embeddings", "encoder", "encoder.layer.*", "pooler"])
def test_a_formula_of_the_page_can_be_typed_as_it_stands(path: str) -> None:
    model = build(BertConfig())
    text = formula(Model(BertConfig()), path=path).latex()
    for latex, typed in ((r"\left", ""), (r"\right", ""), ("{", ""), ("}", "")):
        text = text.replace(latex, typed)
    assert evaluate(text, NAMES) == model.get_submodule(path).num_parameters()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^20", 2**20),
        ("768*3072 + 3072", 768 * 3072 + 3072),
        ("4H² + 2HI + 9H + I", 7087872),
        ("（１＋２）×３", 9),
        ("109,482,240", 109482240),
        ("109 482 240 - 1", 109482239),
        ("2 x 3 X 4", 24),
        ("1/2H", 384),
        ("2(3+4)(1+1)", 28),
        ("-2^2", -4),
        ("2^3^2", 512),
        ("2^-1", Fraction(1, 2)),
        ("2--3", 5),
        (".5 + 1.5e3", Fraction(3001, 2)),
        ("(H)", 768),
        ("0^0", 1),
        ("2¹⁰", 1024),
    ],
)
def test_what_people_type(text: str, value: Fraction) -> None:
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is incomplete"),
        ("3 +", "is incomplete"),
        ("(3 + 4", "has an unclosed parenthesis"),
        ("3 + 4)", 'Cannot read "\\)"'),
        ("(3 + ) 4", 'Cannot read "\\) 4"'),
        ("H2", 'Cannot read "2"'),
        ("2 3", 'Cannot read "3"'),
        ("1,23", 'Cannot read ",23"'),
        ("1,2345", 'Cannot read ",2345"'),
        ("1234,567", 'Cannot read ",567"'),
        ("1,234 567", 'Cannot read "567"'),
        ("85M", 'Cannot read "M": use numbers, V H L A I P T C,'),
        ("__import__('os')", "Cannot read"),
        ("import os", 'Cannot read "import os"'),
        ("2 * log(3)", 'Cannot read "log\\(3\\)"'),
        ("3 = 3", 'Cannot read "= 3"'),
        ("1/0", "divides by zero"),
        ("0^-1", "divides by zero"),
        ("1/(H-768)", "divides by zero"),
        ("2^0.5", "an exponent that is not a whole number"),
        ("9^9^9", "too large"),
        ("9^(10^30)", "too large"),
        ("1/9^999999", "too large"),
        ("(10^38)^4*(10^38)", "too large"),
        ("1e99*1e99", "too large"),
        ("3 + .", 'Cannot read "\\."'),
        ("1" * 41, "too many digits"),
        ("1+" * 100 + "1", "longer than 200 characters"),
        ("(" * 31 + "1" + ")" * 31, "at most 30 levels"),
        ("2^" * 40 + "1", "at most 30 levels"),
        ("9" * 1000000, "longer than 200 characters"),
    ],
)
def test_what_is_wrong_is_said_at_once(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluate(text, NAMES)


def test_without_letters_none_is_read() -> None:
    with pytest.raises(InputError, match=r'Cannot read "H": use numbers, \+ - \* / \^ and parentheses.'):
        evaluate("2H")
