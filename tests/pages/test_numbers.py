"""Numbers as people read them."""

from fractions import Fraction

import pytest

from pages.ui.numbers import percent, signed_percent, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999 B"),
        (1_024, "1.0 kB (1.0 KiB)"),
        (999_949, "999.9 kB (976.5 KiB)"),
        (437_928_960, "437.9 MB (417.6 MiB)"),
        (999_999_999, "1,000.0 MB (953.7 MiB)"),
        (1_340_567_552, "1.3 GB (1.2 GiB)"),
    ],
)
def test_sizes_name_both_units(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(23_837_184, 109_482_240, "21.8 %"), (1_536, 109_482_240, "<0.1 %"), (1, 1, "100.0 %"), (0, 1, "0.0 %")],
)
def test_a_share_that_is_not_nothing_does_not_read_zero(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


@pytest.mark.parametrize(
    ("difference", "of", "text"),
    [
        (225_659_648, 109_482_240, "+206 %"),
        (-13_474_944, 109_482_240, "-12.3 %"),
        (-44_544, 109_482_240, "-0.0407 %"),
        (330_756_100, 4_385_920, "+7,541 %"),
        (1, 10**9, "+0.000000100 %"),
        (0, 1, "±0 %"),
    ],
)
def test_a_difference_has_three_digits_and_never_reads_nothing(difference: int, of: int, text: str) -> None:
    assert signed_percent(Fraction(difference, of)) == text
