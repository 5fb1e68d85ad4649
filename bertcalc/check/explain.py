"""By which slips a total differs from the right one: the shortest explanations, searched for exactly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from bertcalc.check.slips import SLIPS, Slip, SlipSizes, counted, total
from bertcalc.config import Config
from bertcalc.family import Model
from bertcalc.tree.nn import Tensor

# So many slips in one count are looked for, and so many explanations of the same length are given.
MOST_SLIPS = 4
MOST_FOUND = 12


class Cause(NamedTuple):
    """A slip by its name in SLIPS, and what it makes a total larger by, after those that were made before it."""

    slip: str
    amount: int


Explanation = tuple[Cause, ...]  # in the order of SLIPS; the amounts sum to the difference


def explain(model: Model, config: Config, wrong: int, most: int = MOST_SLIPS) -> list[Explanation]:
    """Every shortest explanation of a total that is not the model's; of the model's own, the empty one.

    At most MOST_FOUND are given, the likeliest first.
    """
    return explain_tensors(counted(model), SlipSizes.of(config), wrong, most)


def explain_tensors(
    tensors: Sequence[Tensor], sizes: SlipSizes, wrong: int, most: int = MOST_SLIPS
) -> list[Explanation]:
    """The same for some tensors of a model, which are a term of a count, with so many slips at most."""
    found = _search(tuple(tensors), sizes).explanations(wrong, most)
    shortest = min(map(len, found), default=0)
    ordered = sorted((_in_order(slips) for slips in found if len(slips) == shortest), key=_plausibility)
    return [causes(tensors, sizes, slips) for slips in ordered[:MOST_FOUND]]


def causes(
    tensors: Sequence[Tensor], sizes: SlipSizes, slips: Sequence[str], known: Mapping[str, Slip] = SLIPS
) -> Explanation:
    """What each of some slips adds to a total, made one after the other; ``known`` says what their names mean."""
    found = []
    for name in slips:
        after = known[name].make(tensors, sizes)
        found.append(Cause(name, total(after) - total(tensors)))
        tensors = after
    return tuple(found)


# The slips that change tensors of several parts; each other one stays within one part.
WIDE = ("biases", "layer biases", "LayerNorm half", "LayerNorm", "embeddings", "encoder once", "layer less")
_MOST_WIDE = 3
_ORDER = {name: number for number, name in enumerate(SLIPS)}
_Slips = tuple[str, ...]
_Sums = Mapping[int, list[_Slips]]


class _Search:
    """The totals that slips in a count lead to.

    Slips that many parts feel (no bias anywhere) are chosen first. Of the others, those that change the same tensors
    are a family: families add up, so that the sums of half of them are looked up in the sums of the other half.
    """

    def __init__(self, tensors: tuple[Tensor, ...], sizes: SlipSizes) -> None:
        self._tensors = tensors
        self._changed = cache(lambda name, tensor: tuple(SLIPS[name].change(tensor, sizes)))
        self._halves = cache(self._sums_of_halves)
        effective = self._effective()
        self._wide = [name for name in WIDE if name in effective]
        self._families = self._related([name for name in effective if name not in WIDE])

    def explanations(self, wrong: int, most: int) -> set[_Slips]:
        """Slips that lead to a total: all the shortest, and some that are longer."""
        found: set[_Slips] = set()
        for number in range(min(_MOST_WIDE, most) + 1):
            for wide in combinations(self._wide, number):
                room = min(map(len, found), default=most) - number
                if room >= 0:
                    found.update(self._completed(wrong, wide, room, most - number))
        return found

    def _completed(self, wrong: int, wide: _Slips, room: int, most: int) -> Iterator[_Slips]:
        """All ways to add so many slips, or fewer, to those that are chosen, so that the total comes out."""
        base, left, right = self._halves(wide, most)
        for amount, others in right.items():
            for one in left.get(wrong - base - amount, ()):
                for other in others:
                    if len(one) + len(other) <= room:
                        yield (*wide, *one, *other)

    def _sums_of_halves(self, wide: _Slips, room: int) -> tuple[int, _Sums, _Sums]:
        """The total after some wide slips, and what the choices of each half of the families add to it."""
        options = [self._options(family, members, wide, room) for family, members in self._families]
        return total(self._made(self._tensors, wide)), _sums(options[::2], room), _sums(options[1::2], room)

    def _effective(self) -> list[str]:
        """The slips that change these tensors; of several that do the same, the one that says most exactly what."""
        results = {
            self._made(self._tensors, (name,)): name for name in sorted(SLIPS, key=lambda name: name not in WIDE)
        }
        results.pop(self._tensors, None)
        return list(results.values())

    def _related(self, names: Sequence[str]) -> list[tuple[tuple[Tensor, ...], list[str]]]:
        """Slips with the tensors that they change, such that no tensor is in two families."""
        families: list[tuple[set[Tensor], list[str]]] = []
        for name in names:
            touched = {tensor for tensor in self._tensors if self._changed(name, tensor) != (tensor,)}
            members = [name]
            apart = []
            for others, slips in families:
                if others & touched:
                    touched |= others
                    members = [*slips, *members]
                else:
                    apart.append((others, slips))
            families = [*apart, (touched, members)]
        return [
            (tuple(tensor for tensor in self._tensors if tensor in touched), members) for touched, members in families
        ]

    def _options(
        self, family: tuple[Tensor, ...], members: Sequence[str], wide: _Slips, room: int
    ) -> Mapping[_Slips, int]:
        """What each choice of a family's slips adds to the total, beside the wide slips."""
        before = total(self._made(family, wide))
        return {
            some: total(self._made(family, (*wide, *some))) - before
            for number in range(room + 1)
            for some in combinations(members, number)
        }

    def _made(self, tensors: tuple[Tensor, ...], slips: _Slips) -> tuple[Tensor, ...]:
        for name in _in_order(slips):
            tensors = tuple(after for tensor in tensors for after in self._changed(name, tensor))
        return tensors


def _sums(families: Sequence[Mapping[_Slips, int]], room: int) -> _Sums:
    """The sums of a choice from each family, with the slips that make them."""
    found: list[tuple[int, _Slips]] = [(0, ())]
    for family in families:
        found = [
            (amount + more, (*slips, *some))
            for amount, slips in found
            for some, more in family.items()
            if len(slips) + len(some) <= room
        ]
    sums: dict[int, list[_Slips]] = {}
    for amount, slips in found:
        sums.setdefault(amount, []).append(slips)
    return sums


def _in_order(slips: Iterable[str]) -> _Slips:
    return tuple(sorted(slips, key=_ORDER.__getitem__))


def _plausibility(slips: _Slips) -> tuple[int, list[int]]:
    return sum(SLIPS[name].unusual for name in slips), [_ORDER[name] for name in slips]


# A number is typed again and again for the same model; a search holds some ten thousand sums.
_search = lru_cache(maxsize=8)(_Search)
