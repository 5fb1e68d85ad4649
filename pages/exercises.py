"""Exercises: exercise sheets for classes, with checked answers and worked solutions."""

import streamlit as st

from bertcalc.families import family_of
from bertcalc.teach.exercises import LARGEST_SEED
from bertcalc.teach.questions import TITLES
from bertcalc.teach.worked_formulas import worked, worked_wrong
from pages.ui.exercises import answering, sheet_words
from pages.ui.session import address
from pages.ui.shell.controls import change, show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets.idle import is_idle

with st.container(horizontal=True, vertical_alignment="bottom"):
    level, seed = answering.LEVEL.show(), answering.SEED.show()
    st.button(_("New worksheet"), icon=":material/casino:", on_click=answering.take_new_sheet)
    solutions = answering.SOLUTIONS.show()
if problem := answering.SEED.problem(seed, 0, LARGEST_SEED):
    show_problem(problem)
    seed = problem.remedies[0]["seed"]
family = family_of(current_choice().config).name
chosen = sheet_words.ChosenSheet(level, seed, solutions, family, address.for_others(st.context.url or ""))

with st.container(horizontal=True, vertical_alignment="center", key="exercise-row"):
    number = answering.choose_exercise()
    st.markdown(answering.score(chosen))

exercise = chosen.exercise(number)
words, sizes = st.columns([0.66, 0.34], gap="medium")
with words:
    st.markdown(f"## {number} · {_(TITLES[exercise.kind])}\n\n{sheet_words.fill(_, exercise.question)}")
    if exercise.miscount:
        st.markdown(sheet_words.bullets(worked_wrong(exercise)))
    answering.ask(chosen, number)
    _typed, verdict = answering.last_answer(chosen, number)
    if verdict:
        answering.show_verdict(verdict)
    elif st.session_state.get("unanswered") == chosen.place(number):
        st.warning(_("There is no answer yet."), icon=":material/help:")
    if solutions or (verdict and verdict.counts):
        st.markdown(f"**{sheet_words.right_answer(exercise, _)}**\n\n{sheet_words.bullets(worked(exercise))}")
with sizes:
    answering.show_sizes(exercise)
    model = answering.differences(exercise)
    st.button(_("Use this model"), icon=":material/tune:", on_click=change, args=(model,))
    if model:
        st.caption(_("Replaces the current model. Undo restores the previous one."))
    else:
        st.caption(_("This is now the current model, and all pages use it. Undo restores the previous one."))
        st.page_link(page_at(""), label=_("See how it is counted →"))

answering.offer_downloads(chosen)
if is_idle():
    with st.container(key="sheet"):  # style.css hides the whole sheet until the page is printed
        st.markdown(sheet_words.on_paper(chosen, st.session_state["lang"]))
st.caption(
    _(
        "Printing this page prints the whole worksheet. Each exercise has its own model, from the family of the "
        "current model. This link opens the same worksheet for everyone; with Solutions on, it opens the teacher's "
        "copy. This browser tab keeps your answers until you close it or open another link; the server does not "
        "store them."
    )
)
