"""The controls of the Exercises page, and the session's answers with their verdicts and the score."""

from functools import partial
from random import randrange

import streamlit as st

from bertcalc.controls.chosen_model import FIELDS
from bertcalc.families import FAMILIES
from bertcalc.model.letters import LETTER_OF
from bertcalc.teach import exercises
from bertcalc.teach import sheet as documents
from bertcalc.teach.answers import Verdict, check
from bertcalc.teach.exercise_models import LEVELS
from bertcalc.teach.questions import Exercise
from bertcalc.text import N_
from pages.ui.exercises.sheet_words import ChosenSheet, Place, fill, written
from pages.ui.session import address, kept
from pages.ui.session.present_model import track
from pages.ui.shell.controls import Number, Select, Switch, change
from pages.ui.shell.i18n import _, filled, in_a_row, in_context, translator
from pages.ui.shell.stepping import outward_arrow
from pages.ui.widgets.tables import show_rows

NUMBERS = tuple(f"{number}" for number in range(1, len(exercises.KINDS) + 1))
LEVEL = Select("level", N_("Level"), LEVELS, {"easy": N_("Easy"), "medium": N_("Medium"), "hard": N_("Hard")}, row=True)
SEED = Number("seed", N_("Worksheet number"), 1, width=120)
SOLUTIONS = Switch("solutions", N_("Solutions"))
EXERCISE = Select("exercise", N_("Exercise"), NUMBERS, row=True, label_visibility="collapsed")
# Placeholders for the answer field, keyed by unit. They show the accepted formats and are unlikely to be right answers.
_EXAMPLES = {"parameters": "85M   2^20   3*(4 + 1)", "FLOPs": "2.4 GFLOPs   2*3*4", "bytes": "437.9 MB   16*12"}
_SHAPE = "2 × 5 × 4"


def take_new_sheet() -> None:
    """Open a random sheet at its first exercise, as one entry in the browser's history. Call this only in callbacks."""
    address.drop_with_next([EXERCISE.name])
    change({"seed": randrange(exercises.LARGEST_SEED + 1), "exercise": NUMBERS[0]})


def choose_exercise() -> str:
    """Draw the choice of an exercise between the buttons Previous and Next; return its number."""
    back = st.empty()
    with st.container(width="content"):
        number = EXERCISE.show()
    previous, following = in_context("exercise", "Previous"), in_context("exercise", "Next")
    for place, label, key, by, end in ((back, previous, "Left", -1, 0), (st.empty(), following, "Right", 1, -1)):
        at_end = number == NUMBERS[end]
        arrow = outward_arrow(by)
        place.button(label, key=f"{key} exercise", shortcut=key, disabled=at_end, on_click=_move, args=(by,), **arrow)
    return number


def _move(by: int) -> None:
    """Move by ``by`` exercises from the session's current exercise.

    The page may not show this exercise yet, because key presses can be faster than the page.
    """
    position = NUMBERS.index(st.session_state["exercise"]) + by
    st.session_state["exercise"] = NUMBERS[min(max(position, 0), len(NUMBERS) - 1)]


def score(chosen: ChosenSheet) -> str:
    """The score as Markdown: how many answers are right, and which exercises have right and wrong answers."""
    verdicts = {number: verdict for number in NUMBERS if (verdict := last_answer(chosen, number)[1])}
    right = [number for number, verdict in verdicts.items() if verdict.counts]
    wrong = [number for number, verdict in verdicts.items() if verdict.state == "wrong"]
    marks = [f"{mark} {' '.join(numbers)}" for mark, numbers in (("✓", right), ("✗", wrong)) if numbers]
    total = _("**{right} of {all}** right").format(right=len(right), all=len(NUMBERS))
    return f"{total}  \n:small[{' · '.join(marks)}]" if marks else total


_Answer = str | tuple[str, ...]
_Answers = dict[Place, tuple[_Answer, Verdict]]
_LONGEST = 200  # maximum number of characters in an answer that the browser keeps
_MOST = 100  # maximum number of answers that the browser keeps


def last_answer(chosen: ChosenSheet, number: str) -> tuple[_Answer, Verdict | None]:
    """The session's last answer to an exercise and its verdict; ("", None) if there is none."""
    return _answers().get(chosen.place(number), ("", None))


def _answers() -> _Answers:
    """The session's answers. A session without answers restores and rechecks those that the browser has kept."""
    answers: _Answers = st.session_state.setdefault("answers", {})
    if not answers and (written := kept.get(kept.ANSWERS)):
        answers.update(filter(None, map(_restored, written[-_MOST:] if isinstance(written, list) else ())))
        _keep(answers)  # without invalid ones, so that they are not checked again
    return answers


def _keep(answers: _Answers) -> None:
    """Let the browser keep the latest answers, except very long ones."""
    short = [[*place, typed] for place, (typed, _verdict) in answers.items() if len("".join(typed)) <= _LONGEST]
    kept.put(kept.ANSWERS, short[-_MOST:])


def _restored(written: object) -> tuple[Place, tuple[_Answer, Verdict]] | None:
    """Restore an answer from untrusted browser data: its place, the answer and its verdict; None if it is invalid."""
    match written:
        case [str(family), str(level), int(seed), str(number), str() | list() as typed] if (
            family in FAMILIES and level in LEVELS and 0 <= seed <= exercises.LARGEST_SEED and number in NUMBERS
        ):
            chosen = ChosenSheet(level, seed, solutions=False, family=family)
            answer = typed[:_LONGEST] if isinstance(typed, str) else tuple(f"{option}" for option in typed[:_MOST])
            if isinstance(answer, tuple) == bool(chosen.exercise(number).options):
                return chosen.place(number), (answer, _verdict(chosen.exercise(number), answer))
    return None


def _verdict(exercise: Exercise, answer: _Answer) -> Verdict:
    names = {LETTER_OF[field]: size for field, size in exercise.sizes().items()}
    return check(exercise, answer, names)


def ask(chosen: ChosenSheet, number: str) -> None:
    """Draw the field for the answer to an exercise, filled in with the last answer."""
    exercise, key = chosen.exercise(number), f"typed {' '.join(map(str, chosen.place(number)))}"
    answer = last_answer(chosen, number)[0]
    if answer and not st.session_state.get(key):
        st.session_state[key] = list(answer) if exercise.options else answer
    with st.form(f"form {key}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        if exercise.options:
            st.pills(_("Your answer"), exercise.options, selection_mode="multi", key=key, wrap=True)
        else:
            example = _EXAMPLES[exercise.unit] if exercise.unit else _SHAPE
            st.text_input(_("Your answer"), key=key, placeholder=example)
        st.form_submit_button(_("Check answer"), on_click=_answer, args=(chosen, number, key))


def _answer(chosen: ChosenSheet, number: str, key: str) -> None:
    answer: str | list[str] = st.session_state[key]
    exercise = chosen.exercise(number)
    answers, place = _answers(), chosen.place(number)
    answers.pop(place, None)
    if answer and "".join(answer).strip():
        st.session_state.pop("unanswered", None)
        typed: _Answer = answer if isinstance(answer, str) else tuple(answer)
        answers[place] = typed, _verdict(exercise, typed)
    else:
        st.session_state["unanswered"] = place
    _keep(answers)


def show_verdict(verdict: Verdict) -> None:
    """Show whether an answer is right, and which mistakes lead to a wrong answer."""
    sentences = [fill(_, sentence, plain=True) for sentence in verdict.remarks]
    if verdict.because:
        ways = [_(" and ").join(fill(_, miscount) for miscount in miscounts) for miscounts in verdict.because]
        sentences.append(filled(_("This is the result if {ways}."), ways=_(", or if ").join(ways)))
    if verdict.state == "unreadable":
        st.warning(in_a_row(sentences), icon=":material/help:")
    elif verdict.counts:
        st.success(in_a_row([_("**Right.**"), *sentences]), icon=":material/check:")
    else:
        st.error(in_a_row([_("**Not yet.**"), *sentences]), icon=":material/close:")


def show_sizes(exercise: Exercise) -> None:
    """Show the sizes of an exercise's model, which the reader needs for the answer."""
    sizes = exercise.sizes()
    if preset := exercise.published():
        st.markdown(f"**{preset}**")
    own_name = exercise.config.own_name
    rows = [(f"`{own_name(field)}` ${LETTER_OF[field]}$", f"{size:,}") for field, size in sizes.items()]
    show_rows((_("Field"), _("Size")), rows, _("The sizes of the model"))


def differences(exercise: Exercise) -> dict[str, object]:
    """The values in the exercise's model that differ from the sidebar's model, keyed by field."""
    config, architecture = exercise.config, exercise.model.architecture
    sizes = {field: getattr(config, field) for field in FIELDS if config.has(field)}
    wanted = {"architecture": architecture, "add_pooling_layer": True, **sizes}
    present = track().present.values()
    return {field: value for field, value in wanted.items() if value != present.get(field)}


def offer_downloads(chosen: ChosenSheet) -> None:
    """Draw buttons that download the sheet as Markdown and LaTeX. The files are written on request."""
    name = f"bertcalc-{chosen.level}-{chosen.seed}{'-solutions' if chosen.solutions else ''}"
    latex = partial(documents.latex, chinese=st.session_state["lang"] == "zh")
    formats = (("Markdown", "md", "text/markdown", documents.markdown), ("LaTeX", "tex", "application/x-tex", latex))
    with st.container(horizontal=True):
        for label, ending, mime, write in formats:
            make, icon = partial(written, write, chosen, translator()), ":material/download:"
            st.download_button(label, make, f"{name}.{ending}", mime, icon=icon, on_click="ignore")
