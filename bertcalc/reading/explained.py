"""Read what the diagnosis explains: numbers, calculations, hand counts; and articles, which the proofreader checks.

>>> from bertcalc.families import build
>>> str(read_number("109482240", build("bert-base-uncased")))
'Read as: a number, 109,482,240.\\nIt is the number of parameters of BertModel.'
"""

from bertcalc.config import letters
from bertcalc.diagnosis.count_lines import problem as too_long
from bertcalc.diagnosis.count_lines import read as read_lines
from bertcalc.diagnosis.diagnose import Diagnosis, diagnose
from bertcalc.diagnosis.hand_count import check
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.model.model import Model
from bertcalc.proofreading.proofread import proofread
from bertcalc.reading.text_reading import TextReading
from bertcalc.text import N_
from bertcalc.text.amounts import Typed, amount, typed
from bertcalc.text.digits import brief
from bertcalc.text.problem import InputError, Problem


def number_in(text: str, model: Model) -> Typed | None:
    """The number or calculation that a text is; None if it is neither."""
    try:
        return amount(text.strip(), names=letters(model.config))
    except InputError:
        return None


def read_number(text: str, model: Model) -> TextReading:
    """A number or a calculation, with its diagnosis against a model. Raises InputError."""
    number = amount(text.strip(), names=letters(model.config))
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), number)
    is_plain = _is_plain(text)
    message = N_("Read as: a number, {value}.") if is_plain else N_("Read as: a calculation, {value}.")
    value = f"{int(number.value):,}" if number.value.denominator == 1 else brief(number.value)
    sentence = Problem.of(message, value=f"{value} {number.unit}" if number.unit else value)
    notes = tuple(_of_diagnosis(diagnosis, number))
    return TextReading("number" if is_plain else "calculation", sentence, notes=notes, detail=diagnosis)


def _is_plain(text: str) -> bool:
    try:
        typed(text.strip())
    except InputError:
        return False
    return True


def _of_diagnosis(diagnosis: Diagnosis, number: Typed) -> list[Problem]:
    """A sentence on the classes that have the count."""
    names = dict.fromkeys(
        known.model.architecture for match in diagnosis.matches for known in match.known_counts if not known.convention
    )
    exactly, about = (
        N_("It is the number of parameters of {architectures}."),
        N_("It may mean the number of parameters of {architectures}."),
    )
    message = exactly if number.low == number.high and number.unit != "bytes" else about
    return [Problem.of(message, architectures=", ".join(names))] if names else []


def is_hand_count(text: str, model: Model) -> bool:
    """Whether at least two lines, and most of them, are a name with a value."""
    if too_long(text):
        return False
    lines = read_lines(text, model.config)
    valued = sum(line.value is not None for line in lines)
    return valued >= _FEWEST and 2 * valued > len(lines)


_FEWEST = 2  # lines of a hand count


def read_hand_count(text: str, model: Model) -> TextReading:
    """A hand count with the verdict on each of its lines. Raises InputError if it is too long."""
    if problem := too_long(text):
        raise InputError(problem)
    lines = read_lines(text, model.config)
    report = check(model, model.config, lines)
    right = sum(verdict.is_right for verdict in report.verdicts)
    sentence = Problem.of(N_("Read as: a hand count with {count} lines."), count=len(lines))
    message = N_("{right} of {count} lines are right. They sum to {typed}; {architecture} has {total} parameters.")
    values = {"typed": brief(report.typed, 15), "total": model.num_parameters(), "architecture": model.architecture}
    if report.typed.denominator == 1:
        values["typed"] = int(report.typed)
    note = Problem.of(message, right=right, count=len(lines), **values)
    return TextReading("hand-count", sentence, model, notes=(note,), detail=report)


def read_article(text: str, _model: Model) -> TextReading:
    """An article with the proofreader's report on it; the text says which model it is about. Raises InputError."""
    report = proofread(text)
    message = N_("Read as: an article of {characters} characters, with {claims} numbers and calculations.")
    sentence = Problem.of(message, characters=len(text), claims=len(report.claims))
    return TextReading("article", sentence, report.model, detail=report)
