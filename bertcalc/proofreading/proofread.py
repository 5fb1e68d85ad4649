"""Proofread a write-up: find its numbers and calculations, judge each of them, and carry early mistakes forward.

>>> report = proofread("BERT-base. Attention of one layer: 4 * 768 * 768 = 2,359,296 parameters.")
>>> [(claim.verdict, claim.right_value) for claim in report.claims]
[('wrong', Fraction(2362368, 1))]
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice, takewhile
from typing import ClassVar

from bertcalc.config import letters
from bertcalc.diagnosis.layer_parts import WHOLE_OR_BODY, Counted
from bertcalc.diagnosis.peft_line import printed_by_peft
from bertcalc.diagnosis.relatives import SIZE_NAMES, renamed
from bertcalc.model.model import Model
from bertcalc.proofreading import find_subject
from bertcalc.proofreading.adapters import judge_printed, last_loaded
from bertcalc.proofreading.benign_readings import benign_reading
from bertcalc.proofreading.cached_keys import CacheClaims
from bertcalc.proofreading.chains import divided_count, gives, judge_several, table_in_every_layer
from bertcalc.proofreading.claims import CheckedClaim, Proofread
from bertcalc.proofreading.code_claims import judge_printed_total
from bertcalc.proofreading.described_models import fit, model_of, preset_of, preset_with
from bertcalc.proofreading.earlier_numbers import LEAST_CARRIED, MOST_BEFORE, EarlierNumbers, Finding, is_arithmetic
from bertcalc.proofreading.flop_claims import judge_flops
from bertcalc.proofreading.judging import judge
from bertcalc.proofreading.known_terms import (
    judge_each,
    judge_in_brackets,
    judge_layer_sum,
    judge_sum_of_parts,
    judge_whole_sum,
    parts_of_terms,
)
from bertcalc.proofreading.lora_claims import LoraClaims
from bertcalc.proofreading.mentions import plain_text
from bertcalc.proofreading.mentions.calculations import WrittenNumber, find
from bertcalc.proofreading.mentions.contexts import Context, Surroundings, in_unit_behind, in_unit_of_header
from bertcalc.proofreading.mentions.model_names import is_model_name, models_named, names_model, without_sizes
from bertcalc.proofreading.mentions.program import counted_lines, sizes_by_field, with_program, without_unpacking
from bertcalc.proofreading.mentions.written_sizes import primed_letters
from bertcalc.proofreading.named_parts import names_part_but_whole, times_layers
from bertcalc.proofreading.other_readings import (
    has_added_tokens,
    is_of_shared_layers,
    is_of_unlisted_model,
    is_of_variant,
)
from bertcalc.proofreading.shares import (
    FORMER,
    OF_OTHER_THINGS,
    RATIO_COLUMN,
    TEACHER,
    TIMES,
    compared_before,
    compared_in,
    compared_times,
    is_distilled,
    is_share,
    judge_quotient,
    judge_ratio,
    judge_relative,
    judge_share,
    judge_share_beside,
    judge_share_of,
    judge_share_of_wrong,
    judge_times,
)
from bertcalc.proofreading.size_slips import judge_factor, judge_size
from bertcalc.proofreading.subject import Subject
from bertcalc.proofreading.training_memory import TrainingClaims
from bertcalc.proofreading.verdicts import (
    UNKNOWN,
    ClaimedNumber,
    Judged,
    as_condition,
    is_far,
    with_possible_causes,
    wrong_part,
)
from bertcalc.proofreading.whole_counts import (
    EXAMPLE_BEHIND,
    is_of_another,
    is_of_example,
    is_total,
    is_total_of_model,
    judge_difference,
    judge_estimate,
    judge_total,
    may_be_estimate,
    searched,
    total_is,
)
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.problem import Problem, wrong

LONGEST = 100_000
MOST_CLAIMS = 5_000
MOST_JUDGED = 600  # maximum number of distinct (words, number) pairs; later numbers are not judged
_LONGEST_ROW = 200  # maximum number of findings on a line that a later number is compared with
_MOST_SEARCHES = 3  # maximum number of searches per text, because a search is slow
_LEAST_OF_OTHERS = 10**6  # smaller numbers match parts of other models by chance


@checked
def proofread(text: str, model: Model | None = None) -> Proofread:
    """Check every number and calculation in a text.

    ``text`` is Markdown, HTML, LaTeX, a notebook or plain text of at most 100,000 characters, in English or Chinese.
    ``model`` is the model that the text is about; by default, the text itself determines it.

    Raises InputError if the text is too long.
    """
    if len(text) > LONGEST:
        raise wrong(N_("The text is too long: at most {most} characters."), most=LONGEST)
    plain = plain_text.read(text)
    about = find_subject.read(plain.text, model)
    names = {**letters(about.model.config), **primed_letters(plain.text)} if about.model else {}
    counted = plain_text.with_lost_signs(plain_text.numbered_from_one(without_sizes(plain.text)))
    program = counted_lines(counted, sizes_by_field(about.model) if about.model and not about.assumed else {})
    entries = with_program(find(without_unpacking(counted), names, about.bound), program, counted)[:MOST_CLAIMS]
    findings = _Verdicts(counted, about, entries, plain.text)
    claims = tuple(
        _claim(_with_name(finding, about), text, *plain.span(finding.entry.start, finding.entry.end))
        for finding in findings.all()
        if finding.judged.verdict
    )
    return Proofread(text, claims, about.model, preset_of(about.preset), about.assumed, about.differing())


def _is_sum_of_sentence(entry: WrittenNumber, context: Context) -> bool:
    """Whether a number is the sum of two numbers before it: 589,824 weights plus 768 biases, 590,592 in all."""
    if entry.computes or entry.best.reach or not _ADDS.search(context.before):
        return False
    numbers = {int(number.replace(",", "")) for number in _INTEGERS.findall(context.before)}
    return any(first + second == entry.best.value for first in numbers for second in numbers if first != second)


_INTEGERS = re.compile(r"(?<![\w.])[0-9]{1,3}(?:,[0-9]{3}){1,9}(?![0-9])|(?<![\w.,])[0-9]{1,12}(?![\w,])")
_ADDS = re.compile(r"\bplus\b|\+|\band\b|加上?", re.I)


def _simplified(finding: Finding, words: str) -> Judged:
    """Make the verdict on a nearly right number conditional if the words call its formula a simplification."""
    judged, value = finding.judged, finding.entry.best.value
    is_near = judged.right_value and abs(judged.right_value - value) * _NEARLY <= judged.right_value
    if judged.verdict == "wrong" and is_near and not is_arithmetic(finding) and _SIMPLIFIED.search(words):
        return judged._replace(verdict="conditional")
    return judged


_OF_LAYER = re.compile(r"\b(?:per|each|one|a|single|every)\b.{0,30}\b(?:layer|block)|每一?个?.{0,20}层", re.I)
_NEARLY = 20  # nearly right: within a twentieth
_MOST_BEFORE_SIMPLIFIED = 200  # number of characters before a number that are searched
_SIMPLIFIED = re.compile(
    r"\bsimplif|rule of thumb|\b(?:back|order)[ -]of[ -](?:the|magnitude)|\bapproximat\w+ formula"
    r"|简化|粗略|近似(?:公式|计算)",
    re.I,
)
_ON_THE_HUB = re.compile(r"(?<![\w./])[A-Za-z][\w.-]{1,60}/(?P<name>[A-Za-z][\w.-]{2,90})(?![\w/])")
_OF_OTHER_MODEL = Problem.of(N_("This is correct for a different model in the text."))
_NOT_JUDGED = Judged("unknown", reasons=(Problem.of(N_("The text has too many numbers: this one was not checked.")),))


def _with_name(finding: Finding, about: Subject) -> Finding:
    """Name the model in a finding's reason if the right total is of a published model other than the text's."""
    model = finding.model
    if model is None or about.model is None or model.config == about.model.config:
        return finding
    name = preset_with(model.config)
    if not name or not is_total_of_model(finding.judged):
        return finding
    reason, *others = finding.judged.reasons
    named = reason._replace(values={**reason.values, "architecture": f"{name} ({reason.values['architecture']})"})
    return finding._replace(judged=finding.judged._replace(reasons=(named, *others)))


def _claim(finding: Finding, text: str, start: int, end: int) -> CheckedClaim:
    judged, stated = finding.judged, finding.entry.stated
    right = judged.right_value if judged.verdict in ("wrong", "conditional") else None
    counts = renamed(judged.counts, finding.model) if judged.counts else None
    words = map(as_condition, judged.reasons) if judged.verdict == "conditional" else judged.reasons
    reasons = tuple(renamed(reason, finding.model) for reason in words)
    percent = 100 if stated.is_percent else 1
    return CheckedClaim(
        start, end, text[start:end], stated.value * percent, judged.verdict or "unknown",
        right if right is None else right * percent, counts, reasons, "%" if percent > 1 else stated.unit,
        finding.carried,
    )  # fmt: skip


_VARIANT = re.compile(r"cased|chinese|multilingual|中文", re.I)


_Judge = Callable[["_Verdicts", ClaimedNumber, Judged], Judged | None]


class _Verdicts:
    """The verdicts on a text's numbers, in the text's order; a verdict may depend on earlier verdicts.

    The methods that judge a number return None for numbers that they do not apply to.
    """

    def __init__(self, text: str, about: Subject, entries: Sequence[WrittenNumber], written: str) -> None:
        self._about = about
        self._written = written  # the text with model names that include their sizes: Llama-2-7B
        self._text = text
        self._around = Surroundings(text)
        self._earlier = EarlierNumbers()
        self._findings = self._earlier.findings
        self._searches = 0
        self._names: tuple[int, tuple[str, ...]] = (-1, ())  # the previous number's line and words
        self._lora = LoraClaims(text)
        self._training = TrainingClaims(text)
        self._cache = CacheClaims(text)
        self._judged: set[tuple[tuple[str, ...], Fraction]] = set()
        for entry in entries:
            header = self._around.row(entry).header
            self._add(in_unit_of_header(entry, header) if entry.cells else in_unit_behind(entry))

    def all(self) -> Iterator[Finding]:
        """The findings in the text's order.

        A number that equals the model's total plus another number in the text counts a larger model. Its verdict
        becomes unknown.
        """
        values = {finding.entry.best.value for finding in self._findings if not finding.entry.best.reach}
        larger: Fraction | None = None  # the previous total of a larger model
        for finding in self._findings:
            side, right = finding.entry.best, finding.judged.right_value or Fraction(0)
            if is_total_of_model(finding.judged):
                rest = side.value - right
                larger = side.value if rest in values and not fit(finding.model, {int(rest)}) else larger
                is_larger = larger is not None and side.means(larger)
                finding = finding._replace(judged=UNKNOWN) if is_larger else finding
            yield finding

    def _add(self, entry: WrittenNumber) -> None:
        context = self._continued(entry, self._around.of(entry))
        model = self._model_of(entry, context)
        if self._is_too_much(entry, context):
            self._earlier.add(Finding(entry, model, _NOT_JUDGED), is_result=False)
            return
        number = ClaimedNumber(entry, context, model, self._around.row(entry), self._about.published_of(model))
        judged = judge(entry, context, model, sure=not self._about.assumed, published=number.published)
        for corrected in self._CORRECTED:
            judged = corrected(self, number, judged) or judged
        judged = next(filter(None, (other(self, number, judged) for other in self._OTHERWISE)), judged)
        if judged.verdict:
            self._names = (entry.line, context.names)
        self._earlier.add(self._finding(number, judged), is_result=entry.computes or judged.counted is not None)

    def _finding(self, number: ClaimedNumber, judged: Judged) -> Finding:
        """The finding for a number, after the mistakes in earlier numbers, and the words that excuse it."""
        entry, context, finding = number.entry, number.context, Finding(number.entry, number.model, judged)
        if judged.verdict in ("unknown", "wrong", None) and not is_arithmetic(finding):
            finding = self._carried(finding, context)
        if finding.judged.verdict == "wrong":
            finding = self._without_false_mark(finding, context)
        before = self._text[max(0, entry.start - _MOST_BEFORE_SIMPLIFIED) : entry.start]
        words = before.rpartition("\n\n")[2] + context.sentence
        finding = finding._replace(judged=_simplified(finding, words))
        if finding.judged.verdict == "conditional" and _is_sum_of_sentence(entry, context):
            finding = finding._replace(judged=finding.judged._replace(verdict="right", right_value=None, reasons=()))
        return finding

    def _unclear(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """UNKNOWN for a part that only another model has, or under a header that names a model by a letter."""
        if judged.right_value == 0 and self._about.names_another_before(number.entry.start):
            return UNKNOWN
        is_coded = judged.verdict == "wrong" and _CODE.fullmatch(number.context.header)
        return UNKNOWN if is_coded and not is_arithmetic(Finding(number.entry, number.model, judged)) else None

    def _of_named(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge the total of a model by all models that the text names."""
        entry, context, model = number.entry, number.context, number.model
        is_of_other_name = is_of_another(judged) and self._names_its_model(number)
        if model is None or not (is_of_other_name or is_total_of_model(judged)):
            return None
        return self._of_named_elsewhere(entry, context) or (total_is(model) if is_of_other_name else None)

    def _of_changed(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """UNKNOWN for the count of a changed model: 85,054,464 -> 42,527,232."""
        return UNKNOWN if judged.verdict == "wrong" and self._follows_arrow(number.entry, judged) else None

    def _of_lora(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number of LoRA parameters. A repeated result may be for other targets."""
        lora = self._lora.judge(number, judged)
        return UNKNOWN if lora and lora.verdict == "wrong" and self._repeats_calculation(number.entry) else lora

    def _divided_count(self, number: ClaimedNumber, _judged: Judged) -> Judged | None:
        return divided_count(number.entry, self._earlier.right_value)

    def _multiplied(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        return self._earlier.multiplied(number.entry, judged, number.model)

    def _model_of(self, entry: WrittenNumber, context: Context) -> Model | None:
        """The model that a number is about, according to the words, the table and the sizes around it."""
        example = EXAMPLE_BEHIND.match(self._text, entry.end) if is_of_example(context) else None
        owner = _OWNED.match(self._text, entry.end) or example
        place = owner.end() if owner else 0
        model = self._about.model_at(entry.start, entry.line, context.names, owner=place)
        if size := _OWNED_BY_SIZE.match(self._text, entry.end):
            model = self._about.named_first(size["size"]) or model
        model = self._after_arrow(entry, model)
        if entry.stated.is_percent and any(map(names_part_but_whole, context.names[:1])):
            of_model = _OF_MODEL.match(entry.after)
            model = self._about.named_first(entry.after[of_model.end() :]) or model if of_model else model
        if entry.cells:
            is_named = self._about.is_named_on(entry.line)
            read_row = self._about.model_in_named_row if is_named else self._about.model_in_table
            model = read_row(self._written_around.row(entry), model)
            if on_hub := _ON_THE_HUB.search("|".join(self._written_around.row(entry).cells)):
                model = self._about.named_first(on_hub["name"]) if is_model_name(on_hub["name"]) else None
        return self._about.for_operands({*map(int, entry.numbers)}, model) if entry.computes else model

    def _carried(self, finding: Finding, context: Context) -> Finding:
        """The finding with the verdict that follows from earlier numbers, from a sum of parts, or from a search."""
        entry, model = finding.entry, finding.model
        finding = self._earlier.carried_forward(finding, context)
        is_open = finding.judged.verdict == "unknown" or is_total_of_model(finding.judged)
        if is_open and model and not self._about.assumed:
            is_of_layer = _OF_LAYER.search(" ".join(context.names[:2]))
            summed = judge_sum_of_parts(entry, model)
            summed = summed or judge_whole_sum(entry, model, without_biases=context.without_biases)
            summed = summed or (judge_layer_sum(entry, model) if is_of_layer else None)
            finding = finding._replace(judged=summed or finding.judged)
        return finding._replace(judged=self._searched(finding, context) or finding.judged)

    def _without_false_mark(self, finding: Finding, context: Context) -> Finding:
        """Add possible causes to the finding for a wrong number, or change its verdict if the number may be right."""
        entry, model, value = finding.entry, finding.model, finding.entry.best.value
        if model is None:
            return finding
        if not is_arithmetic(finding):
            is_count = value >= _LEAST_OF_OTHERS and entry.best.counts_parameters
            is_of_other = not entry.computes and (
                is_of_variant(finding.judged, context, model) or is_of_unlisted_model(entry, context, model)
            )
            if is_count and (is_of_other or has_added_tokens(finding.judged, value, context, model)):
                return finding._replace(judged=UNKNOWN)
            if self._earlier.is_size_of_unknown(entry):
                return finding._replace(judged=UNKNOWN)
            if benign := benign_reading(finding.judged, entry, context, model):
                return finding._replace(judged=benign)
        if value.denominator == 1:
            right = self._counted_right(entry, model)
            return finding._replace(judged=with_possible_causes(finding.judged, int(value), right, model))
        return finding

    def _of_named_elsewhere(self, entry: WrittenNumber, context: Context) -> Judged | None:
        """Judge an exact total by all models in the text, because "BERT-base" alone may mean any of its variants."""
        if entry.best.reach or _VARIANT.search(context.line):
            return None
        judged = (judge_total(entry.best, context, other) for other in self._about.every_model())
        return next((verdict for verdict in judged if verdict and verdict.verdict == "right"), None)

    def _repeats_calculation(self, entry: WrittenNumber) -> bool:
        """Whether a number repeats the result of an earlier calculation that is not wrong."""
        earlier = (finding for finding in self._findings if finding.entry.computes)
        same = (finding.judged.verdict for finding in earlier if finding.entry.best.value == entry.best.value)
        return not entry.computes and any(verdict != "wrong" for verdict in same)

    def _printed(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number that code prints for the model that it builds, or that peft prints for a loaded model."""
        entry, context, model = number.entry, number.context, number.model
        if printed := judge_printed_total(entry, self._text):
            return printed
        if printed_by_peft(context.line) is None:
            return None
        loaded = last_loaded(self._written[: entry.start])
        model = (self._about.named_first(loaded) if loaded else None) or model
        return judge_printed(entry.start, entry.stated.value, context, model) if model else None

    def _counted_right(self, entry: WrittenNumber, model: Model) -> list[Counted]:
        """The parts of a model with exact counts that appear earlier in the text, or as terms of this calculation."""
        return parts_of_terms(entry, model) + [
            finding.judged.counted
            for finding in self._findings
            if finding.judged.verdict == "right" and finding.judged.counted and finding.model == model
            if not finding.entry.best.reach
        ]

    @cached_property
    def _written_around(self) -> Surroundings:
        return self._around if self._written == self._text else Surroundings(self._written)

    def _continued(self, entry: WrittenNumber, context: Context) -> Context:
        """The context, plus the previous number's words if the number's own words name only a number of layers.

        A percentage after another percentage also gets the previous words if its own words name no part.
        """
        line, names = self._names
        last = self._earlier.last_on_line(entry)
        is_next_share = line == entry.line and last and last.entry.stated.is_percent and entry.stated.is_percent
        if is_next_share and not any(map(names_part_but_whole, context.names)):
            return context._replace(names=(*context.names, *names))
        if line != entry.line or not names or not context.names or not _ONLY_LAYERS.fullmatch(context.names[0]):
            return context
        return context._replace(names=(f"{context.names[0]} {_OF_LAYERS.sub(' ', names[0])}", *context.names))

    def _after_arrow(self, entry: WrittenNumber, model: Model | None) -> Model | None:
        """The model of a number after an arrow, if the heading compares two models (base to large): 23.8M → 31.8M."""
        last = self._earlier.last_on_line(entry)
        if last is None or self._about.is_named_on(entry.line) or not _ARROW.fullmatch(self._between(last, entry)):
            return model
        compared = self._about.compared_at(entry.line)
        return compared[1] if compared and last.model is compared[0] else model

    def _follows_arrow(self, entry: WrittenNumber, judged: Judged) -> bool:
        """Whether an arrow leads from the right count of a part to a new count of the same part."""
        last = self._earlier.last_on_line(entry)
        if last is None or last.judged.verdict != "right" or last.judged.counted != judged.counted:
            return False
        return bool(_ARROW.fullmatch(self._between(last, entry)))

    def _between(self, last: Finding, entry: WrittenNumber) -> str:
        return self._text[last.entry.end : entry.start]

    def _difference(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge the difference between two models that the words beside a number compare."""
        entry, context, model = number.entry, number.context, number.model
        if model is None or entry.computes or not entry.best.counts_parameters:
            return None
        if entry.best.value < _LEAST_OF_OTHERS or any(map(names_part_but_whole, context.names[:2])):
            return None
        first: Model | None = model
        if behind := _MORE_THAN.match(entry.after):
            other = self._about.named_first(entry.after[behind.end() :])
        elif before := _THAN_OTHER.search(entry.before) or _BETWEEN_TWO.search(entry.before):
            first, other = self._about.named_first(before["first"]), self._about.named_first(before["second"])
        else:
            return None
        if first is None or other is None or first is other:
            return UNKNOWN
        return judge_difference(entry.best, first, other)

    def _size(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a size that differs from the published model's, or a product that contains such a size."""
        entry, context, model, published = number.entry, number.context, number.model, number.published
        if model is None or published is None or self._about.assumed:
            return None
        if entry.computes:
            return judge_factor(entry, published)
        size = int(entry.best.value) if entry.best.value.denominator == 1 else 0
        stated = self._about.stated_at(entry.start, size, number.row)
        if stated and stated.kind:
            model = self._about.named_first(stated.kind)
            published = self._about.published_of(model)
            if model is None or published is None:
                return None
        return judge_size(stated, context, model, published) if stated else None

    def _formula_gives(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a wrong result that the text attributes to the previous calculation: the formula gives ..."""
        entry, context = number.entry, number.context
        last = self._findings[-1] if self._findings else None
        if last is None or not last.entry.computes or entry.computes or entry.line - last.entry.line > _NEAR_LINES:
            return None
        if not context.names or not _FORMULA_GIVES.fullmatch(context.names[0]) or _SUPPOSES.search(entry.before):
            return None
        value, stated = last.entry.best.value, entry.best
        reach = max(stated.rough, value * _ROUGH)
        is_near = abs(value - stated.value) <= reach or is_far(stated.value, value, 4)
        return None if is_near or last.entry.best.unit != stated.unit else gives(value, shorten(stated.text))

    def _times(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number that should be the previous number times the number of layers: multiplied by 12, it is ..."""
        entry = number.entry
        last = next((finding for finding in reversed(self._findings) if finding.judged.verdict), None)
        times = _TIMES.search(entry.before[-_SHORT:])
        if last is None or times is None or entry.computes or entry.line - last.entry.line > _NEAR_LINES:
            return None
        if judged.verdict in ("right", "conditional") and entry.best.value != last.entry.best.value:
            return None
        value, stated = last.entry.best.value * int(times[1]), entry.best
        layers = last.model.config.num_hidden_layers if last.model else 0
        if int(times[1]) != layers or last.judged.verdict != "right" or stated.unit != last.entry.best.unit:
            return None
        reach = stated.rough + last.entry.best.reach * layers
        whole = last.judged.counted and times_layers(last.judged.counted, value, last.model) if last.model else None
        if value == stated.value:
            return whole
        if abs(value - stated.value) <= reach or is_far(stated.value, value, _MOST_TIMES):
            return None
        return (
            whole and wrong_part(whole.counted, last.model)
            if whole and whole.counted
            else gives(value, shorten(stated.text))
        )

    def _of_training(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a byte count as training memory; return None if it is right for another model in the text."""
        entry, model = number.entry, number.model
        training = self._training.judge(number, judged)
        if training is None or training.verdict != "wrong":
            return training
        if self._about.assumed:
            return UNKNOWN
        if not self._may_be_of_any(number):
            return training
        is_of_other = any(self._training.fits(entry, other) for other in self._about.every_model(but=model))
        return None if is_of_other else training

    def _of_cache(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge the bytes of a KV cache. Outside tables, if the words name no model, any model in the text may fit."""
        entry, context, model = number.entry, number.context, number.model
        is_named = entry.cells or any(map(names_model, (context.sentence, *context.names[:1])))
        others = [] if is_named else self._about.every_model(but=model)
        return self._cache.judge(number, judged, assumed=self._about.assumed, others=others)

    def _operations(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number without a unit under a heading about FLOPs."""
        entry, context, model = number.entry, number.context, number.model
        stated = entry.stated
        if model is None or judged.verdict not in ("unknown", None) or stated.unit or stated.value < _LEAST_OF_OTHERS:
            return None
        if not any(map(_OPERATIONS.search, (*context.headings, context.header))):
            return None
        counted = entry._replace(sides=(*entry.sides[:-1], stated._replace(unit="FLOPs")))
        operations = judge_flops(counted, context._replace(batch=self._around.batch_of(entry)), model)
        return operations if operations.verdict in ("right", "wrong") else None

    def _several(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a multiple of the previous number, if the words multiply it: 25 LayerNorms of 1,536 each."""
        entry = number.entry
        last = self._earlier.last_on_line(entry)
        if last is None or entry.computes or last.entry.computes:
            return None
        if entry.best.reach or last.entry.best.reach or entry.best.unit != last.entry.best.unit:
            return None
        before = self._text[max(0, last.entry.start - _SHORT) : last.entry.start]
        between, after = self._between(last, entry), self._text[entry.end : entry.end + _SHORT]
        several = judge_several(before, last.entry.best.value, between, after, entry.best.value)
        return several if several and (several.verdict == "wrong" or judged.verdict == "wrong") else None

    def _each(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a total of all layers that follows the rounded count of one layer: ~7.1M each = 85.2M."""
        entry, model = number.entry, number.model
        last = self._earlier.last_on_line(entry)
        if last is None or model is None or self._about.assumed:
            return None
        between = self._between(last, entry)
        return judge_each(last.entry, between, entry, model) or judge_in_brackets(last.entry, between, entry, model)

    def _sum_of_row(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number that is the sum of the earlier numbers in its row: weights, biases, and both."""
        entry = number.entry
        if not entry.cells or judged.verdict not in ("wrong", "unknown") or entry.computes:
            return None
        row = self._row(entry)
        is_wrong = any(finding.judged.verdict == "wrong" for finding in row)
        is_sum = len(row) > 1 and sum(finding.entry.best.value for finding in row) == entry.best.value
        return Judged("right", counts=Problem.of(N_("the sum of its row"))) if is_sum and not is_wrong else None

    def _table_in_every_layer(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a sum that multiplies the text's vocabulary size by its number of layers."""
        entry, context = number.entry, number.context
        sizes = self._about.sizes
        vocabulary, layers = sizes.get("vocab_size", 0), sizes.get("num_hidden_layers", 0)
        if judged.verdict in ("right", "conditional") or not (vocabulary and layers and is_total(context)):
            return None
        return table_in_every_layer(entry, vocabulary, layers)

    def _share_of_last(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a percentage that is the previous number's share of the model: 23,440,896, 21.4%."""
        entry, context, model = number.entry, number.context, number.model
        last = self._last_in_row(entry) if entry.cells else self._earlier.last_on_line(entry)
        if last is None or model is None or last.model is not model:
            return None
        if not entry.stated.is_percent or context.supposes:
            return None
        if not self._joins_share(last, entry, context):
            in_brackets = not entry.cells and _IN_BRACKETS_BEHIND.fullmatch(self._between(last, entry))
            is_behind = in_brackets and last.entry.best.value > 1
            return UNKNOWN if is_behind and judged.verdict == "wrong" else None
        part, counted = last.judged.counted, last.entry.best
        if not counted.counts_parameters or counted.value < LEAST_CARRIED:
            return None
        if last.judged.verdict == "wrong" and last.judged.right_value:
            of_model = bool(_IS_SHARE.search(f"%{self._text[entry.end : entry.end + _SHORT]}"))
            return judge_share_of_wrong(counted.value, last.judged.right_value, entry.stated, model, of_model=of_model)
        is_computed = last.judged.verdict == "unknown" and len(last.entry.sides) > 1 and not is_arithmetic(last)
        is_of_all = is_computed and not entry.cells and _OF_ALL.search(self._text[last.entry.end : entry.end + _SHORT])
        if last.judged.verdict not in ("right", "conditional") and is_of_all:
            return judge_share_of(counted.value, entry.stated, model, self._text)
        if last.judged.verdict not in ("right", "conditional") or (counted.reach and not part):
            return UNKNOWN if judged.verdict or not entry.cells else None  # the share of a number that may be wrong
        value = Fraction(part.right) if part and counted.reach else counted.value
        return judge_share_of(value, entry.stated, model, self._text, of_model=self._is_among_shares(entry, model))

    def _share_beside(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a percentage beside the two numbers that it compares: 294,912 / 109,482,240 (0.27%)."""
        entry = number.entry
        if not entry.stated.is_percent or printed_by_peft(self._around.line(entry.line)):
            return None
        start = self._text.rfind("\n", 0, entry.start) + 1
        before = self._text[max(start, entry.start - _MOST_OF_SENTENCE) : entry.start]
        return judge_share_beside(before, self._text[entry.end : entry.end + _MOST_OF_SENTENCE], entry.stated)

    def _relative(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a percentage relative to the first row of its column, which is 100%."""
        entry = number.entry
        header = number.row.header
        if not entry.cells or not entry.stated.is_percent or not _RELATIVE.search(header):
            return None
        if OF_OTHER_THINGS.search(header):
            return None
        column = [
            finding
            for finding in self._findings[-_MOST_OF_TABLE:]
            if finding.entry.cells and finding.entry.column == entry.column and finding.entry.stated.is_percent
        ]
        whole = next((finding for finding in reversed(column) if finding.entry.value == 1), None)
        counts = (row for row in self._row(entry) if row.entry.best.value >= LEAST_CARRIED)
        count = next((row for row in counts if row.entry.best.counts_parameters), None)
        if whole is None or count is None or self._around.row(whole.entry).headers != number.row.headers:
            return None
        beside = (other for other in self._findings if other.entry.line == whole.entry.line)
        first = next((other for other in beside if other.entry.column == count.entry.column), None)
        is_right = first and {first.judged.verdict, count.judged.verdict} <= {"right", "conditional"}
        return judge_relative(count.entry.best, first.entry.best, entry.stated) if first and is_right else None

    def _is_among_shares(self, entry: WrittenNumber, model: Model | None) -> bool:
        """Whether a nearby percentage in the same column, sentence or list is a right share of the parameters."""
        for last in reversed(self._findings[-MOST_BEFORE:]):
            if entry.line - last.entry.line > 1 + bool(entry.cells):
                return False
            if last.model is model and is_share(last.judged) and last.entry.column == entry.column:
                return True
        return False

    def _among_shares(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a percentage near another right share of the parameters: 22% embeddings, and 5% pooler."""
        entry, context, model = number.entry, number.context, number.model
        if judged.verdict or model is None or entry.cells or not entry.stated.is_percent:
            return None
        among = self._is_among_shares(entry, model)
        return judge_share(entry.best, context, model, among_shares=True) if among else None

    def _ratio(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a model's size relative to another model: 61% of the parameters of BERT, or 3.06 times as many."""
        entry, context, model = number.entry, number.context, number.model
        if model is None or context.supposes:
            return None
        times, is_percent = TIMES.match(entry.after), entry.stated.is_percent
        quotient = RATIO_COLUMN.search(number.row.header) if entry.cells else times
        if quotient and entry.stated.unit is None and not is_percent:
            return self._quotient(entry, context, model, times)
        if not is_percent or entry.cells:
            return None
        compared = compared_in(entry.before, entry.after)
        beside = re.split("[,，;；(（]", entry.after[:_SHORT])[0]
        if compared is None or any(map(names_part_but_whole, context.names[:1])) or OF_OTHER_THINGS.search(beside):
            return None
        other = self._about.named_first(compared.other) if compared.other else TEACHER
        named = self._subject_of(entry)
        if not compared.other and (earlier := compared_before(entry.before)):
            other, model = self._about.named_first(earlier), named or model
        elif not compared.other and (compared.is_bare or not is_distilled(model)):
            is_open = compared.is_bare and _NO_SUBJECT.fullmatch(self._clause_before(entry))
            near = (*models_named(context.sentence), *(self._about.named_before(entry.start) if is_open else ()))
            model = next(filter(is_distilled, map(model_of, near)), TEACHER)
        elif compared.other and named is None and model is not other and _GOES_ON.match(self._clause_before(entry)):
            named = model  # as in "it is 60% smaller than BERT"
        total = next((finding.model for finding in self._row(entry) if _is_total(finding)), None)
        is_named = named is not None and named is not other and bool(compared.other)
        first = named if is_named else total if total is not other and total else named if compared.other else model
        if other is None or first is None or other is first or not (total or first is model or other is model):
            return None
        return judge_ratio(entry.stated, compared.comparative, first, other)

    def _subject_of(self, entry: WrittenNumber) -> Model | None:
        """The model that a number's sentence, or its clause after a semicolon, begins with; None if there is none."""
        return self._about.named_first(self._clause_before(entry)[:_SHORT])

    def _clause_before(self, entry: WrittenNumber) -> str:
        before = self._text[max(0, entry.start - _MOST_OF_SENTENCE) : entry.start]
        return _SUBJECT.sub("", _CLAUSE_END.split(before)[-1])

    def _quotient(
        self, entry: WrittenNumber, context: Context, model: Model, times: re.Match[str] | None
    ) -> Judged | None:
        """Judge the ratio of two models' parameters, or of the two previous numbers."""
        counts = [
            finding
            for finding in self._row(entry)
            if finding.entry.best.value >= LEAST_CARRIED and finding.entry.best.counts_parameters
        ][:2]
        terms = [finding.entry.best.value for finding in counts if finding.judged.verdict in ("right", "conditional")]
        if len(terms) == len(counts) == _OF_QUOTIENT and (entry.cells or FORMER.search(entry.before)):
            return judge_quotient(terms[0], terms[1], entry.stated)
        if times is None or any(map(names_part_but_whole, (*context.names[:1], entry.after[: _SHORT // 2]))):
            return None
        compared = compared_times(entry.before, entry.after)
        other = self._about.named_first(compared.other) if compared else None
        first = self._subject_of(entry)
        if other is None or first is None or first is other or not (model is first or model is other):
            return None
        larger, smaller = (other, first) if compared and compared.comparative else (first, other)
        return judge_times(entry.stated, smaller, larger)

    def _row(self, entry: WrittenNumber) -> list[Finding]:
        """The nearest findings before a number on its line, the last finding first."""
        on_line = takewhile(lambda finding: finding.entry.line == entry.line, reversed(self._findings))
        return [*islice(on_line, _LONGEST_ROW)]

    def _last_in_row(self, entry: WrittenNumber) -> Finding | None:
        """The last count before a number in its table row; None if there is none."""
        counts = (finding for finding in self._row(entry) if not finding.entry.stated.is_decimal)
        return next((finding for finding in counts if finding.entry.best.value >= LEAST_CARRIED), None)

    def _joins_share(self, last: Finding, entry: WrittenNumber, context: Context) -> bool:
        """Whether a percentage is the share of the previous number: right after it, or in a column of shares."""
        if entry.cells:
            return bool(_SHARE_COLUMN.search(context.header or self._around.row(entry).header))
        between = self._between(last, entry)
        if not _JOINS_SHARE.fullmatch(between) or names_part_but_whole(between):
            return False
        in_brackets = between.rstrip(" *").endswith(("(", "（")) and entry.after.startswith((")", "）"))
        return in_brackets or bool(_IS_SHARE.search(f"{between}%{entry.after[:_SHORT]}"))

    def _names_its_model(self, number: ClaimedNumber) -> bool:
        """Whether a number is the total of a model that its row, column or sentence names."""
        header = number.row.header
        names_it = self._about.is_named_on(number.entry.line) or names_model(header)
        return names_it and (is_total(number.context) or bool(re.search(r"param|参数", header, re.I)))

    def _searched(self, finding: Finding, context: Context) -> Judged | None:
        """Judge a total that has no simpler explanation by the mistakes that lead to it in any model class."""
        value, model = finding.entry.best.value, finding.model
        open_ = finding.judged.verdict == "unknown" or is_total_of_model(finding.judged)
        side = finding.entry.best
        total = open_ and value >= _LEAST_OF_OTHERS and (not side.reach or may_be_estimate(side))
        if not total or model is None or self._about.assumed or self._searches >= _MOST_SEARCHES:
            return None
        if not is_total(context) or not side.counts_parameters:
            return None
        self._searches += 1
        if side.reach:
            return judge_estimate(side, model)
        lines = map(self._around.line, range(max(0, finding.entry.line - 1), finding.entry.line + 1))
        untied = _UNTIED.search(" ".join((*lines, *context.headings[:1])))
        return searched(int(value), model, untied=bool(untied))

    def _is_too_much(self, entry: WrittenNumber, context: Context) -> bool:
        """Whether the text has too many distinct numbers to judge: more than MOST_JUDGED."""
        if entry.best.value >= LEAST_CARRIED:
            self._judged.add((context.names, entry.best.value))
        return len(self._judged) > MOST_JUDGED

    def _of_others(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number that is not right for ``model`` by the text's other models; return None if none fits."""
        entry, context, model = number.entry, number.context, number.model
        if judged.verdict not in ("wrong", "unknown") or model is None:
            return None
        is_share = entry.stated.is_percent
        if entry.best.value < 10_000 and not is_share:
            return None
        is_named = self._about.is_named_on(entry.line) and any(map(names_model, context.names[:2]))
        names_preset = any(map(models_named, context.names[:2]))
        if is_arithmetic(Finding(entry, model, judged)) or (is_named and names_preset):
            return None
        if names_model(context.header) or (judged.verdict == "wrong" and is_of_shared_layers(context)):
            return None
        nearest = next(map(self._about.of, self._about.named_before(entry.start)), None)
        for other in self._about.every_model(but=model):
            instead = judge(entry, context._replace(of_other=True), other, sure=True)
            is_total = not entry.computes and entry.best.value >= _LEAST_OF_OTHERS
            total = is_total and instead.verdict == "conditional"
            fits = instead.verdict in ("right", "conditional")
            of_bert = is_total and fits and self._about.is_bert_alone(context.sentence, other)
            if is_named and not of_bert:
                continue  # the words name BERT without a size
            is_sure = of_bert or is_share or not entry.best.reach or other == nearest
            if (instead.verdict == "right" or total) and is_sure:
                return instead._replace(reasons=(_OF_OTHER_MODEL, *instead.reasons))
        return None

    def _may_be_of_any(self, number: ClaimedNumber) -> bool:
        """Whether a number may be about any model in the text: its sentence and headings refer to none of them."""
        context = number.context
        words = (context.sentence, *context.names[:1], *context.headings[:1])
        return not (number.entry.cells or any(map(names_model, words)) or _REFERS.search(context.sentence))

    def _of_unnamed(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """UNKNOWN for a number that is wrong for ``model`` and right for another model that it may be about."""
        entry, context, model = number.entry, number.context, number.model
        if judged.verdict != "wrong" or is_arithmetic(Finding(entry, model, judged)) or not self._may_be_of_any(number):
            return None
        for other in self._about.every_model(but=model):
            instead = judge(entry, context._replace(of_other=True), other, sure=True)
            lora = self._lora.judge(number._replace(model=other), UNKNOWN)
            if "right" in (instead.verdict, lora and lora.verdict):
                return UNKNOWN._replace(reasons=(_OF_OTHER_MODEL,))
        return None

    # Each of these may replace the verdict of the one before it.
    _CORRECTED: ClassVar[Sequence[_Judge]] = (
        _of_others,
        _unclear,
        _of_named,
        _of_changed,
        _operations,
        _of_training,
        _of_cache,
        _of_lora,
        _printed,
        _size,
        _of_unnamed,
    )
    # The first of these that applies to a number decides.
    _OTHERWISE: ClassVar[Sequence[_Judge]] = (
        _difference,
        _formula_gives,
        _times,
        _several,
        _each,
        _sum_of_row,
        _table_in_every_layer,
        _divided_count,
        _multiplied,
        _share_beside,
        _share_of_last,
        _relative,
        _among_shares,
        _ratio,
    )


# Words between a number and the model that it belongs to: 109.5M parameters for BERT-base.
_OWNED = re.compile(r"[ *`]{0,4}(?:(?:parameters?|params?)\s)?(?:for|in|of)\s(?:the\s)?[*`]{0,3}", re.I)
# Words between a number and the size of its model: 110 million for base and 340 million for large.
_OWNED_BY_SIZE = re.compile(
    rf"[ *`]{{0,4}}(?:(?:parameters?|params?)\s)?for\s(?:the\s)?(?P<size>{SIZE_NAMES})"
    r"(?=\s?(?:[,.;，。；)]|and\b|model\b|version\b|\n|$))",
    re.I,
)
_ARROW = re.compile(r"[ M*`]{0,6}(?:->|→|⇒|vs\.?)[ *`]{0,4}")
# Words that only name the number of layers, not a part: 12层合计; all 24 layers together.
_ONLY_LAYERS = re.compile(
    r"(?:(?:so|and|or|that|this|which|is|makes?) |所以|因此|那么)*"
    r"(?:(?:for|in|over|across) (?:all )?(?:the )?[0-9]{1,3} (?:\w+ )?(?:layers|blocks)"
    r"|(?:(?:for|in|over|across) )?all (?:the )?(?:[0-9]{1,3} )?(?:layers|blocks)|[0-9]{1,3} ?个?层|所有层)"
    r"(?: (?:together|in total|it is|that is|is|makes?)|[总一]?共[计有]?|合计|就?[是为有]|则|,)*",
    re.I,
)
_OF_LAYERS = re.compile(
    r"\b(?:per|each|every|one|a|single)(?: \w+){0,2}? (?:layer|block)\b|[每一单]个?层|单层|^(?:其中|而)", re.I
)
# Comparisons after and before a number: 225M more parameters than BERT-base; BERT-large比BERT-base多2.26亿
_MORE_THAN = re.compile(
    r"(?:(?:parameters?|params|weights) )?(?:more|fewer|less|larger|smaller|bigger)"
    r"(?: (?:parameters?|params|weights))? than ",
    re.I,
)
_THAN_OTHER = re.compile(
    r"(?P<first>[A-Za-z][\w .-]{1,30}?)\s?比\s?(?P<second>[A-Za-z][\w .-]{1,30}?)\s?[多少](?:了|出)?(?:大?约)?\s?$"
)
_BETWEEN_TWO = re.compile(
    r"difference (?:between )?(?P<first>[A-Za-z][\w.-]{1,30}) and (?P<second>[A-Za-z][\w.-]{1,30}) (?:is|are|of)"
    r"(?: about| roughly)? ?$",
    re.I,
)
_FORMULA_GIVES = re.compile(
    r"(?:(?:so|thus|that|what|and|then|the) )*(?:the|this|our|my|its) "
    r"(?:formula|calculation|expression|estimate|sum|product) "
    r"(?:yields|gives|(?:works|comes) out (?:to|at)|comes to|evaluates to|results in)(?: has)?(?: about| roughly)?"
    r"|(?:这个|该|上面的|上述|此)?(?:公式|算式|式子)(?:得到|得出|给出|的结果[为是]|算出来?[是为]?)",
    re.I,
)
_TIMES = re.compile(
    r"(?:(?:multipl(?:y|ied|ying)(?: (?:this|that|it))? (?:by|with)|\btimes|^[-*•\s]*[x×]|乘以|乘上|再乘) ?)"
    r"([0-9]{1,3})"
    r"(?: ?(?:(?:transformer |encoder )?(?:layers|blocks)|层))?"
    r"(?:[\s:：,，=>→]|\b(?:and|we|you|have|get|gives?|makes?|it|is|that|this|results? in)\b"
    r"|得到|[就]?是|为)*$",
    re.I,
)
_MOST_TIMES, _OF_QUOTIENT = 100, 2
_SUPPOSES, _NEAR_LINES, _ROUGH = re.compile(r"\b(?:with|plus|add|other|instead)|加上|若|如果", re.I), 3, Fraction(1, 50)
_IS_SHARE = re.compile(
    r"% ?of (?:the |all |its |total |whole |entire )*(?:model|param|weights|network|it\b|[\w-]{0,12}bert|gpt"
    r"|[0-9.]{1,6}\s?[MB]\b)"
    r"|占.{0,20}(?:参数|全部|模型)|占(?:比|了|约)?\s?%",
    re.I,
)
_CODE = re.compile(r"\W*[A-Z]{1,2}\W*")  # a letter for a model's size: S, M, L
_OF_MODEL = re.compile(r"of (?:the )?(?=[A-Z*`])")
_OPERATIONS = re.compile(r"\bFLOPs\b|\bMACs\b|multiply-adds|计算量|浮点运算", re.I)
_CLAUSE_END, _MOST_OF_SENTENCE = re.compile(r"[\n;；。!?！？]|\.\s"), 300
# The beginning of a clause that continues with the model named earlier: Result: 2× faster, 60% smaller
_NO_SUBJECT = re.compile(
    r"(?:[\W\dx]|\b(?:results?|outcome|the|student|model|it|is|size|speed|faster|which)\b|结果|更快)*", re.I
)
_GOES_ON = re.compile(r"(?:it|which|this model|the (?:resulting )?model|它|该模型)\b|[它该]", re.I)
# Words for the model of an earlier sentence.
_REFERS = re.compile(r"\bits?\b|\b(?:this|that|the (?:larger|smaller|same|resulting)) (?:model|one)\b|[它该]", re.I)
_SUBJECT = re.compile(r"^\W*(?:so|thus|hence|then|therefore|also|and|but)?[ ,]*", re.I)
# A header of a column with shares of the model.
_SHARE_COLUMN = re.compile(r"\bshare|fraction|percent|proportion|^\W*%\W*$|% of|of total|占比|比例|百分比", re.I)
_SHORT = 40
# Words between a count and its share of the model.
_JOINS_SHARE = re.compile(
    r"(?:[\s,，、(（:：=≈~—–]|(?:trainable |trained )?(?:parameters?|params?|weights)\b"
    r"|(?:in|per) (?:(?:each|every|one|a) )?(?:layer|block)\b"
    r"|参数|个|which is|that is"
    r"|this is|i\.e\.|\bor\b|\babout\b|roughly"
    r"|approximately|占(?:[^。，；;.,\n]{0,24}的)?|约|即|为|\.\s(?:that's|that is|this is|or))*",
    re.I,
)
_OF_ALL = re.compile(
    r"of (?:the |all |its |total |whole |entire )*(?:model|param)|占(?:了|约)?(?:全部|总|模型|整个)", re.I
)
_IN_BRACKETS_BEHIND = re.compile(r"[^,;.，；。\n|()（）]{0,80}[(（][^\d)）]{0,10}")
_RELATIVE, _MOST_OF_TABLE = re.compile(r"\bvs\b|relative|teacher|size|param|相对|比|参数", re.I), 60
_UNTIED = re.compile(r"\bnot tied|\bun-?tied|without (?:weight )?t(?:ying|ie)|不(?:共享|绑定)|未(?:共享|绑定)", re.I)


def _is_total(finding: Finding) -> bool:
    """Whether a number is a right or conditional count of its whole model."""
    part = finding.judged.counted
    known = bool(part) and finding.judged.verdict in ("right", "conditional")
    return known and part is not None and part.part in WHOLE_OR_BODY
