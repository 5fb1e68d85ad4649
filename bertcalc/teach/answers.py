"""Check typed answers, and explain wrong ones.

>>> from bertcalc.teach.exercises import sheet
>>> exercise = sheet(1, "easy")[0]
>>> exercise.question.values["name"], exercise.right
('encoder.layer.0.attention.self.value.weight', 100)
>>> check(exercise, "10^2").state
'right'
>>> [sentence.message for [sentence] in check(exercise, "200").because]
['all layers are counted, but the question is about one']
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from bertcalc.diagnosis.explain import explain_tensors, likeliest
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, total
from bertcalc.model.modules import Shape
from bertcalc.teach.questions import Exercise, Sentence
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import Typed, amount
from bertcalc.text.arithmetic import LONGEST, evaluate
from bertcalc.text.problem import InputError, wrong

_MOST_MISCOUNTS = 2  # maximum number of miscounts in an explanation
_MOST_TOLD = 3  # maximum number of explanations that are shown
# A rounded answer is too imprecise if its range is wider than this share of the right number.
_ROUGH = Fraction(1, 10)
State = Literal["right", "rounded", "wrong", "unreadable"]
_TOO_SMALL, _TOO_LARGE = Sentence(N_("Your answer is too small.")), Sentence(N_("Your answer is too large."))


class Verdict(NamedTuple):
    """The state of an answer, remarks, and explanations if it is wrong.

    Each explanation in ``because`` has one sentence per mistake.
    """

    state: State
    remarks: tuple[Sentence, ...] = ()
    because: tuple[tuple[Sentence, ...], ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the answer is accepted as right."""
        return self.state in ("right", "rounded")


def check(exercise: Exercise, answer: str | Collection[str], names: Mapping[str, int] | None = None) -> Verdict:
    """Check a typed answer or chosen options. ``names`` maps the letters that the answer may use to their sizes."""
    right = exercise.right
    try:
        if isinstance(right, frozenset):
            return _fields(right, frozenset(answer))
        text = str(answer)[: LONGEST + 1]  # with one character over the limit, the answer is rejected
        if isinstance(right, tuple):
            return _shape(right, list(_read_shapes(text, names or {})))
        return _number(exercise, right, text, amount(text, exercise.unit, names))
    except InputError as error:
        return Verdict("unreadable", (Sentence(error.problem.message, error.problem.values),))


def _number(exercise: Exercise, right: int, text: str, read: Typed) -> Verdict:
    if read.low == read.high == right:
        return Verdict("right")
    if not read.means(right):
        rounded = _with_zeros_unknown(read)
        if read.low != read.high and rounded.means(right) and not _is_rough(rounded, right):
            return _exactly(right)
        because = tuple(_because(exercise, right, read))
        return Verdict("wrong", () if because else (_TOO_SMALL if read.value < right else _TOO_LARGE,), because)
    if _is_rough(read, right):
        rough = N_('"{text}" is too imprecise: type at least two significant digits.')
        return Verdict("unreadable", (Sentence(rough, {"text": shorten(text)}),))
    return _exactly(right)


def _exactly(right: int) -> Verdict:
    return Verdict("rounded", (Sentence(N_("The exact value is {right}."), {"right": f"{right:,}"}),))


def _is_rough(read: Typed, right: int) -> bool:
    return read.high - read.low > _ROUGH * right


def _with_zeros_unknown(read: Typed) -> Typed:
    """Return the number with trailing zeros that are not significant: 110M means the same as 1.1e8."""
    reach = read.reach(rounded=True)
    return read._replace(low=read.value - reach, high=read.value + reach)


def _because(exercise: Exercise, right: int, read: Typed) -> list[tuple[Sentence, ...]]:
    """Explain a wrong number by the exercise's own mistakes, then by the fewest miscounts that lead to it.

    At most ``_MOST_TOLD`` explanations are returned, and none for a number that is not positive.
    """
    if read.value <= 0:
        return []  # no miscount leads to such a number
    reasons: list[tuple[Sentence, ...]] = [
        (mistake.reason,) for mistake in exercise.mistakes if read.means(mistake.amount)
    ]
    if tensors := exercise.explained():
        sizes = MiscountSizes.of(exercise.config)
        single = {total(miscount.make(tensors, sizes)) for miscount in MISCOUNTS.values()} - {right}
        meant = sorted(filter(read.means, single))
        if not reasons and not meant and read.low == read.high and read.value.denominator == 1:
            meant = [int(read.value)]
        for amount in meant:
            explanations = [
                causes
                for causes in explain_tensors(tensors, sizes, amount, _MOST_MISCOUNTS, chance=False)
                # Two kinds of miscounts do not apply to a part: one layer's part only looks as if all layers shared it,
                # and no tensors are added to a part.
                if not (exercise.path and any(cause.miscount.endswith(("not shared", "added")) for cause in causes))
            ]
            reasons += [tuple(_sentence(cause.miscount) for cause in causes) for causes in explanations]
        if not reasons and not exercise.path and read.low == read.high and read.value.denominator == 1:
            miscounts = likeliest(tensors, sizes, int(read.value))
            reasons += [tuple(map(_sentence, miscounts))] if miscounts else []
    return [reason for number, reason in enumerate(reasons) if reason not in reasons[:number]][:_MOST_TOLD]


def _sentence(miscount: str) -> Sentence:
    return Sentence(MISCOUNTS[miscount].description, MISCOUNTS[miscount].values)


def _read_shapes(text: str, names: Mapping[str, int]) -> Iterator[list[Fraction]]:
    """Yield all possible readings of a shape. A comma may separate dimensions or thousands."""
    inside = text.strip().removeprefix("torch.Size").strip("()[] ").rstrip(",")
    readable = False
    for separator in ("[×x*;]", r",\s+", ",", r"\s+", "$"):
        sides = [side for side in re.split(separator, inside) if side.strip()]
        try:
            yield [evaluate(side, names) for side in sides]
        except InputError:
            continue
        readable = readable or bool(sides)
    if not readable:
        message = N_('"{text}" is not a shape: write its dimensions like {example}.')
        raise wrong(message, text=shorten(text), example="2 × 5 × 4")


def _shape(right: Shape, readings: Sequence[Sequence[Fraction]]) -> Verdict:
    if any(tuple(reading) == right for reading in readings):
        return Verdict("right")
    nearest = max(readings, key=lambda reading: (len(reading) == len(right), _agreeing(right, reading)))
    if sorted(nearest) == sorted(right):
        return Verdict("wrong", (Sentence(N_("The dimensions are right, but in the wrong order.")),))
    if len(nearest) != len(right):
        values = {"right": f"{len(right)}", "typed": f"{len(nearest)}"}
        return Verdict("wrong", (Sentence(N_("The shape has {right} dimensions, not {typed}."), values),))
    values = {"agreeing": f"{_agreeing(right, nearest)}", "sides": f"{len(right)}"}
    return Verdict("wrong", (Sentence(N_("{agreeing} of {sides} dimensions are correct."), values),))


def _agreeing(right: Shape, reading: Sequence[Fraction]) -> int:
    return sum(side == other for side, other in zip(right, reading, strict=False))


def _fields(right: frozenset[str], chosen: frozenset[str]) -> Verdict:
    remarks = []
    if wrong := sorted(chosen - right):
        remarks.append(Sentence(N_("No effect here: {fields}."), {"fields": ", ".join(wrong)}))
    if missing := right - chosen:
        remarks.append(Sentence(N_("Fields you missed: {number}."), {"number": f"{len(missing)}"}))
    return Verdict("wrong" if remarks else "right", tuple(remarks))
