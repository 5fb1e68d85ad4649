"""The Memory page: what it shows is what the core and PyTorch say, and what cannot be is explained."""

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.forward.outputs import Call
from bertcalc.memory.footprint import Subject, inference
from pages.ui.numbers import size
from tests.memory.test_saved import seen_bytes
from tests.oracle import Case, arguments
from tests.pages.apptest import open_app, texts


def memory(view: str, **link: str) -> AppTest:
    return open_app("memory.py", memory=view, **link)


def column(app: AppTest, name: str, table: int = 0) -> list[str]:
    return [str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in app.table[table].value[name]]


def captions(app: AppTest) -> str:
    return "\n".join(str(caption.value) for caption in app.caption)


def test_weights_have_both_units() -> None:
    app = memory("weights")
    assert column(app, "Bytes") == ["437,928,960", "218,964,480", "109,482,240", "54,741,120"]
    assert column(app, "MB")[0] == "437.9 MB"
    assert column(app, "MiB")[0] == "417.6 MiB"


def test_the_72_megabytes_of_a_write_up_are_shown_for_what_they_are() -> None:
    said = str(memory("weights").info[0].value)
    assert "75,641,856" in said
    assert '"72.1 MB"' in said
    assert "302.6 MB (288.6 MiB)" in said


@pytest.mark.parametrize(
    ("training_dtype", "bytes_a_parameter"), [("fp32", "16.00"), ("mixed-18", "18.00"), ("mixed-16", "16.00")]
)
def test_adams_bytes_a_parameter(training_dtype: str, bytes_a_parameter: str) -> None:
    app = memory("training", training_dtype=training_dtype)
    assert app.metric[1].value == f"{bytes_a_parameter} bytes a parameter"


def test_what_is_frozen_has_no_gradient() -> None:
    app = memory("training", freeze_embeddings="true", freeze_layers="11")
    # 7,087,872 of the last layer and 590,592 of the pooler.
    assert column(app, "Formula, in bytes")[:3] == [
        r"$4 N = 4 \cdot 109{,}482{,}240$",
        r"$4 N_{t} = 4 \cdot 7{,}678{,}464$",
        r"$8 N_{t} = 8 \cdot 7{,}678{,}464$",
    ]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_activations_are_what_the_hooks_see(architecture: str) -> None:
    app = memory("activations", architecture=architecture, batch_size="2", sequence_length="64")
    case = Case(BertConfig(), architecture)
    real = case.real().train()
    real.set_attn_implementation("eager")
    seen = seen_bytes(real, arguments(case, Call(2, 64, num_choices=1)))
    assert app.metric[0].value == size(seen)
    assert app.metric[0].delta == f"{seen:,} bytes"
    assert rf"&= {seen:,}".replace(",", "{,}") in app.latex[0].value


def test_pytorch_is_asked_on_request() -> None:
    app = memory("activations", recompute="selective", training_dtype="mixed-16")
    assert not app.success
    app.toggle(key="hooks").set_value(True).run()
    assert str(app.success[0].value).startswith("PyTorch counts the same: ")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"attention": "fused"}, "runs no fused attention"),
        ({"position_embedding_type": "relative_key"}, "no longer builds position_embedding_type"),
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
    frame = memory("activations", kept="true").dataframe[0].value
    rows = dict(zip(frame["name"], frame["formula"], strict=True))
    assert rows["encoder.layer.*.attention.self.softmax"] == "L × B × A × S × S × 4"
    assert rows["encoder.layer.*.output.LayerNorm: mean"] == "L × B × S × 1 × 4"
    assert frame["bytes"].sum() == 114_454_528
    assert set(frame["dtype"]) == {"float32"}


def test_one_byte_masks_are_said_to_be_not_measured() -> None:
    app = memory("activations", fused_dropout="true", kept="true")
    assert "Not measured here" in captions(app)
    assert "bool" in set(app.dataframe[0].value["dtype"])
    assert "Not measured here" not in captions(memory("activations"))


def test_the_published_formula_and_the_reasons() -> None:
    app = memory("activations", korthikanti="true")
    reasons = column(app, "One trained layer")
    assert reasons[0] == "Korthikanti et al. 2022"
    # 128 tokens: 34 s b h + 5 a s^2 b; then 16 bytes a token; then 4 bytes a number, and the masks.
    assert column(app, "Bytes")[:2] == ["4,325,376", "+2,048"]
    assert len(reasons) == 5
    exact = memory("activations", korthikanti="true", training_dtype="mixed-16", fused_dropout="true")
    assert column(exact, "Bytes") == ["4,325,376", "+2,048", "4,327,424"]


def test_inference_counts_a_decoders_cache() -> None:
    """Keys and values of 12 layers: 2 · 128 · 768 numbers each, of 2 bytes."""
    decoder = memory("inference", is_decoder="true", dtype="bfloat16", sequence_length="512")
    encoder = memory("inference", dtype="bfloat16", sequence_length="512")
    found = inference(Subject(BertConfig()), "bfloat16", "eager", 1, 512)
    cache = 12 * 2 * 512 * 768 * 2
    assert encoder.metric[0].value == size(sum(found.values()))
    # The value of the layer that runs is in the cache then, and not counted twice.
    assert decoder.metric[0].value == size(sum(found.values()) + cache - 512 * 768 * 2)


def test_what_fits_is_said() -> None:
    app = memory("fit", device_memory="8GB", batch_size="1000", sequence_length="512")
    assert str(app.error[0].value).startswith("It does not fit")
    largest = str(app.metric[0].value)
    app.number_input(key="batch_size").set_value(int(largest)).run()
    assert str(app.success[0].value).startswith("It fits")
    app.number_input(key="batch_size").set_value(int(largest) + 1).run()
    assert str(app.error[0].value).startswith("It does not fit")


def test_positions_limit_the_sequence_and_it_is_said() -> None:
    app = memory("fit", device_memory="141GB", task="inference")
    assert app.metric[1].value == "512"
    assert "max_position_embeddings is the longest sequence, 512" in captions(app)
    assert "max_position_embeddings" not in captions(memory("fit", device_memory="8GB", batch_size="64"))


def test_an_impossible_memory_is_explained_and_the_nearest_taken() -> None:
    app = memory("fit", device_memory="GiB", device_gib="0")
    assert str(app.error[0].value).startswith("device_gib 0 is not possible")
    app.button(key="remedy device_gib = 1").click().run()
    assert not [error for error in app.error if "possible" in str(error.value)]
    assert app.number_input(key="device_gib").value == 1


def test_nothing_to_train_keeps_nothing() -> None:
    app = memory("activations", train="head")
    assert app.metric[0].delta == "0 bytes"
    assert not app.get("vega_lite_chart")
    assert memory("fit", train="head").metric[0].value == "any"


@pytest.mark.parametrize("view", ["weights", "training", "activations", "inference", "fit"])
@pytest.mark.parametrize(
    "link",
    [
        {"position_embedding_type": "relative_key_query", "attention": "fused"},
        {"is_decoder": "true", "add_cross_attention": "true", "architecture": "BertLMHeadModel"},
        {"architecture": "BertForMultipleChoice", "hidden_dropout_prob": "0", "hidden_act": "xielu"},
        {"sequence_length": "999", "freeze_layers": "-1", "batch_size": "0"},
        {"freeze_layers": "12", "freeze_embeddings": "true", "recompute": "full", "optimizer": "adafactor"},
    ],
)
def test_every_view_shows_every_model(view: str, link: dict[str, str]) -> None:
    assert not memory(view, **link).exception


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memory", "weight"),
        ("recompute", "some"),
        ("optimizer", "adam"),
        ("device_gib", "x"),
        ("device_memory", "16"),
        ("dtype", "float64"),
        ("fused_dropout", "1"),
    ],
)
def test_a_wrong_value_in_a_link_is_named(name: str, text: str) -> None:
    [message] = texts(open_app("memory.py", **{name: text}))
    assert message.startswith(f"{name}={text}")
