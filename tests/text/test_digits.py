"""Numbers with decimals: none is rounded to a misleading value, and one module formats them all."""

import ast
import re
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertcalc.text.digits import (
    brief,
    decimal_size,
    duration,
    fixed,
    latex,
    multiple,
    on_paper,
    rounded,
    scaled,
    scientific,
    share,
    signed,
    significant,
    size,
)
from tests.sources import strings

ROOT = Path(__file__).parents[2]
COUNTS = st.integers(0, 10**12)
NUMBERS = st.fractions(-(10**9), 10**9) | st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("number", "places", "text"),
    [
        *((437.93, 1, "437.9"), (0, 1, "0.0"), (0, 0, "0"), (1_234.5, 0, "1,234"), (-0.25, 1, "-0.2")),
        *((0.004, 2, "0.004"), (0.00046, 2, "0.0005"), (0.00096, 2, "0.001"), (-0.03, 1, "-0.03")),
        *((0.3, 0, "0.3"), (0.5, 0, "0.5"), (Fraction(1, 20), 1, "0.05"), (0.051, 1, "0.1"), (9.96, 1, "10.0")),
        *((3e-13, 2, "3e-13"), (1e-300, 2, "1e-300")),
        (Fraction(10**30 + 1, 2), 0, f"{10**30 // 2:,}"),
    ],
)
def test_a_number_has_more_decimals_where_it_would_read_0(number: Fraction | float, places: int, text: str) -> None:
    assert fixed(number, places) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((Fraction(10_003, 10_000), "1.0003"), (Fraction(997, 1_000), "0.997"), (Fraction(1), "1.00")),
        *((Fraction(1_006, 1_000), "1.01"), (Fraction(10**18 + 1, 10**18), "1.000000000000000001")),
    ],
)
def test_a_number_has_more_decimals_where_it_would_read_as_another(number: Fraction, text: str) -> None:
    assert fixed(number, 2, unlike=1) == text


@given(NUMBERS, st.integers(0, 4), st.integers(0, 2))
def test_a_number_reads_as_itself(number: Fraction | float, places: int, unlike: int) -> None:
    read = Fraction(fixed(number, places, unlike=unlike).replace(",", ""))
    assert abs(read - Fraction(number)) <= Fraction(1, 2 * 10**places)
    assert (read == unlike) == (number == unlike)


@given(NUMBERS)
def test_three_digits_say_something(number: Fraction | float) -> None:
    text = significant(number)
    assert abs(Fraction(text.replace(",", "")) - Fraction(number)) <= abs(Fraction(number)) / 199
    assert (text == "0") == (not number)


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        *((2.0, 6, "2"), (0.4, 6, "0.4"), (1e6, 6, "1,000,000"), (21.837184, 6, "21.8372"), (1 / 3, 3, "0.333")),
        *((Fraction(5, 2), 6, "2.5"), (1_234.5, 6, "1,234.5"), (1.5e-7, 6, "1.5e-07"), (1e300, 6, "1e+300")),
    ],
)
def test_a_typed_number_has_no_zeros_at_the_end(number: Fraction | float, digits: int, text: str) -> None:
    assert brief(number, digits) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999 B"),
        (1_024, "1.02 kB (1.00 KiB)"),
        (999_949, "999.9 kB (976.5 KiB)"),
        (437_928_960, "437.9 MB (417.6 MiB)"),
        (999_999_999, "1,000.0 MB (953.7 MiB)"),
        (1_340_567_552, "1.34 GB (1.25 GiB)"),
    ],
)
def test_sizes_name_both_units(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("count", "first", "text"),
    [
        (4_385_920, 1_557_611_200, "0.00282"),  # bert_uncased_L-2_H-128_A-2, gpt2-xl
        (1_557_611_200, 4_385_920, "355.14"),
        *((335_141_888, 109_482_240, "3.06"), (1, 10, "0.10"), (99, 1_000, "0.0990"), (1, 10**9, "0.00000000100")),
        *((5, 5, "1.00"), (0, 5, "0.00"), (123_456_789, 1_000, "123,456.79")),
        (109_514_298, 109_482_240, "1.0003"),  # BertForPreTraining's pooler and head, BertModel
    ],
)
def test_a_multiple_reads_neither_0_nor_1_unless_it_is_that(count: int, first: int, text: str) -> None:
    assert multiple(count, first) == text


@given(COUNTS, st.integers(1, 10**12))
@example(1_999, 2_000)  # 99.95 %, which would round to 100.0
def test_shares_and_multiples_read_as_what_they_are(part: int, whole: int) -> None:
    times = float(multiple(part, whole).replace(",", ""))
    assert (times == 0) == (part == 0)
    assert (times == 1) == (part == whole)
    assert (share(part, whole) == "0.0") == (part == 0)
    assert part >= whole or share(part, whole) != "100.0"


def test_numbers_with_units_and_powers() -> None:
    assert [duration(Fraction(seconds)) for seconds in ("0.01", "119", "4571.4", "345600")] == [
        *("0.01 s", "119.0 s", "76.2 min", "4.0 d")
    ]
    assert [scaled(number, "FLOPs") for number in (22_348_431_360, 437, 2_000_000)] == [
        *("22.35 GFLOPs", "437 FLOPs", "2 MFLOPs")
    ]
    assert scientific(109_482_240, 2) == "1.1e8"
    assert on_paper(Fraction(29_010_000_000)) == "2.901 × 10¹⁰"
    assert [on_paper(Fraction(text)) for text in ("81.44", "4571.4")] == ["81.44", "4,571"]
    assert latex(fixed(1_234.56)) == "1{,}234.6"
    assert rounded(21.837184) == 21.8


# Format specifications that round: a number of decimals or digits, or a type with decimals.
ROUNDS = re.compile(r"\.\d|[eEfFgGn%]$")
TEMPLATE = re.compile(r"\{[\w.\[\]]*:([^{}]*)\}")
PERCENT = re.compile(r"%[-+ #0-9]*(\.\d+)?[eEfFgG]")
# Not for readers: seconds in JSON.
MAY_ROUND = ["bertcalc/discover/results/result.py: round(self.seconds, 1)"]


def formats(source: str) -> Iterator[str]:
    """Yield the places in a program that format a number with rounding."""
    for node in ast.walk(ast.parse(source)):
        if any(map(ROUNDS.search, _specifications(node))):
            yield ast.unparse(node)


def _specifications(node: ast.AST) -> list[str]:
    match node:
        case ast.FormattedValue(conversion=-1, format_spec=ast.JoinedStr(values=parts)):
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts)]
        case ast.Constant(value=str(text)):
            return TEMPLATE.findall(text)
        case ast.Call(func=ast.Name(id="format"), args=[_, ast.Constant(value=str(text))]):
            return [text]
        case ast.Call(func=ast.Name(id="round"), args=[_, _]):
            return [".1"]
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()) if PERCENT.search(text):
            return [".1"]
    return []


def test_no_other_module_writes_a_number_rounded() -> None:
    """bertcalc/text/digits.py has a function for each format.

    A new format needs a new function there, with its guarantee.
    """
    paths = [ROOT / "app.py", *(path for room in ("bertcalc", "pages") for path in (ROOT / room).rglob("*.py"))]
    found = [
        f"{path.relative_to(ROOT).as_posix()}: {place}"
        for path in sorted(paths)
        if path != ROOT / "bertcalc" / "text" / "digits.py"
        for place in formats(path.read_text(encoding="utf-8"))
    ]
    assert found == MAY_ROUND


def test_no_text_of_a_toml_file_rounds_a_number() -> None:
    paths = [path for room in ("bertcalc", "pages") for path in (ROOT / room).rglob("*.toml")]
    assert len(paths) > 3
    found = [text for path in paths for text in strings(tomllib.loads(path.read_text(encoding="utf-8")))]
    assert [text for text in found if any(map(ROUNDS.search, TEMPLATE.findall(text)))] == []


@pytest.mark.parametrize(
    "source",
    [
        *('f"{x:.1f}"', 'f"{x:,.{n}f}"', 'f"{x:g}"', 'f"{x:+,.0f} s"', 'f"{x:8.3}"', 'f"{x:%}"'),
        *('"{x:.1f} s"', '"{:,.6g}".format', '_("{share:.0%} of it")', 'format(x, ".2e")', '"%.2f" % x', '"%g" % x'),
        "round(x, 2)",
    ],
)
def test_a_rounding_format_is_found(source: str) -> None:
    assert list(formats(source))


@pytest.mark.parametrize(
    "source", ['f"{x:,}"', 'f"{x!r:.20}"', 'f"{x:>{n}}"', 'f"{x:02x}"', '"{count:,}"', "round(x)", 'print("%.2f")']
)
def test_what_does_not_round_is_not_found(source: str) -> None:
    assert not list(formats(source))


def test_a_number_that_is_rounded_up_to_a_power_of_ten_has_no_digit_more() -> None:
    assert significant(9.996) == "10.0"
    assert scaled(999_999.6, "FLOPs") == "1 MFLOPs"


def test_a_size_in_one_unit_may_follow_a_sign() -> None:
    assert signed(-680_400_000, decimal_size) == "−680.4 MB"
