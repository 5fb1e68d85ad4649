"""Read numbers, calculations and hand counts with the diagnosis, and articles with the proofreader.

>>> from bertcalc.families import build
>>> str(read_number("109482240", build("bert-base-uncased")))
'Read as: a number, 109,482,240.\\n109482240 is the count of BertModel with pooler.'
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from bertcalc.config import letters
from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.count_lines import problem as too_long
from bertcalc.diagnosis.count_lines import read as read_lines
from bertcalc.diagnosis.hand_count import TermsReport, check, names_part
from bertcalc.diagnosis.number_meanings import field_asked, meanings_of, number_asked, whole_line_of_peft
from bertcalc.diagnosis.part_words import mistakes_in_words, part_in_words
from bertcalc.families import CLASSES, hf_json
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.config_code import configs_in_code
from bertcalc.proofreading.mentions.model_names import is_model_name, models_named
from bertcalc.proofreading.mentions.program import names_in_sums, sizes_by_field, unread_lines
from bertcalc.proofreading.proofread import proofread
from bertcalc.reading.plain_lines import sentences
from bertcalc.reading.several_configs import configs_in, of_code
from bertcalc.reading.text_reading import Kind, TextReading, sizes_of
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import Typed, amount, typed
from bertcalc.text.digits import brief
from bertcalc.text.loose_json import begins_object
from bertcalc.text.problem import InputError, Problem, wrong


def number_in(text: str, model: Model) -> Typed | None:
    """Parse a number, a calculation or a question about a number; return None for any other text."""
    try:
        return amount(number_asked(text.strip()), names=letters(model.config))
    except InputError:
        return None


def read_number(text: str, model: Model) -> TextReading:
    """Read a number, a calculation or a question about a number, with everything that it may mean for a model.

    The result's ``detail`` is the diagnosis. Raises InputError if the text has no number.
    """
    meanings = meanings_of(model, text.strip())
    number = amount(meanings.text, names=letters(model.config))
    kind = number_kind(meanings.text)
    message = N_("Read as: a number, {value}.") if kind == "number" else N_("Read as: a calculation, {value}.")
    value: str | Problem = f"{int(number.value):,}" if number.value.denominator == 1 else brief(number.value)
    if number.unit:
        value = Problem("", None, N_("{value} {unit}"), {"value": value, "unit": Problem.of(number.unit)})
    sentence = Problem("", None, message, {"value": value})
    return TextReading(kind, sentence, notes=tuple(meanings.all_sentences()), detail=meanings.diagnosis)


def number_kind(text: str) -> Kind:
    """Return the kind of a text that has a value: a plain number or a calculation.

    >>> number_kind("1.1e8"), number_kind("12 * 7087872")
    ('number', 'calculation')
    """
    try:
        typed(text.strip())
    except InputError:
        return "calculation"
    return "number"


def is_hand_count(text: str, model: Model) -> bool:
    """Whether a text is a hand count.

    At least two lines of a hand count, and more than half of its lines, have a value. A single line is a hand count if
    its value is a calculation.

    Notes are not hand counts: they also state sizes of the model, bytes, or the counts of several models. A program
    that defines its own names is not a hand count either, unless each of its lines has a value.
    """
    if too_long(text) or _NOT_COUNTS.search(text) or _are_notes(text):
        return False
    if _names_other_model(text, model):
        return False
    lines = read_lines(text, model.config)
    if any(_names_other_class(line.name, model) for line in lines):
        return False
    valued = sum(line.value is not None for line in lines)
    if valued < len(lines) and names_in_sums(text) - set(letters(model.config)):
        return False
    if all(_TOTAL_OF_SUMMARY.fullmatch(line.name) for line in lines if line.value is not None):
        return False  # the totals of one or several summaries
    if valued < len(lines) and "\n" not in text.strip():
        return False  # a sentence with equations between commas
    if len(lines) > 1 and len({line.value for line in lines}) == 1:
        return False  # the same total, printed twice
    settings = sum(line.value is not None and bool(_SETTING.search(line.name)) for line in lines)
    if len(lines) > 1 and 2 * settings > valued:
        return False  # the settings of a model or of its training
    fewest = 1 if len(lines) == 1 and _ONE_LINE.search(text) else _FEWEST
    return valued >= fewest and 2 * valued > len(lines)


def states_part(text: str, model: Model) -> bool:
    """Whether a text is a single line that states the parameters of a part of the model.

    >>> from bertcalc.families import build
    >>> [states_part(f"the pooler has {count}", build("gpt2")) for count in ("590,592 parameters", "0.5 %", "2.4 MB")]
    [True, False, False]
    """
    if "\n" in text.strip() or field_asked(text) or _NOT_COUNTS.search(text) or _OF_OTHERS.search(text):
        return False
    if models_named(text) or begins_object(text) or too_long(text) or _TWO_SENTENCES.search(text):
        return False
    lines = read_lines(text, model.config)
    if len(lines) != 1 or _names_other_class(lines[0].name, model):
        return False
    return names_part(lines[0], model)


_TWO_SENTENCES = re.compile(r"[.。!?！？]\s+\w|[。！？]\w")
# Signs of a share, bytes, an adapter, or a multiple of a size.
_OF_OTHERS = re.compile(
    r"[%％]|(?<![a-z])[kMGT]?i?B\b|bytes?\b|字节|\b(?:lora|adapter|prefix|prompt|bitfit|peft|trainable|trained|rank)\b"
    r"|训练|微调|\br ?=",
    re.I,
)


def _names_other_class(label: str, model: Model) -> bool:
    """Whether a label begins with a class other than the model's, so that the count beside it is for that class."""
    word = re.split(r"\W", label.strip())[0]
    return word in CLASSES and word != model.architecture


def _names_other_model(text: str, model: Model) -> bool:
    """Whether a text names a preset with other sizes, so that the proofreader has to check it against this preset."""
    return any(name in PRESETS and PRESETS[name].config != model.config for name in models_named(text))


_SETTING = re.compile(
    r"(?:^|[\W_])(?:num|n)_\w+$|_(?:size|sizes|dim|dims|layers|heads|rate|rates|lr|dropout|steps|epochs|length|embeddings)$"
)
_TOTAL_OF_SUMMARY = re.compile(r"\W*(?:total|trainable|non-trainable)\W{1,3}params\W*", re.I)
# Signs of other texts: shapes of activations, code, times in a log, FLOPs, tables of Keras and Lightning.
_NOT_COUNTS = re.compile(
    r"\(InputLayer\)|\|\s*Name\s*\|\s*Type\s*\|\s*Params|(?:shape['’s]{0,2}|size)\b[^\n]{0,40}torch\.Size\(|\.(?:shape|size\(\))|^\s*(?:class|def|import|from)\s"
    r"|^\s*(?:for\s+\w+\s+in\b|(?:while|if)\b[^\n]*:\s*$|else:\s*$|>>>|In ?\[)|[-+*]=(?!=)"
    r"|^\s*[\"'“][A-Za-z_]+[\"'”]\s*[:：]|:\s?(?:int|float|bool)\b|\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b|(?<![a-z])(?:FLOPs?|MACs?)(?![a-z])|计算量",
    re.I | re.M,
)
_BULLET = re.compile(r"^(?:[-*•]|[0-9]{1,2}[.)])\s+")
_SIGN = re.compile("[:：=]")
_CELLS = 2
_LONGEST_SIDE = 40  # maximum number of characters in a name or a value
_SIZE = re.compile(
    r"(?:num(?:ber)?[ _](?:of[ _])?)?(?:hidden|vocab\w*|embedding|intermediate|attention|transformer|encoder)?[ _]?"
    r"(?:size|dim\w*|layers|heads|vocab\w*)|词表(?:大小)?|隐藏层?(?:大小|维度)|层数|头数"
    r"|[a-z_]*_(?:num|dim|size|len|length|rate|heads|layers|embeddings|range|eps|prob)|(?:context|sequence) length",
    re.I,
)
_SIZE_VALUE = re.compile(r"(?:[0-9]{1,3}(?:,?[0-9]{3})?|0?\.[0-9]+),?")
_OTHER_UNIT = re.compile(r"[0-9][0-9.,]*\s?(?:[kMGT]i?B|bytes|[KMGT]?FLOPs?|[GM]?MACs|%)", re.I)


# Signs that a text is not a hand count: names in a training log, and prose that continues after a full stop.
_OF_TRAINING = re.compile(
    r"\b(?:examples|epochs?|(?:batch|step)s?(?: size)?|learning rate)\b|样本|轮数|学习率|批大小", re.I
)
_PROSE = re.compile(r"。[^\s）)”\"]")


def _are_notes(text: str) -> bool:
    """Whether a text consists of notes rather than a hand count.

    The lines of notes give several sizes, counts of several models, bytes, FLOPs or percentages. A text is also notes
    if it names several models, is about training, is a configuration, or consists mostly of sentences.
    """
    if len(models_named(text)) > 1 or _PROSE.search(text) or begins_object(text):
        return True
    if 2 * sentences(text) > sum(bool(line.strip()) for line in text.split("\n")):
        return True
    lines = [sides for line in text.split("\n") if (sides := _name_and_value(line))]
    sizes = sum(bool(_SIZE.fullmatch(name) and _SIZE_VALUE.fullmatch(value)) for name, value in lines)
    models = sum(is_model_name(name) for name, _value in lines)
    if any(_OF_TRAINING.search(name) for name, _value in lines):
        return True
    return sizes > 1 or models > 1 or any(_OTHER_UNIT.fullmatch(value) for _name, value in lines)


def _name_and_value(line: str) -> tuple[str, str] | None:
    """Split a line at its first colon or equals sign, or a row of a table with two columns, into name and value.

    The result is None if either is missing or too long.
    """
    cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
    is_row = line.lstrip().startswith("|") and len(cells) == _CELLS
    name, *value = cells if is_row else (side.strip() for side in _SIGN.split(line.strip(), maxsplit=1))
    name = _BULLET.sub("", name)
    are_short = value and all(0 < len(side) <= _LONGEST_SIDE for side in (name, *value))
    return (name, value[0]) if are_short else None


_TOTAL_IN_FORMULA = "N"  # N is the total in bertcalc's formulas
_FEWEST = 2  # minimum number of lines with a value
_ONE_LINE = re.compile(r"=[^\n]*[*×^(]")  # a calculation with a name


def read_hand_count(text: str, model: Model) -> TextReading:
    """Read a hand count and judge each of its lines. Raises InputError if the text is too long."""
    if problem := too_long(text):
        raise InputError(problem)
    lines = [
        line
        for line in read_lines(text, model.config)
        if not _SETTINGS.fullmatch(line.text) and (line.value is not None or _HAS_NUMBER.search(line.text))
    ]
    if lines and lines[-1].name == _TOTAL_IN_FORMULA:
        lines[-1] = lines[-1]._replace(name="total")
    model = _with_head(lines, model)
    report = check(model, model.final_config, lines)
    sentence = Problem.of(N_("Read as: a hand count. Lines: {count}."), count=len(lines))
    if len(lines) == 1 and names_part(lines[0], model):
        return TextReading("hand-count", sentence, model, notes=tuple(_of_lines(report, model)), detail=report)
    right = _right_lines(report)
    message = N_("{right} of {count} lines are right. They sum to {typed}; {architecture} has {total} parameters.")
    values = {"typed": brief(report.typed, 15), "total": model.num_parameters(), "architecture": model.architecture}
    if report.typed.denominator == 1:
        values["typed"] = int(report.typed)
    note = Problem.of(message, right=right, count=len(lines), **values)
    corrections = (*_of_lines(report, model, wrong=True), *_gaps(report))
    return TextReading("hand-count", sentence, model, notes=(note, *corrections), detail=report)


def _right_lines(report: TermsReport) -> int:
    return sum(not verdict.line.problem and (verdict.is_right or verdict.is_sum) for verdict in report.verdicts)


def _with_head(lines: Sequence[TypedLine], model: Model) -> Model:
    """If a line names a head, return the model for which most lines are right, such as a classifier with 3 labels.

    Otherwise return ``model``.
    """
    if model.cls is not model.family.base or not any(_HEAD.search(line.name) for line in lines):
        return model
    of_label = model.config.hidden_size + 1
    counts = {divmod(int(line.value), of_label) for line in lines if line.value and line.value.denominator == 1}
    labels = {number for number, rest in counts if not rest and 0 < number <= _MOST_LABELS}
    has_labels = type(model.config).has("num_labels")
    configs = [replace(model.config, num_labels=number) for number in sorted(labels) if has_labels]
    others = (
        Model(config, cls.name)
        for config in (model.config, *configs)
        for cls in model.family.classes
        if cls is not model.cls and not (config in configs and "num_labels" in dict(cls.builds_with))
    )
    reports = [(check(other, other.final_config, lines), other) for other in (model, *others)]
    names = " ".join(line.name for line in lines)
    task = "sequence-classification" if _CLASSIFIER.search(names) else ""

    def agreement(pair: tuple[TermsReport, Model]) -> tuple[int, Fraction, bool]:
        report, other = pair
        return _right_lines(report), -abs(report.typed - report.right), other.cls.task == task

    report, best = max(reports, key=agreement)
    return best if _right_lines(report) > _right_lines(reports[0][0]) else model


_HEAD = re.compile(r"\bhead\b|classif|\bnsp\b|next[ -]sentence|\bmlm\b|\blm[ _]head|\bqa\b|分类|任务头|下一句", re.I)
_CLASSIFIER = re.compile("classif|分类", re.I)
_MOST_LABELS = 100


# A title, and a line with several sizes: vocab 30522, hidden 768, layers 12
_HAS_NUMBER = re.compile("[0-9=:：]")
_SETTINGS = re.compile(rf"(?:\W*(?:{_SIZE.pattern}|hidden|[VHLAIPT])\W{{1,3}}[0-9,]{{1,7}}(?=\W|$)){{2,}}\W*", re.I)


def _of_lines(report: TermsReport, model: Model, *, wrong: bool = False) -> Iterator[Problem]:
    """Yield a sentence about each line, or each wrong line, of a hand count: the right value and the mistakes."""
    for verdict in report.verdicts:
        is_right = verdict.is_right or verdict.is_sum or verdict.line.value is None
        name = shorten(verdict.line.name or verdict.line.text)
        if verdict.line.problem:
            yield Problem.of(N_("{line}: {reason}"), line=name, reason=verdict.line.problem)
        elif wrong and is_right:
            continue
        elif verdict.counted:
            part = part_in_words(verdict.counted, model)
            values = {"line": name, "right": verdict.counted.right, "part": part}
            if verdict.explanation:
                made = mistakes_in_words(verdict.explanation, model.final_config)
                yield Problem.of(
                    N_("{line}: {right} is right for {part}. The mistake: {mistakes}."), mistakes=made, **values
                )
            elif is_right:
                yield Problem.of(N_("{line} is right: {right} is the count of {part}."), **values)
            else:
                yield Problem.of(N_("{line}: {right} is right for {part}."), **values)
        elif verdict.is_term:
            yield Problem.of(N_("{line}: nothing in this model has this value."), line=name)


def _gaps(report: TermsReport) -> Iterator[Problem]:
    """Yield a sentence about the tensors of each component that no line counts, or that lines count twice."""
    for gap in report.gaps:
        yield gap.in_words()


def read_peft_line(text: str, model: Model) -> TextReading:
    """Read a line printed by peft about an adapter's parameters. Raises InputError for any other text."""
    line = whole_line_of_peft(text)
    if line is None:
        raise wrong(_NO_PEFT_LINE)
    message = N_("Read as: a line printed by peft. {trained} of {all} parameters are trained.")
    sentence = Problem.of(message, trained=line.trained, all=line.whole)
    return TextReading("peft-line", sentence, notes=tuple(line.meanings(model)), detail=line)


_NO_PEFT_LINE = N_(
    "This is not a line printed by peft, such as: trainable params: 296,450 || all params: 109,780,228 || "
    "trainable%: 0.2700."
)


_MOST_NAMED = 12  # maximum number of lines that a sentence lists


def read_program(text: str, _model: Model) -> TextReading:
    """Proofread a program, which is parsed and never executed.

    Raises InputError if the text is too long, or if it has no number to check and names no model.
    """
    report = proofread(text)
    if not report.claims and (report.assumed or not models_named(text)):
        raise wrong(_NO_MODEL_IN_PROGRAM)
    message = N_("Read as: a program; it is not executed. Numbers and calculations: {claims}.")
    sentence = Problem.of(message, claims=len(report.claims))
    if unread := unread_lines(text, sizes_by_field(report.model) if report.model and not report.assumed else {}):
        message = N_("{program} Lines that were not evaluated: {lines}.")
        sentence = Problem.of(message, program=sentence, lines=", ".join(map(str, unread[:_MOST_NAMED])))
    return TextReading(
        "program", sentence, report.model, notes=of_code(configs_in_code(text).unfollowed), detail=report
    )


_NO_MODEL_IN_PROGRAM = N_(
    "This program names no model that bertcalc counts, and has no count to check: paste the output of print(model)."
)


def read_article(text: str, model: Model) -> TextReading:
    """Proofread an article. The text itself determines its model. Raises InputError if the article is too long.

    If the article has several configurations, its model is that of the first. If it names no model, it is about
    ``model``, unless its numbers fit BERT-base better.
    """
    first, notes = _first_config(text)
    report = proofread(text, first)
    if report.assumed and report.model != model:
        of_given = proofread(text, model)._replace(assumed=True)
        report = of_given if len(of_given.of("right")) >= len(report.of("right")) else report
    is_about_any = bool(report.claims) or not models_named(text)
    if report.assumed and is_about_any and all(claim.verdict == "unknown" for claim in report.claims):
        report = report._replace(model=None)  # no number in the text fits the assumed model
    message = N_("Read as: an article. Characters: {characters}. Numbers and calculations: {claims}.")
    sentence = Problem.of(message, characters=len(text), claims=len(report.claims))
    return TextReading("article", sentence, report.model, notes=notes, detail=report)


def _first_config(text: str) -> tuple[Model | None, tuple[Problem, ...]]:
    """Return the model of the first configuration and a note, if an article has several; otherwise None.

    If code in the article changes a model, the note names its lines.
    """
    configs, unfollowed, *_unlisted = configs_in(text)
    if len(configs) < _FEWEST_CONFIGS:
        return None, of_code(unfollowed)
    with suppress(InputError):
        described = hf_json.read(configs[0].text)
        model = Model(described.config, described.architecture)
        values = {"architecture": model.architecture, "sizes": sizes_of(model)}
        return model, (Problem.of(_FIRST_OF_SEVERAL, count=len(configs), **values),)
    return None, (Problem.of(_SEVERAL, count=len(configs)),)


_FEWEST_CONFIGS = 2
_SEVERAL = N_("The text has {count} different configurations: paste one of them to count its parameters.")
_FIRST_OF_SEVERAL = N_(
    "The text has {count} different configurations. Its numbers are compared with the first: {architecture} with "
    "{sizes}."
)
