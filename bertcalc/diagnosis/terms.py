"""Check a hand count term by term: the part that each line counts, whether it is right, and what is missing.

>>> from bertcalc import BertConfig, build
>>> report = check(build(BertConfig()), BertConfig(), read("pooler = H*H", BertConfig()))
>>> [[cause.miscount for cause in verdict.explanation or ()] for verdict in report.verdicts]
[['pooler bias']]
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from bertcalc.arithmetic import evaluate
from bertcalc.config import Config, Problem, letters
from bertcalc.diagnosis.explain import MOST_MISCOUNTS, Explanation, causes, ways
from bertcalc.diagnosis.layer_parts import PARTS, USUAL, Counted, parts_of
from bertcalc.diagnosis.miscounts import MiscountSizes, counted, total
from bertcalc.digits import brief
from bertcalc.family import Model
from bertcalc.problem import InputError
from bertcalc.text import N_
from bertcalc.tree.inventory import inventory, named
from bertcalc.tree.nn import Component, Tensor
from bertcalc.tree.totals import COMPONENTS

MOST_LINES = 40
LONGEST = 4000


class TypedLine(NamedTuple):
    """A typed line: its name, which may be empty, and the value of its calculation, if it can be read."""

    name: str
    text: str
    value: Fraction | None
    problem: Problem | None = None  # why it cannot be read, or that its sides are not equal


class LineVerdict(NamedTuple):
    """A line, the part it is taken to count, and the miscounts in it: the empty explanation if it is right.

    ``counted`` is None if no part of the model fits, ``explanation`` if no miscounts are found. ``modules`` means that
    the line is right as a number of modules, such as 37 for Dropout. ``also`` are other parts with the same count that
    the line may mean.
    """

    line: TypedLine
    counted: Counted | None
    explanation: Explanation | None
    modules: bool = False
    also: tuple[Counted, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether there is nothing to correct."""
        return self.modules or self.explanation == ()


class Gap(NamedTuple):
    """Tensors of a component that no line counts, or, with negative ``parameters``, that are counted twice."""

    component: Component
    names: tuple[str, ...]
    parameters: int


class TermsReport(NamedTuple):
    """The verdicts, the typed sum, and the right one: the right counts of the lines plus the gaps.

    If all lines are numbers of modules, both sums are 0 and there are no gaps.
    """

    verdicts: tuple[LineVerdict, ...]
    gaps: tuple[Gap, ...]
    typed: Fraction
    right: int


def read(text: str, config: Config) -> list[TypedLine]:
    """Read the lines of a hand count, such as ``attention = 12 * 4 * H * H``; letters are the configuration's.

    A line may give its result after a second equals sign. Text beyond the limits is ignored; see ``problem``.
    """
    names = letters(config)
    lines = [line.strip() for line in text[:LONGEST].splitlines()]
    return [_read(line, names) for line in lines if line][:MOST_LINES]


def problem(text: str) -> Problem | None:
    """The problem of a text that is too long; None if it is not."""
    lines = sum(bool(line.strip()) for line in text.splitlines())
    if len(text) <= LONGEST and lines <= MOST_LINES:
        return None
    message = N_("The count is too long: at most {lines} lines and {characters} characters in all.")
    return Problem("terms", None, message, {"lines": f"{MOST_LINES}", "characters": f"{LONGEST:,}"})


def check(model: Model, config: Config, lines: Sequence[TypedLine]) -> TermsReport:
    """Find the part that each line counts and its mistakes, and the parts that no line counts."""
    tensors, sizes = counted(model), MiscountSizes.of(config)
    verdicts, open_copies = _verdicts(lines, model, tensors, sizes, walk=any(map(_is_of_other_layers, lines)))
    if any(_goes_through_one_layer(verdict) for verdict in verdicts) and not any(map(_is_of_all_layers, verdicts)):
        verdicts, open_copies = _verdicts(lines, model, tensors, sizes, walk=True)
    if verdicts and all(one.modules for one in verdicts):
        return TermsReport(tuple(verdicts), (), Fraction(0), 0)
    typed = sum((one.line.value or Fraction(0) for one in verdicts if not one.modules), Fraction(0))
    gaps = tuple(_gaps([tensor._replace(copies=open_copies[tensor.name]) for tensor in tensors]))
    return TermsReport(tuple(verdicts), gaps, typed, total(tensors))


def _verdicts(
    lines: Sequence[TypedLine], model: Model, tensors: Sequence[Tensor], sizes: MiscountSizes, *, walk: bool
) -> tuple[list[LineVerdict], dict[str, int]]:
    """The verdict on each line, and the copies of each tensor that no line counts.

    With ``walk`` a line may count one layer: the hand count goes through one layer and then multiplies.
    """
    open_copies = {tensor.name: tensor.copies for tensor in tensors}
    verdicts = []
    for line in lines:
        verdict = _verdict(line, model, tensors, sizes, open_copies, walk=walk)
        verdicts.append(verdict)
        for tensor in verdict.counted.tensors if verdict.counted else ():
            open_copies[tensor.name] -= tensor.copies
    return verdicts, open_copies


def _is_of_other_layers(line: TypedLine) -> bool:
    """Whether a line is named like "the other layers", so that the lines before it are about one layer."""
    return bool(
        re.search(r"(other|rest|remain|more|same|repeat).*(layer|block)|(其余|其他|剩余|另外).*层", line.name, re.I)
    )


def _goes_through_one_layer(verdict: LineVerdict) -> bool:
    """Whether a line is explained as a count for one layer instead of all."""
    once = ("attention once", "feed-forward once", "encoder once")
    return any(cause.miscount in once for cause in verdict.explanation or ())


def _is_of_all_layers(verdict: LineVerdict) -> bool:
    """Whether a line counts something in all of several layers."""
    found = verdict.counted
    return (
        found is not None
        and found.layers == "all"
        and verdict.explanation is not None
        and not _goes_through_one_layer(verdict)
        and any("*" in tensor.name and tensor.copies > 1 for tensor in found.tensors)
    )


def _read(text: str, names: dict[str, int]) -> TypedLine:
    name, *sides = (side.strip() for side in re.split(r"[=＝]|[:：](?!.*[=＝])", text))
    if not sides or (re.search(r"[0-9+*/^()]", name) and _is_calculation(name, names)):
        name, sides = "", [name, *sides]
    try:
        values = [evaluate(side, names) for side in sides]
    except InputError as error:
        return TypedLine(name, text, None, error.problem)
    if len(set(values)) == 1:
        return TypedLine(name, text, values[0])
    message = N_("The calculation gives {value}, not {written}.")
    given = {"value": written_value(values[0]), "written": written_value(values[-1])}
    return TypedLine(name, text, values[0], Problem("terms", text, message, given))


def _is_calculation(text: str, names: dict[str, int]) -> bool:
    try:
        evaluate(text, names)
    except InputError:
        return False
    return True


def written_value(value: Fraction) -> str:
    """The value of a line with thousands separators, to six digits if it is not whole."""
    return f"{int(value):,}" if value.denominator == 1 else brief(value)


def _verdict(
    line: TypedLine,
    model: Model,
    tensors: Sequence[Tensor],
    sizes: MiscountSizes,
    open_copies: dict[str, int],
    *,
    walk: bool,
) -> LineVerdict:
    if line.value is None or line.value.denominator != 1:
        return LineVerdict(line, None, None)
    value = int(line.value)
    called = [part for part, (_of, pattern) in PARTS.items() if line.name and re.search(pattern, line.name, re.I)]
    candidates = list(_candidates(line.name, called, tensors, sizes))
    right = [found for found in candidates if found.right == value]
    # Of two parts of the same size, prefer the one that no line has counted yet: the second of two LayerNorms.
    copies = {tensor.name: tensor.copies for tensor in tensors}
    right.sort(key=lambda found: any(open_copies[tensor.name] != copies[tensor.name] for tensor in found.tensors))
    if right:
        return LineVerdict(line, right[0], (), also=tuple(_also(right, open_copies)))
    if _is_number_of_modules(line.name, model, value):
        return LineVerdict(line, None, (), modules=True)
    whole = [found for found in candidates if found.layers == "all"]
    usual = [found for found in whole if found.part in USUAL] or whole
    parts = [found for found in candidates if found.layers == "one" and found.part in {one.part for one in usual}]
    # Without a name that says which part is meant, only a single miscount is a reliable explanation.
    most = MOST_MISCOUNTS if called else 1
    explained = [
        (way.bits, number, found, way)
        for number, found in enumerate([*parts, *usual] if walk else usual)
        for way in ways(found.tensors, sizes, value, _MOST_BITS)[:1]
        if 0 < len(way.miscounts) <= most
    ]
    if explained:
        _bits, _number, found, way = min(explained, key=lambda one: one[:2])
        return LineVerdict(line, found, causes(found.tensors, sizes, way.miscounts))
    return LineVerdict(line, usual[-1] if usual and called else None, None)


_MOST_BITS = 9.0  # fewer than in explain.py: one term has fewer mistakes than a whole count


def _also(right: Sequence[Counted], open_copies: dict[str, int]) -> Iterator[Counted]:
    """Other parts with the right count, which share no tensor with those before and are not counted yet."""
    names = {tensor.name for tensor in right[0].tensors}
    for found in right[1:]:
        own = {tensor.name for tensor in found.tensors if tensor.num_parameters()}
        if not own & names and all(open_copies[tensor.name] >= tensor.copies for tensor in found.tensors):
            names |= own
            yield found


def _candidates(
    name: str, called: Sequence[str], tensors: Sequence[Tensor], sizes: MiscountSizes
) -> Iterator[Counted]:
    """The tensor or module with the name of a line, and the parts that people call so; all parts if there are none."""
    own = tuple(tensor for tensor in tensors if tensor.name == name)  # pre_classifier.weight is no classifier.weight
    own = own or tuple(tensor for tensor in tensors if name and name.lower() in tensor.name.lower())
    if own and re.search(r"[._]", name):
        yield Counted(name, own)
    yield from parts_of(tensors, sizes, called or PARTS)


def _is_number_of_modules(name: str, model: Model, value: int) -> bool:
    parts = [part for part in (*inventory(model), named(model, "dense")) if part.name.lower() in name.lower()]
    return any(part.modules == value for part in parts)


def _gaps(tensors: Sequence[Tensor]) -> Iterator[Gap]:
    """The remaining copies by component: tensors that are missing, then tensors that are counted too often."""
    for component in COMPONENTS:
        for missing in (True, False):
            here = [
                tensor
                for tensor in tensors
                if tensor.num_parameters() and tensor.place.component == component
                if (tensor.copies > 0) == missing
            ]
            if here:
                yield Gap(component, tuple(tensor.name for tensor in here), total(here))
