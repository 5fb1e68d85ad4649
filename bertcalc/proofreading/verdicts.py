"""Define the verdict on a single number, and build verdicts that several modules share."""

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
from bertcalc.text import N_
from bertcalc.text.amounts import Unit
from bertcalc.text.problem import Problem

LEAST = 1000  # smaller numbers without a calculation are not claims
LEAST_WITHOUT_WORDS = 10_000


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


def right_as(part: Counted, model: Model) -> Judged:
    """Return the verdict that a number is right for ``part``, although the words around it name a different part."""
    described = part_in_words(part, model)
    reason = Problem.of(N_("This is correct for {part}."), part=described)
    return Judged("conditional", Fraction(part.right), described, (reason,), part)


def should_be(right: Fraction, described: Problem, unit: Unit | None = None, part: Counted | None = None) -> Judged:
    """Return the verdict that a number is wrong and should be ``right``; ``described`` says what it counts."""
    reason = Problem.of(N_("{right} is right for {part}."), right=in_words(right, unit), part=described)
    return Judged("wrong", right, described, (reason,), part)


def right_for(part: Counted, model: Model) -> Judged:
    """Return the verdict that a number is wrong and should be a part's count."""
    described = part_in_words(part, model)
    reason = Problem.of(N_("{right} is right for {part}."), right=part.right, part=described)
    return Judged("wrong", Fraction(part.right), described, (reason,), part)


_IS_RIGHT = N_("{right} is right for {part}. The mistake: {mistakes}.")


def right_because(part: Counted, cause: Problem, model: Model) -> Judged:
    """Return the verdict that a number is wrong and should be a part's count, with the cause of the mistake."""
    described = part_in_words(part, model)
    reason = Problem.of(_IS_RIGHT, right=part.right, part=described, mistakes=cause)
    return Judged("wrong", Fraction(part.right), described, (reason,), part)


def wrong_by(part: Counted, explanation: Explanation, model: Model) -> Judged:
    """Return the verdict that a count is wrong, with the counting mistakes that explain it."""
    described = part_in_words(part, model)
    reason = instead(part.right, described, explanation, model.config)
    return Judged("wrong", Fraction(part.right), described, (reason,), part)


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
        return right_for(part, model)
    mistakes = mistakes_in_words(possible[0], model.config)
    for other in possible[1:_MOST_CAUSES]:
        if len(other) == 1:  # sets of several mistakes are too long for a choice
            words = {"mistakes": mistakes, "others": mistakes_in_words(other, model.config)}
            mistakes = Problem.of(N_("{mistakes}, or {others}"), **words)
    instead_of_it = Problem.of(_IS_RIGHT, right=part.right, part=judged.counts, mistakes=mistakes)
    return judged._replace(reasons=tuple(instead_of_it if reason == cause else reason for reason in judged.reasons))


_MOST_CAUSES = 3


def _is_ruled_out(part: Counted, sizes: MiscountSizes, explanation: Explanation, right: Collection[str]) -> bool:
    return is_ruled_out(part.tensors, sizes, [cause.miscount for cause in explanation], right)


def instead(right: int, described: Problem, explanation: Explanation, config: Config) -> Problem:
    """The sentence with the right count and the mistakes that lead to the wrong count."""
    return Problem.of(_IS_RIGHT, right=right, part=described, mistakes=mistakes_in_words(explanation, config))
