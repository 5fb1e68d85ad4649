"""Search for the miscounts that lead to a wrong total, and measure how much an explanation proves.

>>> from bertcalc import BertConfig, build
>>> model = build(BertConfig())
>>> combination = combinations(counted(model), MiscountSizes.of(BertConfig()), 108_495_360)[0]
>>> combination.habit, combination.miscounts
('words and layers', ('embedding LayerNorm', 'positions', 'token types', 'pooler'))
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd
from threading import Lock
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.miscounts import HABITS, MISCOUNTS, Miscount, MiscountSizes, counted, total
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.processes.weighted_cache import WeightedCache
from bertcalc.text.arguments import Single, checked

# All explanations of up to this many bits are enumerated. A rarer explanation combines two of them.
MOST_BITS = 11.5
MOST_MISCOUNTS = 4
MOST_EXPLANATIONS = 12
# Evidence covers _NEAR hidden sizes on each side of an exact number. For a rounded number, it covers _NEAR widths of
# its range, but at most 1 / _FAR of the number, and at least _FEWEST widths.
_NEAR = 200
_FAR, _FEWEST = 50, 20


class Cause(NamedTuple):
    """The name of a miscount in MISCOUNTS, and the amount that it adds to the total after the preceding miscounts."""

    miscount: str
    amount: int


Explanation = tuple[Cause, ...]  # in the order of MISCOUNTS; the amounts sum to the difference


class Combination(NamedTuple):
    """Miscounts that together lead to a total, their rarity in bits, and the habit behind some of them.

    Each additional bit means that the mistakes are made half as often.
    """

    bits: float
    miscounts: tuple[str, ...]  # in the order of MISCOUNTS
    habit: str = ""  # a key of HABITS

    @property
    def ideas(self) -> int:
        """The number of mistakes; a habit counts as one."""
        if not self.habit:
            return len(self.miscounts)
        return len(self.miscounts) - len(set(HABITS[self.habit].miscounts) & set(self.miscounts)) + 1


class Evidence(NamedTuple):
    """How many numbers near a typed number have an equally simple explanation.

    If many numbers have one, an explanation may be a coincidence.
    """

    explained: int
    numbers: int  # how many numbers were examined
    step: int  # the distance between adjacent examined numbers

    @property
    def one_in(self) -> int:
        """The number n in "one in n numbers has an equally simple explanation"."""
        return max(1, self.numbers // max(1, self.explained))


@checked
def explain(model: Model, config: Config, wrong: Single) -> list[Explanation]:
    """Return the shortest explanations of the total ``wrong``, the likeliest first.

    The right total has only the empty explanation. Raises ArgumentError if ``config`` is not the configuration of the
    model.
    """
    return explain_tensors(counted(model), MiscountSizes.of(config), wrong)


def explain_tensors(
    tensors: Sequence[Tensor], sizes: MiscountSizes, wrong: int, most: int = MOST_MISCOUNTS, *, chance: bool = True
) -> list[Explanation]:
    """Return the shortest explanations, of at most ``most`` miscounts, for a wrong count of these tensors.

    ``chance=False`` leaves out explanations that may be coincidences, which are common at tiny sizes.
    """
    among = search(tuple(tensors), sizes, MOST_BITS)
    likely = [
        combination
        for combination in among.combinations(wrong)
        if chance or not is_chance(wrong, among.right, combination.bits)
    ]
    shortest = min([most, *(len(combination.miscounts) for combination in likely)])
    return [
        causes(tensors, sizes, combination.miscounts)
        for combination in likely
        if len(combination.miscounts) <= shortest
    ][:MOST_EXPLANATIONS]


@checked
def combinations(tensors: Sequence[Tensor], sizes: MiscountSizes, wrong: Single) -> list[Combination]:
    """Return all combinations of miscounts with at most MOST_BITS bits that lead to a total, the likeliest first."""
    return search(tuple(tensors), sizes, MOST_BITS).combinations(wrong)


def likeliest(tensors: Sequence[Tensor], sizes: MiscountSizes, wrong: int) -> tuple[str, ...]:
    """Return the miscounts that most likely lead to a total; () if there are none, or only coincidences.

    There may be more than MOST_MISCOUNTS of them, as in the rule of thumb VH + 12LH².
    """
    right = total(tensors)
    ways = combinations(tensors, sizes, wrong)
    return next((way.miscounts for way in ways if not is_chance(wrong, right, way.bits)), ())


def causes(
    tensors: Sequence[Tensor],
    sizes: MiscountSizes,
    miscounts: Sequence[str],
    definitions: Mapping[str, Miscount] = MISCOUNTS,
) -> Explanation:
    """Apply miscounts in turn and return the amount that each of them adds to the total.

    ``definitions`` maps the names to miscounts.
    """
    made = []
    for name in miscounts:
        after = definitions[name].make(tensors, sizes)
        made.append(Cause(name, total(after) - total(tensors)))
        tensors = after
    return tuple(made)


def is_ruled_out(
    tensors: Sequence[Tensor], sizes: MiscountSizes, miscounts: Sequence[str], right: Collection[str]
) -> bool:
    """Whether miscounts change any of the tensors named in ``right``, which the same text counts correctly."""
    after = tensors
    for name in miscounts:
        after = MISCOUNTS[name].make(after, sizes)
    kept = {(tensor.name, tensor.shape) for tensor in after}
    return any(
        tensor.name in right and tensor.num_parameters() and (tensor.name, tensor.shape) not in kept
        for tensor in tensors
    )


# The miscounts that change tensors of several parts. Any other miscount changes only one part.
WIDE = (
    *("biases", "layer biases", "LayerNorm half", "LayerNorm", "LayerNorm 4H", "embeddings", "encoder once"),
    *("positions and types of V rows", "positions and types of H"),
)
_NAMES = tuple(MISCOUNTS)
_NUMBER = {name: number for number, name in enumerate(_NAMES)}
_State = tuple[int, ...]  # for each tensor of the model, the id of the tensors counted in its place
_NOTHING = Combination(0.0, ())


class _TensorCounts:
    """Ids for the tuples of tensors that can be counted in place of a tensor, so that a miscount maps ids to ids."""

    def __init__(self, sizes: MiscountSizes) -> None:
        self._sizes = sizes
        self._lock = Lock()
        self._numbers: dict[tuple[Tensor, ...], int] = {}
        self._all: list[tuple[Tensor, ...]] = []
        self.totals: list[int] = []
        self._after: list[dict[int, int]] = [{} for _name in _NAMES]
        self.number(())  # 0 is the id of the empty tuple

    def number(self, tensors: tuple[Tensor, ...]) -> int:
        """Return the id of a tuple of tensors; a new tuple gets the next id."""
        if tensors not in self._numbers:
            with self._lock:  # several sessions may ask at the same time
                if tensors not in self._numbers:
                    self._all.append(tensors)
                    self.totals.append(total(tensors))
                    self._numbers[tensors] = len(self._all) - 1
        return self._numbers[tensors]

    def make(self, miscount: int, state: _State) -> _State:
        """Return the state after applying a miscount to every tensor."""
        after = self._after[miscount]
        try:
            return tuple([after[number] for number in state])
        except KeyError:
            change = MISCOUNTS[_NAMES[miscount]].make
            for number in state:
                if number not in after:
                    after[number] = self.number(change(self._all[number], self._sizes))
            return tuple([after[number] for number in state])

    def real(self, state: _State) -> _State:
        """Replace ids of tensors without elements with 0, so that adding and leaving out a tensor cancel out."""
        totals = self.totals
        return tuple([number if totals[number] else 0 for number in state])

    def total(self, state: _State) -> int:
        """Return the total number of elements in a state."""
        totals = self.totals
        return sum([totals[number] for number in state])


_alike = lru_cache(maxsize=8)(_TensorCounts)  # cached, because a configuration's classes share most tensors


class Search:
    """All totals that result from combinations of miscounts with at most ``bits`` bits."""

    def __init__(self, tensors: tuple[Tensor, ...], sizes: MiscountSizes, bits: float) -> None:
        self._most = bits
        self._counted = _alike(sizes)
        self._start = tuple(self._counted.number((tensor,)) for tensor in tensors)
        self._cheapest: dict[_State, Combination] = {self._counted.real(self._start): _NOTHING}
        applicable = self._applicable()
        self._explore(0, self._start, _NOTHING, (), self._most_specific(applicable))
        make = self._counted.make
        effective = [number for _bits, number in applicable if make(number, self._start) != self._start]
        for name, habit in HABITS.items():
            forced = tuple(sorted(number for number in effective if _NAMES[number] in habit.miscounts))
            if len(forced) >= _FEWEST_OF_HABIT:
                rest = [miscount for miscount in applicable if miscount[1] not in forced]
                self._explore(0, self._start, Combination(habit.bits, (), name), forced, rest)
        self._combinations: dict[int, list[Combination]] = {}
        for state, combination in sorted(self._cheapest.items(), key=lambda item: item[1]):
            self._combinations.setdefault(self._counted.total(state), []).append(combination)
        self.size = len(self._cheapest)
        self._cheapest.clear()  # frees most of the memory
        self.right = self._counted.total(self._start)
        self._totals = sorted(self._combinations)
        self._bits = [self._combinations[amount][0].bits for amount in self._totals]

    def combinations(self, wrong: int) -> list[Combination]:
        """Return the combinations that lead to a total, the likeliest first.

        For the right total, only the empty combination is returned.
        """
        return self._combinations.get(wrong, [])[: 1 if wrong == self.right else None]

    def rarer(self, wrong: int) -> list[Combination]:
        """Join pairs of combinations that change different tensors and lead to a total, the likeliest first."""
        by_state: dict[_State, Combination] = {}
        for amount, combinations in self._combinations.items():
            rest = wrong - amount + self.right
            if amount != self.right and rest != self.right and rest in self._combinations:
                first, second = combinations[0], self._combinations[rest][0]
                names = sorted({*first.miscounts, *second.miscounts}, key=_NUMBER.__getitem__)
                if len(names) == len(first.miscounts) + len(second.miscounts) and len(names) <= MOST_MISCOUNTS:
                    state = self._start
                    for name in names:
                        state = self._counted.make(_NUMBER[name], state)
                    if self._counted.total(state) == wrong:  # they change different tensors
                        by_state[self._counted.real(state)] = Combination(first.bits + second.bits, tuple(names))
        return sorted(by_state.values())

    def near(self, low: int, high: int, bits: float) -> Iterator[int]:
        """Yield the wrong totals from ``low`` to ``high`` that result from a combination of at most ``bits`` bits."""
        for index in range(bisect_left(self._totals, low), bisect_right(self._totals, high)):
            if self._bits[index] <= bits and self._totals[index] != self.right:
                yield self._totals[index]

    def _applicable(self) -> list[tuple[float, int]]:
        """Return the miscounts that change any of the tensors, as (bits, number) pairs, the most frequent first.

        A miscount also applies if it changes only tensors that another miscount adds.
        """
        added = self._start
        for number, name in enumerate(_NAMES):
            if name.endswith(("added", "again")):
                added = self._counted.make(number, added)
        return sorted(
            (miscount.bits, number)
            for number, miscount in enumerate(MISCOUNTS.values())
            if any(self._counted.make(number, state) != state for state in (self._start, added))
        )

    def _most_specific(self, applicable: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
        """Keep the most specific of several miscounts with the same effect: attention biases rather than all biases."""
        same: dict[_State, list[tuple[float, int]]] = {}
        for miscount in applicable:
            state = self._counted.make(miscount[1], self._start)
            same.setdefault(state if state != self._start else (miscount[1],), []).append(miscount)
        return sorted(
            (alike[0][0], min(alike, key=lambda miscount: (_NAMES[miscount[1]] in WIDE, miscount))[1])
            for alike in same.values()
        )

    def _explore(
        self,
        first: int,
        state: _State,
        combination: Combination,
        forced: Sequence[int],
        applicable: Sequence[tuple[float, int]],
    ) -> None:
        """Try further miscounts, then record the state of ``combination`` with the ``forced`` miscounts of a habit.

        Miscounts are applied in the order of MISCOUNTS. ``first`` is the number of the first miscount that may follow.
        """
        make, names = self._counted.make, combination.miscounts
        for bits, number in applicable:
            if combination.bits + bits > self._most:
                break
            if number < first:
                continue
            before, made, rest = state, names, forced
            while rest and rest[0] < number:
                before, made, rest = *self._forced(rest[0], before, made), rest[1:]
            after = make(number, before)
            if after != before:
                longer = Combination(combination.bits + bits, (*made, _NAMES[number]), combination.habit)
                self._explore(number + 1, after, longer, rest, applicable)
        for number in forced:
            state, names = self._forced(number, state, names)
        if combination.habit and len(set(names) & set(HABITS[combination.habit].miscounts)) < _FEWEST_OF_HABIT:
            return
        real = self._counted.real(state)
        cheapest = self._cheapest.get(real)
        if cheapest is None or combination.bits < cheapest.bits:
            self._cheapest[real] = combination._replace(miscounts=names)

    def _forced(self, number: int, state: _State, names: tuple[str, ...]) -> tuple[_State, tuple[str, ...]]:
        """Apply a miscount of a habit, and add its name if the miscount still has an effect."""
        after = self._counted.make(number, state)
        return after, names if after == state else (*names, _NAMES[number])


_FEWEST_OF_HABIT = 2  # minimum number of a habit's miscounts that have an effect


def evidence(
    searches: Iterable[tuple[Search, float]],
    low: int,
    high: int,
    bits: float,
    hidden_size: int,
    others: Sequence[tuple[int, float]] = (),
) -> Evidence:
    """Count the numbers near a typed number that have an explanation of at most ``bits`` bits.

    The examined numbers are multiples of a step away from the typed number. A rounded number means any number from
    ``low`` to ``high``, and its step is the width of this range. The step of an exact number is the greatest common
    divisor of the hidden size and the difference from the right total. ``searches`` are (search, cost in bits) pairs.
    ``others`` are further explained totals, as sorted (total, bits) pairs.
    """
    searches = list(searches)
    wide = high - low
    step = wide or gcd(low - searches[0][0].right, hidden_size)
    reach = min(_NEAR * wide, max(low // _FAR, _FEWEST * wide)) if wide else _NEAR * hidden_size
    lowest, highest = low - reach, high + reach
    explained_totals = {near for search, cost in searches for near in search.near(lowest, highest, bits - cost)}
    near = others[bisect_left(others, (lowest, 0.0)) : bisect_right(others, (highest, MOST_BITS))]
    explained_totals |= {amount for amount, rare in near if rare <= bits}
    explained = {(amount - low) // step for amount in explained_totals if wide or (amount - low) % step == 0}
    return Evidence(len(explained), 2 * reach // step + 1, step)


def is_chance(wrong: int, right: int, bits: float) -> bool:
    """Whether an explanation of ``bits`` bits is hardly better than chance, among numbers up to twice the larger total.

    This happens with tiny sizes, where nearly every number is a product of sizes: 16 is 4 H^2 for a hidden size of 2.
    """
    return _LIKELIER * 2**bits > 2 * max(wrong, right)


_LIKELIER = 3


# Searches are cached, because users type several numbers for the same model, and a hand count searches all of its
# parts. The limit is a number of combinations, because searches differ widely in size.
MOST_COMBINATIONS = 50_000
search = WeightedCache(Search, MOST_COMBINATIONS, lambda search: search.size)
