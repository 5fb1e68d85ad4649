"""Find the miscounts that lead to a wrong total: the likeliest explanations, and how much they prove.

>>> from bertcalc import BertConfig, build
>>> model = build(BertConfig())
>>> way = ways(counted(model), MiscountSizes.of(BertConfig()), 108_495_360)[0]
>>> way.habit, way.miscounts
('words and layers', ('embedding LayerNorm', 'positions', 'token types', 'pooler'))
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd
from threading import Lock
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.miscounts import HABITS, MISCOUNTS, Miscount, MiscountSizes, counted, total
from bertcalc.model.family import Model
from bertcalc.model.modules import Tensor
from bertcalc.processes.weighted_cache import WeightedCache
from bertcalc.text.arguments import Single, checked

# Explanations of at most so many bits are enumerated; rarer ones are combined from two of these.
MOST_BITS = 11.5
MOST_MISCOUNTS = 4
MOST_FOUND = 12
# Evidence is counted over so many multiples on each side of a number: of the hidden size, or of a rounding's width;
_NEAR = 200
_FAR, _FEWEST = 50, 20  # of a rounded number at most over 1/50 of it, but over 20 widths at least


class Cause(NamedTuple):
    """A miscount by its name in MISCOUNTS, and the amount it adds to the total after the miscounts before it."""

    miscount: str
    amount: int


Explanation = tuple[Cause, ...]  # in the order of MISCOUNTS; the amounts sum to the difference


class Way(NamedTuple):
    """Miscounts that lead to a total, their rarity, and the habit that makes some of them.

    One more of ``bits`` means half as often.
    """

    bits: float
    miscounts: tuple[str, ...]  # in the order of MISCOUNTS
    habit: str = ""  # a key of HABITS

    @property
    def ideas(self) -> int:
        """The number of mistakes; a habit is one."""
        if not self.habit:
            return len(self.miscounts)
        return len(self.miscounts) - len(set(HABITS[self.habit].miscounts) & set(self.miscounts)) + 1


class Evidence(NamedTuple):
    """Among the numbers near a typed one, those that have as simple an explanation."""

    explained: int
    numbers: int  # all that were examined
    step: int  # the distance between them

    @property
    def one_in(self) -> int:
        """The n for which one in n numbers has as simple an explanation."""
        return max(1, self.numbers // max(1, self.explained))


@checked
def explain(model: Model, config: Config, wrong: Single) -> list[Explanation]:
    """The shortest explanations of a total, the likeliest first; for the right total, the empty one.

    Raises ArgumentError if ``config`` is not the configuration of the model.
    """
    return explain_tensors(counted(model), MiscountSizes.of(config), wrong)


def explain_tensors(
    tensors: Sequence[Tensor], sizes: MiscountSizes, wrong: int, most: int = MOST_MISCOUNTS, *, chance: bool = True
) -> list[Explanation]:
    """The shortest explanations of a term that counts these tensors, of at most ``most`` miscounts.

    Without ``chance`` those are left out that may well be due to tiny sizes alone.
    """
    among = search(tuple(tensors), sizes, MOST_BITS)
    found = [way for way in among.ways(wrong) if chance or not is_chance(wrong, among.right, way.bits)]
    shortest = min([most, *(len(way.miscounts) for way in found)])
    return [causes(tensors, sizes, way.miscounts) for way in found if len(way.miscounts) <= shortest][:MOST_FOUND]


@checked
def ways(tensors: Sequence[Tensor], sizes: MiscountSizes, wrong: Single) -> list[Way]:
    """Every way to a total of at most MOST_BITS, the likeliest first."""
    return search(tuple(tensors), sizes, MOST_BITS).ways(wrong)


def causes(
    tensors: Sequence[Tensor], sizes: MiscountSizes, miscounts: Sequence[str], known: Mapping[str, Miscount] = MISCOUNTS
) -> Explanation:
    """The amount that each miscount adds to the total, made one after the other; ``known`` defines the names."""
    found = []
    for name in miscounts:
        after = known[name].make(tensors, sizes)
        found.append(Cause(name, total(after) - total(tensors)))
        tensors = after
    return tuple(found)


# The miscounts that change tensors of several parts; every other one stays within one part.
WIDE = (
    *("biases", "layer biases", "LayerNorm half", "LayerNorm", "LayerNorm 4H", "embeddings", "encoder once"),
    *("positions and types of V rows", "positions and types of H"),
)
_NAMES = tuple(MISCOUNTS)
_NUMBER = {name: number for number, name in enumerate(_NAMES)}
_State = tuple[int, ...]  # for each tensor, the number that stands for what is counted in its place
_NOTHING = Way(0.0, ())


class _TensorCounts:
    """Numbers for everything that can be counted in place of one tensor, so that a miscount maps numbers to numbers."""

    def __init__(self, sizes: MiscountSizes) -> None:
        self._sizes = sizes
        self._lock = Lock()
        self._numbers: dict[tuple[Tensor, ...], int] = {}
        self._all: list[tuple[Tensor, ...]] = []
        self.totals: list[int] = []
        self._after: list[dict[int, int]] = [{} for _name in _NAMES]
        self.number(())  # 0 stands for nothing

    def number(self, tensors: tuple[Tensor, ...]) -> int:
        """The number that stands for some tensors; a new one if they have none."""
        if tensors not in self._numbers:
            with self._lock:  # several sessions ask at the same time
                if tensors not in self._numbers:
                    self._all.append(tensors)
                    self.totals.append(total(tensors))
                    self._numbers[tensors] = len(self._all) - 1
        return self._numbers[tensors]

    def make(self, miscount: int, state: _State) -> _State:
        """The state after a miscount."""
        after = self._after[miscount]
        try:
            return tuple([after[one] for one in state])
        except KeyError:
            change = MISCOUNTS[_NAMES[miscount]].make
            for one in state:
                if one not in after:
                    after[one] = self.number(change(self._all[one], self._sizes))
            return tuple([after[one] for one in state])

    def real(self, state: _State) -> _State:
        """The state with 0 for tensors without elements: adding something and leaving it out again changes nothing."""
        totals = self.totals
        return tuple([one if totals[one] else 0 for one in state])

    def total(self, state: _State) -> int:
        """The total of a state."""
        totals = self.totals
        return sum([totals[one] for one in state])


_alike = lru_cache(maxsize=8)(_TensorCounts)  # the classes of a configuration have most tensors in common


class Search:
    """Every total that miscounts of at most ``bits`` together lead to."""

    def __init__(self, tensors: tuple[Tensor, ...], sizes: MiscountSizes, bits: float) -> None:
        self._most = bits
        self._counted = _alike(sizes)
        self._start = tuple(self._counted.number((tensor,)) for tensor in tensors)
        self._cheapest: dict[_State, Way] = {self._counted.real(self._start): _NOTHING}
        able = self._able()
        self._go(0, self._start, _NOTHING, (), self._exact(able))
        make = self._counted.make
        there = [number for _bits, number in able if make(number, self._start) != self._start]
        for name, habit in HABITS.items():
            forced = tuple(sorted(number for number in there if _NAMES[number] in habit.miscounts))
            if len(forced) > 1:
                rest = [one for one in able if one[1] not in forced]
                self._go(0, self._start, Way(habit.bits, (), name), forced, rest)
        self._ways: dict[int, list[Way]] = {}
        for state, way in sorted(self._cheapest.items(), key=lambda item: item[1]):
            self._ways.setdefault(self._counted.total(state), []).append(way)
        self.size = len(self._cheapest)
        self._cheapest.clear()  # its states take nine tenths of the memory
        self.right = self._counted.total(self._start)
        self._totals = sorted(self._ways)
        self._bits = [self._ways[one][0].bits for one in self._totals]

    def ways(self, wrong: int) -> list[Way]:
        """The ways to a total, the likeliest first; to the right total, only the one without miscounts."""
        return self._ways.get(wrong, [])[: 1 if wrong == self.right else None]

    def rarer(self, wrong: int) -> list[Way]:
        """Ways to a total that combine two others, which change different tensors; the likeliest first."""
        found: dict[_State, Way] = {}
        for amount, some in self._ways.items():
            rest = wrong - amount + self.right
            if amount != self.right and rest != self.right and rest in self._ways:
                one, other = some[0], self._ways[rest][0]
                names = sorted({*one.miscounts, *other.miscounts}, key=_NUMBER.__getitem__)
                if len(names) == len(one.miscounts) + len(other.miscounts) and len(names) <= MOST_MISCOUNTS:
                    state = self._start
                    for name in names:
                        state = self._counted.make(_NUMBER[name], state)
                    if self._counted.total(state) == wrong:  # they change different tensors
                        found[self._counted.real(state)] = Way(one.bits + other.bits, tuple(names))
        return sorted(found.values())

    def near(self, low: int, high: int, bits: float) -> Iterator[int]:
        """The wrong totals between two numbers that have a way of at most ``bits``."""
        for at in range(bisect_left(self._totals, low), bisect_right(self._totals, high)):
            if self._bits[at] <= bits and self._totals[at] != self.right:
                yield self._totals[at]

    def _able(self) -> list[tuple[float, int]]:
        """The miscounts that change something here, as (bits, number), the most frequent first."""
        added = self._start
        for number, name in enumerate(_NAMES):
            if name.endswith(("added", "again")):
                added = self._counted.make(number, added)
        return sorted(
            (miscount.bits, number)
            for number, miscount in enumerate(MISCOUNTS.values())
            if any(self._counted.make(number, state) != state for state in (self._start, added))
        )

    def _exact(self, able: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
        """Of miscounts with the same effect here only the most specific: attention biases before all biases."""
        same: dict[_State, list[tuple[float, int]]] = {}
        for one in able:
            state = self._counted.make(one[1], self._start)
            same.setdefault(state if state != self._start else (one[1],), []).append(one)
        return sorted(
            (some[0][0], min(some, key=lambda one: (_NAMES[one[1]] in WIDE, one))[1]) for some in same.values()
        )

    def _go(
        self, first: int, state: _State, way: Way, forced: Sequence[int], able: Sequence[tuple[float, int]]
    ) -> None:
        """Record the state that ``way`` and the ``forced`` miscounts of a habit lead to, after trying further ones.

        Miscounts are made in the order of MISCOUNTS; ``first`` is the number of the first that may follow.
        """
        make, names = self._counted.make, way.miscounts
        for bits, number in able:
            if way.bits + bits > self._most:
                break
            if number < first:
                continue
            before, made, rest = state, names, forced
            while rest and rest[0] < number:
                before, made, rest = make(rest[0], before), (*made, _NAMES[rest[0]]), rest[1:]
            after = make(number, before)
            if after != before:
                more = Way(way.bits + bits, (*made, _NAMES[number]), way.habit)
                self._go(number + 1, after, more, rest, able)
        for number in forced:
            state = make(number, state)
            names = (*names, _NAMES[number])
        real = self._counted.real(state)
        known = self._cheapest.get(real)
        if known is None or way.bits < known.bits:
            self._cheapest[real] = way._replace(miscounts=names)


def evidence(
    searches: Iterable[tuple[Search, float]],
    low: int,
    high: int,
    bits: float,
    hidden_size: int,
    others: Sequence[tuple[int, float]] = (),
) -> Evidence:
    """Count the numbers near a typed one that have an explanation of at most ``bits``.

    Only numbers at multiples of a step from it are examined: the width of a rounded number, which means all from
    ``low`` to ``high``, else the greatest common divisor of the hidden size and the difference from the right total.
    ``searches`` are the searches with the bits that each costs; ``others`` are further explained totals with their
    bits, sorted.
    """
    searches = list(searches)
    wide = high - low
    step = wide or gcd(low - searches[0][0].right, hidden_size)
    reach = min(_NEAR * wide, max(low // _FAR, _FEWEST * wide)) if wide else _NEAR * hidden_size
    lowest, highest = low - reach, high + reach
    found = {near for search, more in searches for near in search.near(lowest, highest, bits - more)}
    near = others[bisect_left(others, (lowest, 0.0)) : bisect_right(others, (highest, MOST_BITS))]
    found |= {one for one, rare in near if rare <= bits}
    explained = {(one - low) // step for one in found if wide or (one - low) % step == 0}
    return Evidence(len(explained), 2 * reach // step + 1, step)


def is_chance(wrong: int, right: int, bits: float) -> bool:
    """Whether a miscount is hardly likelier than to come upon its total by chance, among all numbers up to twice it.

    So it is with tiny sizes, where nearly every number is some product of them: 16 is 4 H^2 for a hidden size of 2.
    """
    return _LIKELIER * 2**bits > 2 * max(wrong, right)


_LIKELIER = 3


# Kept, as numbers are typed again and again for the same model, and all its terms are examined; a search can have five
# ways or five thousand, of some 300 bytes.
MOST_WAYS = 50_000
search = WeightedCache(Search, MOST_WAYS, lambda search: search.size)
