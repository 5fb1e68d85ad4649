"""The time to count one model, and a column of models: ``python -m benchmarks.core``.

Each figure is shown beside a floor from the same run: the same sum of products, written by hand in plain Python and in
NumPy, without a module tree, names and shapes.
"""

from collections.abc import Callable
from statistics import median
from timeit import repeat
from typing import Any

import numpy as np

from bertcalc import BertConfig, build, columns

ROWS = 100_000


def by_hand(h: Any, layers: Any, i: Any) -> Any:
    """Count BertModel's parameters with one expression, for integers or columns."""
    return (30522 + 512 + 2 + 2) * h + layers * (4 * h * h + 2 * h * i + 9 * h + i) + h * h + h


def microseconds(function: Callable[[], object], number: int) -> float:
    """Return the microseconds per call: the median over 11 batches of ``number`` calls each."""
    return median(repeat(function, number=number, repeat=11)) / number * 1e6


def main() -> None:
    """Measure the counts, and print the table."""
    config = BertConfig()
    random = np.random.default_rng(0)
    heads = random.integers(1, 33, ROWS)
    layers = random.integers(1, 49, ROWS)
    hidden, intermediate = 64 * heads, 256 * heads
    many = {
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "intermediate_size": intermediate,
    }
    assert build(config).num_parameters() == by_hand(768, 12, 3072)
    count = microseconds(lambda: build(BertConfig(), "BertModel").num_parameters(), 1000)
    floor = microseconds(lambda: by_hand(768, 12, 3072), 1000)
    print(f"count of bert-base, all of it each time    {count:10.1f} µs   {count / floor:6.1f} x by hand")
    column = microseconds(lambda: build(columns(config, **many)).num_parameters(), 1)
    floor = microseconds(lambda: by_hand(hidden, layers, intermediate), 1)
    print(f"column of {ROWS:,} counts, checked         {column / 1e3:10.1f} ms   {column / floor:6.1f} x by hand")
    print(f"                                           {ROWS / column:10.1f} million models per second")


if __name__ == "__main__":
    main()
