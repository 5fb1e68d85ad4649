"""Why somebody's number is different: which known count it is, what of the model it counts, or its miscounts.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.subject import Subject
>>> from bertcalc.typed import typed
>>> found = diagnose(Known(Subject(BertConfig()), 109_482_240), typed("85,054,464"))
>>> [(own.counted.part, own.counted.layers) for own in found.own]
[('layers', 'all')]
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bertcalc.diagnosis.explain import Explanation, causes, explain
from bertcalc.diagnosis.known import HAND_COUNTS, HandCount, Known, Reading, known_counts, readings
from bertcalc.diagnosis.layer_parts import Counted, own_counts
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from bertcalc.families import build
from bertcalc.presets import PRESETS
from bertcalc.subject import Subject
from bertcalc.typed import Typed

# More miscounts than these lead to any number sooner or later. Beside other units a single one is looked for.
MOST_MISCOUNTS = 3
_MOST_BESIDE_UNITS = 1


class Match(NamedTuple):
    """Known models with one and the same count, which a number may mean."""

    reading: Reading
    total: int
    models: tuple[Known, ...]


class Own(NamedTuple):
    """A part, module or tensor of the model, in one layer or in all, that has as many parameters as the number says."""

    reading: Reading
    counted: Counted


class Miscounted(NamedTuple):
    """Miscounts by which the count of a known model becomes the number, in one of its readings."""

    reading: Reading
    model: Known
    explanation: Explanation


class Diagnosis(NamedTuple):
    """What was found: known counts, or else counts of parts, or else the shortest explanations; or nothing.

    ``hand`` is beside these: whose count it is, if somebody published it, and the miscounts in that.
    """

    matches: tuple[Match, ...] = ()
    own: tuple[Own, ...] = ()
    miscounted: tuple[Miscounted, ...] = ()  # all of the same length
    hand: tuple[HandCount, Miscounted] | None = None


def diagnose(model: Known, number: Typed) -> Diagnosis:
    """Look for a number among the known counts of a model's configuration, its own counts, its count with miscounts.

    Miscounts are looked for where one number is meant: among all totals that round to another one some would always be.
    A number in other units is one miscount more. Where the model itself needs more than one, its other architectures
    with a single miscount are looked at as well.
    """
    meanings = readings(number)
    known = list(known_counts(model.subject.config))
    if matches := tuple(_matches(meanings, known)):
        return Diagnosis(matches)
    hand = _hand_count(meanings)
    if own := _own(model, meanings):
        return Diagnosis(own=own, hand=hand)
    return Diagnosis(hand=hand) if hand else Diagnosis(miscounted=_miscounted(model, meanings, known))


def _own(model: Known, meanings: Sequence[Reading]) -> tuple[Own, ...]:
    """What of the model has so many parameters, or so many bytes if that is exact, in the first meaning that fits."""
    counts = list(own_counts(counted(model.subject.model())))
    fitting = (
        tuple(Own(reading, one) for one in counts if reading.means(one.right))
        for reading in meanings
        if not reading.rounded and (reading.exact or reading.key == "parameters")
    )
    return next(filter(None, fitting), ())


def _hand_count(meanings: Sequence[Reading]) -> tuple[HandCount, Miscounted] | None:
    for hand in HAND_COUNTS:
        if hand.parameters == meanings[0].exact:
            config = PRESETS[hand.preset].config
            model = build(config)
            known = Known(Subject(config, model.kind), model.num_parameters())
            explanation = causes(counted(model), MiscountSizes.of(config), hand.miscounts)
            return hand, Miscounted(meanings[0], known, explanation)
    return None


def _miscounted(model: Known, meanings: Sequence[Reading], known: Sequence[Known]) -> tuple[Miscounted, ...]:
    exact = {reading: reading.exact for reading in meanings if reading.exact}
    found = [
        Miscounted(reading, model, explanation)
        for reading, total in exact.items()
        for explanation in explain(
            model.subject.model(),
            model.subject.config,
            total,
            MOST_MISCOUNTS if reading.key == "parameters" else _MOST_BESIDE_UNITS,
        )
    ]
    if exact and min(map(_miscounts, found), default=MOST_MISCOUNTS) > 1:
        found += [
            Miscounted(meanings[0], other, explanation)
            for other in known
            if not other.buffers
            for explanation in explain(other.subject.model(), other.subject.config, exact[meanings[0]], most=1)
        ]
    shortest = min(map(_miscounts, found), default=0)
    return tuple(one for one in found if _miscounts(one) == shortest)


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


def _miscounts(found: Miscounted) -> int:
    return len(found.explanation) + (found.reading.key != "parameters")
