"""The Change page: recipes, steps that are added, edited, moved and removed, and what they do."""

import pytest

from bertcalc import BertConfig, Lora
from bertcalc.change_steps.effects import changed_models
from bertcalc.change_steps.recipes import RECIPES
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.memory.devices import DEVICES, KEPT_FREE, Device
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from tests.adapters import Adapter
from tests.oracle import Case
from tests.pages.apptest import open_app, texts

LORA = "lora,target_modules=query+value,task_type=SEQ_CLS"


def test_a_link_shows_what_peft_prints(capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=LORA)
    case = Case(app.session_state["track"].present.config, "BertForSequenceClassification")
    adapter = Adapter(Lora, {"target_modules": ["query", "value"], "task_type": "SEQ_CLS"})
    real = adapter.added(case.real())
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
    assert app.text_input(key="changes").value == (
        "vocabulary,new_num_tokens=15261;lora,target_modules=query+value,task_type=SEQ_CLS"
    )
    app.number_input(key="argument 1 lora r").set_value(32).run()
    assert app.metric[1].value == f"{4 * 32 * 768 * 12 + 2 * 769:,}"
    app.button(key="up 1").click().run()
    assert str(app.text_input(key="changes").value).startswith("lora,r=32")
    app.button(key="remove 0").click().run()
    assert app.text_input(key="changes").value == "vocabulary,new_num_tokens=15261"


@pytest.mark.parametrize("changes", [LORA, "layers,layers=1+3+5+7+9+11", "vocabulary,new_num_tokens=9000;bitfit"])
def test_the_largest_batch_fits_and_one_more_does_not(changes: str) -> None:
    link = {"device_memory": "RTX-4060-8GB", "sequence_length": "256", "training_dtype": "amp-bf16"}
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=changes, **link)
    shown = next(metric for metric in app.metric if metric.label == "Largest batch of 256 tokens")
    device, plan = Device("", DEVICES["RTX-4060-8GB"], round(KEPT_FREE * 2**30)), Plan("amp-bf16")
    models, _problem = changed_models(Model(BertConfig(), "BertForSequenceClassification"), read_steps(changes))
    before = int(str(shown.delta).removesuffix(" before the steps"))
    for model, number in ((models[0].model, before), (models[-1].model, int(shown.value))):
        peaks = [peak_bytes(model, plan, batch, 256) for batch in (number, number + 1)]
        assert [device.needed(peak) <= device.usable for peak in peaks] == [True, False]
    assert app.success[0].value.startswith("**Fits:** 1 × 256 tokens")
    many = open_app("change.py", architecture="BertForSequenceClassification", changes=changes, batch_size="99", **link)
    assert many.error[0].value.startswith("**Does not fit:** 99 × 256 tokens")


@pytest.mark.parametrize("page", ["memory.py", "compare.py"])
def test_another_page_says_that_it_leaves_the_steps_out(page: str) -> None:
    for changes in ("", LORA):
        app = open_app(page)
        app.session_state["changes"] = changes  # what a visit of the other page leaves
        links = [link.proto.page for link in app.run().get("page_link")]
        assert ("change" in links) == bool(changes)


def test_a_wrong_argument_is_told_beside_its_step_and_the_last_value_stays() -> None:
    app = open_app("change.py", changes="lora,target_modules=query+value")
    app.number_input(key="argument 0 lora r").set_value(0).run()
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


def test_a_file_that_cannot_be_written_has_a_dash_and_the_reason() -> None:
    app = open_app("change.py", preset="nomic-embed-text-v1.5", changes="bitsandbytes,load_in_8bit=true")
    assert not app.exception
    assert app.metric[3].value == "–"
    assert any("scalars" in caption.value for caption in app.caption)
