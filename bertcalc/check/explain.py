"""By which slips a total differs from the right one: the shortest explanations, searched for exactly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from bertcalc.check.slips import SLIPS, Sizes, Slip, counted, total
from bertcalc.config import BertConfig
from bertcalc.tree.nn import Module, Tensor

# So many slips in one count are looked for, and so many explanations of the same length are given.
MOST_SLIPS = 4
MOST_FOUND = 12


class Cause(NamedTuple):
    """A slip by its name in SLIPS, and what it makes a total larger by, after those that were made before it."""

    slip: str
    amount: int


Explanation = tuple[Cause, ...]  # in the order of SLIPS; the amounts sum to the difference


def explain(model: Module, config: BertConfig, wrong: int) -> list[Explanation]:
    """Every shortest explanation of a total that is not the model's; of the model's own, the empty one."""
    return explain_tensors(counted(model), Sizes.of(config), wrong)


def explain_tensors(tensors: Sequence[Tensor], sizes: Sizes, wrong: int, most: int = MOST_SLIPS) -> list[Explanation]:
    """The same for some tensors of a model, which are a term of a count, with so many slips at most.

    A slip that many parts feel (no bias anywhere) is tried first. Of the others, those that change the same tensors
    are a family: families add up, so that the sums of half of them are looked up in the sums of the other half.
    """
    effective = _effective(tensors, sizes)
    found: set[tuple[str, ...]] = set()
    for number in range(_MOST_WIDE + 1):
        for wide in combinations([name for name in WIDE if name in effective], number):
            room = min(map(len, found), default=most) - number
            found.update(_completed(tensors, sizes, wrong, wide, effective, room))
    shortest = min(map(len, found), default=0)
    ordered = sorted((_in_order(slips) for slips in found if len(slips) == shortest), key=_plausibility)
    return [causes(tensors, sizes, slips) for slips in ordered[:MOST_FOUND]]


def causes(
    tensors: Sequence[Tensor], sizes: Sizes, slips: Sequence[str], known: Mapping[str, Slip] = SLIPS
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
_Sums = Mapping[int, list[tuple[str, ...]]]


def _effective(tensors: Sequence[Tensor], sizes: Sizes) -> list[str]:
    """The slips that change these tensors; of several that do the same, the one that says most exactly what it is."""
    results = {SLIPS[name].make(tensors, sizes): name for name in sorted(SLIPS, key=lambda name: name not in WIDE)}
    results.pop(tuple(tensors), None)
    return list(results.values())


def _completed(
    tensors: Sequence[Tensor],
    sizes: Sizes,
    wrong: int,
    chosen: tuple[str, ...],
    effective: Sequence[str],
    room: int,
) -> Iterator[tuple[str, ...]]:
    """All ways to add so many slips, or fewer, to those that are chosen, so that the total comes out."""
    if room < 0:
        return
    families = _families(tensors, sizes, [name for name in effective if name not in WIDE])
    base = total(_made(tensors, sizes, chosen))
    options = [_options(family, members, sizes, chosen, room) for family, members in families]
    halves = options[::2], options[1::2]
    left, right = (_sums(half, room) for half in halves)
    for amount, others in right.items():
        for one in left.get(wrong - base - amount, ()):
            for other in others:
                if len(one) + len(other) <= room:
                    yield (*chosen, *one, *other)


def _families(tensors: Sequence[Tensor], sizes: Sizes, names: Sequence[str]) -> list[tuple[list[Tensor], list[str]]]:
    """Slips with the tensors that they change, such that no tensor is in two families."""
    families: list[tuple[set[Tensor], list[str]]] = []
    for name in names:
        touched = {tensor for tensor in tensors if tuple(SLIPS[name].change(tensor, sizes)) != (tensor,)}
        members = [name]
        apart = []
        for others, slips in families:
            if others & touched:
                touched |= others
                members = [*slips, *members]
            else:
                apart.append((others, slips))
        families = [*apart, (touched, members)]
    return [([tensor for tensor in tensors if tensor in touched], members) for touched, members in families]


def _options(
    family: Sequence[Tensor], members: Sequence[str], sizes: Sizes, chosen: Sequence[str], room: int
) -> dict[tuple[str, ...], int]:
    """What each choice of a family's slips adds to the total, beside those that are chosen already."""
    before = total(_made(family, sizes, chosen))
    return {
        some: total(_made(family, sizes, (*chosen, *some))) - before
        for number in range(room + 1)
        for some in combinations(members, number)
    }


def _made(tensors: Sequence[Tensor], sizes: Sizes, slips: Sequence[str]) -> Sequence[Tensor]:
    for name in _in_order(slips):
        tensors = SLIPS[name].make(tensors, sizes)
    return tensors


def _in_order(slips: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(slips, key=_ORDER.__getitem__))


def _plausibility(slips: Sequence[str]) -> tuple[int, list[int]]:
    return sum(SLIPS[name].unusual for name in slips), [_ORDER[name] for name in slips]


def _sums(families: Sequence[Mapping[tuple[str, ...], int]], room: int) -> _Sums:
    """The sums of a choice from each family, with the slips that make them."""
    found: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for family in families:
        found = [
            (amount + more, (*slips, *some))
            for amount, slips in found
            for some, more in family.items()
            if len(slips) + len(some) <= room
        ]
    sums: dict[int, list[tuple[str, ...]]] = {}
    for amount, slips in found:
        sums.setdefault(amount, []).append(slips)
    return sums
