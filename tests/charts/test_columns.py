"""Numbers for charts are exact if they fit into Arrow's 64-bit integers."""

import pyarrow as pa
import pytest

from bertcalc.charts.columns import number, sent


@pytest.mark.parametrize("count", [0, 2**53 + 1, 2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64])
def test_a_number_stays_whole_exactly_where_64_bits_hold_it(count: int) -> None:
    try:
        pa.array([count], pa.int64())
        fits = True
    except OverflowError:
        fits = False
    assert type(number(count)) is (int if fits else float)
    assert number(count) == (count if fits else float(count))


@pytest.mark.parametrize("count", [2**63 - 1, 2**63])
def test_a_column_of_such_numbers_is_sent_as_arrow(count: int) -> None:
    table = sent({"parameters": [1, number(count)] if count < 2**63 else [number(count)]})
    assert isinstance(table, pa.Table)
    assert table.column("parameters").to_pylist()[-1] == count
