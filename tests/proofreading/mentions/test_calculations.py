"""Numbers and calculations in a text: which are read, and which are not."""

from fractions import Fraction
from time import process_time

import pytest

from bertcalc.proofreading.mentions.calculations import find

LETTERS = {"V": 30522, "H": 768, "L": 12, "A": 12, "I": 3072}


def values(text: str) -> list[list[Fraction]]:
    return [[side.value for side in entry.sides] for entry in find(text, LETTERS)]


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("4 * (768*768 + 768) = 2,362,368", [[2362368, 2362368]]),
        ("768x3072+3072", [[2362368]]),
        ("1+(1+1+1)x12=37次", [[37, 37]]),
        ("embedding(768*2) + feed forward(768*2*12) = 19,968", [[19968, 19968]]),
        ("21,635,072(token) + 2048(token_type) = 21,637,120", [[21637120, 21637120]]),
        ("12 heads x 64 x 3", [[2304]]),
        ("4H² + 9H", [[2366208]]),
        ("12·768² = 84,934,656", [[7077888, 84934656]]),
        ("23.4M + 0.4M = 23.8M", [[23800000, 23800000]]),
        ("1亿948万2240", [[109482240]]),
        ("a.weight -> torch.Size([30522, 768]) -> 23440896", [[23440896, 23440896]]),
        ("85,054,464 -> 42,527,232", [[85054464], [42527232]]),
        ("(V+L+2)*W = (21128 + 512 + 2) * 768 = 16621056", [[16621056, 16621056]]),
        ("768 * n_layers = 9,216", [[9216]]),
        ("75641856 / 1024 / 1024 = 72.1 MB", [[Fraction(75641856, 1024**2), 72100000]]),
        ("0.4 × 28.3M = 11.3M", [[11320000, 11300000]]),
        ("23.4 + 0.39 + 85 = 108.8 million", [[Fraction("108.79"), 108800000]]),
        ("vocabulary of 30,522 × hidden size 768 = 23.4 million", [[23440896, 23400000]]),
        ("attention 4,198,400 + feed-forward 8,393,728", [[4198400], [8393728]]),
        ("encoder 85.1M + pooler 0.6M = 109.5M", [[85100000], [600000], [109500000]]),
        ("440,473,133 B of 7B", [[440473133], [7000000000]]),
    ],
)
def test_calculations_are_evaluated(text: str, sides: list[list[Fraction]]) -> None:
    assert values(text) == sides


@pytest.mark.parametrize("text", ["v4.39.0", "2018-10-11", "arXiv:1810.04805", "第13层", "GPT-2", "layer_0", "(0-11)"])
def test_versions_dates_and_names_are_no_numbers(text: str) -> None:
    assert values(text) == []


@pytest.mark.parametrize("text", ["1.1 亿522 x 3", "1.1亿亿", "0.5万万"])
def test_a_decimal_with_units_that_are_none_is_no_number(text: str) -> None:
    assert all(value not in (Fraction("1.1"), Fraction("0.5")) for sides in values(text) for value in sides)


def test_words_stand_before_and_after() -> None:
    first, second = find("The query has 590,592 parameters, the pooler 590,592.", {})
    assert (first.before, first.after) == ("The query has", "parameters, the pooler")
    assert second.before == "parameters, the pooler"


@pytest.mark.parametrize(
    "piece", ["(", "1+", "1,", "a(", "[1,", "1.1.", "1'111", "12 x", "(1+", "1 111 ", "1 = ", "a-"]
)
def test_the_time_is_proportional_to_the_text(piece: str) -> None:
    before = process_time()
    find((piece * 100_000)[:100_000], LETTERS)
    assert process_time() - before < 30  # it takes a few seconds; quadratic time would take minutes


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("12d^2 + 13d + 2d = 12d^2 + 14d", 2),  # sums with the same symbols must agree
        ("| attention | 12*(768*64*3) + 768*768 | 2,362,368 |", 2),  # a cell and its result
        ("| query | 768 * 768 | 590,592 |", 1),  # sizes, and a count with a bias
        ("| attention | 4 * 768 * 768 | 28,311,552 |", 1),  # a calculation for one layer, and a count of all layers
        ("150.37 MiB", 1),
        ("124M ≈ 31%", 1),  # a count and its share
        ("23.4M / 109.5M = 21.4%", 2),
        ("3 × (768 × 64) × 12 heads = 3 × 768 × 768", 2),
        ("768*3072(4H in the paper) + 3072=2360064", 2),
    ],
)
def test_what_is_one_chain(text: str, sides: int) -> None:
    assert len(find(text, LETTERS)[0].sides) == sides


def test_the_number_after_a_shape_has_the_name_before_it() -> None:
    entries = find("pooler.dense.weight: torch.Size([768, 768]), 589824", {})
    assert [entry.before for entry in entries if not entry.computes] == ["pooler.dense.weight: torch.Size([768, 768]),"]


def test_letters_that_the_text_gives_have_to_agree() -> None:
    text = "4H² + 4H = 2,359,296"
    assert [len(entry.sides) for entry in find(text, LETTERS)] == [1]
    assert [len(entry.sides) for entry in find(text, LETTERS, {"H"})] == [2]
    assert [len(entry.sides) for entry in find("VH = 23,400,896", LETTERS, {"V", "H"})] == [2]


def test_an_arrow_compares_what_the_words_before_it_name() -> None:
    first, second = find("the layers: 85,054,464 -> 42,527,232", {})
    assert first.before == "the layers:"
    assert second.before.startswith("the layers:")


def test_words_before_a_parenthesis_introduce_the_calculation() -> None:
    entry = find("注意力的参数量为(768*64+64)*3 = 147648", {})[0]
    assert entry.before == "注意力的参数量为"


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("H' = 11008, 3 × HH' parameters", [3 * 4096 * 11008]),
        ("3HH′ = 135,266,304", [135_266_304, 135_266_304]),
        ("2H'", [2 * 11008]),
        ("3 × HI' parameters", []),  # the text defines no I'
        ("the layers' 64 × 12", [768]),
        ("'H' × 12", []),
    ],
)
def test_a_letter_with_a_prime_is_a_name_of_its_own(text: str, sides: list[int]) -> None:
    entries = find(text, {"H": 4096, "I": 14336, "H'": 11008})
    assert [side.value for entry in entries[-1:] for side in entry.sides] == sides


@pytest.mark.parametrize("sign", ["⋅", "∙", "×", "*"])
@pytest.mark.parametrize(
    "text",
    [
        "2 · hidden size 768 · intermediate size 3072 = 4,718,592",
        "12 heads · 64 = 768",
        "0.4 · 109,482,240 = 43,792,896",
        "embedding(30522·768) · 4 = 93,763,584",
    ],
)
def test_every_multiplication_sign_joins_words_and_decimals(text: str, sign: str) -> None:
    assert values(text.replace("·", sign)) == values(text)
