"""Live values as a program for a browser: a list of operations, each of which can use the results of earlier ones.

>>> from bertcalc.text.live_numbers import LiveNode, fill, live
>>> hidden = live(768, LiveNode("field", ("hidden_size",)))
>>> program = LiveProgram()
>>> program.add(fill("{count:,} weights", count=hidden * hidden))
[3]
>>> program.operations
[['field', 'hidden_size'], ['*', [0], [0]], ['grouped', [1]], ['text', [2], ' weights']]

An argument is a text, a safe integer, true, false, null, or a list. [3] is the result of operation 3, ["i", "9…"] a
large integer, ["q", "1", "3"] a fraction, ["f", 0.5] a float, and ["l", ...] a list of arguments.
"""

import threading
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any

from bertcalc.text.live_numbers import LiveNode, node_of

_SAFE = 2**53  # integers up to this are exact in a browser's JSON


class LiveProgram:
    """A growing program, in which equal nodes share an operation.

    Most runs of a page add the same nodes in the same order as the previous run, so they reuse its steps.
    """

    def __init__(self) -> None:
        self._step = _FIRST

    def add(self, value: Any) -> Any:
        """Add the operations of a value, and return the argument that stands for the value; do not modify it."""
        return _argument(node_of(value), self._add_node)

    def _add_node(self, node: LiveNode) -> Any:
        self._step = _after(self._step, node)
        return self._step.argument

    @property
    def operations(self) -> list[list[Any]]:
        """The operations so far; do not modify the list."""
        return self._step.operations

    @property
    def name(self) -> str:
        """A hash of the operations: only programs with the same operations share it."""
        return self._step.name


class _NumberedOperations:
    """A growing list of operations, shared by the successive steps of a program."""

    def __init__(self, operations: list[list[Any]], places: dict[LiveNode, int]) -> None:
        self.operations = operations
        self._places = places

    def first(self, count: int) -> "_NumberedOperations":
        """The first ``count`` operations, as a list that can grow."""
        if count == len(self.operations):
            return self
        places = {node: place for node, place in self._places.items() if place < count}
        return _NumberedOperations(self.operations[:count], places)

    def add(self, node: LiveNode) -> list[int]:
        """Add the operations of a node unless they exist, and return the argument that stands for the node."""
        if node not in self._places:
            operation = [node.operation, *(_argument(value, self.add) for value in node.arguments)]
            self._places[node] = len(self.operations)
            self.operations.append(operation)
        return [self._places[node]]


def _argument(value: Any, add: Callable[[LiveNode], Any]) -> Any:
    """Write a value as an argument of an operation; ``add`` adds the nodes in it."""
    if isinstance(value, LiveNode):
        return add(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < _SAFE else ["i", str(int(value))]
    if isinstance(value, tuple):
        return ["l", *(_argument(part, add) for part in value)]
    if isinstance(value, Fraction):
        return ["q", str(value.numerator), str(value.denominator)]
    if isinstance(value, float):
        return ["f", float(value)]
    message = f"a browser cannot compute with {type(value).__name__}"
    raise TypeError(message)


class _ProgramStep:
    """The program after a node was added: the node as an argument, and the first ``count`` operations."""

    def __init__(self, argument: Any, numbered: _NumberedOperations) -> None:
        self.argument = argument
        self.numbered, self.count = numbered, len(numbered.operations)

    def after(self, node: LiveNode) -> "_ProgramStep":
        with _LOCK:  # two runs may add to the same operations
            numbered = self.numbered.first(self.count)
            return _ProgramStep(numbered.add(node), numbered)

    @cached_property
    def operations(self) -> list[list[Any]]:
        return self.numbered.operations[: self.count]

    @cached_property
    def name(self) -> str:
        return sha256(repr(self.operations).encode()).hexdigest()[:16]


_FIRST = _ProgramStep(None, _NumberedOperations([], {}))
_LOCK = threading.Lock()


@lru_cache(maxsize=8192)
def _after(step: _ProgramStep, node: LiveNode) -> _ProgramStep:
    return step.after(node)
