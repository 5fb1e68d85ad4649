"""A cache that limits the total weight of its entries, whereas ``functools.lru_cache`` limits their number.

>>> repeated = WeightedCache("x".__mul__, most=10, weigh=len)
>>> for number in (4, 5, 3):
...     _ = repeated(number)
>>> repeated.weight  # the result for 4, the least recently used, is gone
8
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

R = TypeVar("R")


class WeightedCache(Generic[R]):
    """A thread-safe cache for a function of hashable arguments; the total weight of its results is at most ``most``.

    ``weigh`` returns the weight of a result, such as its bytes. The least recently used results are dropped first. The
    latest result always stays, even if it exceeds the limit by itself.
    """

    def __init__(self, function: Callable[..., R], most: int, weigh: Callable[[R], int]) -> None:
        self._function, self._most, self._weigh = function, most, weigh
        self._kept: OrderedDict[tuple[Hashable, ...], tuple[R, int]] = OrderedDict()
        self._lock = Lock()
        self.weight = 0

    def __call__(self, *arguments: Hashable) -> R:
        """Return the function's result for these arguments, from the cache if it is there."""
        with self._lock:
            if arguments in self._kept:
                self._kept.move_to_end(arguments)
                return self._kept[arguments][0]
        result = self._function(*arguments)
        weight = self._weigh(result)
        with self._lock:
            self.weight += weight - self._kept.pop(arguments, (result, 0))[1]
            self._kept[arguments] = result, weight
            while self.weight > self._most and len(self._kept) > 1:
                _arguments, (_result, lighter) = self._kept.popitem(last=False)
                self.weight -= lighter
        return result
