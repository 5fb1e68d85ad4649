"""Lines of a hand count are read as users write them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig
from bertcalc.diagnosis.count_lines import TypedLine, read


def one(text: str) -> TypedLine:
    [line] = read(text, BertConfig())
    return line


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("vocab: 30522*768 = 23,440,896", "vocab", 23_440_896),
        ("vocab: 30522*768", "vocab", 23_440_896),
        ("词向量：21128*768 = 16,226,304", "词向量", 16_226_304),
        ("roberta: types = 2*768", "roberta: types", 1536),
        ("- pooler = H*H + H", "pooler", 590_592),
        ("3) pooler = H*H + H", "pooler", 590_592),
        ("30522*768 ≈ 23.4M", "", 23_440_896),
        ("word embeddings = 23.4M = 30522*768", "word embeddings", 23_440_896),
        ("attention = 4*768*768 = 9.4 MB", "attention", 2_359_296),
        ("Position embeddings 393,216", "Position embeddings", 393_216),
        ("pooler.dense.weight torch.Size([768, 768])", "pooler.dense.weight", 589_824),
        ("pooler.dense.bias = (768,)", "pooler.dense.bias", 768),
        ("- 768 + 2*768", "", 768),
        ("L*4*H*H = 28311552", "", 28_311_552),
    ],
)
def test_a_line_has_a_name_and_a_value(text: str, name: str, value: int) -> None:
    line = one(text)
    assert (line.name, line.problem) == (name, None)
    assert line.value == line.exact == value


@pytest.mark.parametrize(
    ("text", "value", "reach"), [("embeddings: 23.8M", 23_800_000, 50_000), ("total = 1.1亿", 110_000_000, 5_000_000)]
)
def test_a_rounded_value_may_be_off_by_half_a_digit(text: str, value: int, reach: int) -> None:
    line = one(text)
    assert line.value == value
    assert line.reach == reach
    assert line.exact is None
    assert line.means(value + reach)
    assert not line.means(value + reach + 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vocab: 30522*768 = 23,440,000", "The calculation gives 23,440,896, not 23,440,000."),
        ("30522*768 = 24.4M", "The calculation gives 23,440,896, not 24,400,000."),
        (
            "12*(768*3072*2) = 54MB",
            "54MB is the count divided by 1,024 · 1,024, not the number of bytes: in float32, the parameters take "
            "226.5 MB (216.0 MiB).",
        ),
    ],
)
def test_sides_that_are_not_equal_are_named(text: str, said: str) -> None:
    assert str(one(text).problem) == said


def test_semicolons_separate_lines() -> None:
    names = [line.name for line in read("a = 1; b = 2；c = 3\n d = 4;", BertConfig())]
    assert names == ["a", "b", "c", "d"]


@given(st.text(max_size=200))
def test_any_text_is_read_or_says_why_not(text: str) -> None:
    for line in read(text, BertConfig()):
        assert line.value is not None or line.problem
        assert line.reach >= Fraction(0)


def test_equations_side_by_side_are_lines() -> None:
    lines = read("W1 = 768*3072, b1 = 3072\nW_Q, W_K = 2*768*768\nn = 1,000", BertConfig())
    assert [(line.name, line.exact) for line in lines] == [
        ("W1", 768 * 3072),
        ("b1", 3072),
        ("W_Q, W_K", 2 * 768 * 768),
        ("n", 1000),
    ]


def test_the_head_of_a_table_is_no_line() -> None:
    table = (
        "| Part | Formula | Count |\n|:---|---|---:|\n| Pooler | H*H + H | 590,592 |\n| Layers | 12 | 7,087,872 | 85M |"
    )
    lines = read(table, BertConfig())
    assert [(line.name, line.exact or line.value) for line in lines] == [("Pooler", 590_592), ("Layers", 85_000_000)]


@pytest.mark.parametrize("text", ["2**20", "3 ** 2 + 2**20", "2**(4)*2**(3)", "(2)**3 + (2)**4"])
def test_powers_are_no_bold_text(text: str) -> None:
    [line] = read(f"x = {text}", BertConfig())
    assert line.exact == eval(text, {"__builtins__": {}})


@pytest.mark.parametrize("text", ["12 million x 4", "1.1亿×4", "projection E->H: 128*768"])
def test_what_belongs_to_a_number_or_a_name_is_kept(text: str) -> None:
    [line] = read(text, BertConfig())
    assert line.value in (None, 128 * 768)


@pytest.mark.parametrize("times", ["x", " x ", " X ", "×", " * "])
def test_an_x_between_numbers_multiplies(times: str) -> None:
    [line] = read(f"classifier 768{times}2 + 2 = 1538", BertConfig())
    assert (line.name, int(line.value or 0), line.problem) == ("classifier", 1538, None)
    [wrong] = read(f"NSP head 786{times}2+2=1538", BertConfig())
    assert str(wrong.problem) == "The calculation gives 1,574, not 1,538."


@pytest.mark.parametrize(
    ("line", "agrees"),
    [
        ("scores = 12*512*512*4 = 12.6 MB", True),
        ("attention = 4*768*768 = 9.4 MB", True),
        ("pooler = 768*768+768 = 590.6 KB", False),
    ],
)
def test_a_result_in_bytes_has_bytes_for_each_parameter(line: str, agrees: bool) -> None:
    [typed] = read(line, BertConfig())
    assert (typed.problem is None) is agrees
