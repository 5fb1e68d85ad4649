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
from bertcalc.model.modules import Place, Tensor
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
_OF_HABIT = {name: sorted(map(_NUMBER.__getitem__, habit.miscounts)) for name, habit in HABITS.items()}
_BITS = [miscount.bits for miscount in MISCOUNTS.values()]
_ADDING = [number for number, name in enumerate(_NAMES) if name.endswith(("added", "again"))]
_NOTHING = Combination(0.0, ())


class _TensorChange(NamedTuple):
    """What a miscount counts in the place of a tensor."""

    miscount: int
    number: int  # the id of the tensors that are counted
    amount: int
    step: int  # the difference between the ids, where 0 is the id of all tensors without elements
    concerned: int  # the miscounts that concern the tensors before or after the change, as bits of an integer


class _TensorCounts:
    """Ids for the tuples of tensors that can be counted in place of a tensor, so that a miscount maps ids to ids."""

    def __init__(self, sizes: MiscountSizes) -> None:
        self._sizes = sizes
        self._lock = Lock()
        self._numbers: dict[tuple[Tensor, ...], int] = {}
        self._all: list[tuple[Tensor, ...]] = []
        self.totals: list[int] = []
        self.concerning: list[int] = []  # the miscounts that concern any of the tensors, as bits of an integer
        self._after: list[dict[int, int]] = [{} for _name in _NAMES]
        self._changes: dict[int, list[_TensorChange]] = {}
        self._added: dict[int, int] = {}
        self.number(())  # 0 is the id of the empty tuple

    def number(self, tensors: tuple[Tensor, ...]) -> int:
        """Return the id of a tuple of tensors; a new tuple gets the next id."""
        if (number := self._numbers.get(tensors)) is not None:
            return number
        with self._lock:  # several sessions may ask at the same time
            if tensors not in self._numbers:
                self._all.append(tensors)
                self.totals.append(total(tensors))
                self.concerning.append(_concerning(tensors))
                self._numbers[tensors] = len(self._all) - 1
        return self._numbers[tensors]

    def after(self, miscount: int, number: int) -> int:
        """Return the id of the tensors that a miscount makes of those with the id ``number``."""
        if not self.concerning[number] >> miscount & 1:
            return number
        after = self._after[miscount]
        if number not in after:
            after[number] = self.number(MISCOUNTS[_NAMES[miscount]].make(self._all[number], self._sizes))
        return after[number]

    def change(self, miscount: int, before: int) -> _TensorChange:
        """Return the change that a miscount makes to the tensors with the id ``before``."""
        after, totals = self.after(miscount, before), self.totals
        step = (after if totals[after] else 0) - (before if totals[before] else 0)
        concerned = self.concerning[before] | self.concerning[after]
        return _TensorChange(miscount, after, totals[after] - totals[before], step, concerned)

    def changes(self, number: int) -> Sequence[_TensorChange]:
        """Return the changes to the tensors with an id, for each miscount that has an effect on them."""
        if (changes := self._changes.get(number)) is None:
            possible = [self.change(miscount, number) for miscount in _numbers(self.concerning[number])]
            changes = self._changes[number] = [change for change in possible if change.number != number]
        return changes

    def added(self, number: int) -> int:
        """Return the id of the tensors that all miscounts that add tensors make of those with an id."""
        if number not in self._added:
            after = number
            for miscount in _ADDING:
                after = self.after(miscount, after)
            self._added[number] = after
        return self._added[number]


_alike = lru_cache(maxsize=8)(_TensorCounts)  # cached, because a configuration's classes share most tensors


def _concerning(tensors: Iterable[Tensor]) -> int:
    """Return the miscounts that concern any of the tensors, as bits of an integer."""
    miscounts = 0
    for tensor in tensors:
        miscounts |= _concerning_one(tensor.name, len(tensor.shape), tensor.place)
    return miscounts


@lru_cache(maxsize=4096)
def _concerning_one(name: str, dimensions: int, place: Place) -> int:
    tensor = Tensor(name, (1,) * dimensions, 1, place)
    return sum(1 << number for number, miscount in enumerate(MISCOUNTS.values()) if miscount.concerns(tensor))


@lru_cache(maxsize=4096)
def _numbers(miscounts: int) -> tuple[int, ...]:
    return tuple(number for number in range(len(_NAMES)) if miscounts >> number & 1)


class _MiscountEffect:
    """The effect of a miscount on a model without other mistakes."""

    __slots__ = ("after", "amount", "code", "concerned")

    def __init__(self) -> None:
        self.after: dict[int, int] = {}  # for each tensor that changes, the id of the tensors in its place
        self.amount = self.code = self.concerned = 0

    def add(self, place: int, change: _TensorChange) -> None:
        """Add the change of the tensor with the number ``place``."""
        _miscount, self.after[place], amount, step, concerned = change
        self.amount += amount
        self.code += step << _BITS_OF_ID * place
        self.concerned |= concerned


_BITS_OF_ID = 32


class _MiscountState(NamedTuple):
    """What is counted after some miscounts.

    Equal codes mean that the same tensors with elements are counted, so that adding and leaving out a tensor cancel
    out. A miscount that is not in ``concerned`` changes only tensors that no miscount has changed before, so it has the
    same effect as on the model without other mistakes.
    """

    total: int
    code: int
    concerned: int  # the miscounts that concern a changed tensor, before or after its changes, as bits of an integer
    made: tuple[int, ...]  # the miscounts that have an effect, in their order


class _Exploration:
    """The likeliest way to each state that results from miscounts of a model with at most ``most`` bits."""

    def __init__(self, counts: _TensorCounts, start: Sequence[int], most: float) -> None:
        self._counts, self._start, self._most = counts, start, most
        self._effects: dict[int, _MiscountEffect] = {}
        for place, number in enumerate(start):
            for change in counts.changes(number):
                if (effect := self._effects.get(change.miscount)) is None:
                    effect = self._effects[change.miscount] = _MiscountEffect()
                effect.add(place, change)
        unchanged = _MiscountState(sum([counts.totals[number] for number in start]), 0, 0, ())
        self.cheapest: dict[int, tuple[float, str, _MiscountState]] = {
            0: (0.0, "", unchanged)
        }  # the bits, habit and state
        applicable = sorted((_BITS[number], number) for number in self._applicable())  # the most frequent first
        self._explore(0, unchanged, 0.0, "", (), self._most_specific(applicable))
        for name, habit in HABITS.items():
            forced = tuple([number for number in _OF_HABIT[name] if number in self._effects])
            if len(forced) >= _FEWEST_OF_HABIT and habit.bits <= most:
                usual = applicable[: bisect_right(applicable, (most - habit.bits, len(_NAMES)))]
                rest = [miscount for miscount in usual if miscount[1] not in forced]
                self._explore(0, unchanged, habit.bits, name, forced, rest)

    def _applicable(self) -> Iterator[int]:
        """Yield the miscounts that change any of the tensors, or any tensors that other miscounts add."""
        yield from self._effects
        after, new = self._counts.after, {*map(self._counts.added, self._start)}.difference(self._start)
        possible = {(miscount, number) for number in new for miscount in _numbers(self._counts.concerning[number])}
        yield from {
            miscount
            for miscount, number in possible
            if miscount not in self._effects and after(miscount, number) != number
        }

    def _most_specific(self, applicable: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
        """Keep the most specific of several miscounts with the same effect: attention biases rather than all biases."""
        same: dict[object, list[tuple[float, int]]] = {}
        for miscount in applicable:
            effect = self._effects.get(miscount[1])
            same.setdefault(tuple(effect.after.items()) if effect else miscount, []).append(miscount)
        return sorted(
            (alike[0][0], min(alike, key=lambda miscount: (_NAMES[miscount[1]] in WIDE, miscount))[1])
            for alike in same.values()
        )

    def _make(self, miscount: int, state: _MiscountState) -> _MiscountState:
        """Return the state after applying a miscount; the same object if it changes nothing."""
        total, code, concerned, made = state
        effect = self._effects.get(miscount)
        if concerned >> miscount & 1:
            effect = self._effect(miscount, made)
        if not effect or not effect.after:
            return state
        return _MiscountState(
            total + effect.amount, code + effect.code, concerned | effect.concerned, (*made, miscount)
        )

    def _effect(self, miscount: int, made: Sequence[int]) -> _MiscountEffect:
        """Return the effect of a miscount after others."""
        effects, effect, after = self._effects, _MiscountEffect(), self._counts.after
        for place in set[int]().union(*[effects[number].after for number in (*made, miscount) if number in effects]):
            number = self._start[place]
            for earlier in made:
                number = after(earlier, number)
            if after(miscount, number) != number:
                effect.add(place, self._counts.change(miscount, number))
        return effect

    def _explore(
        self,
        first: int,
        state: _MiscountState,
        spent: float,
        habit: str,
        forced: Sequence[int],
        applicable: Sequence[tuple[float, int]],
    ) -> None:
        """Try further miscounts, then record the state with the ``forced`` miscounts of a habit.

        Miscounts are applied in the order of MISCOUNTS. ``first`` is the number of the first miscount that may follow.
        ``spent`` are the bits of the miscounts so far.
        """
        for bits, number in applicable:
            if spent + bits > self._most:
                break
            if number < first:
                continue
            before, rest = state, forced
            while rest and rest[0] < number:
                before, rest = self._make(rest[0], before), rest[1:]
            after = self._make(number, before)
            if after is not before:
                self._explore(number + 1, after, spent + bits, habit, rest, applicable)
        for number in forced:
            state = self._make(number, state)
        if habit and len({*state.made} & {*_OF_HABIT[habit]}) < _FEWEST_OF_HABIT:
            return
        cheapest = self.cheapest.get(state.code)
        if cheapest is None or spent < cheapest[0]:
            self.cheapest[state.code] = spent, habit, state


_FEWEST_OF_HABIT = 2  # minimum number of a habit's miscounts that have an effect


class Search:
    """All totals that result from combinations of miscounts with at most ``bits`` bits."""

    def __init__(self, tensors: tuple[Tensor, ...], sizes: MiscountSizes, bits: float) -> None:
        self._counts = _alike(sizes)
        self._start = [self._counts.number((tensor,)) for tensor in tensors]
        self.right = total(tensors)
        cheapest = _Exploration(self._counts, self._start, bits).cheapest
        self.size = len(cheapest)
        self._combinations: dict[int, list[Combination]] = {}
        ways = [
            (Combination(spent, tuple([_NAMES[number] for number in state.made]), habit), state.total)
            for spent, habit, state in cheapest.values()
        ]
        for combination, amount in sorted(ways):
            self._combinations.setdefault(amount, []).append(combination)
        self._totals = sorted(self._combinations)
        self._bits = [self._combinations[amount][0].bits for amount in self._totals]

    def combinations(self, wrong: int) -> list[Combination]:
        """Return the combinations that lead to a total, the likeliest first.

        For the right total, only the empty combination is returned.
        """
        return self._combinations.get(wrong, [])[: 1 if wrong == self.right else None]

    def rarer(self, wrong: int) -> list[Combination]:
        """Return pairs of combinations for different tensors that together lead to a total, the likeliest first."""
        by_state: dict[tuple[int, ...], Combination] = {}
        totals = self._counts.totals
        for amount, combinations in self._combinations.items():
            rest = wrong - amount + self.right
            if amount != self.right and rest != self.right and rest in self._combinations:
                first, second = combinations[0], self._combinations[rest][0]
                names = sorted({*first.miscounts, *second.miscounts}, key=_NUMBER.__getitem__)
                if len(names) == len(first.miscounts) + len(second.miscounts) and len(names) <= MOST_MISCOUNTS:
                    state = self._start
                    for name in names:
                        state = [self._counts.after(_NUMBER[name], number) for number in state]
                    if sum([totals[number] for number in state]) == wrong:  # they change different tensors
                        elements = tuple([number if totals[number] else 0 for number in state])
                        by_state[elements] = Combination(first.bits + second.bits, tuple(names))
        return sorted(by_state.values())

    def near(self, low: int, high: int, bits: float) -> Iterator[int]:
        """Yield the wrong totals from ``low`` to ``high`` that result from a combination of at most ``bits`` bits."""
        for index in range(bisect_left(self._totals, low), bisect_right(self._totals, high)):
            if self._bits[index] <= bits and self._totals[index] != self.right:
                yield self._totals[index]


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
