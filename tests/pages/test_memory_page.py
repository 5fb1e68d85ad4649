"""The Memory page: its figures agree with the core and PyTorch, and impossible settings are explained."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import ARCHITECTURES, BertConfig, load
from bertcalc.charts.colors import BACKGROUND, INK
from bertcalc.charts.labels import FONT
from bertcalc.charts.memory_charts import AREA_COLORS, stacked_bar, step_areas
from bertcalc.explore.model_values import model_of_preset
from bertcalc.families.presets import PRESETS
from bertcalc.forward.outputs import Call
from bertcalc.memory.devices import DEVICES
from bertcalc.memory.peak import UNKNOWN
from bertcalc.memory.peak.peak_formulas import peak, peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.text.digits import scaled, size
from bertcalc.text.problem import Problem
from pages.ui.memory.stack_bar import AREA_WORDS
from tests.compute.test_flops import real_flops
from tests.examples import sampled
from tests.memory.test_saved import seen_bytes
from tests.oracle import Case, arguments
from tests.pages.apptest import captions, charts, column, open_app, tables, texts

CUDA = Plan(fused_dropout=True)  # the page's default


def memory(view: str, **link: str) -> AppTest:
    return open_app("memory.py", memory=view, **link)


def test_weights_have_both_units() -> None:
    app = memory("weights")
    assert column(app, "Bytes") == ["437,928,960", "218,964,480", "109,482,240", "54,741,120"]
    assert column(app, "MB")[0] == "437.9 MB"
    assert column(app, "MiB")[0] == "417.6 MiB"


def test_mebi_parameters_are_no_megabytes() -> None:
    """A public write-up calls 75,641,856 parameters 72.1 MB.

    The test makes this mistake with the model's own count.
    """
    [said] = [caption.value for caption in memory("weights").caption if "common mistake" in caption.value]
    said = re.sub("<[^>]*>", "", said)
    assert '"104.4 MB"' in said
    assert "437.9 MB (417.6 MiB)" in said


def test_what_amp_is_is_said_where_it_is_chosen() -> None:
    assert "**AMP bfloat16**: Automatic mixed precision" in open_app("memory.py").selectbox(key="training_dtype").help


@pytest.mark.parametrize(
    ("training_dtype", "bytes_a_parameter"), [("fp32", "16.00"), ("mixed-18", "18.00"), ("mixed-16", "16.00")]
)
def test_adams_bytes_a_parameter(training_dtype: str, bytes_a_parameter: str) -> None:
    app = memory("training", training_dtype=training_dtype)
    assert app.metric[1].value == f"{bytes_a_parameter} bytes per parameter"


PRESETS_WITH_PEAKS = [
    "albert-base-v2",
    "distilbert-base-uncased",
    "electra-small-discriminator",
    "all-mpnet-base-v2",
    "ernie-3.0-base-zh",
    "gpt2",
    "ModernBERT-base",
    "nomic-embed-text-v1.5",
    "gte-multilingual-base",
    "EuroBERT-210m",
    "deberta-base",
    "deberta-v3-base",
    "deberta-v2-xlarge",  # with a convolution
]


@pytest.mark.parametrize(("view", "preset"), sampled(product(["training", "inference"], PRESETS_WITH_PEAKS), 2))
def test_the_peaks_of_every_family_are_those_of_the_core(view: str, preset: str) -> None:
    how = CUDA if view == "training" else Inference()
    model = model_of_preset(preset)
    small = model.changed(config=replace(model.config, num_hidden_layers=2))
    app = memory(view, preset=preset, num_hidden_layers="2")
    assert texts(app) == []
    assert app.metric[0].value == size(peak_bytes(small, how, 1, 128))


def test_what_is_frozen_has_no_gradient() -> None:
    app = memory("training", freeze_embeddings="true", freeze_layers="11")
    rows = dict(zip(column(app, "Allocated at the peak"), column(app, "Formula, in bytes"), strict=True))
    assert rows["weights"] == "$4 N$"
    # The last layer and the pooler have 18 tensors, each with a step counter.
    assert rows["optimizer states"] == "$8 N_{t} + 72$"
    said = " ".join(str(one.value) for one in app.markdown)
    assert "**Freezing** saves " in said


def test_what_freezing_and_adding_up_save_is_said() -> None:
    freezing = Freezing(embeddings=True, layers=2)
    case, call = Case(BertConfig(num_hidden_layers=3), "BertModel"), Call(1, 128)
    left, whole = (real_flops(case, call, frozen=frozen)[2] for frozen in (freezing.names(case.ours()), ()))
    app = memory("training", num_hidden_layers="3", freeze_embeddings="true", freeze_layers="2")
    [said] = [str(one.value) for one in app.markdown if "Freezing saves " in str(one.value)]
    assert f"{scaled(whole - left, 'FLOPs')} of {scaled(whole, 'FLOPs')}" in said
    thawed, frozen = (peak_bytes(case.model, plan, 1, 128) for plan in (CUDA, CUDA._replace(freezing=freezing)))
    assert any(f"saves {size(thawed - frozen)} of {size(thawed)}" in str(one.value) for one in app.markdown)
    app = memory("training", accumulate="4", batch_size="8", architecture="BertForMaskedLM")
    [said] = [str(one.value) for one in app.markdown if "Accumulating the gradients" in str(one.value)]
    model = Model(BertConfig(), "BertForMaskedLM")
    assert size(peak_bytes(model, CUDA._replace(accumulate=True), 8, 128)) in said
    assert size(peak_bytes(model, CUDA, 32, 128)) in said


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_activations_are_what_the_hooks_see(architecture: str) -> None:
    link = {"num_hidden_layers": "2", "batch_size": "2", "sequence_length": "64", "fused_dropout": "false"}
    app = memory("activations", architecture=architecture, **link)
    case = Case(BertConfig(num_hidden_layers=2), architecture)
    real = case.real().train()
    real.set_attn_implementation("eager")
    seen = seen_bytes(real, arguments(case, Call(2, 64, num_choices=1)))
    assert app.metric[0].value == size(seen)
    assert app.metric[0].delta == f"{seen:,} bytes"
    assert rf" = {seen:,}".replace(",", "{,}") in app.latex[0].value


def test_pytorch_is_asked_on_request() -> None:
    app = memory("activations", recompute="selective", training_dtype="mixed-16")
    assert not app.success
    app.toggle(key="hooks").set_value(True).run()
    assert str(app.success[0].value).startswith("PyTorch counts the same: ")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"attention": "fused"}, "has no fused attention"),
        ({"position_embedding_type": "relative_key"}, "no longer supports position_embedding_type"),
    ],
)
def test_why_pytorch_is_not_asked(link: dict[str, str], said: str) -> None:
    app = memory("activations", hooks="true", **link)
    assert said in str(app.info[0].value)
    assert not app.success


def test_pytorch_needs_two_labels_for_answers() -> None:
    app = memory("activations", hooks="true", architecture="BertForQuestionAnswering", num_labels="3")
    assert "needs num_labels 2" in str(app.error[0].value)


def test_every_tensor_has_a_row() -> None:
    frame = memory("activations", kept="true", fused_dropout="false").dataframe[0].value
    rows = dict(zip(frame["name"], frame["formula"], strict=True))
    assert rows["encoder.layer.*.attention.self.softmax"] == "L × B × A × S × S × 4"
    assert rows["encoder.layer.*.output.LayerNorm: mean"] == "L × B × S × 1 × 4"
    assert frame["bytes"].sum() == 114_454_528
    assert set(frame["dtype"]) == {"float32"}


def test_one_byte_masks_are_said_to_be_measured_on_a_gpu() -> None:
    app = memory("activations", kept="true")
    assert "measured on an H100" in captions(app)
    assert "bool" in set(app.dataframe[0].value["dtype"])
    assert "measured on an H100" not in captions(memory("activations", fused_dropout="false"))


def test_the_published_formula_and_the_reasons() -> None:
    app = memory("activations", korthikanti="true", fused_dropout="false")
    reasons = column(app, "One trained layer")
    assert reasons[0] == "Korthikanti et al. 2022"
    # For 128 tokens: 34 s b h + 5 a s^2 b; then 16 bytes a token; then 4 bytes an element, and the masks.
    assert column(app, "Bytes")[:2] == ["4,325,376", "+2,048"]
    assert len(reasons) == 5
    exact = memory("activations", korthikanti="true", training_dtype="mixed-16")
    assert column(exact, "Bytes") == ["4,325,376", "+2,048", "4,327,424"]


def test_inference_counts_a_decoders_cache() -> None:
    """The cache holds the keys and values of 12 layers, each with 2 · 512 · 768 elements of 2 bytes."""
    decoder = memory("inference", is_decoder="true", dtype="bfloat16", sequence_length="512", temporaries="true")
    found = peak_bytes(Model(BertConfig(is_decoder=True)), Inference("bfloat16"), 1, 512)
    assert decoder.metric[0].value == size(found)
    [chart] = [one for one in decoder.session_state["shown"] if one.spec]
    assert max(filter(None, chart.data["peak"])) == found
    assert found > peak_bytes(Model(BertConfig()), Inference("bfloat16"), 1, 512) + 11 * 2 * 512 * 768 * 2


def test_a_step_of_another_batch_has_an_axis_of_its_own() -> None:
    app = memory("inference", batch_size="4")
    axes = []
    for batch_size in (4, 1):
        app.number_input(key="batch_size").set_value(batch_size).run()
        [chart] = [one for one in app.session_state["shown"] if one.spec]
        axes.append(max(filter(None, chart.data["axis"])))
    assert axes[1] < axes[0] < 8 * axes[1]  # with the same batch, the axis would not shrink


def usable(app: AppTest, name: str) -> int:
    free = app.number_input(key="kept_free").value
    assert free is not None
    return DEVICES[name] - round(free * 2**30)


def test_the_longest_sequence_for_bert_large_on_a_t4_takes_three_choices() -> None:
    """By the true count, the reported length fits into the device's memory, and one more token does not."""
    app = open_app("memory.py", preset="bert-large-uncased")
    app.selectbox(key="training_dtype").set_value("mixed-16").run()
    app.number_input(key="batch_size").set_value(32).run()
    longest = int(app.metric[0].value)
    assert app.metric[0].delta == "limited by memory"
    assert str(app.success[0].value).startswith("**Fits:** 32 × 128 tokens need ")
    assert f"or **{longest}** tokens per sequence in batches of 32." in str(app.success[0].value)
    plan, model = Plan("mixed-16", fused_dropout=True), Model(PRESETS["bert-large-uncased"].config)
    needed = [1.06 * peak_bytes(model, plan, 32, length) for length in (longest, longest + 1)]
    assert needed[0] <= usable(app, "T4-16GB") == 13_824 * 2**20 < needed[1]


@pytest.mark.parametrize("masks", ["true", "false"])
def test_the_views_use_the_same_masks_so_the_largest_batch_has_a_peak_within_the_device(masks: str) -> None:
    app = memory("fit", **({} if masks == "true" else {"fused_dropout": masks}))
    note = "one byte per element here" if masks == "true" else "data type of the activations here"
    assert note in captions(app)
    largest = int(app.metric[1].value)
    plan = Plan(fused_dropout=masks == "true")
    peaks = [peak_bytes(Model(BertConfig()), plan, batch, 128) for batch in (largest, largest + 1)]
    assert 1.06 * peaks[0] <= 13_824 * 2**20 < 1.06 * peaks[1]
    app.number_input(key="batch_size").set_value(largest).run()
    for view in ("activations", "training"):
        app.segmented_control(key="memory").set_value(view).run()
        assert note in captions(app)
    assert app.metric[0].value == size(peaks[0])


def test_the_verdict_states_what_its_percentage_counts() -> None:
    """The percentage is a ratio of bytes: the peak with 6 % for the allocator, and 15,360 MiB without 1.5 GiB."""
    app = memory("fit", batch_size="100")
    needed = Fraction(106, 100) * peak_bytes(Model(BertConfig()), CUDA, 100, 128)
    assert f", {float(100 * needed / (13_824 * 2**20)):.1f} % of the 14.5 GB (13.5 GiB)." in app.success[0].value
    assert app.caption[0].value == (
        "This includes 6 % for PyTorch's allocator. Not counted: the driver and the CUDA context, for which "
        "1.61 GB (1.50 GiB) are reserved."
    )


def test_the_lines_of_the_formula_are_explained_on_a_projector_as_well() -> None:
    explanation = "bytes(S) and bytes(B): the peak when only S or only B changes"
    assert explanation in "".join(str(text.value) for text in memory("fit", present="1").markdown)
    for task, view in (("training", "Training"), ("inference", "Inference")):
        said = captions(memory("fit", task=task))
        assert explanation in said
        assert f"The view {view} has the peak's formula in letters" in said


def test_what_fits_is_one_answer_with_the_share_of_the_allocator() -> None:
    """The batch reported as the largest fits, and one more sequence does not.

    The messages do not contradict each other.
    """
    for overhead in ("0", "6", "29"):
        app = memory("fit", preset="bert-large-uncased", batch_size="32", overhead=overhead)
        largest = int(app.metric[1].value)
        assert f"batches of **{largest}** with 128 tokens" in str((app.success or app.error)[0].value)
        for batch, fits in ((largest, True), (largest + 1, False)):
            app.number_input(key="batch_size").set_value(batch).run()
            [said] = app.success or app.error
            assert str(said.value).startswith("**Fits:**" if fits else "**Does not fit:**")
            assert (int(app.metric[0].value) >= 128) == fits


def test_the_precision_is_kept_from_training_to_inference() -> None:
    app = memory("training", training_dtype="bf16")
    app.segmented_control(key="memory").set_value("inference").run()
    assert app.selectbox(key="dtype").value == "bfloat16"


def test_a_link_with_both_precisions_keeps_both() -> None:
    app = memory("training", training_dtype="bf16", dtype="float16")
    app.segmented_control(key="memory").set_value("inference").run()
    assert app.selectbox(key="dtype").value == "float16"


def test_autocast_is_counted_and_its_activations_are_not_listed() -> None:
    app = memory("training", training_dtype="amp-bf16", batch_size="8")
    model = Model(BertConfig())
    assert app.metric[0].value == size(peak_bytes(model, Plan("amp-bf16", fused_dropout=True), 8, 128))
    app.segmented_control(key="memory").set_value("activations").run()
    assert str(app.info[0].value).startswith("Under AMP, activations are not listed")
    assert not app.metric


@pytest.mark.parametrize("view", ["training", "activations", "fit"])
@pytest.mark.parametrize(
    "link", [{"preset": "deberta-base"}, {"preset": "deberta-v3-base"}, {"position_embedding_type": "relative_key"}]
)
def test_relative_positions_under_amp_get_a_sentence_and_no_number(view: str, link: dict[str, str]) -> None:
    app = memory(view, training_dtype="amp-fp16", **link)
    [said] = [str(one.value) for one in (*app.error, *app.info)]
    assert said.startswith("With relative positions, the memory of ")
    assert said.endswith(" under AMP is not simulated yet: choose another precision.")
    assert not app.metric
    assert not tables(app)


def test_a_larger_batch_than_the_largest_is_too_much() -> None:
    app = memory("fit", device_memory="RTX-4060-8GB", sequence_length="512")
    app.number_input(key="batch_size").set_value(int(app.metric[1].value)).run()
    assert app.metric[0].value == "512"
    assert not app.error
    app.number_input(key="batch_size").set_value(int(app.metric[1].value) + 1).run()
    assert int(app.metric[0].value) < 512
    assert len(app.error) == 1


def test_what_is_kept_free_is_not_used() -> None:
    lengths = [int(memory("fit", batch_size="64", kept_free=free).metric[0].value) for free in ("0.0", "1.5", "6.0")]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 3
    app = memory("fit", kept_free="15.0")
    assert str(app.error[0].value).startswith("Reserved, GiB 15 is invalid")
    app.button(key="remedy kept_free = 0.0").click().run()
    assert not app.error


def test_positions_limit_the_sequence_and_it_is_said() -> None:
    app = memory("fit", device_memory="H200-141GB", task="inference")
    assert (app.metric[0].value, app.metric[0].delta) == ("512", "limited by max_position_embeddings")
    assert r", 512)" in app.latex[0].value
    assert "max_position_embeddings" not in str(memory("fit", batch_size="64").success[0].value)


def test_not_one_token_is_said() -> None:
    app = memory("fit", preset="bert-large-uncased", device_memory="GiB", device_gib="4")
    assert "Not even one sequence of 128 tokens fits" in str(app.error[0].value)
    assert app.metric[0].value == "none"


def test_every_part_of_the_bar_is_named_under_it() -> None:
    app = memory("fit", training_dtype="mixed-18", recompute="full", batch_size="8")
    [bar] = [one for one in app.session_state["shown"] if one.spec]
    names = re.findall(r'"domain": (\[.*?\])', json.dumps(dict(bar.spec), default=repr))
    plan = CUDA._replace(precision="mixed-18", recompute="full")
    parts = [*(AREA_WORDS[area] for area in peak(Model(BertConfig()), plan, 8, 128).areas), "not available for tensors"]
    assert names
    assert all(json.loads(found) == parts for found in names)
    drawn = dict.fromkeys(zip(bar.data["name"], bar.data["start"], strict=True))
    assert [name for name, start in drawn if start is not None] == parts


def test_an_impossible_memory_is_explained_and_the_nearest_taken() -> None:
    app = memory("fit", device_memory="GiB", device_gib="0")
    assert any(str(error.value).startswith("Memory in GiB 0 is invalid") for error in app.error)
    app.button(key="remedy device_gib = 1").click().run()
    assert not [error for error in app.error if "device_gib" in str(error.value)]
    assert app.number_input(key="device_gib").value == 1


def test_nothing_to_train_keeps_nothing() -> None:
    app = memory("activations", train="head")
    assert app.metric[0].delta == "0 bytes"
    assert not charts(app)
    said = str(memory("fit", train="head").error[0].value)
    assert said == "Everything in BertModel is frozen: there is nothing to train."


VIEWS = ["weights", "training", "activations", "inference", "fit"]
LINKS = [
    {"position_embedding_type": "relative_key_query", "attention": "fused"},
    {"is_decoder": "true", "add_cross_attention": "true", "architecture": "BertLMHeadModel"},
    {"architecture": "BertForMultipleChoice", "hidden_dropout_prob": "0", "hidden_act": "xielu"},
    {"sequence_length": "999", "freeze_layers": "-1", "batch_size": "0"},
    {"freeze_layers": "12", "freeze_embeddings": "true", "recompute": "full", "optimizer": "adafactor"},
]


@pytest.mark.parametrize(("view", "link"), sampled(product(VIEWS, LINKS), 3))
def test_every_view_shows_every_model(view: str, link: dict[str, str]) -> None:
    assert not memory(view, **link).exception


@pytest.mark.parametrize("view", ["fit", "training", "inference"])
def test_a_class_that_is_not_simulated_gets_a_sentence_and_no_controls(view: str) -> None:
    problem = Problem("architecture", "BertModel", UNKNOWN, {"architecture": "BertModel"})
    with patch("bertcalc.memory.peak.unknown_peaks", return_value=problem):
        app = memory(view)
    assert "is not simulated yet" in " ".join(str(said.value) for said in app.error)
    assert not app.metric
    assert not [box for box in app.selectbox if box.key in ("optimizer", "training_dtype", "device_memory", "dtype")]


def test_a_class_that_cannot_pad_takes_one_sequence() -> None:
    link = {"preset": "gpt2", "architecture": "GPT2ForSequenceClassification"}
    for view in ("fit", "training", "inference"):
        app = memory(view, batch_size="2", **link)
        assert "set pad_token_id, or set batch_size to 1" in str(app.error[0].value)
        assert not app.metric
    app = memory("fit", **link)
    assert app.metric[1].value == "1"
    assert app.metric[1].delta == "limited to 1 without a pad_token_id"
    app = memory("training", accumulate="2", **link)
    assert app.metric
    assert not app.error


def test_the_solution_of_each_inequality_is_the_largest_number_that_solves_it() -> None:
    lines = memory("fit").latex[0].value.replace("{,}", "").splitlines()
    inequalities = [line.split(r"\le ") for line in lines if r"\Rightarrow" in line]
    assert len(inequalities) == 2
    for written, room, solution in inequalities:
        powers = [(int(count), power) for count, power in re.findall(r"(\d+) \\, ([BS](?:\^2)?|)", written)]
        numbers = [int(text) for text in re.findall(r"\d+", room + solution)]

        def num_bytes(number: int, powers: list[tuple[int, str]] = powers) -> int:
            return sum(count * number ** (0 if not power else 2 if "^" in power else 1) for count, power in powers)

        assert num_bytes(numbers[1]) <= numbers[0] < num_bytes(numbers[1] + 1)


def test_on_a_projector_the_figures_alone_say_the_most_that_fits() -> None:
    assert "At most: " in memory("fit").success[0].value
    app = memory("fit", present="1")
    assert "At most: " not in app.success[0].value
    assert [metric.value for metric in app.metric] == [metric.value for metric in memory("fit").metric]


@pytest.mark.parametrize("view", ["fit", "training", "inference"])
def test_heads_that_rotary_positions_cannot_turn_get_a_sentence(view: str) -> None:
    app = memory(view, preset="ModernBERT-base", num_attention_heads="768")
    assert "bertcalc does not support heads of size 1" in " ".join(str(error.value) for error in app.error)
    assert not app.exception
    assert not app.metric


@pytest.mark.parametrize("look", ["light", "dark"])
def test_the_presets_name_is_read_on_every_area(look: str) -> None:
    """The letters and the line have an outline in the page's color, whatever area is below them."""
    layers = step_areas(look, tuple(AREA_WORDS.items()), "Step")["layer"]
    marks = [one["mark"] for one in layers if one.get("encoding", {}).get("y", {}).get("field") == "was"]
    edge, line, around, name = marks
    paper, ink = BACKGROUND[look], INK[look]
    assert (edge["color"], line["color"]) == (paper, ink)
    assert edge["strokeWidth"] > line["strokeWidth"]
    assert (around["stroke"], name["color"]) == (paper, ink)
    assert "stroke" not in name


def test_the_presets_line_does_not_cross_the_name_of_an_area() -> None:
    app = memory("training", num_hidden_layers="24")
    [chart] = [one for one in app.session_state["shown"] if one.spec]
    [line] = [float(was) for was in chart.data["was"] if was is not None and was == was]
    assert chart.data["name"][chart.data["was"].index(line)] == "bert-base-uncased"
    top = max(live for live in chart.data["peak"] if live is not None and live == live)
    names = [middle for middle in chart.data["middle"] if middle is not None and middle == middle]
    assert len(names) == 3
    assert all(abs(middle - line) > 0.06 * top for middle in names)


@pytest.mark.parametrize("view", ["training", "inference"])
def test_the_legend_of_a_step_lists_the_areas_that_occur(view: str) -> None:
    """An area has the same color on both views."""
    [chart] = [one for one in memory(view).session_state["shown"] if one.spec]
    of_training = ("gradients", "optimizer states", "kept activations")
    areas = [area for area in AREA_WORDS if view == "training" or area not in of_training]
    scale = chart.spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == [AREA_WORDS[area] for area in areas]
    assert scale["range"] == [AREA_COLORS["light"][area] for area in areas]
    assert {*filter(None, chart.data["area"])} == {*scale["domain"]}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_meaning_of_a_precision_does_not_repeat_its_name(language: str) -> None:
    app = memory("training", lang=language)
    box = app.selectbox(key="training_dtype")
    lines = box.help.split("  \n")
    assert len(lines) == len(box.options)
    for label, line in zip(box.options, lines, strict=True):
        name, meaning = re.split(r"\*\*[:：] ?", line.removeprefix("**"), maxsplit=1)
        assert name == label
        assert not meaning.startswith(label)


def test_attention_has_the_same_name_in_both_languages() -> None:
    options = [memory("training", lang=language).selectbox(key="attention").options for language in ("en", "zh")]
    assert [names[0] for names in options] == ["Eager", "Eager"]


def test_a_loop_that_keeps_all_outputs_needs_more_by_their_bytes() -> None:
    bert = load("bert-base-uncased")
    peaks = [bert.training_peak_bytes(1, 128, keep_outputs=keeps) for keeps in (True, False)]
    (caption,) = (caption.value for caption in open_app("memory.py").caption if "keeps all outputs" in caption.value)
    assert f"{size(peaks[0] - peaks[1])}</span> more at the peak" in caption


def test_the_line_between_two_phases_does_not_cross_the_number_of_the_peak() -> None:
    layers = step_areas("light", tuple(AREA_WORDS.items()), "Step")["layer"]
    around, number = [one["mark"] for one in layers if one.get("encoding", {}).get("text", {}).get("field") == "text"]
    assert (around["stroke"], around["strokeWidth"]) == (BACKGROUND["light"], 4)
    assert "stroke" not in number


def test_the_thin_mark_does_not_cross_the_name_of_a_part() -> None:
    layers = stacked_bar("light", ("Bytes", "Size", "Share", "Formula"), ())["layer"]
    places = [
        (one["encoding"]["y"]["value"], one["encoding"]["y2"]["value"])
        for one in layers
        if one["encoding"].get("x", {}).get("field") == "was"
    ]
    assert len(places) == 2
    middle = 16  # of a bar of 32 pixels, with a name of 14 pixels
    assert all(end <= middle - FONT / 2 or start >= middle + FONT / 2 for start, end in places)


def test_a_gpu_without_bfloat16_is_named() -> None:
    """The GPU has compute capability 7.x; bfloat16 needs 8.0."""
    warning = "T4 16 GB has no bfloat16"
    assert warning in str(memory("fit", training_dtype="amp-bf16").warning[0].value)
    assert warning in str(memory("fit", training_dtype="bf16").warning[0].value)
    assert warning in str(memory("fit", task="inference", dtype="bfloat16").warning[0].value)
    assert not memory("fit", training_dtype="amp-fp16").warning
    assert not memory("fit", training_dtype="bf16", device_memory="A100-40GB").warning


def test_the_batch_at_the_most_that_the_allocator_took_is_the_answer_at_that_overhead() -> None:
    """29 % is the largest overhead in benchmarks/gpu_memory.md."""
    [note] = [str(caption.value) for caption in memory("fit").caption if "29 %" in str(caption.value)][:1]
    at_most = memory("fit", overhead="29")
    assert f"Batches of at most <span class='live'>{at_most.metric[1].value}</span> if" in note
    assert "Batches of at most" not in captions(at_most)
