"""Amounts as users type them: their exact meaning, and one clear error for everything else."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertcalc.families.published import PUBLISHED
from bertcalc.text.amounts import LARGEST, Typed, Unit, amount, typed
from bertcalc.text.problem import InputError

units = st.sampled_from([None, "parameters", "FLOPs", "bytes"])


@pytest.mark.parametrize(
    ("text", "unit", "value", "meant"),
    [
        ("30M", None, 30_000_000, None),
        ("30 m", "parameters", 30_000_000, "parameters"),
        ("30 million", None, 30_000_000, None),
        ("30 million parameters", None, 30_000_000, "parameters"),
        ("30 Mparams", None, 30_000_000, "parameters"),
        ("110,000,000", None, 110_000_000, None),
        ("110 000 000", None, 110_000_000, None),
        ("110_000_000", None, 110_000_000, None),
        ("110\N{NARROW NO-BREAK SPACE}000\N{NARROW NO-BREAK SPACE}000", None, 110_000_000, None),
        ("1.1e8", None, 110_000_000, None),
        ("1.1E+8", None, 110_000_000, None),
        ("11000e-3", None, 11, None),
        ("7B", None, 7 * 10**9, None),
        ("7B", "parameters", 7 * 10**9, "parameters"),
        ("7B", "bytes", 7, "bytes"),
        ("7 bn", None, 7 * 10**9, None),
        # No count of bytes is that many billions: bytes as ls and Windows show them.
        ("440,473,133 B", None, 440_473_133, "bytes"),
        ("440473133B", None, 440_473_133, "bytes"),
        ("1,760B", None, 1_760 * 10**9, None),
        ("1.5T", None, 15 * 10**11, None),
        ("22.4 GFLOPs", None, 224 * 10**8, "FLOPs"),
        ("22.4G", "FLOPs", 224 * 10**8, "FLOPs"),
        ("1.2 EFLOPs", "FLOPs", 12 * 10**17, "FLOPs"),
        ("16 GB", None, 16 * 10**9, "bytes"),
        ("16gb", "bytes", 16 * 10**9, "bytes"),
        ("16G", "bytes", 16 * 10**9, "bytes"),
        ("16 GiB", "bytes", 2**34, "bytes"),
        ("72.1 MiB", None, Fraction(721, 10) * 2**20, "bytes"),
        ("1.1亿", None, 110_000_000, None),
        ("1.1億", None, 110_000_000, None),
        ("三千万", None, 30_000_000, None),
        ("3 千万参数", None, 30_000_000, "parameters"),
        ("两亿", None, 200_000_000, None),
        ("一万亿", None, 10**12, None),
        ("十二", None, 12, None),
        ("五百万", None, 5_000_000, None),
        ("两万五", None, 25_000, None),
        ("1千零24", None, 1_024, None),
        ("七百零八万七千八百七十二", None, 7_087_872, None),
        ("1.1千万字节", None, 11_000_000, "bytes"),
        ("3000万个参数", None, 30_000_000, "parameters"),
        ("１１０Ｍ", None, 110_000_000, None),
        ("  0  ", None, 0, None),
        *(
            (text, None, 149_014_372, None)
            for text in (
                *("149.014.372", "149'014'372", "149’014’372", "149\N{THIN SPACE}014\N{THIN SPACE}372"),
                *("１４９，０１４，３７２", "1,4901,4372", "1亿4901万4372", "14901万4,372", "149{,}014{,}372"),
            )
        ),
        *(
            (text, None, 110_000_000, None)
            for text in (
                "11000万",
                "1亿1000万",
                "1亿1千万",
                "1 亿 1,000 万",
                "一亿一千万",
                "一亿零一千万",
                "1,1e8",
                "0,11B",
                "0,110B",
                "~110M",
                "约1.1亿",
                "1.1 × 10^8",
                "1.1·10⁸",
            )
        ),
        ("418,5 MB", None, 418_500_000, "bytes"),
        ("1.234,5k", None, 1_234_500, None),
        ("149.014k", None, 149_014, None),  # a single dot is a decimal point, and a single comma separates thousands
        ("149,014", None, 149_014, None),
    ],
)
def test_an_amount_is_read_exactly(text: str, unit: Unit | None, value: Fraction, meant: Unit | None) -> None:
    found = typed(text, unit)
    assert (found.value, found.unit) == (value, meant)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("110M", 109_500_000, 110_500_000),
        ("110.0M", 109_950_000, 110_050_000),
        ("1.1e8", 105_000_000, 115_000_000),
        ("1.1 x 10**8", 105_000_000, 115_000_000),
        ("109,5M", 109_450_000, 109_550_000),
        ("1亿948万", 109_475_000, 109_485_000),
        ("1亿零948万", 109_475_000, 109_485_000),
        ("1亿1千万", 105_000_000, 115_000_000),
        ("一千零二十", 1_020, 1_020),
        ("1亿零5", 100_000_005, 100_000_005),
        ("1.10e8", 109_500_000, 110_500_000),
        ("0.1k", 50, 150),
        ("0M", 0, 500_000),
        ("75,641,856", 75_641_856, 75_641_856),
        ("75641856 parameters", 75_641_856, 75_641_856),
        ("72.1 MB", 72_050_000, 72_150_000),
        ("1 KiB", 512, 1536),
        ("12.5k", 12_450, 12_550),
        ("1e0", Fraction(1, 2), Fraction(3, 2)),
    ],
)
def test_digits_that_were_left_out_leave_room(text: str, low: Fraction, high: Fraction) -> None:
    found = typed(text)
    assert (found.low, found.high) == (low, high)
    assert found.means(int(high))
    assert not found.means(int(high) + 1)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "x",
            "M",
            "-5",
            "+5",
            "1,5,5",
            "12,34,567",
            "149.014.37",
            "1,000.000.000",
            "149.014,372,5",
            "1.5*1024",
            "1,000 000",
            "1 0",
            "1.",
            ".5",
            "1e",
            "1.2.3",
            "1_0",
            "½",
        ),
        *("inf", "nan", "0x10", "1e2e3", "1e5.5", "5 apples", "5 GFLOP/s", "5 GBit", "3E", "5 KiFLOPs", "5 MM", "5 iB"),
        *("1亿23", "亿5.5", "一二三", "1.15亿5千万", "5亿.", "九" * 60, "亿" * 60),
        *("1e31", "1e999999999", "1e-999999999", "9" * 61, " " * 61 + "1", "1" + " " * 60, "1" + "0" * 10**6, "٣"),
    ],
)
def test_anything_else_is_one_clear_error(text: str) -> None:
    with pytest.raises(InputError) as caught:
        typed(text)
    assert 20 < len(str(caught.value)) < 200


def test_an_amount_of_something_else_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match=r'^"16 GB" is in bytes, but parameters are needed here: .*30M'):
        typed("16 GB", "parameters")


@given(st.text(max_size=80) | st.from_regex(r"[0-9., _'eEkMGTiBFLOPs+-]{0,70}", fullmatch=True), units)
@example("1e400", None)
@example("1" + "0" * 29 + "e-999", "bytes")
def test_no_text_does_anything_but_one_of_the_two(text: str, unit: Unit | None) -> None:
    found, error = read(text, unit)
    if found:
        assert 0 <= found.low <= found.value <= found.high
        assert found.value <= LARGEST
        assert unit is None or found.unit == unit
    else:
        assert str(error) == error.problem.message.format(**error.problem.values)
        assert len(str(error)) < 250


def read(text: str, unit: Unit | None) -> tuple[Typed | None, InputError]:
    try:
        return typed(text, unit), InputError()
    except InputError as error:
        return None, error


@given(st.integers(0, LARGEST))
def test_a_whole_number_means_itself_however_it_is_grouped(number: int) -> None:
    for text in (f"{number}", f"{number:,}", f"{number:_}", f"{number:,}".replace(",", " ")):
        assert typed(text) == Typed(Fraction(number), Fraction(number), Fraction(number), None)


@given(st.integers(0, 10**12), st.integers(0, 6))
def test_a_count_that_is_rounded_is_what_the_text_means(count: int, digits: int) -> None:
    for text in (f"{count / 10**6:.{digits}f}M", f"{count:.{digits}e}", f"{count / 10**6:,.{digits}f} MB"):
        # float64 has 16 digits, and these numbers have fewer.
        assert typed(text).means(count)


def test_published_counts_are_what_their_rounding_means() -> None:
    for published in PUBLISHED:
        assert typed(f"{published.parameters / 10**6:.0f}M").means(published.parameters)
        assert typed(f"{published.parameters:,}").means(published.parameters)


@pytest.mark.parametrize("text", ["109482240.5", "109482240.5 parameters", "149.014", "2.25e1", "7/2", "0.1 bytes"])
def test_half_a_parameter_is_no_count(text: str) -> None:
    with pytest.raises(InputError, match="is not a whole number: write the count like 110M"):
        amount(text)


def test_of_a_calculation_the_whole_text_is_quoted_where_its_unit_is_unknown() -> None:
    with pytest.raises(InputError, match=r'^"12\*3\^2 kg" has an unknown unit'):
        amount("12*3^2 kg")
    with pytest.raises(InputError, match="has an unclosed parenthesis"):
        amount("(3*4 kg")


@given(st.integers(10, 10**12 - 1))
def test_a_number_in_chinese_is_the_number(number: int) -> None:
    """As written in Chinese: four digits for each unit, and a zero for a skipped unit."""
    assert typed(chinese(number)).value == number


def chinese(number: int) -> str:
    for unit, name in ((10**8, "亿"), (10**4, "万"), (1_000, "千"), (100, "百"), (10, "十")):
        if number >= unit:
            many, rest = divmod(number, unit)
            skipped = "零" if 0 < rest < unit // 10 else ""
            return chinese(many) + name + skipped + chinese(rest)
    return "零一二三四五六七八九"[number] if number else ""


@pytest.mark.parametrize("text", ["-1", "1/2 - 1", "3 - 4 GB"])
def test_less_than_nothing_is_no_count(text: str) -> None:
    with pytest.raises(InputError, match="is negative, but a count cannot be"):
        amount(text)
