"""By which miscounts a total differs from the right one: the shortest explanations, searched for exactly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.miscounts import MISCOUNTS, Miscount, MiscountSizes, counted, total
from bertcalc.family import Model
from bertcalc.tree.nn import Tensor

# So many miscounts in one count are looked for, and so many explanations of the same length are given.
MOST_MISCOUNTS = 4
MOST_FOUND = 12


class Cause(NamedTuple):
    """A miscount by its name in MISCOUNTS, and what it makes a total larger by, after those made before it."""

    miscount: str
    amount: int


Explanation = tuple[Cause, ...]  # in the order of MISCOUNTS; the amounts sum to the difference


def explain(model: Model, config: Config, wrong: int, most: int = MOST_MISCOUNTS) -> list[Explanation]:
    """Every shortest explanation of a total that is not the model's; of the model's own, the empty one.

    At most MOST_FOUND are given, the likeliest first.
    """
    return explain_tensors(counted(model), MiscountSizes.of(config), wrong, most)


def explain_tensors(
    tensors: Sequence[Tensor], sizes: MiscountSizes, wrong: int, most: int = MOST_MISCOUNTS
) -> list[Explanation]:
    """The same for some tensors of a model, which are a term of a count, with so many miscounts at most."""
    found = _search(tuple(tensors), sizes).explanations(wrong, most)
    shortest = min(map(len, found), default=0)
    ordered = sorted((_in_order(miscounts) for miscounts in found if len(miscounts) == shortest), key=_plausibility)
    return [causes(tensors, sizes, miscounts) for miscounts in ordered[:MOST_FOUND]]


def causes(
    tensors: Sequence[Tensor], sizes: MiscountSizes, miscounts: Sequence[str], known: Mapping[str, Miscount] = MISCOUNTS
) -> Explanation:
    """What each of some miscounts adds to a total, made one after the other; ``known`` says what their names mean."""
    found = []
    for name in miscounts:
        after = known[name].make(tensors, sizes)
        found.append(Cause(name, total(after) - total(tensors)))
        tensors = after
    return tuple(found)


# The miscounts that change tensors of several parts; each other one stays within one part.
WIDE = ("biases", "layer biases", "LayerNorm half", "LayerNorm", "embeddings", "encoder once", "layer less")
_MOST_WIDE = 3
_ORDER = {name: number for number, name in enumerate(MISCOUNTS)}
_Miscounts = tuple[str, ...]
_Sums = Mapping[int, list[_Miscounts]]


class _Search:
    """The totals that miscounts in a count lead to.

    Miscounts that many parts feel (no bias anywhere) come first. Of the others, those that change the same tensors
    are a family: families add up, so that the sums of half of them are looked up in the sums of the other half.
    """

    def __init__(self, tensors: tuple[Tensor, ...], sizes: MiscountSizes) -> None:
        self._tensors = tensors
        self._changed = cache(lambda name, tensor: tuple(MISCOUNTS[name].change(tensor, sizes)))
        self._halves = cache(self._sums_of_halves)
        effective = self._effective()
        self._wide = [name for name in WIDE if name in effective]
        self._families = self._related([name for name in effective if name not in WIDE])

    def explanations(self, wrong: int, most: int) -> set[_Miscounts]:
        """Miscounts that lead to a total: all the shortest, and some that are longer."""
        found: set[_Miscounts] = set()
        for number in range(min(_MOST_WIDE, most) + 1):
            for wide in combinations(self._wide, number):
                room = min(map(len, found), default=most) - number
                if room >= 0:
                    found.update(self._completed(wrong, wide, room, most - number))
        return found

    def _completed(self, wrong: int, wide: _Miscounts, room: int, most: int) -> Iterator[_Miscounts]:
        """All ways to add so many miscounts, or fewer, to those that are chosen, so that the total comes out."""
        base, left, right = self._halves(wide, most)
        for amount, others in right.items():
            for one in left.get(wrong - base - amount, ()):
                for other in others:
                    if len(one) + len(other) <= room:
                        yield (*wide, *one, *other)

    def _sums_of_halves(self, wide: _Miscounts, room: int) -> tuple[int, _Sums, _Sums]:
        """The total after some wide miscounts, and what the choices of each half of the families add to it."""
        options = [self._options(family, members, wide, room) for family, members in self._families]
        return total(self._made(self._tensors, wide)), _sums(options[::2], room), _sums(options[1::2], room)

    def _effective(self) -> list[str]:
        """The miscounts that change these tensors; of several that do the same, the one that says most exactly what."""
        results = {
            self._made(self._tensors, (name,)): name for name in sorted(MISCOUNTS, key=lambda name: name not in WIDE)
        }
        results.pop(self._tensors, None)
        return list(results.values())

    def _related(self, names: Sequence[str]) -> list[tuple[tuple[Tensor, ...], list[str]]]:
        """Miscounts with the tensors that they change, such that no tensor is in two families."""
        families: list[tuple[set[Tensor], list[str]]] = []
        for name in names:
            touched = {tensor for tensor in self._tensors if self._changed(name, tensor) != (tensor,)}
            members = [name]
            apart = []
            for others, miscounts in families:
                if others & touched:
                    touched |= others
                    members = [*miscounts, *members]
                else:
                    apart.append((others, miscounts))
            families = [*apart, (touched, members)]
        return [
            (tuple(tensor for tensor in self._tensors if tensor in touched), members) for touched, members in families
        ]

    def _options(
        self, family: tuple[Tensor, ...], members: Sequence[str], wide: _Miscounts, room: int
    ) -> Mapping[_Miscounts, int]:
        """What each choice of a family's miscounts adds to the total, beside the wide miscounts."""
        before = total(self._made(family, wide))
        return {
            some: total(self._made(family, (*wide, *some))) - before
            for number in range(room + 1)
            for some in combinations(members, number)
        }

    def _made(self, tensors: tuple[Tensor, ...], miscounts: _Miscounts) -> tuple[Tensor, ...]:
        for name in _in_order(miscounts):
            tensors = tuple(after for tensor in tensors for after in self._changed(name, tensor))
        return tensors


def _sums(families: Sequence[Mapping[_Miscounts, int]], room: int) -> _Sums:
    """The sums of a choice from each family, with the miscounts that make them."""
    found: list[tuple[int, _Miscounts]] = [(0, ())]
    for family in families:
        found = [
            (amount + more, (*miscounts, *some))
            for amount, miscounts in found
            for some, more in family.items()
            if len(miscounts) + len(some) <= room
        ]
    sums: dict[int, list[_Miscounts]] = {}
    for amount, miscounts in found:
        sums.setdefault(amount, []).append(miscounts)
    return sums


def _in_order(miscounts: Iterable[str]) -> _Miscounts:
    return tuple(sorted(miscounts, key=_ORDER.__getitem__))


def _plausibility(miscounts: _Miscounts) -> tuple[int, list[int]]:
    return sum(MISCOUNTS[name].unusual for name in miscounts), [_ORDER[name] for name in miscounts]


# A number is typed again and again for the same model; a search holds some ten thousand sums.
_search = lru_cache(maxsize=8)(_Search)
