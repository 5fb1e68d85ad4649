"""The Design page: its rows are real models of the listed size, and impossible budgets are explained."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, Config, Gguf, forward_flops
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from bertcalc.storage.model_file import file_bytes, quantized
from pages.ui.design.nearest import KINDS
from tests.examples import sampled
from tests.markdown import read
from tests.oracle import Case
from tests.pages.apptest import charts, open_app, present, tables, texts


def rows(app: AppTest) -> list[dict[str, str]]:
    """The rows of the table as the reader sees them, without Markdown."""
    found = tables(app)[0].map(lambda cell: str(cell).replace("*", "").replace("\N{NO-BREAK SPACE}", " "))
    return [dict(zip(found.columns, row, strict=True)) for row in found.itertuples(index=False)]


def number(text: str) -> int:
    return int(text.replace(",", "").replace("−", "-"))


def config(row: dict[str, str]) -> Config:
    names = {"$H$": "hidden_size", "$L$": "num_hidden_layers", "$A$": "num_attention_heads", "$I$": "intermediate_size"}
    fields: dict[str, Any] = {field: number(row[name]) for name, field in names.items()}
    return replace(BertConfig(), **fields)


def test_thirty_million_are_answered_at_once() -> None:
    app = open_app("design.py")
    assert "Nearest to 30,000,000 parameters, above or below it" in app.markdown[1].value
    found = rows(app)
    assert len(found) == 8
    distances = []
    for row in found:
        real = Case(config(row)).real().num_parameters()
        assert number(row["Parameters"]) == real
        assert number(row["Difference"]) == real - 30_000_000
        share = row["%"].removesuffix(" %").replace("−", "-")
        assert float(share) == pytest.approx((real - 30_000_000) / 300_000, rel=0.005)
        assert row["$H/L$"] == f"{config(row).hidden_size / config(row).num_hidden_layers:.1f}"
        distances.append(abs(real - 30_000_000))
    assert distances == sorted(distances)
    assert "1,472 candidates" in app.caption[0].value  # widths 64 to 4,096 by 64, depths 2 to 24
    assert not app.error
    assert not charts(app)  # folded, and drawn once it is opened
    assert len(charts(open_app("design.py", nearby="true"))) == 1


def test_at_most_keeps_every_model_within_the_budget() -> None:
    app = open_app("design.py", at_most="true")
    assert "At most 30,000,000 parameters" in app.markdown[1].value
    assert all(number(row["Parameters"]) <= 30_000_000 for row in rows(app))
    app.session_state["budget_of"] = "memory"
    app.run()
    assert "At most" not in [box.label for box in app.checkbox]  # bytes are always a limit


def test_flops_are_of_the_batch_and_the_sequence() -> None:
    link = {"budget_of": "FLOPs", "target_FLOPs": "2.5T", "batch_size": "8", "sequence_length": "256"}
    for row in rows(open_app("design.py", **link)):
        flops = forward_flops(Case(config(row)).ours(), 8, 256)
        assert number(row["Forward"]) == flops
        assert number(row["Difference"]) == flops - 25 * 10**11


def test_a_memory_is_a_limit() -> None:
    link = {"budget_of": "memory", "batch_size": "32", "sequence_length": "512", "training_dtype": "mixed-16"}
    app = open_app("design.py", **link)
    assert "Within 16,000,000,000 bytes, which is 16.0 GB (14.9 GiB)" in app.markdown[1].value
    found = rows(app)
    for row in found:
        needed = peak_bytes(Model(config(row)), Plan("mixed-16"), 32, 512)
        assert number(row["Training memory"]) == needed <= 16 * 10**9
    assert found == sorted(found, key=lambda row: -number(row["Training memory"]))


def test_a_file_is_a_limit_in_its_format() -> None:
    app = open_app("design.py", budget_of="file", target_file="100 MB", file_format="Q4_0")
    assert "Within 100,000,000 bytes, which is 100.0 MB (95.4 MiB)" in app.markdown[1].value
    for row in rows(app):
        assert number(row["File"]) == quantized(Model(config(row)), Gguf("Q4_0")).file_bytes <= 10**8
    app.selectbox(key="file_format").select("float32").run()
    for row in rows(app):
        assert number(row["File"]) == file_bytes(Model(config(row))) <= 10**8


def test_the_other_two_quantities_stand_beside_it() -> None:
    app = open_app("design.py", target_parameters="109482240", layers_from="12", layers_to="12", hidden_to="768")
    first = rows(app)[0]
    assert (first["Difference"], first["%"]) == ("±0", "±0 %")
    assert first["Forward"] == "22.35 GFLOPs"  # PyTorch's count for 128 tokens: 22,348,431,360
    memory = peak_bytes(Model(BertConfig()), Plan(), 1, 128)
    assert first["Training memory"] == f"{memory / 10**9:.4g} GB"
    assert first[""] == "1 ✓"  # the model of the sidebar


def test_one_click_takes_a_design() -> None:
    app = open_app("design.py", pad_vocab="true")
    wanted = rows(app)[2]
    app.button(key="take 3").click().run()
    assert not app.exception
    assert [row for row in rows(app) if row[""].endswith("✓")] == [{**wanted, "": "3 ✓"}]
    app.switch_page("parameters.py").run()
    assert app.metric[0].value == wanted["Parameters"]
    assert present(app).vocab_size == 30_528


def test_constraints_are_kept() -> None:
    link = {"head_size": "96", "intermediate_ratio": "8/3", "multiple_of": "128", "layers_from": "5", "layers_to": "9"}
    for row in rows(open_app("design.py", hidden_to="2000", target_parameters="1B", **link)):
        one = config(row)
        assert one.hidden_size == 96 * one.num_attention_heads <= 2000
        assert one.hidden_size % 128 == one.intermediate_size % 128 == 0
        assert 0 <= one.intermediate_size - one.hidden_size * 8 / 3 < 128
        assert 5 <= one.num_hidden_layers <= 9


def test_the_architecture_and_the_vocabulary_are_the_sidebars() -> None:
    app = open_app("design.py", architecture="BertForMaskedLM", vocab_size="21128", add_pooling_layer="false")
    for row in rows(app):
        real = Case(replace(config(row), vocab_size=21128), "BertForMaskedLM").real()
        assert number(row["Parameters"]) == real.num_parameters()
    assert "(BertForMaskedLM, vocab_size 21,128)" in app.caption[0].value


@pytest.mark.parametrize(
    ("target", "nearest"),
    [("30", {"num_hidden_layers": 2, "hidden_size": 64}), ("1T", {"num_hidden_layers": 24, "hidden_size": 4096})],
)
def test_an_impossible_budget_says_what_is_possible(target: str, nearest: dict[str, Any]) -> None:
    app = open_app("design.py", target_parameters=target)
    width = nearest["hidden_size"]
    end = replace(BertConfig(), **nearest, num_attention_heads=width // 64, intermediate_size=4 * width)
    value = f"{Case(end).ours().num_parameters():,}"
    [error] = app.error
    assert error.value.startswith("No model within these constraints has ")
    assert f"{value} parameters (H = {width:,}, L = {nearest['num_hidden_layers']})" in error.value
    assert rows(app)[0]["Parameters"] == value
    app.button(key=f"remedy target_parameters = {value}").click().run()
    assert not app.error
    assert rows(app)[0]["Difference"] == "±0"


def test_a_memory_that_is_too_small_says_what_is_needed() -> None:
    app = open_app("design.py", budget_of="memory", target_memory="1 kB")
    smallest = rows(app)[0]["Training memory"]
    assert app.error[0].value == (
        f"No model within these constraints fits into 1,000 bytes: the smallest takes {smallest} bytes (H = 64, L = 2)."
    )
    assert not open_app("design.py", budget_of="memory", target_memory="1 EB").error


def test_nothing_as_a_budget_does_no_harm() -> None:
    app = open_app("design.py", target_parameters="0")
    assert {row["%"] for row in rows(app)} == {"–"}
    assert len(app.error) == 1


@pytest.mark.parametrize("text", ["", "thirty", "**30**", "16 GB", "-1", "1e99", "`[x](y)`$z$"])
def test_an_amount_that_cannot_be_read_is_explained_and_the_last_stays(text: str) -> None:
    app = open_app("design.py", target_parameters="40M")
    before = rows(app)
    app.text_input(key="target_parameters").set_value(text).run()
    assert not app.exception
    [error] = app.error
    said = read(error.value).seen
    assert said.startswith(f'"{text}" ')
    assert "Project-Id-Version" not in said
    assert rows(app) == before
    app.button(key="remedy target_parameters = 40M").click().run()
    assert not app.error


def test_limits_that_contradict_each_other_are_explained() -> None:
    app = open_app("design.py", layers_from="30")
    assert app.error[0].value == "The range of layers from 30 to 24 is empty."
    assert {row["$L$"] for row in rows(app)} == {"24"}
    app.button(key="remedy layers_to = 30").click().run()
    assert not app.error
    assert {row["$L$"] for row in rows(app)} <= {f"{layers}" for layers in range(24, 31)}
    app = open_app("design.py", hidden_to="100", head_size="128", layers_to="1001")
    assert [error.value.split(" is ")[0] for error in app.error] == ["Max. layers 1,001", "Max. hidden size 100"]
    assert {row["$H$"] for row in rows(app)} == {"128"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("target_parameters", "lots"),
        ("target_FLOPs", "16 GB"),
        ("target_memory", "1e99"),
        ("intermediate_ratio", "5/0"),
        ("head_size", "63"),
        ("layers_from", "x"),
    ],
)
def test_a_wrong_value_in_a_link_is_named(name: str, text: str) -> None:
    app = open_app("design.py", **{name: text})
    [message] = texts(app)
    assert message.startswith(f"{name}={text}")
    assert len(rows(app)) == 8


@pytest.mark.parametrize(
    ("kind", "architecture"),
    sampled(product(KINDS, ["BertForPreTraining", "BertForMultipleChoice", "BertLMHeadModel"]), 4),
)
def test_every_kind_of_budget_comes_up_for_every_kind_of_model(kind: str, architecture: str) -> None:
    link = {"architecture": architecture, "is_decoder": "true", "add_cross_attention": "true"}
    app = open_app(
        "design.py", budget_of=kind, intermediate_ratio="any", position_embedding_type="relative_key", **link
    )
    assert not app.error
    assert len(rows(app)) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_cannot_run_has_no_memory(kind: str) -> None:
    app = open_app("design.py", budget_of=kind, architecture="BertForQuestionAnswering", num_labels="3")
    if kind in ("FLOPs", "memory"):
        assert "cannot run with num_labels 3" in str(app.error[0].value)
    else:
        assert {row["Training memory"] for row in rows(app)} == {"–"}


def test_the_format_of_the_file_is_in_the_heading() -> None:
    app = open_app("design.py", budget_of="file")
    assert any("(95.4 MiB), stored as bitsandbytes int8" in text.value for text in app.markdown)
    assert any("Training memory assumes training in FP32" in caption.value for caption in app.caption)
    app = open_app("design.py", budget_of="file", file_format="float32")
    assert any("stored as float32" in text.value for text in app.markdown)
