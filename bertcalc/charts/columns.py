"""The data of tables and charts by column, sent to the browser without pandas, which is slow for small tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

Columns = Mapping[str, Sequence[Any]]


def of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Convert rows to columns, with None where a row lacks a column."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def number(count: int) -> int | float:
    """Return ``count``, as a float if it does not fit into 64 bits; numbers in a browser are no more precise."""
    return count if count < 2**63 else float(count)


def sent(columns: Columns) -> Any:
    """Convert columns to a pyarrow.Table, which Streamlit sends fastest, or to a DataFrame if Arrow rejects them."""
    import pyarrow as pa  # imported late, because Streamlit imports it only for the first table

    try:
        return pa.table(dict(columns))
    except (pa.ArrowException, OverflowError):  # numbers beyond 64 bits, or several types in one column
        return pd.DataFrame(columns)
