"""The Exercises page: feedback to answers, the score, the teacher's link, and the sheet in two languages."""

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc.teach import sheet as documents
from bertcalc.teach.exercise_models import LEVELS
from bertcalc.teach.exercises import KINDS, exercise, sheet
from pages.ui.exercises import answering
from pages.ui.exercises.answering import NUMBERS
from pages.ui.exercises.sheet_words import ChosenSheet, fill, printable
from pages.ui.shell.i18n import LANGUAGES, catalogue
from tests.pages.apptest import button, open_app, tables, texts
from tests.teach.test_sheet import check_latex

PAGE = "exercises.py"


def answer(app: AppTest, text: str) -> AppTest:
    """Type an answer to the current exercise, and check it."""
    app.text_input[0].set_value(text)
    button(app, "Check answer").click()
    return app.run()


def drawn(app: AppTest) -> AppTest:
    """Rerun the page after the browser has reported that it is drawn."""
    app.session_state["idle"] = {"is_drawn": True}
    return app.run()


def pills(app: AppTest) -> Any:
    return next(one for one in app.get("button_group") if "typed" in str(one.key))


def said(app: AppTest) -> str:
    """The page's feedback to an answer."""
    [message] = messages(app)
    return message


def messages(app: AppTest) -> list[str]:
    found: list[Any] = [*app.success]
    return [str(one.value) for one in [*found, *app.error, *app.warning]]


def words(app: AppTest) -> str:
    """The text of the page on the screen, without the whole sheet, which is for printing."""
    return "\n".join(str(one.value) for one in app.markdown if not str(one.value).startswith("# "))


@pytest.mark.parametrize("kind", KINDS)
def test_every_exercise_is_shown_with_its_question_and_sizes(kind: Any) -> None:
    number = NUMBERS[KINDS.index(kind)]
    app = open_app(PAGE, exercise=number, level="medium")
    one = exercise(1, "medium", kind)
    assert one.question.message.format(**one.question.values) in words(app)
    table = tables(app)[0]
    assert list(table["Size"]) == [f"{size:,}" for size in one.sizes().values()]
    assert not app.success
    assert "= " not in words(app) or one.miscount


def test_a_right_answer_gets_the_worked_solution_and_counts() -> None:
    app = answer(open_app(PAGE, exercise="4"), "2,590")
    assert "Right" in said(app)
    assert "embeddings · word: $H V = 10 \\cdot 10 = 100$" in words(app)
    assert "**1 of 10** right" in words(app)
    assert "✓ 4" in words(app)


def test_a_rounded_answer_counts() -> None:
    app = answer(open_app(PAGE, exercise="4"), "2.59k")
    assert "2,590" in said(app)
    assert "**1 of 10** right" in words(app)


def test_a_wrong_answer_gets_a_diagnosis_and_no_solution() -> None:
    app = answer(open_app(PAGE, exercise="4"), "2,480")  # without the pooler's 110
    assert said(app).startswith("**Not yet.** This is the result if the pooler is left out")
    assert "$" not in words(app).split("## ")[1]
    assert "**0 of 10** right" in words(app)
    assert "✗ 4" in words(app)


def test_letters_of_the_model_can_be_typed() -> None:
    assert "Right" in said(answer(open_app(PAGE, exercise="7"), "2 B S H I"))


def test_what_cannot_be_read_is_explained_and_does_not_count() -> None:
    app = answer(open_app(PAGE, exercise="4"), "*two* [x](y)")
    assert app.warning
    assert "`*two* [x](y)`" in said(app)
    assert "✗" not in words(app)
    answer(app, " ")
    assert messages(app) == ["There is no answer yet."]


def test_answers_stay_on_the_way_through_the_sheet_and_belong_to_it() -> None:
    app = answer(open_app(PAGE), "10*10")
    button(app, "Next").click().run()
    assert not app.text_input[0].value
    assert not app.success
    button(app, "Previous").click().run()
    assert str(app.text_input[0].value) == "10*10"
    assert "Right" in said(app)
    app.number_input(key="seed").set_value(2).run()
    assert not app.success
    assert "**0 of 10** right" in words(app)
    app.number_input(key="seed").set_value(1).run()
    assert "**1 of 10** right" in words(app)


def test_the_same_sheet_about_another_family_has_answers_of_its_own() -> None:
    app = answer(open_app(PAGE), "10*10")
    app.selectbox(key="architecture").set_value("AlbertModel").run()
    assert not app.text_input[0].value
    assert not messages(app)
    assert "**0 of 10** right" in words(app)
    app.selectbox(key="architecture").set_value("BertModel").run()
    assert str(app.text_input[0].value) == "10*10"
    assert "Right" in said(app)


def test_fields_are_chosen() -> None:
    app = open_app(PAGE, exercise="9")
    pills(app).set_value(["pad_token_id", "vocab_size"])
    button(app, "Check answer").click().run()
    assert said(app) == "**Not yet.** No effect here: pad_token_id."
    pills(app).set_value(["vocab_size"])
    button(app, "Check answer").click().run()
    assert "Right" in said(app)


def test_the_worked_count_is_shown_and_the_line_is_asked_for() -> None:
    app = open_app(PAGE, exercise="10")
    assert "encoder · attention: $4 \\cdot 4^{2} \\cdot 2 = 128$" in words(app)
    assert "160" not in words(app)
    assert "Right" in said(answer(app, "160"))


def test_the_teachers_link_shows_the_solutions() -> None:
    for number in NUMBERS:
        app = open_app(PAGE, exercise=number, solutions="true", level="hard", seed="4")
        assert re.search(r"^\*\*.*\*\*\n\n- .*: \$", words(app), re.MULTILINE) or number == "9"


def test_the_whole_sheet_is_there_for_paper() -> None:
    papers = [
        str(one.value)
        for language in LANGUAGES
        for one in drawn(open_app(PAGE, seed="7", lang=language)).markdown
        if str(one.value).startswith("# ")
    ]
    for language, paper in zip(LANGUAGES, papers, strict=True):
        for one in sheet(7, "easy"):
            assert fill(catalogue(language).gettext, one.question) in paper
        assert "____" in paper


def test_nobody_waits_for_the_sheet_on_paper() -> None:
    assert not [text.value for text in open_app(PAGE).markdown if text.value.startswith("# ")]


def test_an_impossible_seed_is_explained_and_the_nearest_taken() -> None:
    app = open_app(PAGE, seed="1000000")
    assert "Worksheet number 1,000,000 is invalid" in app.error[0].value
    assert f"`{exercise(999_999, 'easy', 'tensor').question.values['name']}`" in words(app)
    button(app, "Worksheet number = 999,999").click().run()
    assert not app.error
    assert app.number_input(key="seed").value == 999_999


def test_a_link_with_what_cannot_be_is_named() -> None:
    app = open_app(PAGE, level="impossible", exercise="11", seed="x", solutions="maybe")
    assert len(texts(app)) == 4


def test_a_new_sheet_is_another_one() -> None:
    app = open_app(PAGE, exercise="3")
    button(app, "New worksheet").click().run()
    assert app.number_input(key="seed").value != 1
    assert "## 1 · " in words(app)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", ["4", "5"])
@pytest.mark.parametrize("before", [{}, {"is_decoder": "true", "hidden_act": "relu", "add_pooling_layer": "false"}])
def test_the_model_of_an_exercise_can_be_opened(level: Any, number: str, before: dict[str, str]) -> None:
    app = open_app(PAGE, exercise=number, level=level, **before)
    one = sheet(1, level)[int(number) - 1]
    track = app.session_state["track"]
    mine = track.present
    button(app, "Use this model").click().run()
    assert not app.exception
    choice = app.session_state["track"].present
    assert (choice.config, choice.architecture) == (one.config, one.model.architecture)
    assert choice.add_pooling_layer
    assert any("Undo" in caption.value for caption in app.caption)
    track.undo()  # as the panel does for Ctrl+Z: see tests/pages/test_panel.py
    assert track.present == mine


@pytest.mark.parametrize("solutions", [True, False])
@pytest.mark.parametrize("level", LEVELS)
def test_the_sheet_is_the_same_in_every_language(level: Any, solutions: bool) -> None:
    chosen = ChosenSheet(level, 5, solutions, page="https://example.org/exercises")
    sheets = [printable(chosen, catalogue(language).gettext) for language in LANGUAGES]
    for one, other in zip(*(document.items for document in sheets), strict=True):
        for lines, others in ((one.worked_lines, other.worked_lines), (one.solution, other.solution)):
            assert [line.partition("$")[2] for line in lines] == [line.partition("$")[2] for line in others]
        assert (one.answer, one.options, one.sizes) == (
            other.answer.replace("字节", "bytes"),
            other.options,
            other.sizes,
        )
    for document in sheets:
        assert "/exercises?level=" in document.note
        check_latex(documents.latex(document, solutions=solutions, chinese=True))
        text = documents.markdown(document, solutions=solutions)
        assert text.count("$") % 2 == text.count("`") % 2 == 0
        assert len(re.findall("^## ", text, re.MULTILINE)) == len(KINDS)


@pytest.mark.parametrize(("by", "number"), [(-1, NUMBERS[0]), (1, NUMBERS[-1])])
def test_a_key_that_outruns_the_page_stays_on_the_sheet(by: int, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"exercise": number}
    monkeypatch.setattr("streamlit.session_state", state)
    answering._move(by)
    assert state == {"exercise": number}
