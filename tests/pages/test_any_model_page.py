"""The Any model page: counts of the real classes, refused sizes, and untrusted input."""

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
import torch
import transformers
from streamlit.testing.v1 import AppTest
from torch.utils.flop_counter import FlopCounterMode
from transformers.initialization import no_init_weights

from bertcalc.charts.colors import COLORS
from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.results.result import NOT_ASKED, Checked
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.discover.results.size_steps import SizeHistory
from bertcalc.discover.search import build
from bertcalc.text.problem import Problem, wrong
from pages.server.run_queue import RUN_QUEUE
from pages.ui.any_model import discovering
from pages.ui.any_model.discovered_formula import formula
from pages.ui.any_model.export import formula_latex
from pages.ui.any_model.tensors import tensor_columns
from pages.ui.shell.i18n import catalogue
from pages.ui.widgets import real_answers
from pages.ui.widgets.export.shown import Origin
from tests.discover.real import real
from tests.examples import sampled
from tests.markdown import read
from tests.pages.apptest import component, frame_of, open_app, tables, texts, total, total_formula

pytestmark = pytest.mark.usefixtures("discovering_here")
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
PAGE = "any_model.py"


def opened(**link: str) -> AppTest:
    return open_app(PAGE, **{"model_type": "gpt2", **link})


def steps(app: AppTest) -> SizeHistory:
    found: SizeHistory = app.session_state["any steps"][1]
    return found


def move(app: AppTest, field: str, value: int | str) -> AppTest:
    """Set a field as the panel does with a browser's event."""
    steps(app).move(field, value)
    app.run()
    assert not app.exception
    return app


def sliders(app: AppTest) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in component(app, "bertcalc_panel")["fields"]}


def shares(app: AppTest) -> list[int]:
    """The parameter counts of the components."""
    return [int(one.delta.replace(",", "")) for one in app.metric[1:] if not one.label.startswith("FLOPs")]


def said(app: AppTest) -> str:
    return " ".join(one.value for one in (*app.markdown, *app.caption, *app.error, *app.warning, *app.text))


@pytest.mark.parametrize(
    ("model_type", "cls"),
    [
        ("gpt2", "GPT2LMHeadModel"),
        ("llama", "LlamaForCausalLM"),
        ("bart", "BartForCausalLM"),
        ("deepseek_v3", "DeepseekV3ForCausalLM"),
        ("electra", "ElectraForMaskedLM"),
    ],
)
def test_the_total_is_the_real_classes(model_type: str, cls: str) -> None:
    app = opened(model_type=model_type, model_class=cls)
    there = real(model_type, cls)
    assert total(app) == f"{there:,}"
    assert f"= {there:,}" in total_formula(app)["label"]
    assert sum(shares(app)) == there
    [bars] = [one for one in app.session_state["shown"] if one.spec]
    assert sum(bars.data["figure"]) == there
    [tensors] = [one for one in app.session_state["shown"] if not one.spec]
    assert sum(frame_of(tensors)["Parameters"]) == there
    assert "✓ Agrees with the real class at" in said(app)


def test_every_class_can_be_written() -> None:
    for key in sampled(shipped_classes(), 4):
        found = shipped(*key)
        assert found is not None
        columns = tensor_columns(found, found.fields)
        assert sum(columns["parameters"]) == found.explained
        drawn = formula(found, found.fields, COLORS["light"])
        assert drawn["label"].endswith(f" = {found.parameters:,}")
        assert not re.search(r"\(\w\)", drawn["label"])  # no brackets around a single symbol
        assert "aligned" in formula_latex(found)


def test_sizes_of_a_link_are_counted_and_said_by_the_link_again() -> None:
    app = opened(model_type="gpt2", sizes="n_layer-48~n_embd-1600~n_head-25")
    assert total(app) == "1,557,611,200" == f"{real('gpt2', 'GPT2LMHeadModel', n_layer=48, n_embd=1600, n_head=25):,}"
    assert app.query_params["sizes"] == "n_layer-48~n_embd-1600~n_head-25"
    move(app, "n_layer", 12)
    assert app.query_params["sizes"] == "n_embd-1600~n_head-25"
    assert total(app) == f"{real('gpt2', 'GPT2LMHeadModel', n_embd=1600, n_head=25):,}"


def test_another_type_begins_with_its_own_sizes() -> None:
    app = opened(sizes="n_layer-48")
    app.selectbox(key="model_type").set_value("llama").run()
    assert total(app) == f"{real('llama', 'LlamaForCausalLM'):,}" == total(open_app(PAGE))
    assert "sizes" not in app.query_params
    assert "model_type" not in app.query_params
    app.selectbox(key="model_type").set_value("gpt2").run()
    assert total(app) == "124,439,808"
    assert (app.query_params["model_type"], app.query_params["model_class"]) == ("gpt2", "GPT2LMHeadModel")


def test_sizes_outside_of_the_regime_are_refused_and_the_last_stay() -> None:
    app = move(opened(sizes="n_layer-24"), "n_embd", 770)
    before = total(app)
    wrong_ = sliders(app)["n_embd"]
    assert wrong_["problem"]["text"] == (
        "The formula holds only if n_embd is a multiple of n_head, but n_embd = 770, n_head = 12."
    )
    assert wrong_["problem"]["repairs"] == ["n_embd = 768", "n_embd = 780"]
    assert wrong_["typed"] == "770"
    assert before == total(opened(sizes="n_layer-24"))
    move(app, "n_embd", 780)
    assert total(app) == f"{real('gpt2', 'GPT2LMHeadModel', n_layer=24, n_embd=780):,}"


def test_a_field_without_a_slider_is_typed() -> None:
    app = opened(model_type="deepseek_v3")
    app.session_state["more sizes"] = True
    app.run()
    assert "kv_lora_rank" not in sliders(app)
    app.number_input(key="size kv_lora_rank").set_value(256).run()
    assert total(app) == f"{real('deepseek_v3', 'DeepseekV3ForCausalLM', kv_lora_rank=256):,}"
    app.number_input(key="size kv_lora_rank").set_value(0).run()
    assert "must be a whole number, 1 or more" in app.error[0].value
    assert app.query_params["sizes"] == "kv_lora_rank-256"


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ("n_embd-770", "n_embd is a multiple of n_head"),
        ("evil-3", "is not one of the sizes in this formula"),
        ("n_layer-0", "must be a whole number, 1 or more"),
        ("n_layer-999999999999999", "bertcalc shows at most"),
    ],
)
def test_impossible_sizes_in_a_link_are_named_and_left_out(sizes: str, why: str) -> None:
    app = opened(sizes=sizes)
    assert why in app.text[0].value
    assert total(app) == "124,439,808"
    move(app, "n_layer", 13)
    assert not app.text


def test_a_refused_field_has_the_name_of_this_model_and_not_of_the_sidebars_family() -> None:
    app = opened(model_type="llama", sizes="hidden_size-0", preset="distilbert-base-uncased")  # DistilBERT calls it dim
    assert "hidden_size must be a whole number, 1 or more" in texts(app)[0]


@pytest.mark.parametrize(
    "link",
    [
        {"sizes": "n_layer"},
        {"fields": "{"},
        {"fields": "[]"},
        {"model_type": "evil"},
        {"model_class": "os"},
        {"fields": '{"n_layer": 99999}'},
    ],
)
def test_what_a_link_cannot_say_is_refused_before_the_page(link: dict[str, str]) -> None:
    app = opened(**link)
    assert len(texts(app)) == 1
    assert total(app) == ("6,738,415,616" if "model_type" in link else "124,439,808")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("link", "said", "shown"),
    [
        ({"model_type": "nosuch"}, ["model_type=nosuch llama"], "LlamaForCausalLM"),
        ({"model_class": "LlamaModel"}, ["model_class=LlamaModel gpt2 GPT2"], "GPT2LMHeadModel"),
        ({"model_class": "GPT2ModelX"}, ["model_class=GPT2ModelX gpt2 GPT2Model"], "GPT2LMHeadModel"),
        (
            {"model_type": "gpt3", "model_class": "GPT2Model"},
            ["model_type=gpt3 gpt", "model_class=GPT2Model llama LlamaModel"],
            "LlamaForCausalLM",
        ),
        ({"class": "GPT2Model"}, ["class model_class"], "GPT2LMHeadModel"),
        ({"type": "llama"}, ["type model_type"], "GPT2LMHeadModel"),
    ],
)
def test_a_type_or_class_that_is_none_is_named(
    link: dict[str, str], said: list[str], shown: str, language: str
) -> None:
    app = opened(**link, lang=language)
    for _run in range(2):  # the message stays until the reader closes it
        for message, words in zip(texts(app), said, strict=True):
            assert all(word in message for word in words.split())
        assert shown in app.metric[0].label
        app.run()


def test_a_class_of_the_type_is_not_named() -> None:
    assert not texts(opened(model_type="t5", model_class="T5Model"))


def test_parts_open() -> None:
    app = opened(part="transformer.h.*.attn")
    [bars] = [one for one in app.session_state["shown"] if one.spec]
    assert list(bars.data["name"]) == ["c_attn", "c_proj"]
    assert sum(bars.data["figure"]) == 28_348_416
    assert "28{,}348{,}416" in app.latex[0].value
    app.selectbox(key="part").set_value("").run()
    assert "part" not in app.query_params
    assert not app.latex
    assert total(opened(part="no.such.part")) == total(app)


def test_the_table_has_shapes_in_fields_and_in_numbers() -> None:
    app = opened(any_tensors="true", sizes="n_embd-1536")
    frame = app.dataframe[0].value
    rows = {row["name"]: row for row in frame.to_dict("records")}
    words = rows["transformer.wte.weight"]
    assert (words["fields"], words["shape"]) == ("vocab_size × n_embd", "50,257 × 1,536")
    assert rows["transformer.h.*.mlp.c_fc.weight"]["copies"] == 12


def test_sizes_for_what_has_no_formula_are_named_and_left_out() -> None:
    app = opened(model_type="jamba", sizes="hidden_size-64")
    assert texts(app) == [
        "The link sets other sizes, but this model has no formula for them, so the page shows the given sizes."
    ]
    assert not opened(model_type="jamba").text


def test_what_is_not_explained_is_listed_and_counted() -> None:
    found = next(one for key in shipped_classes() if (one := shipped(*key)) and one.explained < one.parameters)
    app = opened(model_type=found.model_type, model_class=found.cls)
    assert total(app) == f"{found.parameters:,}" == f"{real(found.model_type, found.cls):,}"
    assert f"{found.explained:,} of {found.parameters:,} parameters" in app.warning[0].value
    [bars] = [one for one in app.session_state["shown"] if one.spec]
    assert sum(bars.data["figure"]) == found.parameters
    assert sum(shares(app)) == found.explained
    assert total_formula(app)["label"].endswith(f"+ ? = {found.parameters:,}")
    assert len(tables(app)[0]) == len(found.unexplained)
    assert not sliders(app)
    assert "✓" not in said(app)


def test_a_config_of_any_type_is_discovered_and_the_link_has_it() -> None:
    app = opened(any_bring="true")
    config = {
        "model_type": "t5",
        "architectures": ["T5EncoderModel"],
        "d_model": 128,
        "num_layers": 3,
        "dropout_rate": 0.5,
    }
    app.text_area(key="any config").set_value(json.dumps(config)).run()
    next(button for button in app.button if button.key == "any take").click().run()
    assert not app.exception
    assert total(app) == f"{real('t5', 'T5EncoderModel', d_model=128, num_layers=3):,}"
    link = {name: value for name, value in app.query_params.items() if name != "any_bring"}
    assert json.loads(app.query_params["fields"]) == {"d_model": 128, "num_layers": 3}
    again = opened(**{name: value if isinstance(value, str) else value[0] for name, value in link.items()})
    assert total(again) == total(app)
    assert (
        "T5EncoderModel("
        in opened(**{**{n: v if isinstance(v, str) else v[0] for n, v in link.items()}, "printed": "true"})
        .code[0]
        .value
    )
    move(app, "num_layers", 5)
    assert total(app) == f"{real('t5', 'T5EncoderModel', d_model=128, num_layers=5):,}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "This is not JSON"),
        ('{"model_type": "evil"}', "has no model type evil"),
        ('{"model_type": "gpt2", "n_layer": 1000000000}', "is too large"),
        ('{"n_layer": 3}', "The file has no model_type"),
    ],
)
def test_a_config_that_is_none_is_refused_where_it_was_pasted(text: str, why: str) -> None:
    app = opened(any_bring="true")
    app.text_area(key="any config").set_value(text).run()
    next(button for button in app.button if button.key == "any take").click().run()
    assert why in app.error[0].value.replace("`", "")
    assert total(app) == "124,439,808"


def test_a_model_that_transformers_does_not_build_is_said_with_a_way_back() -> None:
    app = opened(fields='{"n_embd": 13}')
    assert app.error[0].value.startswith(
        "transformers cannot build this model: n_embd = 13 is not a multiple of 12 (try 12). transformers says: ``"
    )
    assert not app.metric
    app.button(key="any default").click().run()
    assert total(app) == "124,439,808"
    assert "fields" not in app.query_params


@pytest.mark.parametrize("fields", ['{"n_embd": 13}', '{"n_embd": "big"}', '{"activation_function": "none"}'])
def test_a_refusal_is_english_in_a_chinese_page_only_as_code(fields: str) -> None:
    [error] = [one.value for one in opened(fields=fields, lang="zh").error]
    words = re.sub("`[^`]+`", "", re.sub("``.+?``", "", error))
    assert "transformers 不能构建这个模型" in words
    assert not re.search(r"(?!transformers)[A-Za-z]{4,} [a-z]+", words.replace("n_embd", ""))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_that_cannot_run_is_counted_and_said(language: str) -> None:
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 3}
    app = opened(model_type="llama", fields=json.dumps(sizes), lang=language)
    assert total(app) == f"{real('llama', 'LlamaForCausalLM', **sizes):,}"
    [warning] = [one.value for one in app.warning]
    assert ("it cannot run" if language == "en" else "不能运行") in warning
    assert "`RuntimeError: The size of tensor a (4) must match the size of tensor b (3)" in warning
    assert not move(app, "num_key_value_heads", 2).warning


def test_what_cannot_be_read_is_said_and_not_tried_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def leave(kind: str) -> None:
        tried.append(kind)
        raise SystemExit

    monkeypatch.setattr(build, "config_class", leave)
    app = opened(model_class="GPT2ForTokenClassification")
    for _run in range(2):
        assert [one.value for one in app.error] == ["GPT2ForTokenClassification could not be read: SystemExit."]
        app.run()
    assert tried == ["gpt2"]
    assert not app.exception


@pytest.mark.parametrize("language", ["en", "zh"])
def test_progress_says_what_is_done(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def discover(_request: object, *, progress: Any, wanted: object) -> None:
        assert not RUN_QUEUE.taken  # other readers are served meanwhile
        assert wanted is real_answers.wanted  # it ends when the reader leaves
        for one in (("", 0, 0), ("imports", 0, 0), ("n_embd", 2, 6), ("fresh configurations", 3, 12)):
            progress(*one)
        raise wrong("No.")

    class Bar:
        def progress(self, _share: float, text: str) -> bool:
            shown.append(text)
            return False

        def empty(self) -> None:
            """Do nothing."""

    monkeypatch.setattr(discovering, "discover", discover)
    monkeypatch.setattr("streamlit.progress", lambda _share, text: Bar().progress(0, text) or Bar())
    opened(fields='{"n_embd": 24, "n_head": 2}', lang=language)
    translate = catalogue(language).gettext
    assert shown[1] == translate("Waiting for another user's model")
    assert shown[3] == ("Changing n_embd: 3 of 6" if language == "en" else "改变 n_embd：3 / 6")
    assert "4 of 12" in shown[4] or "4 / 12" in shown[4]


def test_without_pytorch_what_is_shipped_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertcalc.proof.real_model.installed", lambda: False)
    assert total(opened(model_type="llama")) == f"{real('llama', 'LlamaForCausalLM'):,}"
    assert "not installed here" in opened(fields='{"n_embd": 24, "n_head": 3}').info[0].value


def test_the_export_has_this_model_and_not_the_sidebars() -> None:
    app = opened(sizes="n_layer-3")
    app.button(key="take").click().run()
    assert not app.exception
    labels = [element.proto.label for element in app.get("download_button")]
    assert labels == [
        "Interactive page of the parameters, HTML",
        "Formula, LaTeX",
        "Formula, Python",
        "CSV",
        "Markdown",
        "LaTeX",
        "SVG",
        "PNG",
    ]
    assert len(app.selectbox(key="taken").options) == len(app.session_state["shown"]) == 2
    own = app.session_state["own files"]
    page, latex, python = (file.make().decode() for file in own.files(Origin("https://example.org/?a=1", "zh")))
    assert "https://example.org/?a=1" in page
    assert '<html lang="zh">' in page
    assert '"n_layer": 3' in page
    assert r"\mathtt{n\_embd}" in latex
    assert "n_layer=12" in python
    for one in app.session_state["shown"]:
        assert one.table().rows


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_projector_has_the_formula_and_no_long_tables(language: str) -> None:
    app = opened(present="1", lang=language, model_type="deepseek_v3")
    assert total(app) == f"{real('deepseek_v3', 'DeepseekV3ForCausalLM'):,}"
    assert not app.dataframe
    assert not app.expander or all(one.label in ("More fields", "更多字段") for one in app.expander)
    [bars] = [one for one in app.session_state["shown"] if one.spec]
    assert sum(bars.data["figure"]) == real("deepseek_v3", "DeepseekV3ForCausalLM")


def test_a_chinese_page_has_no_english_sentence() -> None:
    app = opened(lang="zh", sizes="n_embd-770", proof="true", any_tensors="true", any_bring="true", model_type="gpt2")
    assert not re.findall(r"[A-Z][a-z]+ [a-z]+ [a-z]+", said(app))


def real_flops(model_type: str, cls: str, batch_size: int, length: int, **fields: Any) -> int:
    """PyTorch's FLOP count of a forward pass of the class that transformers builds."""
    config = transformers.CONFIG_MAPPING[model_type](**fields, attn_implementation="eager")
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, cls)(config).eval()
        ids = torch.zeros((batch_size, length), dtype=torch.long)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=ids, attention_mask=torch.ones_like(ids))
    return int(counter.get_total_flops())


def test_flops_are_shown_where_they_were_found() -> None:
    app = opened(model_type="llama", sizes="num_hidden_layers-2", batch_size="3", sequence_length="5")
    count = real_flops("llama", "LlamaForCausalLM", 3, 5, num_hidden_layers=2)
    assert app.metric[-1].value == f"{count:,}"
    assert not [one for one in app.button if one.key == "any flops"]


def test_flops_that_are_not_known_are_looked_for() -> None:
    fields = '{"hidden_size":32,"num_attention_heads":4,"ffn_dim":64,"num_hidden_layers":2,"vocab_size":96}'
    app = opened(model_type="opt", fields=fields, batch_size="2", sequence_length="7")
    assert not [one for one in app.metric if one.label.startswith("FLOPs")]
    app.button(key="any flops").click().run(timeout=120)
    assert not app.exception
    count = real_flops("opt", "OPTForCausalLM", 2, 7, **json.loads(fields))
    assert app.metric[-1].value == f"{count:,}"
    again = opened(model_type="opt", fields=fields, batch_size="2", sequence_length="7")
    assert again.metric[-1].value == f"{count:,}"


@pytest.mark.parametrize(
    ("no_flops", "language", "why"),
    [
        (
            Problem.of("the time limit was reached"),
            "en",
            "There is no formula for its FLOPs: the time limit was reached",
        ),
        (NOT_ASKED, "en", None),
    ],
)
def test_why_there_are_no_flops_is_said(
    no_flops: Any, language: str, why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shipped("t5", "T5Model")
    assert found is not None
    monkeypatch.setattr(
        "pages.ui.shell.any_model.known", lambda _request: replace(found, compute=None, no_flops=no_flops)
    )
    app = opened(model_type="t5", lang=language)
    assert (why in [one.value for one in app.caption]) is (why is not None)
    assert len([one for one in app.button if one.key == "any flops"]) == (why is None)


def test_flops_outside_of_where_their_formula_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shipped("llama", "LlamaForCausalLM")
    assert found is not None
    assert found.compute is not None
    compute = replace(found.compute, regime=(Condition("at most", "sequence_length", 100),))
    monkeypatch.setattr("pages.ui.shell.any_model.known", lambda _request: replace(found, compute=compute))
    [error] = opened(model_type="llama", sequence_length="101").error
    assert error.value == "The formula holds only if sequence_length is at most 100, but sequence_length = 101."


def follow(app: AppTest) -> AppTest:
    """Open the only page that a page links to."""
    [link] = app.get("page_link")
    return open_app(f"{link.proto.page}.py", **dict(parse_qsl(link.proto.query_string)))


@pytest.mark.parametrize(
    ("text", "cls", "fields"),
    [
        (
            '{"model_type": "bloom", "hidden_size": 96, "n_head": 3, "n_layer": 2}',
            "BloomForCausalLM",
            {"hidden_size": 96, "n_head": 3, "n_layer": 2},
        ),
        ('{"architectures": ["BloomForCausalLM"]}', "BloomForCausalLM", {}),
    ],
)
def test_your_model_leads_here_for_other_types_with_the_sizes(text: str, cls: str, fields: dict[str, int]) -> None:
    app = open_app("bring.py", bring="config")
    app.text_area(key="config_text").set_value(text).run()
    there = follow(app)
    assert there.metric[0].label == f"Parameters in {cls}"
    assert total(there) == f"{real('bloom', cls, **fields):,}"
    assert not list(open_app("bring.py", bring="config").get("page_link"))


def test_it_leads_to_the_comparison_with_its_sizes() -> None:
    there = follow(opened(model_type="llama", sizes="num_hidden_layers-2"))
    assert there.text_input(key="models").value == "bert-base-uncased llama.LlamaForCausalLM~num_hidden_layers-2"
    count = real("llama", "LlamaForCausalLM", num_hidden_layers=2)
    assert there.metric[0].value == f"+{count - 109_482_240:,}"
    there = follow(opened(model_type="bloom", fields='{"hidden_size":96,"n_head":3,"n_layer":2}'))
    assert there.metric[0].value.startswith("−")
    count = real("bloom", "BloomForCausalLM", hidden_size=96, n_head=3, n_layer=2)
    assert there.metric[0].value == f"−{109_482_240 - count:,}"


def test_a_field_that_follows_others_is_typed_and_becomes_a_size() -> None:
    app = opened(model_type="llama", sizes="num_hidden_layers-2")
    app.session_state["more sizes"] = True
    app.run()
    field = app.number_input(key="derived llama LlamaForCausalLM num_key_value_heads")
    assert (field.value, field.placeholder) == (None, "follows num_attention_heads")
    field.set_value(8).run()
    fields = {"num_key_value_heads": 8, "num_hidden_layers": 2}
    assert total(app) == f"{real('llama', 'LlamaForCausalLM', **fields):,}"
    assert app.query_params["fields"] == '{"num_key_value_heads":8}'
    assert app.query_params["sizes"] == "num_hidden_layers-2"
    move(app, "num_key_value_heads", 4)
    assert total(app) == f"{real('llama', 'LlamaForCausalLM', **fields | {'num_key_value_heads': 4}):,}"
    assert "head_dim" in steps(app).discovery.follows or any(one.label == "head_dim" for one in app.number_input)


def test_explain_leads_here_for_a_number_of_another_model() -> None:
    app = open_app("explain.py", number="125239296")
    assert any("OPTForCausalLM" in link.proto.label for link in app.get("page_link"))
    links = open_app("explain.py", number="125239297").get("page_link")
    assert [link.proto.page for link in links] == ["bring"]


def test_names_of_somebody_elses_fields_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shipped("gpt2", "GPT2LMHeadModel")
    assert found is not None
    why = Problem.of("{name}", name="$\\evil$ ![x](//evil)")
    evil = replace(found, unexplained={"[x](//evil)": why}, checked=Checked(0, 0, 0))
    monkeypatch.setattr("pages.ui.shell.any_model.known", lambda _request: evil)
    app = opened(proof="true")
    for cell in tables(app)[0].to_numpy().ravel():
        assert not read(f"{cell}").made


@pytest.mark.parametrize(
    ("model_type", "end"),
    [
        ("gpt2", "."),
        ("clip", "; one more condition is listed below."),
        ("whisper", "; 2 more conditions are listed below."),
    ],
)
def test_further_conditions_are_not_read_as_a_sum(model_type: str, end: str) -> None:
    verdict = next(str(one.value) for one in opened(model_type=model_type).markdown if "holds if" in str(one.value))
    assert verdict.endswith(end)
    assert " and " not in verdict.partition("holds if")[2]


def test_the_least_memory_is_that_of_weights_gradients_and_adams_states() -> None:
    """Each of the 124,439,808 parameters takes 4 bytes as a weight, and 16 bytes in training."""
    app = open_app("any_model.py", model_type="gpt2", model_class="GPT2Model")
    [caption] = [str(caption.value) for caption in app.caption if "in 4 bits" in str(caption.value)]
    caption = re.sub("<[^>]*>", "", caption)
    assert "497.8 MB (474.7 MiB) in float32" in caption
    assert "62.2 MB (59.3 MiB) in 4 bits" in caption
    assert "1.99 GB (1.85 GiB)" in caption
