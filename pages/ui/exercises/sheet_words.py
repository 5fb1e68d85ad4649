"""The texts of an exercise sheet: questions, answers and solutions, and the whole sheet as a document."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from bertcalc.families import FAMILIES
from bertcalc.model.letters import LETTER_OF
from bertcalc.teach import exercises
from bertcalc.teach import sheet as documents
from bertcalc.teach.exercise_models import Level
from bertcalc.teach.questions import TITLES, Exercise, Sentence
from bertcalc.teach.sheet import Sheet, WrittenExercise
from bertcalc.teach.worked_formulas import WorkedLine, worked, worked_wrong
from bertcalc.text import Translate, literal
from bertcalc.text.digits import latex_number
from pages.ui.shell.i18n import _, catalogue, filled
from pages.ui.widgets.tables import shape_text

Place = tuple[str, Level, int, str]  # identifies an answer: the family, the level, the seed, the exercise's number


class ChosenSheet(NamedTuple):
    """The exercise sheet that a link describes, whether its solutions are shown, and the page's URL, "" for none."""

    level: Level
    seed: int
    solutions: bool
    family: str = exercises.BERT
    page: str = ""

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        return exercises.sheet(self.seed, self.level, self.family)

    def place(self, number: str) -> Place:
        """The key under which the session keeps the answer to an exercise."""
        return self.family, self.level, self.seed, number

    def exercise(self, number: str) -> Exercise:
        """The exercise with this number, counted from 1."""
        return self.exercises[int(number) - 1]

    def link(self) -> str:
        """The URL of the sheet on the Exercises page, without its solutions."""
        family = "" if self.family == exercises.BERT else f"&architecture={FAMILIES[self.family].base.name}"
        return f"{self.page}?level={self.level}&seed={self.seed}{family}"


def fill(_: Translate, sentence: Sentence, *, plain: bool = False) -> str:
    """Translate a sentence and fill in its values; with ``plain``, values are plain text instead of Markdown."""
    values = {name: _(value) if value else value for name, value in sentence.values.items()}
    if plain:
        values = {name: literal(value) for name, value in values.items()}
    return filled(_(sentence.message), **values)


def right_answer(exercise: Exercise, _: Translate) -> str:
    """The right answer in the format in which a reader would type it."""
    match exercise.right:
        case int(count):
            return f"{count:,} {_(exercise.unit)}" if exercise.unit in ("FLOPs", "bytes") else f"{count:,}"
        case tuple(sides):
            return shape_text(sides)
    return ", ".join(f"`{field}`" for field in exercise.options if field in exercise.right)


def _lines(_: Translate, lines: Iterable[WorkedLine]) -> tuple[str, ...]:
    message = _("{name}: {what}")
    return tuple(message.format(name=" · ".join(map(_, line.label)), what=f"${line.latex()}$") for line in lines)


def bullets(lines: Iterable[WorkedLine]) -> str:
    """The lines of a solution as a Markdown list."""
    return "\n".join(f"- {line}" for line in _lines(_, lines))


def printable(chosen: ChosenSheet, _: Translate) -> Sheet:
    """The whole sheet as texts in the language of the translator ``_``."""
    note = _("Open this worksheet online to check your answers: {link} (version {version})")
    if not chosen.page:
        note = _("Version {version}")
    return Sheet(
        _("Counting BERT: worksheet {seed}, {level}").format(seed=chosen.seed, level=_(chosen.level)),
        note.format(link=f"`{chosen.link()}`", version=exercises.VERSION),
        _("Answer: "),
        tuple(_item(exercise, _) for exercise in chosen.exercises),
    )


def _item(exercise: Exercise, _: Translate) -> WrittenExercise:
    preset = exercise.published()
    sizes = ", ".join(
        f"`{exercise.config.own_name(field)}` ${LETTER_OF[field]} = {latex_number(size)}$"
        for field, size in exercise.sizes().items()
    )
    return WrittenExercise(
        title=_(TITLES[exercise.kind]),
        question=fill(_, exercise.question),
        sizes=f"{preset}: {sizes}" if preset else sizes,
        worked_lines=_lines(_, worked_wrong(exercise)) if exercise.miscount else (),
        options=tuple(f"`{field}`" for field in exercise.options),
        answer=f"**{right_answer(exercise, _)}**" if not exercise.options else right_answer(exercise, _),
        solution=_lines(_, worked(exercise)),
    )


def written(write: Callable[..., str], chosen: ChosenSheet, _: Translate) -> str:
    """The sheet as a document in the format of ``write``, with the solutions if the page shows them."""
    return write(printable(chosen, _), solutions=chosen.solutions)


@lru_cache(maxsize=256)
def on_paper(chosen: ChosenSheet, language: str) -> str:
    """The sheet as Markdown in the given language."""
    return written(documents.markdown, chosen, catalogue(language).gettext)
