"""The Change page: recipes, steps that are added, edited, moved and removed, and what they do."""

import pytest

from bertcalc import Lora
from bertcalc.change_steps.recipes import RECIPES
from tests.changes.adapters import Adapter
from tests.changes.test_adapters import adapted
from tests.oracle import Case
from tests.pages.apptest import open_app, slide, texts

LORA = "lora,target_modules=query+value,task_type=SEQ_CLS"


def test_a_link_shows_what_peft_prints(capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=LORA)
    case = Case(app.session_state["track"].present.config, "BertForSequenceClassification")
    real = adapted(case, Adapter(Lora, {"target_modules": ["query", "value"], "task_type": "SEQ_CLS"}))
    real.print_trainable_parameters()
    assert app.code[0].value == capsys.readouterr().out.strip()
    assert [metric.value for metric in app.metric][:2] == ["109,780,228", "296,450"]
    assert app.latex[1].value.strip("$\n ") == "N_t = C H + C + 4 H L r"


@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_a_recipe_is_one_click_away(number: int) -> None:
    app = open_app("change.py")
    recipe = RECIPES[number]
    app.button(key=f"recipe {recipe.title}").click().run()
    assert not app.exception
    assert not app.error
    assert app.text_input(key="changes").value == recipe.steps
    present = app.session_state["track"].present
    assert (present.preset, present.architecture) == (recipe.preset, recipe.architecture)
    assert len(app.table[0].value) == 2


def test_steps_are_added_edited_moved_and_removed() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification")
    for kind in ("vocabulary", "lora"):
        app.button(key=f"add {kind}").click().run()
    assert app.text_input(key="changes").value == "vocabulary,new_num_tokens=30000;lora,target_modules=query+value"
    slide(app, "1 r", "32")
    assert app.metric[1].value == f"{4 * 32 * 768 * 12:,}"
    app.button(key="up 1").click().run()
    assert str(app.text_input(key="changes").value).startswith("lora,r=32")
    app.button(key="remove 0").click().run()
    assert app.text_input(key="changes").value == "vocabulary,new_num_tokens=30000"


def test_a_wrong_argument_is_told_beside_its_step_and_the_last_value_stays() -> None:
    app = open_app("change.py", changes="lora,target_modules=query+value")
    slide(app, "0 r", "0")
    assert app.error[0].value == "r 0 is not possible: it must be a whole number from 1 to 65,536."
    assert app.text_input(key="changes").value == "lora,target_modules=query+value"
    app.text_input(key="argument 0 lora target_modules").set_value("qurey+").run()
    assert "No module of BertModel is one of the target_modules qurey" in app.error[0].value
    assert app.metric[0].value == "109,482,240"


def test_a_wrong_link_is_told() -> None:
    app = open_app("change.py", changes="lorra,r=3")
    assert app.text_input(key="changes").value == ""
    assert "must be steps such as lora,r=8" in " ".join(texts(app))


@pytest.mark.parametrize("pattern", ["(", "*", "([a-z_.]*)*%23"])
def test_a_link_with_a_wrong_pattern_is_told(pattern: str) -> None:
    app = open_app("change.py", changes=f"lora,target_modules={pattern}")
    assert not app.exception
    assert "must be steps such as lora,r=8" in " ".join(texts(app))
