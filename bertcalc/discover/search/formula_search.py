"""Find formulas: fit them, test them on new configurations, and refit those that fail.

In each round, up to six configurations for which a formula is wrong become further samples to fit.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bertcalc.discover.search.experiments import Failure, Lab, Sample
from bertcalc.discover.search.fitted_columns import Kind, Tables, agrees
from bertcalc.discover.search.polynomial_fit import Rounding
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
    """Formulas that are right for every new configuration, and the reasons why the other tensors have none.

    ``checked`` is the number of new configurations, and ``all_changed`` the number of these with every field changed.
    """

    kinds: dict[str, list[Kind]]
    unexplained: dict[str, Problem]
    checked: int
    all_changed: int


def find(lab: Lab, extra: Sequence[Sample] = ()) -> Findings:
    """Find formulas for all tensors of a class; ``extra`` are further samples to fit.

    The lab's fields must be sorted (``lab.sort_fields``).
    """
    tables = Tables(lab.free)
    for sample in [*_first_samples(lab), *extra]:
        tables.add(sample)
    kinds: dict[str, list[Kind]] = {}
    unexplained: dict[str, Problem] = {}
    mistaken = set(lab.base_sample.tensors)
    for turn in range(_ROUNDS):
        lab.progress("formulas", turn, _ROUNDS)
        for name in sorted(mistaken):
            fitted = tables.kinds(name)
            kinds.pop(name, None)
            unexplained.pop(name, None)
            if isinstance(fitted, Problem):
                unexplained[name] = fitted
            else:
                kinds[name] = fitted
        keys = {*map(_key, tables.samples)}
        fresh = _fresh_samples(lab, keys)
        fresh += [sample for sample in _special_samples(lab, kinds) if _key(sample) not in keys]
        surprises = {_key(sample): sample for sample in fresh if wrong(kinds, sample)}
        if not surprises:
            break
        mistaken = {name for sample in surprises.values() for name in wrong(kinds, sample)} | unexplained.keys()
        for sample in list(surprises.values())[:6]:
            tables.add(sample)
    for sample in [lab.full_sample, *fresh]:
        for name in wrong(kinds, sample):
            del kinds[name]
            unexplained[name] = _WRONG
    all_changed = sum(all(sample.values[name] != lab.sizes[name] for name in lab.free) for sample in fresh)
    if len(fresh) < 10 or all_changed < 4:
        unexplained |= dict.fromkeys(kinds, _NOT_ENOUGH)
        kinds = {}
    return Findings(kinds, unexplained, len(fresh), all_changed)


def _first_samples(lab: Lab) -> list[Sample]:
    """Build samples at the given sizes, with each field changed alone, and some with all fields changed."""
    alone = [{field: value} for field in lab.free for value in dict.fromkeys(lab.choices[field][:2])]
    alone += [{field: lab.base_sizes[field] + 7} for field in lab.free if field in lab.loose]
    samples = [lab.base_sample, lab.full_sample, *(lab.build(changes) for changes in alone)]
    samples += [sample for _time in range(_TOGETHER) if (sample := lab.together(lab.free))]
    return list({_key(sample): sample for sample in samples if isinstance(sample, Sample)}.values())


def _fresh_samples(lab: Lab, keys: set[tuple[int, ...]]) -> list[Sample]:
    """Build samples that were not used for fitting, with all or half of the fields changed."""
    samples: dict[tuple[int, ...], Sample] = {}
    for turn in range(4 * FRESH):
        everything = len(samples) < FRESH_ALL
        fields = lab.free if everything else lab.random.sample(lab.free, (len(lab.free) + 1) // 2)
        lab.progress("fresh configurations", len(samples), FRESH)
        sample = lab.together(fields, fresh=True, tries=30 if turn < FRESH else 3)
        if sample and _key(sample) not in keys:
            samples[_key(sample)] = sample
        if len(samples) == FRESH:
            break
    return list(samples.values())


def _special_samples(lab: Lab, kinds: dict[str, list[Kind]]) -> list[Sample]:
    """Build samples around the base size of each field in a rounded term, minimum or maximum.

    For a rounded term, the samples cover more than its period.
    """
    fits = {fit for alike in kinds.values() for kind in alike for fit in (*kind.copies, *kind.shape)}
    samples: list[Sample | Failure] = []
    for special in {special for fit in fits for special in fit.specials()}:
        by = special.by if isinstance(special, Rounding) else 2
        steps = 2 * (by if isinstance(by, int) else lab.base_sizes[by]) + 1
        step = max(1, steps // _STEPS) | 1
        samples += [
            lab.build({special.field: lab.base_sizes[special.field] + distance}) for distance in range(1, steps, step)
        ]
        samples += [
            lab.build({special.field: less})
            for less in range(max(1, lab.base_sizes[special.field] - 6), lab.base_sizes[special.field])
        ]
    return [sample for sample in samples if isinstance(sample, Sample)]


def _key(sample: Sample) -> tuple[int, ...]:
    return tuple(sample.values.values())


def wrong(kinds: dict[str, list[Kind]], sample: Sample) -> list[str]:
    """Return the folded names of tensors that differ from their formulas."""
    return [name for name, alike in kinds.items() if not agrees(alike, sample.tensors[name], sample.values)]
