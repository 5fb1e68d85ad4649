"""The time of a map of 100,000 models, for each quantity: ``python -m benchmarks.explore``.

Each figure is shown beside a floor from the same run: the same quantity of the same models as one NumPy expression,
written by hand, without tree, steps and names. Hidden size, heads, intermediate size and layers are columns, so that
nothing can be counted once for many models.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.core import ROWS, by_hand, microseconds
from bertcalc import BertConfig, columns
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model

_BATCH, _LENGTH = 8, 128


def parameters(h: Any, heads: Any, layers: Any) -> Any:
    """The parameters of BertModel with an intermediate size of 4 h. They do not depend on ``heads``."""
    return by_hand(h, layers, 4 * h)


def forward(h: Any, heads: Any, layers: Any) -> Any:
    """The FLOPs of a forward pass."""
    return layers * 4 * _BATCH * _LENGTH * h * (6 * h + _LENGTH) + 2 * _BATCH * h * h


def activations(h: Any, heads: Any, layers: Any) -> Any:
    """The bytes that autograd saves for the backward pass."""
    tokens = _BATCH * _LENGTH
    layer = 4 * tokens * (3 * heads * _LENGTH + 10 * h + 8 * h + 4)
    return layers * layer + 4 * _BATCH * (3 * h * _LENGTH + h + 2 * _LENGTH)


def training_memory(h: Any, heads: Any, layers: Any) -> Any:
    """The approximate bytes of a training step with AdamW. bertcalc computes the peak over the step."""
    return 16 * parameters(h, heads, layers) + activations(h, heads, layers)


FLOORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "parameters": parameters,
    "forward": forward,
    "training": lambda h, heads, layers: 3 * forward(h, heads, layers),
    "activations": activations,
    "training_memory": training_memory,
}


def main() -> None:
    """Measure each quantity, and print the table."""
    random = np.random.default_rng(0)
    heads, layers = random.integers(1, 33, ROWS), random.integers(1, 49, ROWS)
    hidden = 64 * heads
    many = columns(
        BertConfig(),
        hidden_size=hidden,
        num_attention_heads=heads,
        num_hidden_layers=layers,
        intermediate_size=4 * hidden,
    )
    case = Case(Model(many), Batch(_BATCH, _LENGTH))
    for name, floor in FLOORS.items():
        count = QUANTITIES[name].of
        assert name in PEAKS or (count(case) == floor(hidden, heads, layers)).all()
        time = microseconds(partial(count, case), 1)
        least = microseconds(partial(floor, hidden, heads, layers), 1)
        print(f"{name:16} of {ROWS:,} models {time / 1e3:8.1f} ms {time / least:6.1f} x by hand")


if __name__ == "__main__":
    main()
