"""The Compute page: its figures agree with PyTorch and the literature, and impossible settings are explained."""

import re
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import ARCHITECTURES, BertConfig, ModernBertConfig
from bertcalc.compute.conventions import RULES
from bertcalc.families import PRESETS
from bertcalc.forward.outputs import Call
from bertcalc.model.model import Model
from bertcalc.proof.flop_proof import compare, prove
from bertcalc.text.digits import duration, scaled
from pages.ui.compute.count import VIEW
from tests.compute.test_flops import real_flops
from tests.oracle import Case
from tests.pages.apptest import button, open_app, tables, without_marks

TITLES = {"utilisation": "Utilization"}  # links keep the original spelling


def figures(app: AppTest) -> list[str]:
    return [str(metric.value) for metric in app.metric]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_figures_are_those_that_pytorch_counts(architecture: str) -> None:
    app = open_app("compute.py", architecture=architecture, num_hidden_layers="2", batch_size="2", sequence_length="16")
    modules, forward, both = real_flops(Case(BertConfig(num_hidden_layers=2), architecture), Call(2, 16))
    choices = 2 if architecture.endswith("MultipleChoice") else 1
    assert figures(app) == [f"{forward:,}", f"{round(forward / (32 * choices)):,}", f"{both:,}"]
    assert len(modules) > 15
    assert not app.error


def test_the_table_has_every_module_with_its_formula() -> None:
    app = open_app("compute.py", modules="true")
    table = tables(app)[0]
    modules, forward, _both = real_flops(Case(BertConfig()), Call(1, 128))
    shown = dict(zip(table["Module"], table["Per copy, FLOPs"], strict=True))
    assert shown["`BertModel`"] == f"{forward:,}"
    assert shown["`encoder.layer.*`"] == f"{modules['encoder.layer.0']:,}"
    assert shown["`attention.self`"] == f"{modules['encoder.layer.0.attention.self']:,}"
    formulas = dict(zip(table["Module"], table["Formula per copy"], strict=True))
    assert formulas["`attention.self.scores`"] == "$2 B H S^{2}$"
    assert formulas["`pooler.dense`"] == "$2 B H^{2}$"


def axis(app: AppTest) -> float:
    """The end of the axis of the bars."""
    [chart] = [one for one in app.session_state["shown"] if one.spec]
    return float(chart.data["limit"][0])


def test_bars_in_another_unit_have_an_axis_of_their_own() -> None:
    app = open_app("compute.py")
    flops = axis(app)
    app.session_state["unit"] = "MACs"
    assert axis(app.run()) == axis(open_app("compute.py", unit="MACs")) < flops


def test_the_conventions_change_the_figures_and_say_so() -> None:
    plain = [int(figure.replace(",", "")) for figure in figures(open_app("compute.py", architecture="BertForMaskedLM"))]
    app = open_app("compute.py", architecture="BertForMaskedLM", unit="MACs")
    assert [2 * int(figure.replace(",", "")) for figure in figures(app)] == plain
    assert "multiply-adds only" in app.caption[0].value
    app = open_app("compute.py", architecture="BertForMaskedLM", operations="all", logits="masked", training="4x")
    said = app.caption[0].value
    assert "element-wise" in said
    assert "15 %" in said
    assert "second forward pass" in said


def test_logits_are_a_choice_only_where_there_are_any() -> None:
    assert "logits" not in [control.key for control in open_app("compute.py").get("button_group")]
    assert "logits" not in open_app("compute.py", logits="masked").caption[0].value


@pytest.mark.parametrize("training", ["3x", "4x"])
def test_pytorch_counts_the_same(training: str) -> None:
    app = open_app("compute.py", pytorch="true", training=training, num_hidden_layers="2", sequence_length="16")
    config = BertConfig(num_hidden_layers=2)
    modules, forward, both = real_flops(Case(config), Call(1, 16), recompute=training == "4x")
    folded = {name.replace(".1", ".0") for name in modules}
    assert f"{forward:,} FLOPs in the forward pass, {both:,} including the backward pass" in app.success[0].value
    assert f"{len(folded):,} modules" in app.success[0].value


def test_a_difference_is_shown() -> None:
    real = Case(BertConfig(num_hidden_layers=1)).real()
    counts = compare(
        {"": 3, "pooler": 2, "pooler.scores": 1}, {"BertModel": 3, "BertModel.pooler": 1, "Global": 3}, real, "bert"
    )
    assert [(count.name, count.ours, count.theirs) for count in counts] == [("BertModel", 3, 3), ("pooler", 2, 1)]


def test_a_proof_of_cross_attention_covers_it() -> None:
    config = BertConfig(num_hidden_layers=1, is_decoder=True, add_cross_attention=True)
    proof = prove(Model(config, "BertLMHeadModel"), Call(2, 8, 5), recompute=True)
    assert not proof.differences
    assert "encoder.layer.*.crossattention.self" in [count.name for count in proof.modules]


def test_the_crossover_is_shown_with_its_formula() -> None:
    said = without_marks(str(open_app("compute.py", compute="length", intermediate_size="1024").markdown[1].value))
    assert "$S = I$ = 1,024" in said
    assert "$S = 2 H + I$ = 2 · 768 + 1,024 = 2,560" in said


def test_every_convention_is_named_with_its_figure() -> None:
    app = open_app("compute.py", compute="conventions", rule="calflops")
    table = tables(app)[0]
    assert [name.split("*")[2] for name in table["Convention"]] == ["PyTorch", "PyTorch", *RULES]
    pytorch = real_flops(Case(BertConfig(), "BertModel"), Call(1, 128))[1:]
    assert [*table["FLOPs"][:2]] == [f"{flops:,}" for flops in pytorch]
    shown = dict(zip(table["Convention"], table["FLOPs"], strict=True))
    assert shown["**calflops**, forward"].startswith("22,363,")  # its README: 22.363 GFLOPs
    captions = " ".join(str(caption.value) for caption in app.caption)
    assert "22.363 GFLOPs" in captions
    assert "calculate-flops.pytorch" in captions
    costs = tables(app)[1]
    assert len(costs) == 7


def test_time_and_price_are_those_of_the_devices() -> None:
    link = {"architecture": "BertForPreTraining", "batch_size": "256", "device": "A100", "devices": "16"}
    app = open_app("compute.py", compute="time", utilisation="50", price="1.5", **link)
    flops = 10**6 * real_flops(Case(BertConfig(), "BertForPreTraining"), Call(256, 128))[2]
    hours = flops / (16 * 312e12 * 0.5) / 3600
    assert figures(app)[1:] == [f"{hours:,.1f} h", f"{hours * 16 * 1.5:,.2f} USD"]
    assert [metric.delta for metric in app.metric][1:] == [
        f"{hours * 3600:,.0f} s",
        f"{hours * 16:,.3f} h × 1.5 USD",
    ]
    table = tables(app)[0]
    assert list(table["Time reported"]) == ["4.0 d", "4.0 d", "81.4 h", "76.2 min"]
    tokens = open_app("compute.py", compute="time", budget="tokens", tokens=str(256 * 128 * 10**6), **link)
    assert figures(tokens)[0] == figures(app)[0]
    sequences = open_app("compute.py", compute="time", budget="sequences", sequences=str(256 * 10**6), **link)
    assert figures(sequences)[0] == figures(app)[0]


@pytest.mark.parametrize(
    ("name", "text", "nearest"),
    [("utilisation", "0", "1"), ("utilisation", "101", "100"), ("devices", "-4", "1"), ("steps", "0", "1")],
)
def test_an_impossible_number_is_explained_and_the_nearest_taken(name: str, text: str, nearest: str) -> None:
    app = open_app("compute.py", compute="time", **{name: text})
    assert app.error[0].value.startswith(f"{TITLES.get(name, name.capitalize())} {text.replace('-', '−')} is invalid")
    assert figures(app) == figures(open_app("compute.py", compute="time", **{name: nearest}))


def test_a_format_that_a_device_does_not_have_is_explained() -> None:
    app = open_app("compute.py", compute="time", device="TPU-v3", format="fp32")
    assert app.error[0].value == "TPU v3 does not support FP32 matrix products: use 16-bit."
    button(app, "Precision = 16-bit").click().run()
    assert not app.error


def test_a_short_run_takes_some_time_and_costs_something() -> None:
    app = open_app("compute.py", compute="time", steps="1", devices="1", utilisation="100", device="H100", price="0.01")
    figures = {one.label: (one.value, one.delta) for one in app.metric}
    said = [*figures["Time"], *figures["Price"]]
    assert [text for text in said if re.match(r"0(\.0*)? ", text)] == []


def test_a_negative_price_is_explained() -> None:
    app = open_app("compute.py", compute="time", price="-1")
    assert app.error[0].value.startswith("Price −1 is invalid")
    assert figures(app)[2] == "0.00 USD"


def test_too_long_a_sequence_is_explained_and_the_last_stays() -> None:
    app = open_app("compute.py")
    before = figures(app)
    app.number_input(key="sequence_length").set_value(-1).run()
    assert "Sequence length −1 is invalid" in app.error[0].value
    assert figures(app) == before


def test_relative_positions_are_counted_though_pytorch_cannot() -> None:
    app = open_app("compute.py", position_embedding_type="relative_key", pytorch="true")
    assert "no longer supports" in app.info[0].value
    assert int(figures(app)[0].replace(",", "")) > 22_348_431_360


@pytest.mark.parametrize("view", VIEW.options)
@pytest.mark.parametrize("architecture", ["BertForQuestionAnswering", "BertForMultipleChoice", "BertLMHeadModel"])
def test_every_view_of_every_kind_of_model_comes_up(view: str, architecture: str) -> None:
    link = {"architecture": architecture, "is_decoder": "true", "add_cross_attention": "true", "num_labels": "5"}
    app = open_app("compute.py", compute=view, operations="all", training="4x", encoder_sequence_length="40", **link)
    if architecture == "BertForQuestionAnswering":
        assert "cannot run with num_labels 5" in str(app.error[0].value)
        button(app, "num_labels = 2").click().run()
    assert not app.error


def test_a_class_without_a_loss_has_no_time_of_training() -> None:
    link = {"preset": "albert-base-v2", "architecture": "AlbertForPreTraining", "num_labels": "3"}
    assert "cannot be trained with num_labels 3" in str(open_app("compute.py", compute="time", **link).error[0].value)
    app = open_app("compute.py", compute="forward", **link)
    assert not app.error
    assert len(app.metric) == 2


def test_numbers_have_units_of_their_size() -> None:
    assert scaled(22_348_431_360, "FLOPs") == "22.35 GFLOPs"
    assert scaled(999, "FLOPs") == "999 FLOPs"
    assert scaled(10**30, "FLOPs") == "1,000,000 YFLOPs"
    assert [duration(seconds) for seconds in (90, 7000, 86400 * 2, 86400 * 30)] == [  # type: ignore[arg-type]
        "90.0 s",
        "116.7 min",
        "48.0 h",
        "30.0 d",
    ]


def test_training_opens_with_the_pre_training_of_bert() -> None:
    """Devlin et al. 2019, appendix A.2, train for 1,000,000 steps of 256 sequences with 512 tokens."""
    app = open_app("compute.py", compute="time", architecture="BertForPreTraining")
    controls = ("trained_batch", "trained_length", "steps")
    assert [app.number_input(key=key).value for key in controls] == [256, 512, 1_000_000]
    step = real_flops(Case(BertConfig(), "BertForPreTraining"), Call(256, 512))[2]
    assert app.metric[0].delta == f"{step * 10**6:,}"
    [formula] = [text for text in map(str, (one.value for one in app.markdown)) if "displaystyle t" in text]
    assert formula.count("≈") == 2  # its figures are rounded: calculating with them does not give the exact time
    assert "$ =" not in formula
    assert str(app.metric[1].value).endswith(" h")  # hours on the default of eight devices, not minutes


def test_training_takes_the_batch_that_another_view_was_told() -> None:
    app = open_app("compute.py", batch_size="32")
    app.segmented_control(key="compute").set_value("time").run()
    assert [app.number_input(key=key).value for key in ("trained_batch", "trained_length")] == [32, 128]


def test_what_depends_on_the_labels_is_not_shown_as_a_number() -> None:
    """With sparse_prediction, the head runs only on labelled tokens. PyTorch's count depends on the batch."""
    name = "ModernBERT-base"
    preset = PRESETS[name]
    sparse = preset._replace(config=ModernBertConfig(sparse_prediction=True))
    with patch.dict(PRESETS, {name: sparse}):
        model = {"preset": name, "architecture": "ModernBertForMaskedLM"}
        assert len(figures(open_app("compute.py", **model))) == 2
        app = open_app("compute.py", **{VIEW.name: "time"}, **model)
        assert not figures(app)
        assert "depend on how many tokens have a label" in app.error[0].value


def test_training_says_that_it_has_a_batch_of_its_own() -> None:
    app = open_app("compute.py", compute="time")
    captions = " ".join(str(caption.value) for caption in app.caption)
    assert "A training run has its own batch (256 × 512)" in captions
    assert "The other views of this page use 1 × 128." in captions
    app = open_app("compute.py", compute="time", batch_size="32")
    assert "its own batch" not in " ".join(str(caption.value) for caption in app.caption)


def test_the_view_of_conventions_has_no_choice_that_changes_nothing() -> None:
    """It counts as PyTorch does. The choice made in another view is kept for that view."""
    app = open_app("compute.py", unit="MACs")
    before = figures(app)
    app.session_state["compute"] = "conventions"
    app.run()
    assert not {"unit", "operations", "training"} & {control.key for control in app.get("button_group")}
    assert tables(app)[0].equals(tables(open_app("compute.py", compute="conventions"))[0])
    app.session_state["compute"] = "forward"
    assert figures(app.run()) == before


def test_too_high_a_price_is_explained_and_the_highest_taken() -> None:
    app = open_app("compute.py", compute="time", price="2000000")
    assert app.error[0].value.startswith("Price 2,000,000 is invalid")
    assert figures(app) == figures(open_app("compute.py", compute="time", price="1000000"))


def test_the_axis_of_lengths_has_room_for_every_mark() -> None:
    app = open_app("compute.py", compute="length", sequence_length="64")
    [chart] = [element for element in app.session_state["shown"] if element.spec]
    marks = [text for text in chart.data["text"] if text]
    assert {"S = 64", "max_position_embeddings = 512"} <= {*marks}
    assert len(marks) == 4  # with two crossovers
