"""Define a number to be judged and the verdict on it, and build verdicts that several modules share."""

from collections.abc import Collection
from fractions import Fraction
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.explain import Explanation, explain_tensors, is_ruled_out
from bertcalc.diagnosis.layer_parts import Counted
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.diagnosis.part_words import mistakes_in_words, part_in_words
from bertcalc.model.model import Model
from bertcalc.proofreading.claims import Verdict, in_words
from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context, TableRow
from bertcalc.text import N_
from bertcalc.text.amounts import Unit
from bertcalc.text.problem import Problem

LEAST = 1000  # smaller numbers without a calculation are not claims
LEAST_WITHOUT_WORDS = 10_000


class ClaimedNumber(NamedTuple):
    """A number in a text, the words around it, and the model that it is about.

    ``model`` is None for a model that bertcalc does not support. ``published`` is the configuration of the published
    model that corresponds to it.
    """

    entry: WrittenNumber
    context: Context
    model: Model | None
    row: TableRow = TableRow()
    published: Config | None = None


class Judged(NamedTuple):
    """The verdict on a number; ``verdict`` is None if the number is not a claim.

    ``counted`` is the part that the number counts or should count. By convention, functions that return
    ``Judged | None`` return None for numbers that they do not apply to.
    """

    verdict: Verdict | None
    right_value: Fraction | None = None
    counts: Problem | None = None
    reasons: tuple[Problem, ...] = ()
    counted: Counted | None = None


NO_CLAIM = Judged(None)
UNKNOWN = Judged("unknown")
_IS_RIGHT = N_("{right} is right for {part}.")
_THE_MISTAKE = N_("{right} is right for {part}. The mistake: {mistakes}.")
_RIGHT_IF = N_("{right} is right for {part}. This number fits if {mistakes}.")


def right_part(part: Counted, model: Model) -> Judged:
    """Return the verdict that a number is right for ``part``."""
    return Judged("right", counts=part_in_words(part, model), counted=part)


def right_as(part: Counted, model: Model) -> Judged:
    """Return the verdict that a number is right for ``part``, although the words around it name a different part."""
    described = part_in_words(part, model)
    reason = Problem.of(N_("This is correct for {part}."), part=described)
    return Judged("conditional", Fraction(part.right), described, (reason,), part)


def should_be(
    right: Fraction | int, described: Problem, unit: Unit | None = None, part: Counted | None = None
) -> Judged:
    """Return the verdict that a number is wrong and should be ``right``; ``described`` says what it counts."""
    reason = Problem.of(_IS_RIGHT, right=in_words(Fraction(right), unit), part=described)
    return Judged("wrong", Fraction(right), described, (reason,), part)


def compared(
    right: Fraction, value: Fraction, counts: Problem, reason: Problem, reach: Fraction, rough: Fraction = Fraction(0)
) -> Judged | None:
    """Judge a value within ``reach`` of the right one as right; return None within ``rough``, otherwise it is wrong."""
    apart = abs(right - value)
    if apart <= reach:
        return Judged("right", counts=counts)
    return None if apart <= rough else Judged("wrong", right, counts, (reason,))


def is_far(value: Fraction, right: Fraction | int, factor: Fraction | int) -> bool:
    """Whether a value is at least ``factor`` times the right one, or at most a ``factor``-th of it."""
    return factor * value <= right or value >= factor * right


def wrong_part(part: Counted, model: Model, message: str = _IS_RIGHT, **values: Problem | int) -> Judged:
    """Return the verdict that a number is wrong and should be a part's count; ``message`` says why."""
    described = part_in_words(part, model)
    reason = Problem.of(message, right=part.right, part=described, **values)
    return Judged("wrong", Fraction(part.right), described, (reason,), part)


def wrong_because(part: Counted, mistakes: Problem, model: Model) -> Judged:
    """Return the verdict that a number is wrong and should be a part's count, with the mistakes that lead to it."""
    return wrong_part(part, model, _THE_MISTAKE, mistakes=mistakes)


def as_condition(reason: Problem) -> Problem:
    """Word the mistakes in a reason as the condition under which the number is right; other reasons are unchanged."""
    return reason._replace(message=_RIGHT_IF) if reason.message == _THE_MISTAKE else reason


def with_possible_causes(judged: Judged, value: int, right: Collection[Counted], model: Model) -> Judged:
    """Return the verdict on a wrong number, with the causes that the right numbers in the text do not rule out.

    ``value`` is the wrong number, and ``right`` are the parts that the text counts correctly. Other verdicts are
    returned unchanged.
    """
    part = judged.counted
    if judged.verdict != "wrong" or part is None or judged.counts is None:
        return judged
    sizes, names = MiscountSizes.of(model.config), {tensor.name for other in right for tensor in other.tensors}
    first, *others = explain_tensors(part.tensors, sizes, value) or [()]
    cause = instead(part.right, judged.counts, first, model.config) if first else None
    possible = [causes for causes in (first, *others) if not _is_ruled_out(part, sizes, causes, names)]
    if cause not in judged.reasons:
        return judged
    if not possible:
        return wrong_part(part, model)
    mistakes = mistakes_in_words(possible[0], model.config)
    for other in possible[1:_MOST_CAUSES]:
        if len(other) == 1:  # sets of several mistakes are too long for a choice
            words = {"mistakes": mistakes, "others": mistakes_in_words(other, model.config)}
            mistakes = Problem.of(N_("{mistakes}, or {others}"), **words)
    instead_of_it = Problem.of(_THE_MISTAKE, right=part.right, part=judged.counts, mistakes=mistakes)
    return judged._replace(reasons=tuple(instead_of_it if reason == cause else reason for reason in judged.reasons))


_MOST_CAUSES = 3


def _is_ruled_out(part: Counted, sizes: MiscountSizes, explanation: Explanation, right: Collection[str]) -> bool:
    return is_ruled_out(part.tensors, sizes, [cause.miscount for cause in explanation], right)


def instead(right: int, described: Problem, explanation: Explanation, config: Config) -> Problem:
    """The sentence with the right count and the mistakes that lead to the wrong count."""
    return Problem.of(_THE_MISTAKE, right=right, part=described, mistakes=mistakes_in_words(explanation, config))
