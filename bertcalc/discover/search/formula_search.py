"""From experiments to formulas: fit, test on fresh configurations, and fit again with those that were wrong."""

from collections.abc import Sequence
from typing import NamedTuple

from bertcalc.discover.results.polynomial_fit import Rounding
from bertcalc.discover.search.experiments import Failure, Lab, Sample
from bertcalc.discover.search.fitted_columns import Kind, Tables, agrees
from bertcalc.text import N_
from bertcalc.text.problem import Problem

FRESH = 12
FRESH_ALL = 6
_TOGETHER = 6
_ROUNDS = 5
_STEPS = 20
_NOT_ENOUGH = Problem.of(N_("too few configurations with every field changed could be built"))
_WRONG = Problem.of(N_("its formula was wrong for another configuration"))


class Findings(NamedTuple):
    """The formulas that are right for every fresh configuration, and why the other tensors have none."""

    kinds: dict[str, list[Kind]]
    unexplained: dict[str, Problem]
    checked: int
    all_changed: int


def find(lab: Lab, more: Sequence[Sample] = ()) -> Findings:
    """Find the formulas of all tensors of a class after ``lab.look``; ``more`` are further samples to fit."""
    tables = Tables(lab.free)
    for sample in [*_first(lab), *more]:
        tables.add(sample)
    kinds: dict[str, list[Kind]] = {}
    unexplained: dict[str, Problem] = {}
    mistaken = set(lab.base.tensors)
    for turn in range(_ROUNDS):
        lab.progress("formulas", turn, _ROUNDS)
        for name in sorted(mistaken):
            found = tables.kinds(name)
            kinds.pop(name, None)
            unexplained.pop(name, None)
            if isinstance(found, Problem):
                unexplained[name] = found
            else:
                kinds[name] = found
        known = {*map(_key, tables.samples)}
        fresh = _fresh(lab, known)
        fresh += [sample for sample in _steps(lab, kinds) if _key(sample) not in known]
        surprises = {_key(sample): sample for sample in fresh if wrong(kinds, sample)}
        if not surprises:
            break
        mistaken = {name for sample in surprises.values() for name in wrong(kinds, sample)} | unexplained.keys()
        for sample in list(surprises.values())[:6]:
            tables.add(sample)
    for sample in [lab.given, *fresh]:
        for name in wrong(kinds, sample):
            del kinds[name]
            unexplained[name] = _WRONG
    all_changed = sum(all(sample.values[name] != lab.here[name] for name in lab.free) for sample in fresh)
    if len(fresh) < 10 or all_changed < 4:
        unexplained |= dict.fromkeys(kinds, _NOT_ENOUGH)
        kinds = {}
    return Findings(kinds, unexplained, len(fresh), all_changed)


def _first(lab: Lab) -> list[Sample]:
    """Samples at the given sizes, with each field changed alone, and some with all fields changed."""
    alone = [{field: value} for field in lab.free for value in dict.fromkeys(lab.choices[field][:2])]
    alone += [{field: lab.at[field] + 7} for field in lab.free if field in lab.loose]
    found = [lab.base, lab.given, *(lab.build(changes) for changes in alone)]
    found += [sample for _time in range(_TOGETHER) if (sample := lab.together(lab.free))]
    return list({_key(sample): sample for sample in found if isinstance(sample, Sample)}.values())


def _fresh(lab: Lab, known: set[tuple[int, ...]]) -> list[Sample]:
    """Samples that no formula was fitted to, with all fields changed, or half of them."""
    found: dict[tuple[int, ...], Sample] = {}
    for turn in range(4 * FRESH):
        everything = len(found) < FRESH_ALL
        fields = lab.free if everything else lab.random.sample(lab.free, (len(lab.free) + 1) // 2)
        lab.progress("fresh configurations", len(found), FRESH)
        sample = lab.together(fields, fresh=True, tries=30 if turn < FRESH else 3)
        if sample and _key(sample) not in known:
            found[_key(sample)] = sample
        if len(found) == FRESH:
            break
    return list(found.values())


def _steps(lab: Lab, kinds: dict[str, list[Kind]]) -> list[Sample]:
    """Samples around each rounded term, for more than its period, and around each minimum and maximum."""
    fits = {fit for here in kinds.values() for kind in here for fit in (*kind.copies, *kind.shape)}
    found: list[Sample | Failure] = []
    for special in {special for fit in fits for special in fit.specials()}:
        by = special.by if isinstance(special, Rounding) else 2
        steps = 2 * (by if isinstance(by, int) else lab.at[by]) + 1
        step = max(1, steps // _STEPS) | 1
        found += [lab.build({special.field: lab.at[special.field] + more}) for more in range(1, steps, step)]
        found += [
            lab.build({special.field: less}) for less in range(max(1, lab.at[special.field] - 6), lab.at[special.field])
        ]
    return [sample for sample in found if isinstance(sample, Sample)]


def _key(sample: Sample) -> tuple[int, ...]:
    return tuple(sample.values.values())


def wrong(kinds: dict[str, list[Kind]], sample: Sample) -> list[str]:
    """The folded names whose tensors are not as their formulas say."""
    return [name for name, here in kinds.items() if not agrees(here, sample.tensors[name], sample.values)]
