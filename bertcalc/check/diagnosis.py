"""Why somebody's number is different: which known count it is, or the slips that lead to it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bertcalc.check.explain import MOST_SLIPS, Explanation, explain
from bertcalc.check.known import Known, Reading, known_counts, readings
from bertcalc.typed import Typed


class Match(NamedTuple):
    """Known models with one and the same count, which a number may mean."""

    reading: Reading
    total: int
    models: tuple[Known, ...]


class Slipped(NamedTuple):
    """Slips by which the count of a known model becomes the number, in one of its readings."""

    reading: Reading
    model: Known
    explanation: Explanation


class Diagnosis(NamedTuple):
    """What was found: known counts, or else the shortest explanations, all of the same length; or nothing."""

    matches: tuple[Match, ...]
    slipped: tuple[Slipped, ...]


def diagnose(model: Known, number: Typed) -> Diagnosis:
    """Look for a number among the known counts of a model's configuration, then among its count with slips.

    Slips are looked for where one number is meant: among all totals that round to another one some would always be.
    A number in other units is one slip more. Where the model itself needs more than one slip, its other architectures
    with a single slip are looked at as well.
    """
    meanings = readings(number)
    known = list(known_counts(model.config))
    if matches := tuple(_matches(meanings, known)):
        return Diagnosis(matches, ())
    exact = {reading: reading.exact for reading in meanings if reading.exact}
    found = [
        Slipped(reading, model, explanation)
        for reading, total in exact.items()
        for explanation in explain(model.model(), model.config, total)
    ]
    if exact and min(map(_slips, found), default=MOST_SLIPS) > 1:
        found += [
            Slipped(meanings[0], other, explanation)
            for other in known
            if not other.buffers
            for explanation in explain(other.model(), other.config, exact[meanings[0]], most=1)
        ]
    shortest = min(map(_slips, found), default=0)
    return Diagnosis((), tuple(one for one in found if _slips(one) == shortest))


def _matches(meanings: Sequence[Reading], known: Sequence[Known]) -> Iterator[Match]:
    """Each known count by the first reading that it fits."""
    by_total: dict[int, list[Known]] = {}
    for model in known:
        by_total.setdefault(model.total, []).append(model)
    # With its buffers a model is worth a line only where it is meant exactly.
    bare = {total for total, models in by_total.items() if any(not model.buffers for model in models)}
    for reading in meanings:
        for total in sorted(by_total):
            if reading.means(total) and (total in bare or reading.exact is not None):
                yield Match(reading, total, tuple(by_total.pop(total)))


def _slips(found: Slipped) -> int:
    return len(found.explanation) + (found.reading.key != "parameters")
