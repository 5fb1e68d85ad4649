"""Numbers in the format of each language."""

from fractions import Fraction

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.widgets.numbers import percent, signed_percent
from tests.markdown import read
from tests.pages.apptest import tables


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (23_837_184, 109_482_240, "21.8 %"),
        (1_536, 109_482_240, "<0.1 %"),
        (109_480_704, 109_482_240, ">99.9 %"),
        (1, 1, "100.0 %"),
        (0, 1, "0.0 %"),
    ],
)
def test_a_share_that_is_neither_nothing_nor_all_does_not_read_so(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        *((23_837_184, 109_482_240, "22 %"), (1_536, 109_482_240, "<1 %"), (4, 1_000, "<1 %"), (6, 1_000, "1 %")),
        *((109_480_704, 109_482_240, ">99 %"), (1, 1, "100 %"), (0, 1, "0 %"), (3, 2, "150 %")),
    ],
)
def test_a_share_without_decimals_is_as_honest(part: int, whole: int, text: str) -> None:
    assert percent(part, whole, decimals=0) == text


@pytest.mark.parametrize(
    ("difference", "of", "text"),
    [
        (225_659_648, 109_482_240, "+206 %"),
        (-13_474_944, 109_482_240, "−12.3 %"),
        (-44_544, 109_482_240, "−0.0407 %"),
        (330_756_100, 4_385_920, "+7,541 %"),
        (1, 10**9, "+0.000000100 %"),
        (0, 1, "±0 %"),
    ],
)
def test_a_difference_has_three_digits_and_never_reads_nothing(difference: int, of: int, text: str) -> None:
    assert signed_percent(Fraction(difference, of)) == text


def test_chinese_has_no_space_before_the_sign_of_per_cent() -> None:
    def script() -> None:
        from fractions import Fraction

        import streamlit as st

        from pages.ui.widgets.numbers import percent, signed_percent

        st.session_state["lang"] = "zh"
        st.text(
            " ".join([percent(1, 3), percent(1, 10**6), signed_percent(Fraction(-1, 3)), signed_percent(Fraction(0))])
        )

    assert AppTest.from_function(script, default_timeout=60).run().text[0].value == "33.3% <0.1% −33.3% ±0%"


def test_a_share_at_the_start_of_a_cell_is_no_quotation() -> None:
    def table() -> None:
        from pages.ui.widgets.tables import show_table

        show_table({"Share": [">99.9 %", "5 > 4"]}, "shares")

    cells = tables(AppTest.from_function(table, default_timeout=60).run())[0]["Share"]
    assert [read(cell).seen for cell in cells] == [">99.9 %", "5 > 4"]
