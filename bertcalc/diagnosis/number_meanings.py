"""The meanings of a typed number in sentences: the counts, mistakes, files and costs that explain it.

>>> from bertcalc import BertConfig
>>> print(meanings_of(Model(BertConfig()), "85,054,464"))
85,054,464 is the count of all 12 layers.
>>> print(meanings_of(Model(BertConfig()), "897,024"))
897,024 is the number of parameters that BertModel trains with Lora(r=8, target_modules=['dense']).
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice
from typing import NamedTuple

from bertcalc.config import Config, letters
from bertcalc.diagnosis.changed_counts import adapter_counts, changed_in_words
from bertcalc.diagnosis.count_lines import FACTOR_NOUN, TypedLine, wrong_result
from bertcalc.diagnosis.diagnose import Diagnosis, OtherModelMatch, OwnPart, diagnose
from bertcalc.diagnosis.explain import Explanation
from bertcalc.diagnosis.file_sizes import buffers, file_sizes
from bertcalc.diagnosis.flop_counts import step_costs_of
from bertcalc.diagnosis.hand_count import judge, single_mistakes
from bertcalc.diagnosis.known_counts import (
    PUBLISHED_CONFIGS,
    READINGS,
    KnownCount,
    every_count,
    known_counts,
    other_labels,
)
from bertcalc.diagnosis.layer_parts import USUAL
from bertcalc.diagnosis.part_words import known_in_words, mistakes_in_words, part_in_words
from bertcalc.diagnosis.peft_line import PeftLine, printed_by_peft
from bertcalc.diagnosis.relatives import RELATIVES, counts_of_relatives
from bertcalc.diagnosis.stored_sizes import stored_sizes
from bertcalc.families import build
from bertcalc.model.model import Model
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import Typed, amount, typed
from bertcalc.text.arguments import checked
from bertcalc.text.digits import scaled
from bertcalc.text.problem import InputError, Problem

_MOST = 6  # maximum number of sentences
_LEAST_FILE = 10**6  # bytes; a smaller number without a unit is not the size of a file


class Meanings(NamedTuple):
    """The possible meanings of a number, the likeliest first; ``str`` gives one sentence per line."""

    text: str
    sentences: tuple[Problem, ...]
    diagnosis: Diagnosis

    def __str__(self) -> str:
        return "\n".join(map(str, self.all_sentences()))

    def all_sentences(self) -> tuple[Problem, ...]:
        """Return the sentences, or a sentence stating that the number has no simple explanation."""
        return self.sentences or (
            Problem.of(N_("There is no simple explanation for {number}."), number=shorten(self.text)),
        )


@checked
def meanings_of(model: Model, text: str) -> Meanings:
    """Explain a number such as "453,634,720 bytes", "110M" or "178.79 GMACs", or answer a question about one.

    An example of a question is "which vocabulary gives 1e8?". Raises InputError if the number is not a valid amount.
    """
    if line := whole_line_of_peft(text):
        trained = amount(f"{line.trained}")
        present = KnownCount(model, model.num_parameters())
        return Meanings(f"{line.trained:,}", tuple(line.meanings(model)), diagnose(present, trained))
    written = number_asked(text)
    number = amount(written, None, letters(model.config))
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), number)
    if wrong := wrong_result(text, model.config):
        meanings = [wrong, *_sentences(model, number, written, diagnosis)]
        return Meanings(written, tuple(meanings)[:_MOST], diagnosis)
    if field := field_asked(text):
        return Meanings(written, tuple(_solved(model, field, number, written)), diagnosis)
    if supposed := _supposed(model, text):
        return Meanings(written, (supposed,), diagnosis)
    in_order = (
        _adapters(model, number, text),
        _of_wrong_part(model, number, written, diagnosis),
        _sentences(model, number, written, diagnosis),
    )
    sentences = dict.fromkeys(map(_Key, chain(*in_order)))
    if not sentences and number.unit in (None, "parameters") and number.low == number.high:
        labelled = _of_other_labels(type(model.config), int(number.value), written)
        sentences = dict.fromkeys(map(_Key, islice(labelled, _MOST_LABELLED)))
    if not sentences and number.unit in ("FLOPs", "MACs"):
        sentences = dict.fromkeys(map(_Key, islice(_of_steps(model, number, written), _MOST_LABELLED)))
    if not sentences and number.unit == "bytes":
        sentences = dict.fromkeys(map(_Key, islice(buffers(model, number.low, number.high), _MOST_LABELLED)))
    if not sentences and number.unit is None and number.value > _LEAST_FILE and number.low == number.high:
        # The last resort for a number without a unit: files of other classes, and pickles, which have inexact sizes.
        files = stored_sizes(model, number, written), file_sizes(model, int(number.value), published=False)
        sentences = dict.fromkeys(map(_Key, chain(*files)))
    return Meanings(written, tuple(key.problem for key in sentences)[:_MOST], diagnosis)


def _of_wrong_part(model: Model, number: Typed, written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    """Yield a sentence about a part that is counted with a single mistake, unless the whole model explains a number.

    An example is the count of all layers without LayerNorm.
    """
    is_count = number.unit in (None, "parameters") and number.low == number.high > _LEAST_PART
    parts = [part for part in diagnosis.parts if not part.added]
    known = diagnosis.matches or parts or diagnosis.changed or diagnosis.slips or diagnosis.claims
    is_of_model = bool(known or diagnosis.hand) or any(other.is_whole for other in diagnosis.elsewhere)
    if not is_count or is_of_model or any(len(way.explanation) < _SEVERAL for way in diagnosis.miscounted):
        return
    verdict = judge(TypedLine("", written, number.value), model, model.final_config)
    if verdict.counted and verdict.explanation:
        values = {"right": f"{verdict.counted.right:,}", "known": part_in_words(verdict.counted, model)}
        for explanation in single_mistakes(verdict.counted, model.final_config, int(number.value)):
            mistakes = mistakes_in_words(explanation, model.final_config)
            yield Problem("", None, _SHOULD_BE, {"number": written, "mistakes": mistakes, **values})


_LEAST_PART, _SEVERAL = 10**5, 3
_SHOULD_BE = N_("{number} should be {right} for {known}: {mistakes}.")


def _of_steps(model: Model, number: Typed, written: str) -> Iterator[Problem]:
    """Yield sentences about the modules and operations that cost a number of FLOPs or MACs."""
    for row, batch, unit in step_costs_of(model, number):
        words, layers = Problem.of("{part}", part=row.name), model.final_config.num_hidden_layers
        if "*" in row.name and row.copies > 1:
            words = Problem.of(N_("{part} of one layer"), part=words)
        elif "*" in row.name:
            words = Problem.of(N_("{part} of all {layers} layers"), part=words, layers=layers)
        message = N_("{number} is the cost of {part} in a batch of {batch} × {length} tokens: {operations}.")
        values = {"batch": batch.batch_size, "length": batch.sequence_length, "part": words, "number": written}
        yield Problem.of(message, operations=scaled(Fraction(batch.batch_size * row.cost), unit), **values)


def _supposed(model: Model, text: str) -> Problem | None:
    """Answer a question about another size: with a hidden size of 1024, how many parameters does it have?"""
    sizes = _sizes_supposed(text)
    if len(sizes) != 1:
        return None
    [(field, value)] = sizes.items()
    count = _count(model, field, value) or _count(_with_one_head(model), field, value)
    values = {"field": field, "value": value, "count": count}
    return Problem.of(_SOLVED, architecture=changed_in_words(model), **values) if count else None


def _sizes_supposed(text: str) -> dict[str, int]:
    """The sizes in a question about the parameters of a changed model; empty for any other text.

    A question about a part, about another model or about its costs is not answered.
    """
    if not _ASKS_COUNT.search(text) or _ASKS_OTHERWISE.search(text):
        return {}
    sizes = ((field, re.search(f"(?:{pattern}){_SIZE_OF_FIELD}", text, re.I)) for field, pattern in _FIELDS.items())
    return {field: int(size["digits"].replace(",", "")) for field, size in sizes if size}


def is_answered(text: str) -> bool:
    """Whether a text asks about a size or an adapter, so that the sentences of ``meanings_of`` answer it."""
    return bool(field_asked(text) or is_about_adapter(text) or len(_sizes_supposed(text)) == 1)


def _with_one_head(model: Model) -> Model:
    """Return the model with a single head, which any hidden size can have; the number of parameters is the same."""
    heads = type(model.config).own_name("num_attention_heads")
    config = replace(model.config, **{heads: 1})  # type: ignore[arg-type]
    return model.changed(config=config)


_ASKS_OTHERWISE = re.compile(
    r"\b(?:pooler|embeddings?|attention|feed|ffn|norms?|FLOPs?|MACs?|bytes?|memory|large|small|mini|medium|tiny|xl)\b"
    r"|distil|albert|roberta|electra|gpt|deberta|modernbert|llama|池化|嵌入|注意力|前馈|显存|字节|计算量|每层",
    re.I,
)
_ASKS_COUNT = re.compile(r"\bhow (?:many|large|big)\b|多少|参数量|有多大", re.I)


def _adapters(model: Model, number: Typed, text: str) -> Iterator[Problem]:
    """Yield sentences about adapters, if a text is about a number of trained parameters."""
    if is_about_adapter(text) and number.low == number.high and number.unit in (None, "parameters"):
        yield from (changed.in_words(number_asked(text)) for changed in adapter_counts(model, int(number.value)))


def is_about_adapter(text: str) -> bool:
    """Whether a text is about the parameters that an adapter trains, and gives no rank."""
    return bool(_ADAPTER.search(text)) and not _RANK.search(text)


_ADAPTER = re.compile(r"\blora\b|\bpeft\b|adapter|(?<!non-)\btrainable\b|\brank\b|微调|可训练", re.I)
_RANK = re.compile(r"\b(?:r|rank)\s?(?:=|of|is|为|是)?\s?[0-9]", re.I)


class _Key:
    """A key for removing duplicate sentences: keys are equal if their sentences have the same words."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __hash__(self) -> int:
        return hash(str(self.problem))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and str(self.problem) == str(other.problem)


_FIELDS = {
    "hidden_size": r"hidden.?size|隐藏层?(?:维度|大小)",
    "vocab_size": r"vocab\w*(?:.?size)?|词表(?:大小)?|词汇",
    "num_hidden_layers": r"layers|层数|多少层",
    "intermediate_size": r"intermediate|中间",
    "max_position_embeddings": r"positions?|位置",
    "num_labels": r"labels|classes|标签|类别",
    "num_attention_heads": r"\bheads\b|注意力头|多少个?头",
}
_SIZE_OF_FIELD = (
    r"\W{0,3}(?:is|of|was|为|是)?\W{0,3}(?P<digits>[0-9][0-9,]{0,9})"  # if hidden size = 1024, how many parameters?
)
_QUESTION = re.compile(r"\b(?:which|what|how many)\b|多少|几|什么|哪", re.I)
_IS_QUESTION = re.compile(rf"^(?:{_QUESTION.pattern})|[?？]$|(?:多少|几个?|什么)\W*$", re.I)
# Words that tools print before the count of a whole model.
_LABELLED = re.compile(
    r"(?:#|total |trainable |all |number of |num |model |file |模型|总|可训练){0,3}"
    r"(?:params?|parameters?|size|flops|macs|参数量?|参数个数)[ \t]{0,20}[:=：][ \t]{0,20}"
    r"(?P<number>[0-9][^\n:=]{0,60})",
    re.IGNORECASE,
)
# The name of a weight file.
_FILE_NAME = re.compile(r"[\w-]\.(?:bin|safetensors|pth?|ckpt)\b", re.I)
# Signs that a text is about the size of a file.
_ASKS_ABOUT_SIZE = re.compile(rf"\bwhy\b|为什么|为何|{_FILE_NAME.pattern}", re.I)
_LONGEST_LINE, _FEWEST_DIGITS, _FEWEST_OF_ADAPTER = 300, 6, 4
# A number that is not part of a name, possibly with a unit.
_BYTES = re.compile(
    r"(?<![A-Za-z0-9_.,:/-])(?P<number>[0-9](?:[0-9,._']{0,60}[0-9])?)(?![A-Za-z0-9_:/-])"
    r"(?P<unit>[ \t]?(?:[kmgt]i?b|bytes?|b|字节)\b)?"
    r"|(?<![A-Za-z0-9_.,:/-])(?P<joined>[0-9](?:[0-9,._']{0,60}[0-9])?(?:[kmgt]i?b|bytes?|b|字节))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_TOTALS_ALONE = re.compile(
    r"(?:(?:Non-)?trainable param\w*\s?[:=]\s?[0-9][0-9,_]{0,30}[,;\s]{1,4}){0,2}"
    r"Total param\w*\s?[:=]\s?(?P<number>[0-9][0-9,_]{0,30}[0-9])"
    r"(?:[,;\s]{1,4}(?:Non-)?trainable param\w*\s?[:=]\s?[0-9][0-9,_]{0,30}){0,2}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_COMPUTES = re.compile(r"[*×^=+]|[0-9] ?x ?[0-9]")
_BRACKETED = re.compile(r"[\[(][^\])]*[0-9]")  # a shape or a list of numbers
_ONLY_SHAPE = re.compile(r"(?:torch\.Size\()?[\[(](?P<sizes>[0-9]{1,9}(?: ?, ?[0-9]{1,9}){1,3}),?[\])]\)?")
# The output of a notebook or console below the code that counts.
_COUNTED_BY_CODE = re.compile(
    r"(?:[^\n0-9]{1,80}\n){0,2}[^\n]{0,200}(?:numel\(|nelement\(|num_parameters\(|count_params\()[^\n]{0,200}\n"
    r"(?:[^\n0-9]{1,80}\n){0,2}"
    r" *(?:Out ?\[[0-9 ]{0,6}\]:)? *(?P<number>[0-9][0-9,_]{3,30})"
)
# Words after a number that show that it does not count parameters.
COUNTS_OTHER_THINGS = re.compile(
    r"[ -]?(?:(?:more|training|different|unique) )?(?:sentences?|steps?|iterations?|images?|samples?|examples?|rows?"
    r"|users?|times|downloads?|yen|dollars?|USD|EUR|RMB|ms|seconds?|minutes?|hours?|days?|documents?|pages?|pairs?"
    r"|records?|files?)\b|\s?(?:多)?个?(?:句子?|步|样本|图片|图像|次|元|条|篇|用户|秒|毫秒|小时)",
    re.I,
)
_ROUNDED = re.compile(
    r"(?<![A-Za-z0-9_.,:/-])[0-9]+(?:\.[0-9]+)?"
    r"(?: ?(?:[MB]|million|billion)(?![A-Za-z0-9_/-])| ?[千百]?[亿万](?:[0-9]{1,4}[千百]?万?){0,3})"
)
# The totals below a summary of torchinfo, torchsummary or Keras.
_RULE = r"[ \t=_─━]*"
_TOTALS_OF_SUMMARY = re.compile(
    rf"(?:{_RULE}\n){{0,9}}[ \t]*Total params:?[ \t]{{1,20}}(?P<number>[0-9,]{{1,20}})\b[^\n]{{0,40}}"
    rf"(?:\n(?:{_RULE}|[ \t]*(?:(?:Non-)?trainable params|Total mult-adds|"
    r"(?:Input|Params|Forward/backward pass|Estimated Total) size)\b[^\n]{0,60})){1,20}",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[0-9]+[千百]?[亿万](?:[0-9]{1,4}[千百]?万?){1,3}")  # a number with several Chinese units
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.-])[0-9](?:[0-9,._']{0,60}[0-9])?(?:e[+-]?[0-9]{1,3})?(?:\s?[^\W\d_]{1,12})?")


def whole_line_of_peft(text: str) -> PeftLine | None:
    """Parse the line that peft prints if the text contains nothing else; otherwise return None.

    The call that prints the line and short lines such as "Epoch 1/3" are ignored.

    >>> whole_line_of_peft("trainable params: 1 || all params: 4 || trainable%: 25.0")
    PeftLine(trained=1, whole=4, share='25.0')
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and _PRINTS not in line]
    printed = [line for line in lines if line.startswith("trainable params:")]
    around = [line for line in lines if line not in printed and not _BESIDE_PEFT.fullmatch(line)]
    return printed_by_peft(printed[0]) if len(printed) == 1 and not around else None


_BESIDE_PEFT = re.compile(r"[\w ,:!/-]{1,30}")  # short lines such as "PEFT Model" and "Epoch 1/3"


_PRINTS = "print_trainable_parameters()"


def field_asked(text: str) -> str:
    """Return the name of the field that a question asks for; empty for other texts.

    >>> field_asked("which vocabulary gives 102,267,648?"), field_asked("110M")
    ('vocab_size', '')
    """
    if not _QUESTION.search(text):
        return ""
    asked = (field for field, pattern in _FIELDS.items() if re.search(pattern, text, re.I))
    return next((field for field in asked if not re.search(f"(?:{_FIELDS[field]}){_SIZE_OF_FIELD}", text, re.I)), "")


def number_asked(text: str) -> str:
    """Return the number in a question or after a label; otherwise the whole text.

    >>> number_asked("which vocabulary gives 102,267,648?"), number_asked("12 * 7087872")
    ('102,267,648', '12 * 7087872')
    >>> number_asked("Number of parameters: 66,955,010"), number_asked("pooler = 590,592")
    ('66,955,010', 'pooler = 590,592')
    >>> number_asked("Total params: 109,483,778\\nTrainable params: 1,538\\nParams size (MB): 437.94")
    '109,483,778'
    >>> number_asked("Trainable params: 66,955,010\\nNon-trainable params: 0\\nTotal params: 66,955,010")
    '66,955,010'
    """
    with suppress(InputError):
        typed(text.strip())
        return text.strip()  # with its unit: 150,994,944 FLOPs
    if totals := _TOTALS_OF_SUMMARY.fullmatch(text) or _TOTALS_ALONE.fullmatch(text.strip()):
        return totals["number"]
    if label := _LABELLED.fullmatch(text.strip()):
        return label["number"]
    if shape := _ONLY_SHAPE.fullmatch(text.strip()):
        return " * ".join(re.findall("[0-9]+", shape["sizes"]))
    if calculation := _calculation_in(text):
        return calculation
    if counted := _COUNTED_BY_CODE.fullmatch(text.strip()):
        return counted["number"]
    if size := _size_of_file(text):
        return size
    is_question = _QUESTION.search(text) and _IS_QUESTION.search(text.strip())
    match = (_CHINESE.search(text[:400]) or _NUMBER.search(text[:400])) if is_question else None
    return match[0].strip(" ,.") if match else only_number(text) or text.strip()


def _calculation_in(text: str) -> str:
    """Return the calculation in a text with its result, such as "768*768*4 = 2.4 MB", or with words after its factors.

    The calculation gets the unit of its result, but bytes only if it equals that result. Any other text yields "".
    """
    if len(text) > _LONGEST_LINE:
        return ""
    plain = FACTOR_NOUN.sub(" ", text.strip())
    calculation, *results = (side.strip() for side in _EQUALS.split(plain))
    if not (results or plain != text.strip()) or "\n" in plain or not _WRITTEN_OUT.fullmatch(calculation):
        return ""
    try:
        first, *others = [amount(side, None, _ANY_LETTERS) for side in (calculation, *results)]
    except InputError:
        return ""
    unit = next((side.unit for side in others if side.unit), None)
    agrees = unit != "bytes" or any(side.low <= first.value <= side.high for side in others)
    return calculation if first.unit or not unit or not agrees else f"{calculation} {unit}"


_EQUALS = re.compile(r"\s*[=＝≈≃]\s*[~≈]?")
_WRITTEN_OUT = re.compile(r".*(?:[*×^+·/]|[0-9] ?x ?[0-9]|[VHLAIPTC] ?[VHLAIPTC²0-9]).*[\w)²³]")
_ANY_LETTERS = dict.fromkeys("VHLAIPTCE", 2)


def only_number(text: str) -> str:
    """Return the only exact number in a sentence, or else its only rounded number.

    The result is empty if there is no such number, or if the text has a calculation or several lines.

    >>> only_number("My program gives 108853248. Why not 110M?"), only_number("12 x 7,087,872 = 85,054,464")
    ('108853248', '')
    >>> only_number("Why is mine 115M?")
    '115M'
    """
    line = text.strip()
    if len(line) > _LONGEST_LINE or "\n" in line or not _WORD.search(line):
        return ""
    if _COMPUTES.search(line) or _LABELLED.fullmatch(line) or _BRACKETED.search(line):
        return ""
    counted = (match for match in _BYTES.finditer(line) if not COUNTS_OTHER_THINGS.match(line, match.end()))
    numbers = [match["number"] for match in counted if not match["unit"] and match["number"]]
    fewest = _FEWEST_OF_ADAPTER if is_about_adapter(line) else _FEWEST_DIGITS
    exact = [number for number in numbers if len(re.sub(r"\D", "", number)) >= fewest and "." not in number]
    rounded = (match for match in _ROUNDED.finditer(line) if not COUNTS_OTHER_THINGS.match(line, match.end()))
    asked = exact or [match[0] for match in rounded]
    return asked[0] if len(asked) == 1 else ""


def _size_of_file(text: str) -> str:
    """Return the number of bytes in a line about a file: the only number with a unit or else the only large number.

    The result is empty if there is no such number, or if there are several.
    """
    line = text.strip()
    if len(line) > _LONGEST_LINE or "\n" in line or not _ASKS_ABOUT_SIZE.search(line):
        return ""
    numbers = list(_BYTES.finditer(line))
    sized = [match[0] for match in numbers if match["unit"] or match["joined"]]
    if not sized and _FILE_NAME.search(line):
        large = (match["number"] for match in numbers if len(re.sub(r"\D", "", match["number"])) > _FEWEST_DIGITS)
        sized = [f"{number} bytes" for number in large]
    return sized[0] if len(sized) == 1 else ""


def _sentences(model: Model, number: Typed, written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    exact = int(number.value) if number.low == number.high else None
    if number.unit == "bytes":
        matches = diagnosis.matches or diagnosis.parts
        files = () if matches or exact is None else tuple(file_sizes(model, exact, pickled=False))
        # Other classes have many files. They are searched only if the number is not the size of another weight file.
        stored = () if matches else tuple(stored_sizes(model, number, written, others=not files))
        yield from stored
        if exact is not None:
            yield from files if stored else file_sizes(model, exact, pickled=True)
            yield from buffers(model, exact, exact, written)
    if exact is not None and number.unit in (None, "parameters"):
        yield from _one_label(model, exact, written)
    plain = any(match.reading.key == "parameters" for match in diagnosis.matches)
    if number.unit in (None, "parameters") and not plain:
        yield from _twice(model, number, written)
    yield from _of_diagnosis(model, written, diagnosis)
    if number.unit in (None, "parameters") and number.value > _LEAST_RELATIVE:
        yield from _of_relatives(number, written)
    if exact is not None and number.unit is None and exact > _LEAST_FILE and not diagnosis.known:
        yield from file_sizes(model, exact, pickled=False)
        yield from buffers(model, exact, exact, written)
        yield from stored_sizes(model, number, written, others=False)


def _of_diagnosis(model: Model, written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    counts = [*_of_matches(model, written, diagnosis)], [*_of_parts(model, written, diagnosis)]
    yield from chain(*(reversed(counts) if diagnosis.parts_first else counts))
    yield from (changed.in_words(written) for changed in diagnosis.changed)
    meanings = [*_of_others(written, diagnosis)], [*_of_miscounts(written, diagnosis)]
    yield from chain(*(reversed(meanings) if diagnosis.miscounts_first else meanings))
    yield from _of_sums(model, written, diagnosis)
    for cost in diagnosis.flops:
        message = N_("{number} is the cost of a batch of {batch} × {length} tokens ({phase}; {rule}): {operations}.")
        rule = Problem.of(_RULES[cost.rule]) if cost.rule in _RULES else cost.rule
        values = {"batch": f"{cost.batch_size:,}", "length": f"{cost.sequence_length:,}", "rule": rule}
        values |= {"number": written, "operations": scaled(cost.operations, cost.unit)}
        yield Problem("", None, message, {**values, "phase": Problem.of(_PHASES[cost.phase])})


def _of_others(written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    """Yield sentences about published numbers, counts of other models, and counts that may have been mistyped."""
    for claim in diagnosis.claims:
        message = N_("{number} is published for {preset} ({source}).")
        yield Problem.of(message, number=written, preset=claim.preset, source=claim.source)
    for elsewhere in diagnosis.elsewhere:
        yield _of_another(written, elsewhere)
    for slip in diagnosis.slips:
        yield Problem.of(N_("{number} differs from {meant} by one digit."), number=written, meant=slip.meant)


def _of_miscounts(written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    whole = any(other.is_whole and other.reading.key == "parameters" for other in diagnosis.elsewhere)
    for miscounted in () if whole and not diagnosis.usual else diagnosis.miscounted:
        yield _explained(written, miscounted.known_count, miscounted.explanation)


def _of_matches(model: Model, written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    """Yield sentences about known counts; for a rounded number, the count of the present model comes first."""
    entries = [(match, count) for match in diagnosis.matches for count in match.known_counts[:2]]
    if any(match.reading.exact is None for match, _count in entries):
        entries.sort(key=lambda entry: not (entry[1].model == model and entry[1].right == model.num_parameters()))
    for match, count in entries:
        about = None if match.reading.exact is not None else match.total
        yield _read_as(written, match.reading.key, known_in_words(count), about)


def _of_parts(model: Model, written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    factors = sorted(map(int, re.findall("[0-9]+", written.replace(",", ""))))

    def order(part: OwnPart) -> tuple[bool, bool, bool]:
        """Usual parts come first, then those whose matrix has the written factors, and the pooler last."""
        shapes = [sorted(tensor.shape) for tensor in part.counted.tensors]
        rare = part.counted.part not in USUAL
        return rare, shapes != [factors], any(tensor.place.component == "pooler" for tensor in part.counted.tensors)

    for part in sorted(diagnosis.parts, key=order):
        is_slice = part.counted.heads == "one" and part.counted.layers == "all"
        if not part.added and not (is_slice and diagnosis.changed):
            about = None if part.reading.exact is not None else part.counted.right
            yield _read_as(written, part.reading.key, part_in_words(part.counted, model), about)


def _of_sums(model: Model, written: str, diagnosis: Diagnosis) -> Iterator[Problem]:
    """Yield sentences about the first pairs of parts that add up to a number, unless an adapter has this count."""
    pairs = [] if diagnosis.changed else [part for part in diagnosis.parts if part.added]
    for part in pairs[:_MOST_SUMS]:
        first, second = (part_in_words(counted, model) for counted in (part.counted, part.added) if counted)
        known = Problem.of("{first} + {second}", first=first, second=second)
        yield _read_as(written, part.reading.key, known)


_MOST_SUMS = 2


_RULES = {
    "": N_("PyTorch's count, including scores and context, as in today's DeepSpeed"),
    "all": N_("PyTorch's count with all element-wise operations"),
}
_PHASES = {"forward": N_("forward"), "training": N_("training")}


def _of_another(written: str, elsewhere: OtherModelMatch) -> Problem:
    if elsewhere.counted is not None:
        part = part_in_words(elsewhere.counted, build(PUBLISHED_CONFIGS[elsewhere.preset]))
        counted = Problem.of(N_("{part} in another model, {preset}"), part=part, preset=elsewhere.preset)
    elif (count := elsewhere.known_count) and not _is_usual(count):
        as_known = Problem.of(N_("{preset} as {known}"), known=known_in_words(count), preset=elsewhere.preset)
        counted = Problem.of(_ANOTHER, preset=as_known)
    else:
        counted = Problem.of(_ANOTHER, preset=elsewhere.preset)
    exactly, rounded = (
        (N_("{number} is the count of {counted}."), N_("{number} may be the count of {counted}."))
        if elsewhere.reading.key == "parameters"
        else (
            N_("{number} is the parameter count of {counted} ({reading})."),
            N_("{number} may be the parameter count of {counted} ({reading})."),
        )
    )
    values = {"number": written, "counted": counted, "reading": Problem.of(READINGS[elsewhere.reading.key][0])}
    return Problem("", None, rounded if elsewhere.reading.exact is None else exactly, values)


_ANOTHER = N_("another model: {preset}")


def _of_relatives(number: Typed, written: str) -> Iterator[Problem]:
    """Yield sentences about published decoders, such as Llama, with a count that equals or rounds to the number."""
    for count, name in counts_of_relatives().items():
        if number.low == number.high == count:
            yield Problem.of(N_("{number} is the count of another model: {preset}."), number=written, preset=name)
        elif number.low != number.high and number.means(count) and count == RELATIVES[name].model.num_parameters():
            message = N_("{number} may be the count of another model: {preset} ({count} parameters).")
            yield Problem.of(message, number=written, preset=name, count=count)


_LEAST_RELATIVE = 10**9  # parameters; every decoder in RELATIVES has more


def _is_usual(count: KnownCount) -> bool:
    """Whether a model's name is enough to describe this count: the family's base class, with its pooler if it has one.

    A count by a special convention is not usual.
    """
    return count.model.cls is count.model.family.base and count.model.add_pooling_layer and not count.convention


def _read_as(written: str, key: str, counted: Problem, about: int | None = None) -> Problem:
    """Return the sentence about a count. If the written number is rounded, ``about`` is the exact count."""
    values = {"number": written, "known": counted, "reading": Problem.of(READINGS[key][0]), "count": f"{about or 0:,}"}
    exactly, rounded = (
        (N_("{number} is the count of {known}."), N_("{number} may be the count of {known}: {count}."))
        if key == "parameters"
        else (
            N_("{number} is the parameter count of {known} ({reading})."),
            N_("{number} may be the parameter count of {known}: {count} ({reading})."),
        )
    )
    return Problem("", None, exactly if about is None else rounded, values)


def _explained(written: str, count: KnownCount, explanation: Explanation) -> Problem:
    values = {"number": written, "right": f"{count.right:,}", "known": known_in_words(count)}
    values["mistakes"] = mistakes_in_words(explanation, count.model.final_config)
    return Problem("", None, _SHOULD_BE, values)


def _one_label(model: Model, exact: int, written: str) -> Iterator[Problem]:
    """Yield sentences about sequence classifiers with one label, such as cross-encoders.

    Other classes with the same count, such as multiple choice, are left out.
    """
    for count in other_labels(model.config, exact):
        if count.model.config.num_labels == 1 and count.model.cls.task == "sequence-classification":
            message = N_("{number} is the count of {architecture} with one label, as in a cross-encoder.")
            yield Problem.of(message, number=written, architecture=count.model.architecture)


def _of_other_labels(own: type[Config], exact: int, written: str) -> Iterator[Problem]:
    """Yield sentences about published models with a different number of labels, those with an ``own`` config first."""
    for name, config in sorted(PUBLISHED_CONFIGS.items(), key=lambda item: type(item[1]) is not own):
        for count in other_labels(config, exact):
            other = Problem.of(N_("{preset} as {known}"), known=known_in_words(count), preset=name)
            yield Problem.of(N_("{number} is the count of another model: {preset}."), number=written, preset=other)


_MOST_LABELLED = 3


def _twice(model: Model, number: Typed, written: str) -> Iterator[Problem]:
    """Yield sentences for a number that is twice a count, such as 220 million for BERT-base."""
    reach = number.reach(rounded=True)
    for count in every_count(model.config, known_counts):
        exact = number.low == number.high == 2 * count.total
        rounded = reach and number.value > 20 * reach and abs(number.value - 2 * count.total) <= reach
        if not count.buffers and (exact or (rounded and count.model == model)):
            message = N_("{number} is twice the count of {known}.")
            yield Problem("", None, message, {"number": written, "known": known_in_words(count)})


def _solved(model: Model, field: str, number: Typed, written: str) -> Iterator[Problem]:
    """Yield a sentence about the value of a field that gives a number of parameters, or else about the nearest value.

    Nothing is yielded if the model has no such size, or if every possible hidden size is far from the number.
    """
    config = model.config
    present = getattr(config, field, None)
    if not isinstance(present, int) or not type(config).has(field):
        return
    # The hidden size has to be a multiple of the number of heads. The count is not linear in it, but quadratic.
    step = config.num_attention_heads if field == "hidden_size" else 1
    counts = [_count(model, field, value) for value in (present, present + step)]
    if None in counts or counts[0] == counts[1]:
        heads = [cls for cls in model.family.classes if cls.task in _OF_LABELS and field == "num_labels"]
        for count in other_labels(config, int(number.value)) if heads else ():
            if count.model.cls in heads:
                values = {"field": field, "value": count.model.config.num_labels, "count": count.total}
                yield Problem.of(_SOLVED, architecture=count.model.architecture, **values)
                return
        yield Problem.of(N_("The number of parameters does not depend on {field}."), field=field)
        return
    first, second = (count or 0 for count in counts)
    if field == "hidden_size":
        nearest = step * _nearest(lambda steps: _count(model, field, steps * step) or 0, number.value)
    else:
        nearest = max(1, round(present + Fraction(number.value - first) / (second - first)))
    right = _count(model, field, nearest)
    if field == "hidden_size" and right and right < number.value / 2:
        return  # every possible hidden size is far from the number
    message = (
        _SOLVED
        if right == number.value
        else N_("No value of {field} gives {number}: with {value}, {architecture} has {count} parameters.")
    )
    values = {"field": field, "value": nearest, "count": right, "number": written}
    yield Problem.of(message, architecture=changed_in_words(model), **values)


_SOLVED = N_("With {field} = {value}, {architecture} has {count} parameters.")
_OF_LABELS = ("sequence-classification", "token-classification")


def _nearest(count: Callable[[int], int], wanted: Fraction) -> int:
    """Return the argument from 1 to 4,095 for which an increasing function is nearest to a number."""
    after = min(max(1, bisect_left(range(4096), wanted, lo=1, key=lambda steps: Fraction(count(steps)))), 4095)
    return min((max(1, after - 1), after), key=lambda steps: abs(count(steps) - wanted))


def _count(model: Model, field: str, value: int) -> int | None:
    config = model.config
    try:
        changed = replace(config, **{type(config).own_name(field): value})  # type: ignore[arg-type]
        return model.changed(config=changed).num_parameters()
    except InputError:
        return None
