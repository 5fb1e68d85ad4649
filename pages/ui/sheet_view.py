"""The Exercises page: the sheet, one exercise at a time with its answer, the score, and the sheet to print."""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from random import randrange
from typing import NamedTuple

import streamlit as st

from bertcalc.exercises import generate
from bertcalc.exercises import sheet as documents
from bertcalc.exercises.answers import Verdict, check
from bertcalc.exercises.draw import LEVELS, Level
from bertcalc.exercises.questions import TITLES, Exercise, Sentence
from bertcalc.exercises.sheet import Sheet, WrittenExercise
from bertcalc.exercises.worked_formulas import WorkedLine, worked, worked_wrong
from bertcalc.families import FAMILIES, family_of
from bertcalc.fields import EVERY_LETTER
from bertcalc.formula import CALL_LETTERS, latex_number
from bertcalc.subject import Subject
from bertcalc.text import N_, Translate, literal
from bertcalc.track import FIELDS
from pages.ui.controls import Number, Select, Switch, change, show_problem
from pages.ui.i18n import _, catalogue, in_a_row, in_context, translator
from pages.ui.model import track
from pages.ui.tables import shape_text, show_rows

NUMBERS = tuple(f"{number}" for number in range(1, len(generate.KINDS) + 1))
LEVEL = Select("level", N_("Level"), LEVELS, {"easy": N_("Easy"), "medium": N_("Medium"), "hard": N_("Hard")}, row=True)
SEED = Number("seed", N_("Sheet number"), 1, width=120)
SOLUTIONS = Switch("solutions", N_("Solutions"))
EXERCISE = Select("exercise", N_("Exercise"), NUMBERS, row=True, label_visibility="collapsed")
_LETTERS = {**EVERY_LETTER, **CALL_LETTERS}
# Examples of what can be typed for each unit of an answer; none is likely to be right.
_EXAMPLES = {"parameters": "85M   2^20   3*(4 + 1)", "FLOPs": "2.4 GFLOPs   2*3*4", "bytes": "437.9 MB   16*12"}
_SHAPE = "2 × 5 × 4"


Place = tuple[str, Level, int, str]  # of an answer: family, level, seed, number of the exercise


class ChosenSheet(NamedTuple):
    """A sheet, as in the link, and whether its solutions are shown."""

    level: Level
    seed: int
    solutions: bool
    family: str = generate.BERT

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        return generate.sheet(self.seed, self.level, self.family)

    def place(self, number: str) -> Place:
        """Where the session keeps the answer to an exercise."""
        return self.family, self.level, self.seed, number

    def link(self) -> str:
        family = "" if self.family == generate.BERT else f"&architecture={FAMILIES[self.family].base.name}"
        return f"/exercises?level={self.level}&seed={self.seed}{family}"


def choose_sheet(subject: Subject) -> ChosenSheet:
    """Draw level, seed and solutions; return the sheet, which is about the family of the chosen model."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        level, seed = LEVEL.show(), SEED.show()
        st.button(_("New sheet"), icon=":material/casino:", on_click=_take_new_sheet)
        solutions = SOLUTIONS.show()
    if problem := SEED.problem(seed, 0, generate.LARGEST_SEED):
        show_problem(problem)
    return ChosenSheet(
        level, problem.remedies[0]["seed"] if problem else seed, solutions, family_of(subject.config).name
    )


def _take_new_sheet() -> None:
    change({"seed": randrange(generate.LARGEST_SEED + 1), "exercise": NUMBERS[0]})


def offer_downloads(chosen: ChosenSheet) -> None:
    """Download buttons for the sheet; files are written on request."""
    name = f"bertcalc-{chosen.level}-{chosen.seed}{'-solutions' if chosen.solutions else ''}"
    latex = partial(documents.latex, chinese=st.session_state["lang"] == "zh")
    formats = (("Markdown", "md", "text/markdown", documents.markdown), ("LaTeX", "tex", "application/x-tex", latex))
    with st.container(horizontal=True):
        for label, ending, mime, write in formats:
            make, icon = partial(_written, write, chosen, translator()), ":material/download:"
            st.download_button(label, make, f"{name}.{ending}", mime, icon=icon, on_click="ignore")


def _written(write: Callable[..., str], chosen: ChosenSheet, _: Translate) -> str:
    return write(printable(chosen, _), solutions=chosen.solutions)


def put_on_paper(chosen: ChosenSheet) -> None:
    """Draw the whole sheet, which is visible only when the page is printed (see style.css)."""
    with st.container(key="sheet"):
        st.markdown(_on_paper(chosen, st.session_state["lang"]))


@lru_cache(maxsize=256)
def _on_paper(chosen: ChosenSheet, language: str) -> str:
    return _written(documents.markdown, chosen, catalogue(language).gettext)


def choose_exercise(chosen: ChosenSheet) -> int:
    """Draw Previous, the number of the exercise, Next, and the score; return the index of the exercise."""
    with st.container(horizontal=True, vertical_alignment="center", key="exercise-row"):
        back = st.empty()
        with st.container(width="content"):
            at = NUMBERS.index(EXERCISE.show())
        previous, following = in_context("exercise", "Previous"), in_context("exercise", "Next")
        for place, label, key, by in ((back, previous, "Left", -1), (st.empty(), following, "Right", 1)):
            end = not 0 <= at + by < len(NUMBERS)
            place.button(label, key=f"{key} exercise", shortcut=key, disabled=end, on_click=_move, args=(by,))
        st.markdown(_score(chosen))
    return at


def _score(chosen: ChosenSheet) -> str:
    """The number of right answers as Markdown, and which exercises are right and wrong."""
    verdicts = {number: verdict for number in NUMBERS if (verdict := _given(chosen, number)[1])}
    right = [number for number, verdict in verdicts.items() if verdict.counts]
    wrong = [number for number, verdict in verdicts.items() if verdict.state == "wrong"]
    marks = [f"{mark} {' '.join(some)}" for mark, some in (("✓", right), ("✗", wrong)) if some]
    total = _("**{right} of {all}** right").format(right=len(right), all=len(NUMBERS))
    return f"{total}  \n:small[{' · '.join(marks)}]" if marks else total


def _move(by: int) -> None:
    """Move from the exercise that the session holds, which may not be drawn yet: keys are faster than pages."""
    at = NUMBERS.index(st.session_state["exercise"]) + by
    st.session_state["exercise"] = NUMBERS[min(max(at, 0), len(NUMBERS) - 1)]


_Answer = str | tuple[str, ...]


def _given(chosen: ChosenSheet, number: str) -> tuple[_Answer, Verdict | None]:
    """This session's answer to an exercise, and the verdict."""
    answers: dict[Place, tuple[_Answer, Verdict]] = st.session_state.get("answers", {})
    return answers.get(chosen.place(number), ("", None))


def show_exercise(chosen: ChosenSheet, at: int) -> None:
    """Draw the question, a field for the answer and the verdict; beside it the sizes of the model."""
    exercise, number = chosen.exercises[at], NUMBERS[at]
    words, sizes = st.columns([0.66, 0.34], gap="medium")
    with words:
        st.markdown(f"## {number} · {_(TITLES[exercise.kind])}\n\n{_fill(_, exercise.question)}")
        if exercise.miscount:
            st.markdown(_bullets(_lines(_, worked_wrong(exercise))))
        _ask(chosen, exercise, number)
        verdict = _given(chosen, number)[1]
        if verdict:
            _show_verdict(verdict)
        elif st.session_state.get("unanswered") == chosen.place(number):
            st.warning(_("There is no answer yet."), icon=":material/help:")
        if chosen.solutions or (verdict and verdict.counts):
            st.markdown(f"**{_right(exercise)}**\n\n{_bullets(_lines(_, worked(exercise)))}")
    with sizes:
        _show_sizes(exercise)
        st.button(_("Open this model"), icon=":material/tune:", on_click=change, args=(_differences(exercise),))
        st.caption(_("Takes the place of the model in the sidebar. Undo (Ctrl+Z) brings that back."))


def _differences(exercise: Exercise) -> dict[str, object]:
    """The values of the exercise's model that differ from the sidebar's."""
    config, architecture = exercise.config, exercise.subject.architecture
    sizes = {field: getattr(config, field) for field in FIELDS if config.has(field)}
    wanted = {"architecture": architecture, "add_pooling_layer": True, **sizes}
    now = track().present.values()
    return {field: value for field, value in wanted.items() if value != now.get(field)}


def _ask(chosen: ChosenSheet, exercise: Exercise, number: str) -> None:
    """Draw the field for the answer, with the last answer in it."""
    key = f"typed {' '.join(map(str, chosen.place(number)))}"
    if key not in st.session_state:
        answer = _given(chosen, number)[0]
        st.session_state[key] = list(answer) if exercise.options else answer
    with st.form(f"form {key}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        if exercise.options:
            st.pills(_("Your answer"), exercise.options, selection_mode="multi", key=key, wrap=True)
        else:
            example = _EXAMPLES[exercise.unit] if exercise.unit else _SHAPE
            st.text_input(_("Your answer"), key=key, placeholder=example)
        st.form_submit_button(_("Check answer"), on_click=_answer, args=(chosen, number, key))


def _answer(chosen: ChosenSheet, number: str, key: str) -> None:
    """Check an answer and keep it, in this session alone."""
    answer: str | list[str] = st.session_state[key]
    exercise = chosen.exercises[NUMBERS.index(number)]
    answers = st.session_state.setdefault("answers", {})
    place = chosen.place(number)
    if not answer or not "".join(answer).strip():
        answers.pop(place, None)
        st.session_state["unanswered"] = place
        return
    st.session_state.pop("unanswered", None)
    given: _Answer = answer if isinstance(answer, str) else tuple(answer)
    names = {_LETTERS[field]: size for field, size in exercise.sizes().items()}
    answers[place] = given, check(exercise, given, names)


def _show_verdict(verdict: Verdict) -> None:
    said = [_fill(_, sentence, plain=True) for sentence in verdict.said]
    if verdict.because:
        ways = [_(" and ").join(_fill(_, miscount) for miscount in way) for way in verdict.because]
        said.append(_("You get it if {ways}.").format(ways=_(", or if ").join(ways)))
    if verdict.state == "unreadable":
        st.warning(in_a_row(said), icon=":material/help:")
    elif verdict.counts:
        st.success(in_a_row([_("**Right.**"), *said]), icon=":material/check:")
    else:
        st.error(in_a_row([_("**Not yet.**"), *said]), icon=":material/close:")


def _fill(_: Translate, said: Sentence, *, plain: bool = False) -> str:
    """Translate a sentence and fill in its values, which with ``plain`` are somebody's text, not Markdown."""
    values = {name: _(value) if value else value for name, value in said.values.items()}
    if plain:
        values = {name: literal(value) for name, value in values.items()}
    return _(said.message).format(**values)


def _right(exercise: Exercise) -> str:
    """The right answer as it would be typed."""
    match exercise.right:
        case int(count):
            return f"{count:,} {exercise.unit}" if exercise.unit in ("FLOPs", "bytes") else f"{count:,}"
        case tuple(sides):
            return shape_text(sides)
    return ", ".join(f"`{field}`" for field in exercise.options if field in exercise.right)


def _lines(_: Translate, lines: Iterable[WorkedLine]) -> tuple[str, ...]:
    """Each line as text: what is counted, and the equation."""
    said = _("{name}: {what}")
    return tuple(said.format(name=" · ".join(map(_, line.label)), what=f"${line.latex()}$") for line in lines)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _show_sizes(exercise: Exercise) -> None:
    sizes = exercise.sizes()
    if preset := exercise.published():
        st.markdown(f"**{preset}**")
    own = exercise.config.own_name
    rows = [(f"`{own(field)}` ${_LETTERS[field]}$", f"{size:,}") for field, size in sizes.items()]
    show_rows((_("Field"), _("Size")), rows, _("The sizes of the model"))


def printable(chosen: ChosenSheet, _: Translate) -> Sheet:
    """The whole sheet as texts of one language."""
    note = _("The same sheet for everybody, with answers that are checked: {link} (version {version})")
    return Sheet(
        _("Counting BERT: sheet {seed}, {level}").format(seed=chosen.seed, level=_(chosen.level)),
        note.format(link=f"`{chosen.link()}`", version=generate.VERSION),
        _("Answer: "),
        tuple(_item(exercise, _) for exercise in chosen.exercises),
    )


def _item(exercise: Exercise, _: Translate) -> WrittenExercise:
    preset = exercise.published()
    sizes = ", ".join(
        f"`{exercise.config.own_name(field)}` ${_LETTERS[field]} = {latex_number(size)}$"
        for field, size in exercise.sizes().items()
    )
    return WrittenExercise(
        title=_(TITLES[exercise.kind]),
        question=_fill(_, exercise.question),
        sizes=f"{preset}: {sizes}" if preset else sizes,
        given=_lines(_, worked_wrong(exercise)) if exercise.miscount else (),
        options=tuple(f"`{field}`" for field in exercise.options),
        answer=f"**{_right(exercise)}**" if not exercise.options else _right(exercise),
        solution=_lines(_, worked(exercise)),
    )
