"""Live numbers work with Python's own tools. tests/browser/test_live.py compares their arithmetic."""

import copy
import pickle

from bertcalc.text.live_numbers import LiveNode, live


def test_live_values_are_copied_and_pickled_with_their_nodes() -> None:
    value = live(5, LiveNode("field", ("hidden_size",)))
    for copied in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert (copied, copied.node) == (5, value.node)
