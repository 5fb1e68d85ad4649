"""The Change page: recipes, steps that are added, edited, moved and removed, and their effects."""

from typing import Any

import pytest

from bertcalc import BertConfig, Lora, training_peak_bytes
from bertcalc.change_steps.effects import changed_models
from bertcalc.change_steps.first_steps import first_step
from bertcalc.change_steps.recipes import RECIPES, ChangeRecipe
from bertcalc.change_steps.step_texts import KINDS, read_steps, written
from bertcalc.families import class_of
from bertcalc.memory.devices import DEVICES, KEPT_FREE, Device
from bertcalc.memory.optimizers import Precision
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from bertcalc.text.digits import size
from tests.adapters import Adapter
from tests.examples import crossed, sampled
from tests.oracle import Case
from tests.pages.apptest import open_app, showing, slide, tables

CLASSIFIER = Model(BertConfig(), "BertForSequenceClassification")
QLORA = "bitsandbytes,load_in_4bit=true,llm_int8_skip_modules=classifier+;lora,task_type=SEQ_CLS"
INT8 = QLORA.replace("load_in_4bit", "load_in_8bit")
LORA = "lora,target_modules=query+value,task_type=SEQ_CLS"


def test_a_link_shows_what_peft_prints(capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=LORA)
    case = Case(app.session_state["track"].present.config, "BertForSequenceClassification")
    real = Adapter(Lora, {"target_modules": ["query", "value"], "task_type": "SEQ_CLS"}).added(case.real())
    real.print_trainable_parameters()
    assert app.code[0].value == capsys.readouterr().out.strip()
    assert [metric.value for metric in app.metric][:2] == ["109,780,228", "296,450"]
    assert app.latex[1].value.strip("$\n ") == "N_t = C H + C + 4 H L r"


@pytest.mark.parametrize(
    ("recipe", "preset"),
    crossed(3, RECIPES, ["bert-base-uncased", "bert-large-uncased", "gpt2", "ModernBERT-base", "albert-base-v2"]),
    ids=lambda value: value.title if isinstance(value, ChangeRecipe) else value,
)
def test_a_recipe_keeps_the_model_and_is_undone_in_one_step(recipe: ChangeRecipe, preset: str) -> None:
    app = open_app("change.py", preset=preset)
    before = app.session_state["track"].present
    if (recipe.steps, preset) == ("torch_dynamic", "gpt2"):  # all of its layers are Conv1D
        assert app.button(key=f"recipe {recipe.title}").disabled
        return
    app.button(key=f"recipe {recipe.title}").click().run()
    assert not app.exception
    assert not app.error
    after = app.session_state["track"].present
    assert (after.preset, after.config) == (before.preset, before.config) or after.preset == recipe.preset
    task = class_of(recipe.architecture or before.architecture).task
    assert class_of(after.architecture).task == task
    assert showing(app.text_input, "changes").value == recipe.steps_for(after.model())
    assert len(tables(app)[0].columns) == 3 + recipe.steps.count(";")
    assert not recipe.device or app.selectbox(key="device_memory").value == recipe.device
    app.session_state["track"].undo()
    app.run()
    assert app.session_state["track"].present == before


def test_a_recipe_that_cannot_work_says_why() -> None:
    app = open_app("change.py", num_hidden_layers="1")
    disabled = [button.label for button in app.button if f"{button.key}".startswith("recipe ") and button.disabled]
    assert disabled == ["Half of the layers, as in DistilBERT"]
    assert any("All 1 layers would be dropped" in text.value for text in app.markdown)


def test_steps_are_added_edited_moved_and_removed() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification")
    for kind in ("vocabulary", "lora"):
        app.button(key=f"add {kind}").click().run()
    assert (
        showing(app.text_input, "changes").value
        == "vocabulary,new_num_tokens=15261;lora,target_modules=query+value,task_type=SEQ_CLS"
    )
    slide(app, "1 r", "32")
    assert app.metric[1].value == f"{4 * 32 * 768 * 12 + 1_538:,}"
    app.button(key="up 1").click().run()
    assert str(showing(app.text_input, "changes").value).startswith("lora,r=32")
    app.button(key="remove 0").click().run()
    assert showing(app.text_input, "changes").value == "vocabulary,new_num_tokens=15261"


def test_steps_are_typed_with_spaces() -> None:
    app = open_app("change.py")
    showing(app.text_input, "changes").set_value("layers, layers=3+ ; lora, r=4").run()
    assert not app.error
    assert showing(app.text_input, "changes").value == "layers,layers=3+;lora,r=4"
    assert app.metric[1].value == f"{4 * 2 * (2 * 768) * 11:,}"


def test_a_step_that_has_to_come_earlier_is_added_earlier() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification")
    for kind in ("lora", "bitsandbytes", "layers"):
        app.button(key=f"add {kind}").click().run()
        assert not app.error
    steps = str(showing(app.text_input, "changes").value).split(";")
    assert [step.partition(",")[0] for step in steps] == ["layers", "bitsandbytes", "lora"]


def test_a_wrong_argument_is_told_beside_its_step_and_the_last_value_stays() -> None:
    app = open_app("change.py", changes="lora,target_modules=query+value")
    slide(app, "0 r", "0")
    assert app.error[0].value == "r 0 is invalid: it must be a whole number from 1 to 65,536."
    assert showing(app.text_input, "changes").value == "lora,target_modules=query+value"
    showing(app.text_input, "argument 0 lora target_modules").set_value("(").run()
    assert showing(app.text_input, "argument 0 lora target_modules").value == "("
    assert "target_modules" in app.error[0].value
    assert showing(app.text_input, "changes").value == "lora,target_modules=query+value"
    showing(app.text_input, "argument 0 lora target_modules").set_value("qurey+").run()
    assert len(app.error) == 2  # at the top, and at the step
    for error in app.error:
        assert "No module of BertModel matches target_modules qurey" in error.value
    assert app.metric[0].value == "109,482,240"


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("lorra,r=3", "There is no step 'lorra': did you mean lora?"),
        ("lora,r=0", "r 0 is invalid: it must be a whole number from 1"),
        ("lora,target_modules=(", "target_modules"),
        ("lora,target_modules=([a-z_.]*)*%23", "target_modules"),
        ("layers,layers=40", "layers 40 is invalid: it must be a whole number from 0 to 11"),
        ("bloom", "vocabulary, layers, heads, feed_forward, embeddings, bitsandbytes, torchao_int8, torchao_intx, "),
        ("bloom", "gptq, awq, lora, ia3, prompt_tuning, prefix_tuning, p_tuning, ln_tuning, bitfit."),
    ],
)
def test_a_wrong_link_says_why_and_keeps_the_good_steps(part: str, reason: str) -> None:
    app = open_app("change.py", changes=f"vocabulary,new_num_tokens=20000;{part}")
    assert reason in app.error[0].value.replace("`", "")
    assert app.metric[0].value == f"{109_482_240 - (30_522 - 20_000) * 768:,}"
    assert showing(app.text_input, "changes").value == f"vocabulary,new_num_tokens=20000;{part}"
    slide(app, "0 new_num_tokens", "30000")
    assert f"{showing(app.text_input, 'changes').value}".startswith("vocabulary,new_num_tokens=30000")


def test_the_text_that_is_shown_can_be_pasted_into_an_address() -> None:
    steps = "layers,layers=3+;lora,r=4,target_modules=query+value"
    app = open_app("change.py", changes=steps.replace("+", " "))
    assert not app.error
    assert app.metric[1].value == f"{4 * 4 * 768 * 11:,}"
    assert showing(app.text_input, "argument 0 layers layers").value == "3+"


def test_undo_redo_and_reset_know_the_steps() -> None:
    app = open_app("change.py")
    history = app.session_state["track"]
    app.button(key="add lora").click().run()
    app.button(key="add ia3").click().run()
    for move, steps in ((history.undo, 1), (history.undo, 0), (history.redo, 1)):
        move()
        app.run()
        assert len([button for button in app.button if f"{button.key}".startswith("remove ")]) == steps + bool(steps)
    app.button(key="remove all").click().run()
    assert history.present.changes == ""
    history.undo()
    assert history.present.changes


def test_errors_name_arguments_as_the_library_does() -> None:
    app = open_app("change.py", changes="heads,heads=12")
    assert app.error[0].value.startswith("1 · Prune heads: heads 12 is invalid")
    app.button(key="remove all").click().run()
    app.button(key="add layers").click().run()
    showing(app.text_input, "argument 0 layers layers").set_value("5").run()
    assert not app.error
    assert app.metric[0].value == f"{109_482_240 - 7_087_872:,}"


def test_all_params_are_explained() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=LORA)
    (sentence,) = [text.value for text in app.markdown if text.value.startswith("All 109,780,228")]
    assert all(number in sentence for number in ("109,483,778", "294,912", "1,538", "`classifier`"))


def test_the_chart_shows_differences_between_totals() -> None:
    app = open_app(
        "change.py", changes="vocabulary,new_num_tokens=20000;lora,target_modules=query+value", figure="parameters"
    )
    (chart,) = [one for one in app.session_state["shown"] if one.spec]
    labels = [label for label in chart.data["label"] if label]
    assert labels == ["109,482,240", "−8,080,896", "+294,912", "101,696,256 · 92.9 %"]


def test_a_step_without_a_figure_is_drawn_with_the_next_one() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=QLORA, figure="peak")
    (chart,) = [element for element in app.session_state["shown"] if element.spec]
    names = list(dict.fromkeys(chart.data["name"]))
    assert names == ["BertForSequenceClassification", "bitsandbytes FP4 + LoRA", "Result"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_step_has_controls_and_every_option_can_be_chosen(kind: str) -> None:
    app = open_app(
        "change.py", architecture="BertForSequenceClassification", changes=written([first_step(kind, CLASSIFIER)])
    )
    choices = [control for control in app.selectbox if str(control.key).startswith("argument 0 ")]
    for key, options in [(f"{control.key}", control.options) for control in choices]:
        for option in sampled(options, 2, begin=1):
            showing(app.selectbox, key).select(option).run()
            assert not app.exception
    assert all(type(step) is KINDS[kind] for step in read_steps(str(showing(app.text_input, "changes").value)))


@pytest.mark.parametrize(
    "changes", sampled([LORA, "layers,layers=1+3+5+7+9+11", "vocabulary,new_num_tokens=9000;bitfit", QLORA, INT8], 2)
)
def test_the_largest_batch_fits_and_one_more_does_not(changes: str) -> None:
    link = {"device_memory": "RTX-4060-8GB", "sequence_length": "256", "training_dtype": "amp-bf16"}
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=changes, **link)
    shown = next(metric for metric in app.metric if metric.label == "Largest batch of 256 tokens")
    device, plan = Device("", DEVICES["RTX-4060-8GB"], round(KEPT_FREE * 2**30)), Plan("amp-bf16", fused_dropout=True)
    models, _problem = changed_models(CLASSIFIER, read_steps(changes))
    before = int(str(shown.delta).removesuffix(" without the changes"))
    for model, number in ((models[0].model, before), (models[-1].in_training(plan), int(shown.value))):
        peaks = [peak_bytes(model, plan, batch, 256) for batch in (number, number + 1)]
        assert [device.needed(peak) <= device.usable for peak in peaks] == [True, False]
    assert app.success[0].value.startswith("**Fits:** 1 × 256 tokens")
    many = open_app("change.py", architecture="BertForSequenceClassification", changes=changes, batch_size="99", **link)
    assert many.error[0].value.startswith("**Does not fit:** 99 × 256 tokens")


def test_a_message_of_a_browser_that_has_not_drawn_an_undone_argument_leaves_it() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=LORA)
    before = app.session_state["track"].present
    showing(app.selectbox, "argument 0 lora task_type").select("TOKEN_CLS").run()
    shown = app._tree.get_widget_states()
    assert app.session_state["track"].present != before
    app.session_state["track"].undo()
    app.run()
    app._run(shown)
    assert app.session_state["track"].present == before


def test_gradient_checkpointing_is_one_choice_away() -> None:
    link = {"architecture": "BertForSequenceClassification", "changes": LORA}
    peaks = []
    for recompute in ("none", "full"):
        app = open_app("change.py", recompute=recompute, **link)
        (metric,) = [metric for metric in app.metric if metric.label == "Training step"]
        peaks.append(str(metric.value))
    lora = changed_models(CLASSIFIER, read_steps(LORA))[0][-1].model
    arguments: dict[str, Any] = {"keep_outputs": False, "fused_dropout": True}
    expected = [training_peak_bytes(lora, 1, 128, recompute=kind, **arguments) for kind in ("none", "full")]
    assert peaks == [size(count).split(" (")[0] for count in expected]
    assert any(
        "`training_peak_bytes(keep_outputs=False, fused_dropout=True)`" in caption.value for caption in app.caption
    )


def test_the_attention_of_the_memory_page_is_kept() -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", attention="fused", changes=LORA)
    assert app.selectbox(key="attention").value == "fused"
    (metric,) = [metric for metric in app.metric if metric.label == "Training step"]
    lora = changed_models(CLASSIFIER, read_steps(LORA))[0][-1].model
    peak = training_peak_bytes(lora, 1, 128, attention="fused", keep_outputs=False, fused_dropout=True)
    assert metric.value == size(peak).split(" (")[0].replace(".0 ", " ")
    deberta = open_app("change.py", preset="microsoft/deberta-v3-base", attention="fused", changes=LORA)
    assert any("eager attention is counted instead" in caption.value for caption in deberta.caption)


def test_the_largest_change_can_be_that_of_the_flops() -> None:
    """Halving the feed-forward network saves a third of a layer's products, but a quarter of all parameters."""
    app = open_app("change.py", changes="feed_forward,intermediate_size=1536")
    assert "**Forward FLOPs**" in [markdown.value for markdown in app.markdown]


def test_the_largest_change_is_not_that_of_the_trained_parameters() -> None:
    """LoRA trains a 370th of the parameters, which has its own line. The peak memory falls as well."""
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=LORA)
    assert "**Training step**" in [markdown.value for markdown in app.markdown]


@pytest.mark.parametrize(("threshold", "outliers"), [("6.0", True), ("0.0", False)])
def test_int8_says_what_its_layers_hold(threshold: str, outliers: bool) -> None:
    app = open_app("change.py", changes=f"bitsandbytes,load_in_8bit=true,llm_int8_threshold={threshold};lora,r=4")
    (caption,) = (caption.value for caption in app.caption if "keep their inputs" in caption.value)
    assert ("outliers" in caption) == outliers


@pytest.mark.parametrize("page", ["", "memory.py", "sweep.py"])
def test_another_page_says_that_it_leaves_the_steps_out(page: str) -> None:
    for changes in ("", LORA):
        app = open_app(page, changes=changes) if changes else open_app(page)
        links = [link.proto.label for link in app.get("page_link")]
        assert ("This page omits the steps of the Change page →" in links) == bool(changes)


def test_a_file_that_cannot_be_written_has_a_dash_and_the_reason() -> None:
    app = open_app("change.py", preset="nomic-embed-text-v1.5", changes="bitsandbytes,load_in_8bit=true")
    assert not app.exception
    assert "File" not in [metric.label for metric in app.metric]
    assert any("scalars" in caption.value for caption in app.caption)


@pytest.mark.parametrize(
    ("changes", "dtype", "explained"),
    [(QLORA, "amp-fp16", True), (QLORA, "fp32", False), (INT8, "amp-fp16", False), (LORA, "amp-fp16", False)],
)
def test_a_4_bit_layer_needs_more_memory_for_a_sequence_where_the_page_says_so(
    changes: str, dtype: Precision, explained: bool
) -> None:
    app = open_app("change.py", architecture="BertForSequenceClassification", changes=changes, training_dtype=dtype)
    captions = " ".join(str(caption.value) for caption in app.caption)
    assert ("A sequence therefore needs more memory than with the adapter alone" in captions) == explained
    if changes == QLORA:
        plan = Plan(dtype)
        models = [changed_models(CLASSIFIER, read_steps(steps))[0][-1].in_training(plan) for steps in (LORA, QLORA)]
        adapter, packed = (peak_bytes(model, plan, 65, 128) - peak_bytes(model, plan, 64, 128) for model in models)
        assert (packed > adapter) == explained
