"""Live values as a program for a browser: one list of operations, each of which can use the results of those before it.

>>> from bertcalc.text.live_numbers import LiveNode, fill, live
>>> hidden = live(768, LiveNode("field", ("hidden_size",)))
>>> program = LiveProgram()
>>> program.add(fill("{count:,} weights", count=hidden * hidden))
[3]
>>> program.operations
[['field', 'hidden_size'], ['*', [0], [0]], ['grouped', [1]], ['text', [2], ' weights']]

An argument is a text, a safe integer, true, false, null, or a list: [3] is the result of operation 3, ["i", "9…"] a
large integer, ["q", "1", "3"] a fraction, ["f", 0.5] a float, ["l", ...] a list of arguments.
"""

from fractions import Fraction
from typing import Any

from bertcalc.text.live_numbers import LiveNode, node_of

_SAFE = 2**53  # integers up to this are exact in a browser's JSON


class LiveProgram:
    """Collects the operations of values; equal operations become one."""

    def __init__(self) -> None:
        self.operations: list[list[Any]] = []
        self._places: dict[str, int] = {}
        self._seen: dict[int, tuple[LiveNode, int]] = {}  # by identity: the hash of a node goes through its whole tree

    def add(self, value: Any) -> Any:
        """Add the operations of a value, and return it as an argument."""
        return self._argument(node_of(value))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, LiveNode):
            return [self._place(value)]
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int):
            return int(value) if abs(value) < _SAFE else ["i", str(int(value))]
        if isinstance(value, tuple):
            return ["l", *map(self._argument, value)]
        if isinstance(value, Fraction):
            return ["q", str(value.numerator), str(value.denominator)]
        if isinstance(value, float):
            return ["f", float(value)]
        message = f"a browser cannot compute with {type(value).__name__}"
        raise TypeError(message)

    def _place(self, node: LiveNode) -> int:
        if id(node) not in self._seen:
            operation = [node.operation, *map(self._argument, node.arguments)]
            place = self._places.setdefault(repr(operation), len(self.operations))
            if place == len(self.operations):
                self.operations.append(operation)
            self._seen[id(node)] = node, place
        return self._seen[id(node)][1]
