"""Keep the judged numbers in a text, and carry mistakes in earlier numbers forward to later numbers.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> model, earlier = build(BertConfig()), EarlierNumbers()
>>> [entry] = find("768 * 768 + 768 = 590,592", {})
>>> earlier.add(Finding(entry, model, Judged("wrong", Fraction(2362368))))
>>> int(earlier.right_value(Fraction(590592)))
2362368
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from bertcalc.diagnosis.layer_parts import WHOLE_OR_BODY, Counted
from bertcalc.model.model import Model
from bertcalc.proofreading.chains import is_miscalculated
from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.mentions.calculations import ChainSide, Operand, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.named_parts import in_all_layers, times_layers
from bertcalc.proofreading.verdicts import Judged
from bertcalc.proofreading.whole_counts import is_total_of_model
from bertcalc.text import N_
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.problem import InputError, Problem

LEAST_CARRIED = 1000  # smaller numbers are factors, not results of earlier lines
MOST_BEFORE = 8  # maximum number of previous numbers that may be factors of a number
_OF_PRODUCT = 2  # number of factors in a product, and of sides in its equation
_SPECIFIC = 2  # minimum number of nonzero digits; numbers with fewer digits may match by chance
_LEAST_LAYERS = 2
_MOST_ROWS, _MOST_BETWEEN = 100, 3  # maximum number of numbers in a table, and of lines between two of its rows
_TOTAL_ROW = re.compile(r"total|sum|总|合计|共", re.I)
# Words between a count and the same count rounded: 183,831,552, or about 184M.
_RESTATES = re.compile(
    r"(?:[\s,，、(（*`=≈~:]|\b(?:or|about|roughly|approximately|i\.?e\.?|that is|which is|parameters|params)\b|\.(?=\s)"
    r"|大?约|即|也就是|就是|参数|个){1,9}",
    re.I,
)
_FEW = 2  # a rounded or truncated number is off by at most this many half units in its last digit
_TIMES_LAYERS = re.compile(r"[-*•\s]*[x×]\s?(?P<layers>[0-9]{1,3})\s?(?:layers|blocks|层)\s?[=≈:：]\s?~?", re.I)
_SCALES = (1, 10**3, 10**6, 10**9)  # a calculation may use an earlier result without its unit, such as MB
_ROUNDED = Fraction(1, 50)


class Finding(NamedTuple):
    """A number in the text, the model that it is about, and its verdict.

    ``carried`` says whether the verdict follows from an earlier mistake.
    """

    entry: WrittenNumber
    model: Model | None
    judged: Judged
    carried: bool = False


class EarlierNumbers:
    """The numbers in a text that are judged so far, in order, and the results that later calculations may use.

    The methods that judge a number return None if no verdict follows from earlier numbers.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._by_value: dict[Fraction, int] = {}

    def add(self, finding: Finding, *, is_result: bool | None = None) -> None:
        """Add the next number in the text.

        ``is_result`` says whether later lines may use it. By default, they may if it is calculated.
        """
        self.findings.append(finding)
        value = finding.entry.best.value
        is_result = finding.entry.computes if is_result is None else is_result
        is_sure = finding.judged.verdict not in (None, "unknown")
        if (is_result or finding.carried) and is_sure and value.denominator == 1 and value >= LEAST_CARRIED:
            self._by_value[value] = len(self.findings) - 1

    def carried_forward(self, finding: Finding, context: Context) -> Finding:
        """The finding with the verdict that follows from earlier numbers; unchanged if no verdict follows."""
        return (
            self._of_wrong_size(finding)
            or self._carried(finding)
            or self._repeated(finding)
            or self._of_all_layers(finding)
            or self._summed(finding, context)
            or self._computed_again(finding)
            or self._rounded(finding)
            or self._restated(finding)
            or finding
        )

    def right_value(self, value: Fraction) -> Fraction | None:
        """The right value of an earlier number; None if the number is not the result of an earlier line."""
        if value not in self._by_value:
            return None
        judged = self.findings[self._by_value[value]].judged
        return judged.right_value if judged.verdict == "wrong" and judged.right_value else value

    def _of_all_layers(self, finding: Finding) -> Finding | None:
        """Judge a number that is an earlier wrong count multiplied or divided by the number of layers."""
        value, layers = finding.entry.best.value, finding.model.config.num_hidden_layers if finding.model else 0
        if layers < _LEAST_LAYERS or finding.entry.best.reach or finding.entry.computes or value < LEAST_CARRIED:
            return None
        for factor, counted in ((Fraction(layers), "one"), (Fraction(1, layers), "all")):
            index = self._by_value.get(value / factor)
            earlier = self.findings[index].judged if index is not None else None
            if index is None or earlier is None or earlier.verdict != "wrong" or not earlier.right_value:
                continue
            if earlier.counted and (factor > 1 or earlier.counted.layers == counted):
                used = {self.findings[index].entry.best.value: index}
                return self._because(finding, finding.entry.best, used, factor * earlier.right_value)
        return None

    def _carried(self, finding: Finding) -> Finding | None:
        """Judge a calculation that uses wrong earlier results; return None if it uses none."""
        for side in finding.entry.sides:
            used = self._used(side)
            if used:
                self._widen(side, used, finding)
                corrected = self._corrected(side, used)
                if corrected is not None and corrected != side.value:
                    return self._because(finding, side, used, corrected)
        return None

    def _of_wrong_size(self, finding: Finding) -> Finding | None:
        """Judge bytes or FLOPs computed from an earlier wrong number, in a calculation or times the layers."""
        entry, unit = finding.entry, finding.entry.stated.unit
        if unit not in ("bytes", "FLOPs", "MACs"):
            return None
        wrong = {
            index: (last.entry, last.judged.right_value)
            for index, last in list(enumerate(self.findings))[-_MOST_ROWS:]
            if last.judged.verdict == "wrong" and last.judged.right_value and last.entry.stated.unit == unit
        }
        if not entry.computes:
            times, index = _TIMES_LAYERS.fullmatch(entry.before), len(self.findings) - 1
            if times is None or index not in wrong:
                return None
            factor, (last, right) = int(times["layers"]), wrong[index]
            is_product = abs(factor * last.value - entry.value) <= entry.value * _ROUNDED
            return self._because(finding, entry.stated, {last.value: index}, factor * right) if is_product else None
        side = next(side for side in entry.sides if side.is_calculation or side.is_shape)
        operands = side.operands if "+" in side.text or len(side.operands) == _OF_PRODUCT else ()
        for operand in operands:
            digits = re.sub(r"[^1-9]", "", operand.text)
            for index, (last, right) in wrong.items():
                scale = last.value / operand.value if operand.value else Fraction(0)
                if scale in _SCALES and len(digits) >= _SPECIFIC and last.line < entry.line and side.value:
                    return self._with_size(finding, side, operand, index, right / scale)
        return None

    def _with_size(
        self, finding: Finding, side: ChainSide, operand: Operand, index: int, right: Fraction
    ) -> Finding | None:
        """Judge a calculation with the wrong number at ``index`` as an operand; ``right`` is its right value."""
        number = f"({operand.value})" if operand.value.denominator > 1 else f"{operand.value}"
        text = re.sub(rf"(?<![0-9.(]){re.escape(number)}(?![0-9.)])", f"({right})", side.text)
        try:
            corrected = evaluate(text) / side.value * finding.entry.value
        except InputError:
            return None
        used = {self.findings[index].entry.value: index}
        is_other = abs(corrected - finding.entry.value) > finding.entry.stated.reach
        return self._because(finding, side, used, corrected) if is_other else None

    def _used(self, side: ChainSide) -> dict[Fraction, int]:
        """The indices of the earlier numbers that a calculation contains, keyed by value."""
        if not side.is_calculation:
            return {}
        return {
            operand.value: self._by_value[operand.value]
            for operand in side.operands
            if operand.value in self._by_value and operand.value >= LEAST_CARRIED
        }

    def multiplied(self, entry: WrittenNumber, judged: Judged, model: Model | None) -> Judged | None:
        """Judge an earlier one-layer count times the number of layers (4,722,432 * 12), or only its result."""
        if judged.verdict not in ("wrong", "unknown") or model is None:
            return None
        if is_arithmetic(Finding(entry, model, judged)):
            return None
        used = [index for side in entry.sides for index in self._used(side).values()]
        earlier = [self.findings[index].judged for index in used]
        if not entry.computes:
            earlier += [last.judged for last in self.findings[-MOST_BEFORE:] if last.entry.line == entry.line]
        right = [term.counted for term in earlier if term.counted and term.verdict == "right"]
        exact = next(filter(None, (times_layers(part, entry.best.value, model) for part in right)), None)
        return exact or self._multiplied_roughly(entry, model)

    def _multiplied_roughly(self, entry: WrittenNumber, model: Model) -> Judged | None:
        """Judge the rounded count of one layer times the number of layers: 12 × 2.36M = 28.3M."""
        layers, stated = model.config.num_hidden_layers, entry.stated
        terms = [operand.value for operand in entry.sides[0].operands]
        if len(entry.sides) < _OF_PRODUCT or len(terms) != _OF_PRODUCT or layers not in terms or not stated.reach:
            return None
        term = max(terms)
        last = [last.judged.counted for last in self.findings[-MOST_BEFORE:] if last.entry.stated.value == term]
        wholes = (times_layers(part, Fraction(layers * part.right), model) for part in last if part)
        return next((whole for whole in wholes if whole and self._is_near(whole, stated)), None)

    @staticmethod
    def _is_near(whole: Judged, stated: ChainSide) -> bool:
        apart = abs(whole.counted.right - stated.value) if whole.counted else stated.value
        return apart <= 2 * max(stated.reach, stated.rough)

    def _widen(self, side: ChainSide, used: Mapping[Fraction, int], finding: Finding) -> None:
        """Judge a term for one layer again if another term of the same sum shows that all layers are meant."""
        parts = {value: self.findings[index].judged.counted for value, index in used.items()}
        if finding.model is None or not any(
            part and part.layers == "all" and _repeats(part) for part in parts.values()
        ):
            return
        for value, part in parts.items():
            multiplied = re.search(rf"(?:[*×·]{int(value)}(?![0-9]))|(?<![0-9]){int(value)}[*×·^]", side.text)
            is_of_one = part is not None and part.layers == "one" and part.heads == "all" and not multiplied
            # A sum that also contains whole layers counts this part already, so the term does not mean all layers.
            is_of_one = is_of_one and not any(map(_counts_layers, parts.values()))
            if part and is_of_one and (widened := in_all_layers(part, value, finding.model)):
                index = used[value]
                self.findings[index] = self.findings[index]._replace(judged=widened)

    def _corrected(self, side: ChainSide, used: Mapping[Fraction, int]) -> Fraction | None:
        """Calculate again with the right values of earlier numbers; return None if none of these numbers is wrong."""
        right = {}
        for value, index in used.items():
            judged = self.findings[index].judged
            if judged.verdict == "wrong" and judged.right_value is not None and judged.right_value.denominator == 1:
                right[value] = judged.right_value
        if not right:
            return None
        pieces = re.split(r"(?<![0-9.])([0-9]+)(?![0-9.])", side.text)
        text = "".join(
            f"{right[Fraction(piece)]}" if piece.isdigit() and Fraction(piece) in right else piece for piece in pieces
        )
        try:
            return evaluate(text)
        except InputError:
            return None

    def _because(self, finding: Finding, side: ChainSide, used: Mapping[Fraction, int], corrected: Fraction) -> Finding:
        judged = finding.judged
        wrong_ones = [value for value, index in used.items() if self.findings[index].judged.verdict == "wrong"]
        message = N_("An earlier error is carried forward ({wrong}). With the right values, the result is {right}.")
        reason = Problem.of(
            message,
            wrong=", ".join(f"{int(value):,}" for value in wrong_ones),
            right=in_words(corrected, finding.entry.stated.unit),
        )
        reasons = (reason, *judged.reasons) if judged.verdict == "wrong" else (reason,)
        is_whole = judged.counted is None or judged.counted.part in WHOLE_OR_BODY
        is_whole = is_whole and not is_total_of_model(judged)
        right = judged.right_value if judged.verdict == "wrong" and judged.right_value and is_whole else corrected
        return finding._replace(judged=Judged("wrong", right, judged.counts, reasons, judged.counted), carried=True)

    def _repeated(self, finding: Finding) -> Finding | None:
        """Judge a number that repeats the wrong result of an earlier calculation."""
        value = finding.entry.best.value
        index = self._by_value.get(value)
        if index is None or value < 10_000 or finding.entry.computes:
            return None
        earlier = self.findings[index]
        if earlier.judged.verdict != "wrong" or earlier.entry.stated.unit == "bytes" or is_arithmetic(earlier):
            return None
        if finding.entry.cells and earlier.entry.cells and finding.entry.cells[:2] != earlier.entry.cells[:2]:
            return None  # another row of a table is about something else
        repeats = Problem.of(N_("This repeats an earlier error."))
        others = (reason for reason in earlier.judged.reasons if reason != repeats)
        judged = earlier.judged._replace(reasons=(repeats, *others))
        return finding._replace(judged=judged, carried=True)

    def _rounded(self, finding: Finding) -> Finding | None:
        """Judge a number that rounds the previous number on its line: 85,054,464, or 85M."""
        last = self.findings[-1] if self.findings else None
        side = finding.entry.best
        if last is None or last.entry.line != finding.entry.line or finding.judged.verdict != "unknown":
            return None
        near = abs(last.entry.best.value - side.value) <= side.reach
        return finding._replace(judged=last.judged) if near and side.unit == last.entry.best.unit else None

    def _restated(self, finding: Finding) -> Finding | None:
        """Judge a number that rounds the previous number on its line incorrectly: 85,054,464, or 86M."""
        last, side = self.findings[-1] if self.findings else None, finding.entry.best
        if last is None or last.entry.line != finding.entry.line or finding.judged.verdict != "unknown":
            return None
        count = last.entry.best
        is_rounded = side.reach and not finding.entry.computes and {side.unit, count.unit} <= {None, "parameters"}
        if not is_rounded or count.reach * _FEW >= side.reach or not _RESTATES.fullmatch(finding.entry.before):
            return None
        value = last.judged.right_value if last.judged.verdict == "wrong" and last.judged.right_value else count.value
        is_clear = abs(count.value - side.value) > _FEW * max(side.reach, side.rough)
        if not is_clear or not count.value / _OF_PRODUCT < side.value < count.value * _OF_PRODUCT:
            return None
        reason = Problem.of(
            N_("This should equal the previous number, {count}, after rounding."), count=in_words(value)
        )
        return finding._replace(judged=Judged("wrong", value, last.judged.counts, (reason,), last.judged.counted))

    def _computed_again(self, finding: Finding) -> Finding | None:
        """Judge a calculation of the previous number on its line: 396,544 parameters (2 × 198,272)."""
        last = self.findings[-1] if self.findings else None
        if last is None or last.entry.line != finding.entry.line or not finding.entry.computes:
            return None
        is_same = last.entry.best.value == finding.entry.best.value
        return finding._replace(judged=last.judged) if is_same and last.judged.verdict == "right" else None

    def _summed(self, finding: Finding, context: Context) -> Finding | None:
        """Judge a total that is the sum of the rows or lines above it, some of which are wrong."""
        entry = finding.entry
        if entry.computes or not context.names or not _TOTAL_ROW.search(context.names[0]):
            return None
        rows: list[Finding] = []
        for row in self._above(entry):
            rows.append(row)
            values = [row.entry.best.value for row in rows]
            if len(rows) > 1 and sum(values) == entry.best.value:
                right = [
                    row.judged.right_value if row.judged.verdict == "wrong" and row.judged.right_value else value
                    for row, value in zip(rows, values, strict=True)
                ]
                corrected = sum(right, Fraction(0))
                used = {row.entry.best.value: self.findings.index(row) for row in rows}
                is_wrong = corrected != entry.best.value
                return self._because(finding, entry.best, used, corrected) if is_wrong else None
        return None

    def _above(self, entry: WrittenNumber) -> Iterator[Finding]:
        """The counts above a number, the nearest first: in a table, in its column; otherwise one count per line."""
        line = entry.line
        for last in reversed(self.findings[-_MOST_ROWS:]):
            if bool(last.entry.cells) != bool(entry.cells) or line - last.entry.line > _MOST_BETWEEN:
                return
            is_count = last.entry.best.unit in (None, "parameters") and last.entry.best.value >= LEAST_CARRIED
            if last.entry.line < line and (last.entry.column == entry.column if entry.cells else is_count):
                line = last.entry.line
                yield last


def is_arithmetic(finding: Finding) -> bool:
    """Whether a number is wrong because the sides of its chain disagree, no matter what they count."""
    return len(finding.entry.sides) > 1 and is_miscalculated(finding.judged)


def _repeats(part: Counted) -> bool:
    """Whether a part has tensors that occur in several layers."""
    return any(tensor.copies > 1 for tensor in part.tensors)


def _counts_layers(part: Counted | None) -> bool:
    """Whether a part consists of all layers of the model, with everything in them."""
    return part is not None and part.part == "layers" and part.layers == "all"
