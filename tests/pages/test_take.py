"""Taking results away from every page: downloads contain what the page shows, with the model's numbers."""

import json
import logging
from html import escape
from io import StringIO
from threading import Thread
from typing import Any

import pandas as pd
import pytest
from streamlit.logger import get_logger
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, Config, build
from bertcalc.change_steps.effects import changed_models
from bertcalc.change_steps.step_texts import kind_of, read_steps
from bertcalc.charts.blocks import svg
from bertcalc.compute.flops import training_flops
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.export.formats import csv_text
from bertcalc.export.step_code import code
from bertcalc.export.table import TableOrChart
from bertcalc.memory.optimizers import ITEM_BYTES, Dtype
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.model.batch import Batch
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.proof import real_model
from pages.ui.change.step_words import TITLES
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets import real_answers
from pages.ui.widgets.export import dialog
from pages.ui.widgets.export.files import model_files, stem_of, table_files
from pages.ui.widgets.export.shown import File, Origin
from tests.pages.apptest import charts, frame_of, open_app, tables, total

PAGES = [
    ("", {"tensors": "true"}),
    ("layers.py", {"rows": "true", "heads": "true"}),
    ("structure.py", {"view": "notebook"}),
    ("structure.py", {"view": "freezing"}),
    ("outputs.py", {}),
    ("configuration.py", {}),
    ("compute.py", {"compute": "length"}),
    ("memory.py", {"memory": "activations"}),
    ("compare.py", {}),
    ("compare.py", {"compare": "bars"}),
    ("compare.py", {"compare": "scatter"}),
    ("sweep.py", {"growths": "true"}),
    ("sweep.py", {"sweep": "map"}),
    ("design.py", {"nearby": "true"}),
    ("bring.py", {}),
    ("verify.py", {}),
    ("explain.py", {"number": "110M"}),
    ("tools.py", {}),
    ("exercises.py", {}),
    ("lecture.py", {}),
]
PLACE = Origin("http://somewhere.test/?preset=bert-base-uncased", "en")
DEFAULT = Choice(Model(BertConfig()), "bert-base-uncased")


def noted(app: AppTest) -> list[TableOrChart]:
    found: list[TableOrChart] = app.session_state["shown"]
    return found


def opened(app: AppTest) -> AppTest:
    app.button(key="take").click().run()
    assert not app.exception
    return app


def downloads(app: AppTest) -> list[str]:
    return [element.proto.label for element in app.get("download_button")]


def read(files: list[File], label: str) -> str:
    [file] = [file for file in files if file.label == label]
    return file.make().decode("utf-8-sig")


@pytest.mark.parametrize(("page", "link"), PAGES)
def test_every_page_offers_what_it_shows(page: str, link: dict[str, str]) -> None:
    app = open_app(page, **link)
    before = downloads(app)  # a page can have its own downloads
    found = noted(app)
    noted_tables = [frame_of(one) for one in found if not one.spec]
    noted_charts = [one for one in found if one.spec]
    on_page = [*tables(app), *(element.value for element in app.dataframe)]
    assert len(noted_tables) == len(on_page)
    for frame in on_page:
        assert frame.to_numpy().tolist() in [one.to_numpy().tolist() for one in noted_tables]
    assert len(noted_charts) == len(charts(app))
    for one in found:
        again = pd.read_csv(StringIO(csv_text(one.table())), keep_default_na=False)
        if one.numbers is None:
            assert len(again) == len(frame_of(one))
        else:  # names for readers, without columns for drawing
            assert list(again.columns) == list(one.numbers.values())
            assert 0 < len(again) <= len(frame_of(one))
            assert not set(again.columns) & {"x", "y", "name", "label", "figure", "start", "end", "kind", "room"}
    for chart in noted_charts:
        drawn = svg(chart.spec or {}, chart.data)
        assert drawn.startswith("<svg")
        columns = [chart.data[name] for name in ("name", "label", "short", "text", "side") if name in chart.data]
        texts = {escape(text) for column in columns for text in column if isinstance(text, str)} - {""}
        assert any(f">{text}<" in drawn for text in texts)
    opened(app)
    offered = app.selectbox(key="taken").options
    assert len(offered) == len(found) + 2
    labels = downloads(app)[len(before) :]
    assert labels[:5] == [
        *(
            "config.json",
            "Python program",
            "Report, Markdown",
            "Report, HTML to print",
            "Interactive page of the parameters, HTML",
        ),
    ]
    first_is_chart = bool(found and found[0].spec)
    assert labels[5:] == ["CSV", "Markdown", "LaTeX", *(["SVG", "PNG"] if first_is_chart else [])]


def test_the_formulas_of_the_model_are_offered_on_a_page_without_tables() -> None:
    app = open_app()
    offered = opened(app).selectbox(key="taken").options
    assert offered == [
        "Chart: Parameters of each part of the whole model",
        "Model: Parameters of each component, with formulas",
        "Model: Every tensor, with formulas",
    ]
    app.session_state["taken"] = offered[-1]  # in a browser, the dialog stays open after a choice
    assert downloads(opened(app))[-3:] == ["CSV", "Markdown", "LaTeX"]


def test_the_numbers_of_the_page_are_those_of_the_model() -> None:
    app = open_app(architecture="BertForPreTraining", vocab_size="21128", tensors="true")
    model = build(BertConfig(vocab_size=21128), "BertForPreTraining")
    assert total(app) == f"{model.num_parameters():,}"
    bars, tensors = noted(app)
    for one in (bars, tensors):
        frame = pd.read_csv(StringIO(csv_text(one.table())))
        assert frame["Parameters"].sum() == model.num_parameters()
    assert list(tensors.table().columns) == ["Name", "Copies", "Shape", "Formula", "Parameters", "Share"]


def test_a_task_with_a_cross_attention_that_nothing_is_given_to_has_its_walk() -> None:
    link = {"is_decoder": "true", "add_cross_attention": "true", "architecture": "BertForTokenClassification"}
    app = open_app("layers.py", rows="true", **link)
    [walk] = [one for one in noted(app) if one.title == "The whole forward pass"]
    config = BertConfig(is_decoder=True, add_cross_attention=True)
    assert frame_of(walk)["So far"].iloc[-1] == f"{build(config, link['architecture']).num_parameters():,}"


def test_files_say_what_they_are_and_nothing_is_made_before_it_is_asked_for() -> None:
    def never() -> None:
        raise AssertionError("made too early")

    names = [file.name for file in model_files(DEFAULT, Batch(1, 128), PLACE, str)]
    assert names[:4] == ["config.json", *(f"bert-base-uncased.{ending}" for ending in ("py", "md", "html"))]
    assert names[4:] == ["bert-base-uncased-interactive.html"]
    changed = DEFAULT._replace(model=Model(BertConfig(vocab_size=21128), "BertForMaskedLM"))
    files = table_files(stem_of(changed), "Model: a/b <c>", never)  # type: ignore[arg-type]
    assert files[0].name == "bert-base-uncased-changed-a-b-c.csv"
    for title in ("Chart: Parameters of each part of the model", "图：模型各部分的参数量", "Table: " + 80 * "x"):
        assert len(table_files(stem_of(changed), title, never)[0].name) <= 60  # type: ignore[arg-type]
    for title, end in (
        ("Chart: The parts of the difference", "the-parts-of-the-difference"),
        ("Chart: The differences from the baseline", "the-differences"),
        ("Model: Parameters of each component, with formulas", "parameters-of-each-component"),
        ("Chart: Parameters of each part of the whole model", "parameters-of-each-part"),
    ):
        name = table_files("bert", title, never)[0].name  # type: ignore[arg-type]
        assert name == f"bert-{end}.csv"  # cut at the end of a phrase
    with pytest.raises(AssertionError, match="too early"):
        files[0].make()


def test_the_report_has_the_proof_of_the_real_model() -> None:
    files = model_files(DEFAULT, Batch(2, 64), PLACE, str)
    told = read(files, "Report, Markdown")
    assert "The real BertModel agrees: 199 tensors, 109,482,240 parameters." in told
    assert "| Parameters | 109,482,240 | 109,482,240 | ✓ agrees |" in told
    assert "Batch size 2, sequence length 64" in told
    assert PLACE.url in told
    here = model_files(DEFAULT, Batch(2, 64), PLACE._replace(url=""), str)
    assert "<>" not in read(here, "Report, Markdown")
    assert "109,482,240" in read(files, "Report, HTML to print")
    assert json.loads(read(files, "config.json"))["architectures"] == ["BertModel"]


@pytest.mark.parametrize(
    ("page", "link", "plan", "dtype", "said"),
    [
        (
            "memory.py",
            {"memory": "training"},
            Plan(fused_dropout=True),
            "float32",
            "Training precision = FP32, Optimizer = Adam(W)",
        ),
        (
            "memory.py",
            {"memory": "fit", "training_dtype": "bf16", "optimizer": "sgd", "recompute": "full", "freeze_layers": "3"},
            Plan("bf16", "sgd", recompute="full", freezing=Freezing(layers=3), fused_dropout=True),
            "bfloat16",
            "Training precision = Pure bfloat16, Optimizer = SGD, Attention = Eager, Recompute = Full, "
            "Dropout masks = CUDA: one byte per element, Frozen layers = 3",
        ),
        (
            "memory.py",
            {"memory": "inference", "dtype": "float16", "attention": "fused"},
            Plan(attention="fused"),
            "float16",
            "Data type = float16, Attention = Fused; trained in float32 with AdamW",
        ),
        (
            "structure.py",
            {"view": "freezing", "train": "head"},
            Plan(freezing=Freezing(train="head")),
            "float32",
            "in float32, trained with AdamW, What is trained = Head only",
        ),
        ("layers.py", {}, Plan(), "float32", "in float32, trained with AdamW. FLOPs"),
    ],
)
def test_the_report_counts_as_the_page_does_and_says_how(
    monkeypatch: pytest.MonkeyPatch, page: str, link: dict[str, str], plan: Plan, dtype: Dtype, said: str
) -> None:
    architecture = "BertForSequenceClassification"
    told = reported(monkeypatch, page, num_hidden_layers="4", architecture=architecture, **link)
    assert said in told
    model = Model(BertConfig(num_hidden_layers=4), architecture)
    figures = {
        "FLOPs of a training step": training_flops(model, 1, 128, freezing=plan.freezing, recompute=plan.recompute),
        "memory of the weights": ITEM_BYTES[dtype] * model.num_parameters(),
        "peak memory of a training step": peak_bytes(model, plan, 1, 128),
        "peak memory of inference": peak_bytes(model, Inference(dtype, plan.attention), 1, 128),
    }
    for meaning, figure in figures.items():
        assert f"| {meaning} | {figure:,} |" in told


def made_files(monkeypatch: pytest.MonkeyPatch, name: str) -> list[File]:
    """The files that the function with this name makes for a page that is opened later, without the real model."""
    made: list[File] = []
    make = getattr(dialog, name)

    def note(*arguments: Any) -> list[File]:
        made[:] = make(*arguments)
        return made

    monkeypatch.setattr(dialog, name, note)
    monkeypatch.setattr(real_model, "installed", lambda: False)
    return made


def reported(monkeypatch: pytest.MonkeyPatch, page: str, **link: str) -> str:
    """The report of a page."""
    made = made_files(monkeypatch, "model_files")
    opened(open_app(page, **link))
    return read(made, "Report, Markdown")


def test_the_answer_of_a_page_has_a_heading_of_its_own_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    told = reported(monkeypatch, "memory.py", memory="fit")
    assert "\n## What fits on T4 16 GB\n\n| T4 16 GB | Number |" in told
    assert "| Reserved | 1.61 GB (1.50 GiB) |" in told  # the name has no "GiB"
    assert "| Allocator | 6 % |" in told


LORA, PRUNED = "lora,r=4,target_modules=query+value,task_type=SEQ_CLS", "layers,layers=1+3;heads,heads=4"


@pytest.mark.parametrize(
    ("changes", "words", "captions"),
    [
        (LORA, "LoRA: r=4, target_modules=query+value, task_type=SEQ_CLS", ["The config.json leaves out LoRA"]),
        (PRUNED, "Drop layers: layers=1+3; Prune heads: heads=4", ["The fields of a config.json cannot describe"]),
        ("prompt_tuning,task_type=SEQ_CLS", "Prompt tuning: ", ["The config.json leaves out Prompt tuning"]),
        (
            "vocabulary,new_num_tokens=3000;gguf",
            "A different vocabulary: new_num_tokens=3000; GGUF",
            ["The config.json leaves out GGUF", "The interactive page omits GGUF"],
        ),
    ],
)
def test_the_files_of_a_changed_model_have_its_steps_or_the_dialog_says_which_do_not(
    monkeypatch: pytest.MonkeyPatch, changes: str, words: str, captions: list[str]
) -> None:
    made = made_files(monkeypatch, "model_files")
    architecture = "BertForSequenceClassification"
    app = opened(open_app("change.py", architecture=architecture, changes=changes, training_dtype="bf16"))
    told = read(made, "Report, Markdown")
    models, _problem = changed_models(Model(BertConfig(), architecture), steps := read_steps(changes))
    model = models[-1].model
    assert told.startswith(f"# {architecture}: {model.num_parameters():,}\n")
    assert f"Changes, step by step: {words}" in told.replace("\\", "")
    assert "Training precision = Pure bfloat16" in told
    assert "The model before the steps: Not compared" in told
    walked = told.partition("## The forward pass, step by step")[2].partition("\n## ")[0]
    if "| --- |" in walked:  # the FLOPs and steps of prompts are unknown
        assert walked.strip().rsplit("| ", 1)[1] == f"{model.num_parameters():,} |"
    head = told.partition("## The model before the first step")[2].split("\n\n")[1].splitlines()[0]
    assert all(TITLES[kind_of(step)] in head for step in steps)
    program = code(Model(BertConfig(), architecture), steps)
    assert read(made, "Python program") == program
    assert f"```python\n{program}```" in told
    page = read(made, "Interactive page of the parameters, HTML")
    assert all(escape(str(change)) in page for change in model.changes)
    shown = [caption.value for caption in app.caption]
    for start in captions:
        assert sum(caption.startswith(start) for caption in shown) == 1
    labels = [file.label for file in made]
    assert ("config.json" in labels) == ("heads" not in changes)
    assert ("adapter_config.json" in labels) == ("_type" in changes)


def test_nothing_is_logged_while_a_file_waits_for_the_real_model() -> None:
    """A file is made outside of runs, where each access to the session state would write a line to the log."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = get_logger("streamlit.runtime.scriptrunner_utils.script_run_context")
    logger.addHandler(handler)
    thread = Thread(target=lambda: [real_answers.wanted() for _look in range(3)], name="download_0")
    try:
        thread.start()
        thread.join()
    finally:
        logger.removeHandler(handler)
    assert not lines


@pytest.mark.parametrize("compare", ["differences", "table"])
def test_the_caption_of_a_comparison_names_the_current_model(monkeypatch: pytest.MonkeyPatch, compare: str) -> None:
    made = made_files(monkeypatch, "table_files")
    opened(open_app("compare.py", compare=compare))
    assert ": bert-base-uncased (BertModel), bert-large-uncased}" in read(made, "LaTeX")


def test_the_report_says_what_was_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    config = BertConfig(position_embedding_type="relative_key", num_hidden_layers=2)
    relative = DEFAULT._replace(model=Model(config))
    told = read(model_files(relative, Batch(1, 8), PLACE, str), "Report, Markdown")
    added = build(config).num_parameters() - build(BertConfig(num_hidden_layers=2)).num_parameters()
    assert f"the {added:,} parameters of relative_key were not compared." in told
    monkeypatch.setattr(real_model, "installed", lambda: False)
    told = read(model_files(DEFAULT, Batch(1, 8), PLACE, str), "Report, Markdown")
    assert "Not compared with the real model, because torch and transformers are not installed here." in told
    assert "agrees" not in told


@pytest.mark.parametrize(
    ("config", "architecture", "said"),
    [
        (BertConfig(is_decoder=True, add_cross_attention=True), "BertModel", "encoder_sequence_length X = 128"),
        (BertConfig(), "BertForMultipleChoice", "num_choices 1"),
    ],
)
def test_the_report_says_what_else_it_takes(config: Config, architecture: str, said: str) -> None:
    choice = Choice(Model(config, architecture), "bert-base-uncased")
    files = model_files(choice, Batch(1, 128), Origin("http://localhost/", "en"), str)
    [told] = [file.make().decode() for file in files if file.name.endswith(".md")]
    assert said in told


def chart_of(page: str, **link: str) -> pd.DataFrame:
    """The exported data of the first chart of a page."""
    [chart, *_others] = [one for one in noted(open_app(page, **link)) if one.spec]
    return pd.read_csv(StringIO(csv_text(chart.table())))


def test_the_chart_of_designs_keeps_what_it_says_of_them() -> None:
    found = chart_of("design.py", nearby="true")
    assert set(found["The budget"]) == {"within the budget", "above the budget"}
    assert ((found["hidden_size"] % found["num_attention_heads"]) == 0).all()


@pytest.mark.parametrize("field", ["num_hidden_layers", "hidden_size"])
def test_the_chart_of_a_sweep_has_the_total_of_every_model(field: str) -> None:
    found = chart_of("sweep.py", x=field)
    totals = found[found["Quantity"] == "parameters in total"].set_index(field)["Number"]
    for value, number in zip(totals.index.tolist(), totals.tolist(), strict=True):
        # Sizes that follow: heads of 64, and four times the width in the feed-forward network.
        if field == "hidden_size":
            config = BertConfig(hidden_size=value, num_attention_heads=value // 64, intermediate_size=4 * value)
        else:
            config = BertConfig(num_hidden_layers=value)
        assert build(config, "BertModel").num_parameters() == number


def test_the_charts_of_a_comparison_have_the_totals_and_the_difference() -> None:
    difference = chart_of("compare.py")["Difference"]
    assert difference.iloc[:-1].sum() == difference.iloc[-1] == 225_659_648
    sums = chart_of("compare.py", compare="bars").groupby("Model")["parameters in total"].sum()
    assert sorted(sums) == [109_482_240, 335_141_888]
    assert list(chart_of("compare.py", compare="bars", compare_by="weights").columns) == [
        "Model",
        "memory of the weights (B)",
    ]


def test_figures_beyond_what_a_float_holds_are_exact() -> None:
    link = {"batch_size": "40963", "sequence_length": "511"}
    found = chart_of("compare.py", compare="bars", compare_by="training", **link).iloc[:, -1]
    model = Model(BertConfig(), "BertModel")
    assert found[0] == QUANTITIES["training"].of(Case(model, Batch(40_963, 511))) > 2**53
    assert chart_of("compute.py", **link)["FLOPs"].sum() * 3 == found[0]


def test_latex_has_the_chosen_rows_and_the_name_of_the_model() -> None:
    app = opened(open_app("structure.py", view="notebook"))
    [rows] = [one for one in app.multiselect if one.label.startswith("Rows")]
    rows.set_value([rows.options[1]]).run()
    table = noted(app)[0].table()
    [latex] = [
        file
        for file in table_files("x", "t", lambda: table._replace(rows=table.rows[1:2]), "BertModel, bert-base-uncased")
        if file.label == "LaTeX"
    ]
    said = latex.make().decode()
    assert "BertModel, bert-base-uncased}" in said
    assert said.count(r"\\") == 2  # the titles, and one row
    assert "encoder & 85,054,464" in said


@pytest.mark.parametrize(
    ("of_page", "said"), [(True, "bert-base-uncased, deberta-v3-base"), (False, "BertModel, bert-large-uncased")]
)
def test_latex_of_a_comparison_names_its_models(monkeypatch: pytest.MonkeyPatch, of_page: bool, said: str) -> None:
    made = made_files(monkeypatch, "table_files")
    models = "bert-base-uncased deberta-v3-base"
    app = opened(open_app("compare.py", compare="table", models=models, preset="bert-large-uncased"))
    choice = app.selectbox(key="taken")
    choice.set_value(choice.options[0 if of_page else -1]).run()
    assert f": {said}}}" in read(made, "LaTeX")


@pytest.mark.parametrize(("batch_size", "verdict"), [("8", "fits"), ("4096", "does not fit")])
def test_the_report_of_what_fits_has_device_and_verdict(
    monkeypatch: pytest.MonkeyPatch, batch_size: str, verdict: str
) -> None:
    made = made_files(monkeypatch, "model_files")
    link = {"device_memory": "A100-80GB", "training_dtype": "amp-bf16", "batch_size": batch_size}
    app = opened(open_app("memory.py", **link))
    for label in ("Report, Markdown", "Report, HTML to print"):
        told = read(made, label)
        assert all(text in told for text in ("A100 80 GB", "AMP bfloat16", "Verdict", verdict))
        assert all(str(metric.value) in told for metric in app.metric)


def test_no_share_of_the_tensors_has_more_digits_than_people_read() -> None:
    app = open_app("structure.py", view="notebook")
    [shares] = [one.data["Share"] for one in noted(app) if "Share" in one.data]
    assert list(shares) == ["21.8 %", "77.7 %", "0.5 %", "", ""]
