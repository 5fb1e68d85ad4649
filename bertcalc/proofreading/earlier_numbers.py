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
from bertcalc.proofreading.mentions.model_names import models_named, names_model
from bertcalc.proofreading.named_parts import in_all_layers, times_layers
from bertcalc.proofreading.verdicts import UNKNOWN, Judged, is_far
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
            or self._size_again(finding)
            or self._in_bytes(finding)
            or self._beside_calculation(finding, context)
            or self._carried(finding)
            or self._repeated(finding)
            or self._of_all_layers(finding)
            or self._summed(finding, context)
            or self._below_sum(finding, context)
            or self._of_larger_model(finding, context)
            or self._computed_again(finding)
            or self._rounded(finding)
            or self._restated(finding)
            or finding
        )

    def last_on_line(self, entry: WrittenNumber) -> Finding | None:
        """The previous number's finding if it is on the same line; otherwise None."""
        last = self.findings[-1] if self.findings else None
        return last if last and last.entry.line == entry.line else None

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

    def _size_again(self, finding: Finding) -> Finding | None:
        """Judge a size in bytes that repeats the wrong result of an earlier calculation."""
        stated = finding.entry.stated
        if finding.entry.computes or stated.unit != "bytes" or finding.judged.verdict != "unknown":
            return None
        for earlier in self.findings:
            is_same = (earlier.entry.stated.unit, earlier.entry.stated.value) == ("bytes", stated.value)
            if is_same and earlier.entry.computes and earlier.judged.verdict == "wrong":
                return _repeating(finding, earlier)
        return None

    def _in_bytes(self, finding: Finding) -> Finding | None:
        """Judge the bytes of a wrong count in the same table row: 124.4M parameters, 497.6 MB."""
        stated = finding.entry.stated
        if not finding.entry.cells or finding.entry.computes or stated.unit != "bytes":
            return None
        for index in range(len(self.findings) - 1, max(-1, len(self.findings) - 1 - MOST_BEFORE), -1):
            last = self.findings[index]
            right = last.judged.right_value if last.judged.verdict == "wrong" else None
            if last.entry.line != finding.entry.line or not right or not last.entry.best.counts_parameters:
                continue
            for width in _WIDTHS:
                count = width * last.entry.best.value
                if any(abs(count - factor * stated.value) <= count * _ROUNDED for factor in stated.unit_factors):
                    return self._because(finding, stated, {last.entry.best.value: index}, width * right)
        return None

    def is_size_of_unknown(self, entry: WrittenNumber) -> bool:
        """Whether a size in bytes fits an earlier, unrecognized count at 1, 2, 4 or 8 bytes per parameter."""
        stated = entry.stated
        if entry.computes or stated.unit != "bytes":
            return False
        counts = (
            last.entry.best.value
            for last in self.findings[-_MOST_ROWS:]
            if last.judged.verdict == "unknown" and last.entry.best.counts_parameters
        )
        sizes = [width * count for count in counts if count >= _LEAST_STORED for width in (*_WIDTHS, 8)]
        written = [(factor * stated.value, factor * stated.rough) for factor in stated.unit_factors]
        return any(abs(size - value) <= rough for size in sizes for value, rough in written)

    def _beside_calculation(self, finding: Finding, context: Context) -> Finding | None:
        """Judge a count that is smaller than the calculation in the cell before it: 768 × 42 + 42 | 32,256."""
        last, side = self.last_on_line(finding.entry), finding.entry.best
        if finding.judged.verdict != "unknown" or not finding.entry.cells or not last or finding.entry.computes:
            return None
        calculation = last.entry.best
        is_beside = last.entry.column + 1 == finding.entry.column and len(last.entry.sides) == 1
        is_product = calculation.is_calculation or calculation.is_shape
        is_exact = is_product and not calculation.letters and not calculation.reach
        is_smaller = side.counts_parameters and side.value + 2 * side.rough < calculation.value
        if not (is_beside and is_exact and is_smaller) or _FEWER.search(
            " ".join((*finding.entry.cells, context.header))
        ):
            return None
        reason = Problem.of(N_("The calculation in this row gives {right}."), right=in_words(calculation.value))
        return finding._replace(judged=Judged("wrong", calculation.value, last.judged.counts, (reason,)))

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
        is_same = finding.entry.stated.means(corrected)
        return None if is_same else self._because(finding, side, used, corrected)

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
        terms = entry.sides[0].numbers
        if len(entry.sides) < _OF_PRODUCT or len(terms) != _OF_PRODUCT or layers not in terms or not stated.reach:
            return None
        term = max(terms)
        last = [last.judged.counted for last in self.findings[-MOST_BEFORE:] if last.entry.stated.value == term]
        wholes = (times_layers(part, Fraction(layers * part.right), model) for part in last if part)
        return next((whole for whole in wholes if whole and self._is_near(whole, stated)), None)

    @staticmethod
    def _is_near(whole: Judged, stated: ChainSide) -> bool:
        apart = abs(whole.counted.right - stated.value) if whole.counted else stated.value
        return apart <= 2 * stated.rough

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
        return _repeating(finding, earlier)

    def _rounded(self, finding: Finding) -> Finding | None:
        """Judge a number that rounds the previous number on its line: 85,054,464, or 85M."""
        last, side = self.last_on_line(finding.entry), finding.entry.best
        if last is None or finding.judged.verdict not in ("unknown", "wrong"):
            return None
        is_behind = side.reach and not finding.entry.computes and _RESTATES.fullmatch(finding.entry.before)
        if finding.judged.verdict == "wrong" and not is_behind:
            return None
        is_same = side.means(last.entry.best.value) and side.unit == last.entry.best.unit
        return finding._replace(judged=last.judged) if is_same else None

    def _restated(self, finding: Finding) -> Finding | None:
        """Judge a number that rounds the previous number on its line incorrectly: 85,054,464, or 86M."""
        last, side = self.last_on_line(finding.entry), finding.entry.best
        if last is None or finding.judged.verdict != "unknown":
            return None
        count = last.entry.best
        is_rounded = side.reach and not finding.entry.computes and {side.unit, count.unit} <= {None, "parameters"}
        if not is_rounded or not _RESTATES.fullmatch(finding.entry.before):
            return None
        value = last.judged.right_value if last.judged.verdict == "wrong" and last.judged.right_value else count.value
        compared, reach = count.value, side.rough
        if count.reach * _FEW >= side.reach:  # rounded, too: 110M, or 1.15亿
            if last.judged.verdict != "right" or last.judged.counted is None:
                return None
            value = compared = Fraction(last.judged.counted.right)
            reach = max(reach, count.reach)
        is_clear = abs(compared - side.value) > _FEW * reach
        if not is_clear or is_far(side.value, compared, _FEW):
            return None
        reason = Problem.of(
            N_("This should equal the previous number, {count}, after rounding."), count=in_words(value)
        )
        return finding._replace(judged=Judged("wrong", value, last.judged.counts, (reason,), last.judged.counted))

    def _computed_again(self, finding: Finding) -> Finding | None:
        """Judge a calculation of the previous number on its line: 396,544 parameters (2 × 198,272)."""
        last = self.last_on_line(finding.entry)
        if last is None or not finding.entry.computes:
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

    def _below_sum(self, finding: Finding, context: Context) -> Finding | None:
        """Judge a total that is smaller than the sum of the lines above it, and than any sum of some of them."""
        total = finding.entry.best
        is_total = any(map(_ALL_TOGETHER.fullmatch, context.names[:1])) and total.counts_parameters
        if finding.entry.computes or finding.judged.verdict != "unknown" or not is_total:
            return None
        if not finding.entry.cells and self.last_on_line(finding.entry):
            return None  # a sentence with its own terms
        indent = _indent(context.text, finding.entry)
        last: dict[int, ChainSide] = {}  # the result of each line
        for row in self._above(finding.entry):
            if _ENDS_BLOCK.search(context.text, row.entry.end, finding.entry.start):
                break
            is_row = finding.entry.cells or _indent(context.text, row.entry) == indent
            if is_row and row.entry.stated.counts_parameters:
                last.setdefault(row.entry.line, row.entry.stated)
        rows = [*last.values()][:_MOST_SUMMED]
        reach = total.reach + sum(side.reach for side in rows)
        first = min((side.start for side in rows), default=finding.entry.start)
        block = context.text[_line_start(context.text, first) : finding.entry.end]
        are_alternatives = _SHARED.search(block) or _FEWER.search(block) or models_named(block)
        if len(rows) < _OF_PRODUCT or are_alternatives:
            return None
        sums = {Fraction(0)}
        for side in rows:
            sums |= {number + side.value for number in sums}
        if max(sums) - reach <= total.value or any(abs(number - total.value) <= reach for number in sums):
            return None
        reason = Problem.of(N_("The lines above add up to {sum}."), sum=in_words(max(sums)))
        return finding._replace(judged=Judged("wrong", max(sums), finding.judged.counts, (reason,)))

    def _of_larger_model(self, finding: Finding, context: Context) -> Finding | None:
        """Set a total to unknown if it is the sum of the lines above it, some of which were not recognized."""
        total, is_row = finding.entry.stated, bool(finding.entry.cells)
        if finding.entry.computes or not is_total_of_model(finding.judged) or names_model(context.line):
            return None
        last: dict[int, Finding] = {}  # the result of each line
        for row in reversed(self.findings[-_MOST_ROWS:]):
            line = row.entry.line
            if bool(row.entry.cells) != is_row or line < min(last, default=finding.entry.line) - _MOST_BETWEEN:
                break
            if line < finding.entry.line and row.entry.stated.counts_parameters and not row.entry.stated.is_shape:
                last.setdefault(line, row)
        rows = [row.entry.stated for row in last.values()]
        apart = abs(sum(side.value for side in rows) - total.value)
        has_others = any(row.judged.verdict == "unknown" for row in last.values())
        if not has_others or apart > total.reach + sum(side.reach for side in rows):
            return None
        reason = Problem.of(N_("This is the sum of the lines above, not all of which were recognized."))
        return finding._replace(judged=UNKNOWN._replace(reasons=(reason,)))

    def _above(self, entry: WrittenNumber) -> Iterator[Finding]:
        """The counts above a number, the nearest first: in a table, in its column; otherwise one count per line."""
        line = entry.line
        for last in reversed(self.findings[-_MOST_ROWS:]):
            if bool(last.entry.cells) != bool(entry.cells) or line - last.entry.line > _MOST_BETWEEN:
                return
            is_count = last.entry.best.counts_parameters and last.entry.best.value >= LEAST_CARRIED
            if last.entry.line < line and (last.entry.column == entry.column if entry.cells else is_count):
                line = last.entry.line
                yield last


def _repeating(finding: Finding, earlier: Finding) -> Finding:
    """The finding for a number that repeats an earlier wrong number, with that number's reasons."""
    reasons = (reason for reason in earlier.judged.reasons if reason != _REPEATS)
    return finding._replace(judged=earlier.judged._replace(reasons=(_REPEATS, *reasons)), carried=True)


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _indent(text: str, entry: WrittenNumber) -> str:
    """The spaces and the bullet at the beginning of a number's line."""
    indent = _INDENT.match(text, _line_start(text, entry.start))
    return indent[0] if indent else ""


_ALL_TOGETHER = re.compile(
    r"\W*(?:(?:grand |overall )?total(?: (?:number of )?param(?:eter)?s?)?|sum"
    r"|总(?:计|和|参数量?|参数数量)|合计|共计)\W*",
    re.I,
)
_ENDS_BLOCK = re.compile(r"\n[ \t]*(?=\n|```|#)")
_INDENT, _MOST_SUMMED = re.compile(r"[\s*•├└│─+-]*"), 12
_SHARED = re.compile(
    r"\b(?:shar|t[iy](?:ed|ing|es)\b|reus|same\b|includ|incl\b|of which)|共享|绑定|复用|包括|其中", re.I
)
_REPEATS = Problem.of(N_("This repeats an earlier error."))
_WIDTHS = (4, 2, 1)  # bytes per parameter
_LEAST_STORED = 10**6  # the smallest count whose size in bytes is recognized
# Words for parameters that are fewer than those of the whole matrix.
_FEWER = re.compile(
    r"lora|adapter|low.?rank|train|prun|shar|tied|sparse|saved|new|active|共享|绑定|低秩|可训练|剪枝|节省|稀疏", re.I
)


def is_arithmetic(finding: Finding) -> bool:
    """Whether a number is wrong because the sides of its chain disagree, no matter what they count."""
    return len(finding.entry.sides) > 1 and is_miscalculated(finding.judged)


def _repeats(part: Counted) -> bool:
    """Whether a part has tensors that occur in several layers."""
    return any(tensor.copies > 1 for tensor in part.tensors)


def _counts_layers(part: Counted | None) -> bool:
    """Whether a part consists of all layers of the model, with everything in them."""
    return part is not None and part.part == "layers" and part.layers == "all"
