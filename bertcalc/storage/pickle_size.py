"""Count the bytes that Python's pickler writes for a value with protocol 2, without creating the pickled objects.

The rules are from CPython's Modules/_pickle.c: the pickler memoizes strings, tuples, dictionaries and globals under a
number, which needs two bytes if it is at most 255, and five bytes otherwise.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

_BATCH = 1000  # the maximum number of items between a MARK and SETITEMS or APPENDS


class Global(NamedTuple):
    """A function or class, which the pickler writes as its name."""

    module: str
    name: str


class PickledCall(NamedTuple):
    """An object that the pickler writes as a call; ``items`` are set on its result, then ``state``.

    With ``is_single``, equal calls are the same object and are written once.
    """

    function: Global
    arguments: tuple[object, ...] = ()
    items: Mapping[str, object] | None = None
    state: object = None
    is_single: bool = False


class NewText(NamedTuple):
    """A string that the pickler writes even after an equal string, because it is a different object."""

    text: str


class Persistent(NamedTuple):
    """A value that the pickler writes as its persistent id."""

    key: tuple[object, ...]


ORDERED_DICT = PickledCall(Global("collections", "OrderedDict"))


class PickleSize:
    """Counts the bytes of a pickle; ``replace`` converts other values to numbers, strings, collections and calls."""

    def __init__(self, replace: Callable[[object], object] = lambda value: value) -> None:
        self.num_bytes = 3  # the opcodes PROTO 2 and STOP
        self._numbers: dict[Hashable, int] = {}
        self._remembered = 0
        self._replace = replace

    def add(self, value: object) -> None:
        """Add the bytes of a value. Raises TypeError for an unknown type."""
        value = self._replace(value)
        if value is None or isinstance(value, bool):
            self.num_bytes += 1
        elif isinstance(value, int):
            self.num_bytes += _integer(value)
        elif isinstance(value, float):
            self.num_bytes += 9
        elif isinstance(value, str):
            self._once(value, 5 + len(value.encode()))
        elif isinstance(value, NewText):
            self.num_bytes += 5 + len(value.text.encode())
            self._remember()
        elif isinstance(value, Global):
            self._once(value, 3 + len(value.module) + len(value.name))
        elif isinstance(value, Persistent):
            self.add(value.key)
            self.num_bytes += 1
        elif isinstance(value, PickledCall):
            self._call(value)
        elif isinstance(value, tuple):
            self._tuple(value)
        elif isinstance(value, dict):
            self.num_bytes += 1
            self._remember()
            self._batches([*value.items()], exact=True)
        elif isinstance(value, list):
            self.num_bytes += 1
            self._remember()
            self._batches([(item,) for item in value], exact=True)
        else:
            raise TypeError(type(value).__name__)

    def _call(self, call: PickledCall) -> None:
        if call.is_single and self._repeated(call):
            return
        self.add(call.function)
        self.add(call.arguments)
        self.num_bytes += 1
        self._remember(call if call.is_single else None)
        if call.items is not None:
            self._batches([*call.items.items()], exact=False)
        if call.state is not None:
            self.add(call.state)
            self.num_bytes += 1

    def _tuple(self, values: Sequence[object]) -> None:
        for value in values:
            self.add(value)
        self.num_bytes += 1 if len(values) <= 3 else 2  # a MARK precedes more than three values
        if values:
            self._remember()

    def _batches(self, items: Sequence[Iterable[object]], *, exact: bool) -> None:
        """Add items in batches.

        With ``exact`` (a plain dictionary or list), a multiple of the batch size is followed by an empty batch.
        """
        for item in items:
            for value in item:
                self.add(value)
        full, rest = divmod(len(items), _BATCH)
        if not items or (rest == 1 and (not full or not exact)):
            self.num_bytes += 2 * full + rest
        else:
            self.num_bytes += 2 * (full + (exact or rest > 0))

    def _once(self, key: Hashable, size: int) -> None:
        if not self._repeated(key):
            self.num_bytes += size
            self._remember(key)

    def _repeated(self, key: Hashable) -> bool:
        """Whether a value was written before; if so, add the bytes of its number."""
        if (number := self._numbers.get(key)) is None:
            return False
        self.num_bytes += 2 if number < 256 else 5
        return True

    def _remember(self, key: Hashable = None) -> None:
        self.num_bytes += 2 if self._remembered < 256 else 5
        if key is not None:
            self._numbers[key] = self._remembered
        self._remembered += 1


def _integer(value: int) -> int:
    if 0 <= value < 2**16:
        return 2 if value < 2**8 else 3
    return 5 if -(2**31) <= value < 2**31 else 2 + (value.bit_length() + 8) // 8
