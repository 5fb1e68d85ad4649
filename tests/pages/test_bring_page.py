"""The Bring anything page: valid models are shown and can be used, faults are reported, and the last model stays."""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from gzip import compress
from math import prod
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, Config, build
from bertcalc.families import FAMILIES, hf_json
from bertcalc.families.hf_json import LARGEST
from pages.ui.checkpoints import chooser
from pages.ui.checkpoints import inputs as bring
from tests.checkpoints.checkpoints import SMALL, change_config
from tests.discover.real import real as real_of_type
from tests.families.test_hf_json import CHINESE
from tests.hub.conftest import hub, models
from tests.hub.hub_server import Answer, Server
from tests.markdown import read
from tests.oracle import Case
from tests.pages.apptest import button, captions, metrics, open_app, tables, texts
from tests.pages.test_pasted_view import paste as paste_anything

__all__ = ["hub", "models"]  # fixtures that pytest finds by name
TAKE = "Use this model"


def paste(text: str, app: AppTest | None = None, **link: str) -> AppTest:
    app = app or open_app("bring.py", **{"bring": "config", **link})
    app.text_area(key="config_text").set_value(text).run()
    assert not app.exception
    return app


def choose(app: AppTest, key: str, *files: tuple[str, bytes], **changes: object) -> AppTest:
    """Do what the page does when files are chosen in a browser. ``changes`` replace values of each file's message."""
    said = [
        {"name": name, "size": len(data), "gzip": b64encode(compress(data)).decode(), **changes} for name, data in files
    ]
    number = 1 + (app.session_state[f"taken {key}"] if f"taken {key}" in app.session_state else 0)  # noqa: SIM401 (no get)
    state: dict[str, Any] = {key: {"files": {"number": number, "files": said}}, f"taken {key}": number - 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        {"config_file": bring.take_file_of_config, "weights_files": bring.take_files_of_weights}[key]()
    for forgotten in ("problems of file", "problems of config"):
        if forgotten in app.session_state and forgotten not in state:
            del app.session_state[forgotten]
    for name, value in state.items():
        if name != key:
            app.session_state[name] = value
    app.run()
    assert not app.exception
    return app


def bring_files(data: bytes, app: AppTest | None = None, name: str = "model.safetensors") -> AppTest:
    return choose(app or open_app("bring.py", bring="file"), "weights_files", (name, data))


def take(app: AppTest) -> AppTest:
    button(app, TAKE).click().run()
    assert not app.exception
    return app


def ask(app: AppTest) -> AppTest:
    button(app, "Read it from the Hub").click().run()
    assert not app.exception
    return app


def groups(app: AppTest) -> dict[str, list[str]]:
    return {row[0].strip("*"): [cell.strip("*") for cell in row[1:]] for row in tables(app)[0].to_numpy().tolist()}


def errors(app: AppTest) -> list[str]:
    return [read(error.value).seen for error in app.error]


def real(architecture: str, config: Config) -> str:
    return f"{sum(tensor.numel() for tensor in Case(config, architecture).real().parameters()):,}"


def test_a_pasted_config_is_counted_and_taken() -> None:
    app = paste(CHINESE)
    config = BertConfig(vocab_size=21128, num_labels=3)
    count = real("BertForTokenClassification", config)
    assert metrics(app) == {"Parameters in BertForTokenClassification": count}
    assert "directionality, gradient_checkpointing, pooler_fc_size" in captions(app)
    assert tables(app)[0].to_numpy().tolist() == [
        ["`architecture`", "`BertForTokenClassification`", "`BertModel`"],
        ["`num_labels`", "3", "2"],
    ]
    assert app.session_state["track"].present.config == BertConfig()  # the model changes only on request
    chosen = take(app).session_state["track"].present
    assert (chosen.config, chosen.architecture) == (config, "BertForTokenClassification")
    app.switch_page("parameters.py").run()
    assert app.metric[0].value == count


def test_fields_without_a_control_are_named_and_nothing_else_is_lost() -> None:
    fields = {
        "model_type": "bert",
        "hidden_size": 256,
        "num_attention_heads": 4,
        "hidden_dropout_prob": 0,
        "layer_norm_eps": 1e-5,
        "is_decoder": True,
        "add_cross_attention": True,
        "tie_word_embeddings": False,
        "hidden_act": "relu",
        "pad_token_id": 3,
        "initializer_range": 0.5,
        "classifier_dropout": 0.3,
        "use_cache": False,
    }
    app = paste(json.dumps(fields), architecture="BertLMHeadModel")
    assert "BertLMHeadModel is that of the current model" in captions(app)
    left = "`initializer_range`, `pad_token_id`, `use_cache`, `classifier_dropout`"
    assert f"affect no count: {left}" in captions(app)
    shown = metrics(app)["Parameters in BertLMHeadModel"]
    app = take(app)
    chosen = app.session_state["track"].present
    del fields["model_type"]
    taken = {name: value for name, value in fields.items() if f"`{name}`" not in left}
    assert {name: getattr(chosen.config, name) for name in taken} == taken
    assert f"{build(chosen.config, chosen.architecture).num_parameters():,}" == shown
    assert shown == real("BertLMHeadModel", BertConfig(**fields))  # type: ignore[arg-type]


def test_a_preset_is_recognized() -> None:
    app = paste(json.dumps({"vocab_size": 28996, "architectures": ["BertModel"]}))
    assert app.success[0].value == "This is bert-base-cased."


WRONG = [
    ('{"a": [1', "This is not JSON: line 1, column 9: a closing bracket is missing at the end of the text."),
    ("{'a': b}", "This is not JSON: line 1, column 2: names and strings must be in straight double quotes."),
    ("[]", "This is not a config.json: expected a JSON object, { } with fields inside."),
    (
        '{"model_type": "no_type"}',
        f"model_type 'no_type' is not supported: bertcalc's model families are {', '.join(FAMILIES)}.",
    ),
    ('{"hidden_size": NaN}', "NaN is not valid in JSON: write null or a number."),
    ('{"a": 1, "a": 2}', "a appears twice: it must appear only once."),
    ('{"a": ' + "[" * 100_000, "This JSON is nested too deeply."),
    ('{"a": ' + "9" * 5000 + "}", "A number in this text has too many digits."),
    ('{"a": "' + "x" * LARGEST + '"}', "This text has 1,000,009 characters: at most 1,000,000 are allowed."),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said[-20:] for _text, said in WRONG])
def test_what_is_no_config_is_said_in_a_sentence(text: str, said: str) -> None:
    app = paste(text)
    assert errors(app) == [said]
    assert not app.metric


def test_every_wrong_field_is_named_and_no_older_number_stays() -> None:
    app = paste(CHINESE)
    assert metrics(app)
    app = paste('{"hidden_size": "many", "num_hidden_layers": 0, "vocab_size": 1e99}', app)
    assert [error.split(" ")[0] for error in errors(app)] == ["vocab_size", "hidden_size", "num_hidden_layers"]
    assert "The model below" not in captions(app)
    assert not app.metric
    app = paste(CHINESE, app)
    assert not app.error
    assert app.metric


def test_a_program_of_its_own_makes_the_count_a_guess() -> None:
    config = {"model_type": "bert", "auto_map": {"AutoModel": "modeling.OurBert"}}
    app = paste(json.dumps(config))
    assert metrics(app) == {"Parameters in BertModel (estimate)": real("BertModel", BertConfig())}
    assert "has its own code ('modeling.OurBert'), which bertcalc does not run" in read(app.warning[0].value).seen


@pytest.mark.parametrize(
    ("content", "type_meant"), [({"embedding_size": 64}, "electra"), ({"model_type": "ALBERT"}, "albert")]
)
def test_a_model_type_that_is_missing_or_misspelled_is_asked_about(content: dict[str, Any], type_meant: str) -> None:
    app = paste(json.dumps(content), paste(CHINESE))
    assert "model_type" in errors(app)[0]
    assert not app.metric
    button(app, f"Read it as `{type_meant}`").click().run()
    assert not app.exception
    assert app.metric[0].label.endswith(FAMILIES[type_meant].base.name)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps({"model_type": "bert", "alibi_starting_size": 512}), "this is MosaicBERT (or DNABERT-2)"),
        (json.dumps({"model_type": "nezha"}), "this is NEZHA"),
        (json.dumps({"in_features": 768, "out_features": 512}), "which adds 393,728 parameters to the model"),
        (json.dumps([{"path": "", "type": "sentence_transformers.models.Transformer"}]), "This is the modules.json"),
    ],
)
def test_what_is_not_counted_is_explained_and_no_older_number_stays(text: str, why: str) -> None:
    app = paste(text, paste(CHINESE))
    assert why in errors(app)[0]
    assert not app.metric


def test_a_printed_configuration_is_read() -> None:
    config = "BertConfig {\n  'hidden_size': 128, # tiny\n  'num_attention_heads': 2,\n}"
    assert metrics(paste(config)) == {
        "Parameters in BertModel": real("BertModel", BertConfig(hidden_size=128, num_attention_heads=2))
    }


LLAMA = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32000, "hidden_size": 4096,
 "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32}"""


@pytest.mark.parametrize("view", ["config", "text"])
@pytest.mark.parametrize(
    ("text", "cls", "is_counted"),
    [
        (LLAMA, "LlamaForCausalLM", True),
        ('{"model_type": "qwen2", "hidden_size": 896}', "Qwen2ForCausalLM", True),
        ('{"model_type": "t5", "d_model": 512}', "T5ForConditionalGeneration", True),
        ('{"architectures": ["MistralModel"], "model_type": "mistral", "hidden_size": 1024}', "MistralModel", False),
        ('{"model_type": "llama", "attention_bias": true}', "LlamaForCausalLM", False),
    ],
)
def test_a_config_of_another_type_is_counted_or_leads_on_and_no_older_number_stays(
    text: str, cls: str, is_counted: bool, view: str
) -> None:
    fields = json.loads(text)
    fields.pop("architectures", None)
    app = paste(text, paste(CHINESE)) if view == "config" else paste_anything(text)
    count = f"{real_of_type(cls=cls, **fields):,}" if is_counted else ""
    assert metrics(app) == ({f"Parameters in {cls}": count} if is_counted else {})
    assert not app.error
    assert not tables(app)
    assert "The model below" not in captions(app)
    link = next(link for link in app.get("page_link") if "fields=" in link.proto.query_string)
    assert cls in link.proto.label
    assert is_counted == ("its formula was derived" in captions(app))
    assert is_counted == any(each.proto.component_name == "total_formula" for each in app.get("bidi_component"))
    if view == "config":
        assert metrics(paste(CHINESE, app))  # a valid config.json is shown again


@pytest.mark.parametrize(
    ("family", "sidebar", "cls"),
    [
        ("distilbert", "BertForMaskedLM", "DistilBertForMaskedLM"),
        ("gpt2", "BertModel", "GPT2Model"),
        ("bert", "BertLMHeadModel", "BertLMHeadModel"),
    ],
)
def test_a_config_without_a_class_has_its_own_familys_class(family: str, sidebar: str, cls: str) -> None:
    app = paste(json.dumps({"model_type": family}), architecture=sidebar)
    kind = FAMILIES[family].config
    assert metrics(app) == {f"Parameters in {cls}": real(cls, kind(is_decoder=True) if "LMHead" in cls else kind())}


@pytest.mark.parametrize(
    ("misspelled", "field"),
    [
        ({"hidden_sze": 512, "num_attention_heads": 8}, "hidden_size"),
        ({"model_type": "distilbert", "n_layer": 3}, "n_layers"),
    ],
)
def test_a_misspelled_key_is_asked_about_and_read_with_one_press(misspelled: dict[str, Any], field: str) -> None:
    app = paste(json.dumps(misspelled))
    before = metrics(app)
    button(app, f"Read it as `{field}`").click().run()
    assert not app.exception
    assert field in json.loads(f"{app.text_area(key='config_text').value}")
    assert not [button for button in app.button if button.label.startswith("Read it as")]
    assert metrics(app) != before


def test_two_keys_that_mean_one_field_are_both_asked_about() -> None:
    app = paste(json.dumps({"model_type": "bert", "d_model": 512, "n_embd": 256}))
    assert [button.label for button in app.button if button.label.startswith("Read it as")] == 2 * [
        "Read it as `hidden_size`"
    ]


def test_a_config_of_no_type_at_all_leaves_no_older_number() -> None:
    app = paste('{"model_type": "no_type"}', paste(CHINESE))
    assert "'no_type'" in errors(app)[0]
    assert not app.metric


def test_a_model_that_the_sidebar_cannot_have_is_not_offered() -> None:
    app = paste_anything("In fp16, the KV cache of Llama-3-8B takes 536.9 MB for 4,096 tokens.")
    assert TAKE not in [button.label for button in app.button]
    assert any("it has no control for `num_key_value_heads`" in caption.value for caption in app.caption)


def test_a_config_with_the_hidden_fields_of_a_preset_is_offered() -> None:
    model = build("deberta-v3-small")
    app = paste_anything(hf_json.write(model))
    assert take(app).session_state["track"].present.config == model.config
    assert not any("it has no control for" in caption.value for caption in app.caption)


def test_somebodys_text_is_no_markdown() -> None:
    app = paste(json.dumps({"model_type": "![x](http://example.com/x.png)"}))
    assert read(app.error[0].value).code == ["'![x](http://example.com/x.png)'"]
    assert "model_type '![x](http://example.com/x.png)'" in errors(app)[0]


def test_a_chosen_config_goes_into_the_field() -> None:
    app = open_app("bring.py", bring="config")
    choose(app, "config_file", ("config.json", CHINESE.encode()))
    assert app.text_area(key="config_text").value == CHINESE
    assert "Parameters in BertForTokenClassification" in metrics(app)
    choose(app, "config_file", ("config.json", CHINESE.encode("utf-16")))
    assert errors(app) == ["This is not UTF-8: byte 1 is 0xff."]
    assert "Parameters in BertForTokenClassification" in metrics(app)
    choose(app, "config_file", ("config.json", b""), size=438_000_000)
    assert errors(app) == ["This file has at least 438,000,000 bytes: a config.json can have at most 1,000,000."]
    choose(app, "config_file", ("config.json", b""), gzip=None)
    assert errors(app) == ["The browser could not read config.json."]
    app = paste(CHINESE + " ", app)
    assert not app.error


def test_the_text_is_still_there_after_another_view() -> None:
    app = paste(CHINESE)
    for view in ("file", "config"):
        app.segmented_control(key="bring").set_value(view).run()
    assert app.text_area(key="config_text").value == CHINESE
    assert "Parameters in BertForTokenClassification" in metrics(app)


def test_a_chosen_file_is_compared_and_taken(models: Path) -> None:
    app = bring_files((models / "some" / "published" / "model.safetensors").read_bytes())
    assert "it has every tensor, in the right shape; anything else is a copy or a buffer" in app.success[0].value
    count = real("BertForPreTraining", SMALL)
    assert metrics(app) == {
        "Tensors": "47",
        "Parameters in the file": count,
        "Parameters in BertForPreTraining": count,
        "Elements of buffers": "40",
    }
    rows = groups(app)
    assert rows["older name: gamma, beta"][0] == "12"
    assert rows["buffer: not trained"][:3] == ["1", "40", "+40"]
    assert rows["the file has"][2] == f"{int(count.replace(',', '')) + 40:,}"
    assert f"F32 {count} · I64 40" in captions(app)
    assert (
        "`num_attention_heads` cannot be read from any shape: 2 is assumed, which does not affect any count."
        in captions(app)
    )
    chosen = take(app).session_state["track"].present
    assert not app.error
    assert metrics(app)["Tensors"] == "47"
    assert chosen.config == replace(SMALL, num_labels=2)
    assert chosen.architecture == "BertForPreTraining"


def test_a_file_that_is_none_is_said_and_the_last_stays(models: Path) -> None:
    app = bring_files((models / "some" / "published" / "model.safetensors").read_bytes())
    before = metrics(app)
    app = bring_files(b"PK\x03\x04" + bytes(100), app)
    assert "This is a PyTorch file, not a safetensors file" in errors(app)[0]
    assert metrics(app) == before
    assert "The model below is the last one that could be read." in captions(app)


def test_what_was_read_is_there_after_another_view(models: Path) -> None:
    app = bring_files((models / "some" / "published" / "model.safetensors").read_bytes())
    before = metrics(app)
    for view in ("config", "file"):
        app.segmented_control(key="bring").set_value(view).run()
    assert metrics(app) == before
    assert "The model below is the last" not in captions(app)


def test_somebodys_tensors_are_no_markdown() -> None:
    tensors: dict[str, dict[str, Any]] = {
        f"{prefix}{name}": {"dtype": "BF16", "shape": list(shape)}
        for prefix in ("", "x`![x](http://example.com/x.png)")
        for name, shape in build(replace(SMALL, vocab_size=5)).named_parameters()
    }
    at = 0
    for said in tensors.values():
        size = 2 * prod(said["shape"])
        said["data_offsets"] = [at, at + size]
        at += size
    header = json.dumps(tensors).encode()
    app = bring_files(len(header).to_bytes(8, "little") + header + bytes(at), name="![x](y).safetensors")
    assert "has all tensors of BertModel, and others" in app.info[0].value
    assert "`![x](y).safetensors`" in app.info[0].value
    example = groups(app)["not in any class with these sizes"][3]
    assert read(example).code == ["x`![x](http://example.com/x.png)embe ..."]
    assert "BF16" in captions(app)


def test_a_file_of_another_model_is_said() -> None:
    header = json.dumps({"model.embed_tokens.weight": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}).encode()
    app = bring_files(len(header).to_bytes(8, "little") + header)
    assert "it has no two-dimensional tensor embed_tokens.weight" in errors(app)[0]  # EuroBERT is the nearest family
    assert not app.metric


def test_a_model_of_the_hub_is_read_on_request_only(hub: Server, models: Path) -> None:
    app = open_app("bring.py", bring="hub", repo_id="some/published")
    assert app.text_input(key="repo_id").value == "some/published"
    assert hub.asked == []
    assert not app.metric
    app = ask(app)
    assert len(hub.asked) == 2
    assert "has all tensors of BertForMaskedLM, and others as well" in app.info[0].value
    ours, theirs = real("BertForMaskedLM", SMALL), real("BertForPreTraining", SMALL)
    assert metrics(app)["Parameters in the file"] == theirs
    assert metrics(app)["Parameters in BertForMaskedLM"] == ours
    row = groups(app)["head of a different class"]
    assert row[0] == "4"
    assert row[2] == f"+{int(theirs.replace(',', '')) - int(ours.replace(',', '')):,}"
    assert "`pooler.dense`, `cls.seq_relationship`: BertForPreTraining" in row[3]
    assert "pooler_fc_size" in captions(app)
    chosen = take(app).session_state["track"].present
    assert (chosen.config, chosen.architecture) == (SMALL, "BertForMaskedLM")
    assert len(hub.asked) == 2


def test_without_a_class_in_the_config_the_tensors_tell(hub: Server) -> None:
    app = ask(open_app("bring.py", bring="hub", repo_id="some/unnamed"))
    assert "is BertForSequenceClassification: it has every tensor, in the right shape" in app.success[0].value


def test_a_checkpoint_that_does_not_fit_its_config(hub: Server, models: Path, other_vocabulary: None) -> None:
    app = ask(open_app("bring.py", bring="hub", repo_id="some/published"))
    assert "does not fit BertForMaskedLM: 16 tensors are missing, 2 have a different shape." in app.warning[0].value
    assert "[50, 128] instead of [60, 128]" in groups(app)["different shape"][3].replace("\\", "")


@pytest.fixture
def other_vocabulary(models: Path) -> Iterator[None]:
    folder = models / "some" / "published"
    change_config(folder, vocab_size=60, num_hidden_layers=3)
    yield
    change_config(folder, vocab_size=50, num_hidden_layers=2)


def test_what_the_hub_has_not_is_said_and_the_last_stays(hub: Server) -> None:
    hub.answers["some/gated"] = Answer(403, {"X-Error-Code": "GatedRepo"})
    app = ask(open_app("bring.py", bring="hub", repo_id="some/published"))
    before = metrics(app)
    for name, said in {
        "some/nothing": "some/nothing is not on the Hub, or it is not public.",
        "some/gated": "some/gated is gated: only users approved by its owner can read it, and this server is",
        "../../etc": "../../etc is not a name on the Hub",
    }.items():
        app.text_input(key="repo_id").set_value(name)
        app = ask(app)
        assert said in errors(app)[0]
        assert metrics(app) == before
        assert "The model below is the last one that could be read." in captions(app)


def test_a_model_of_another_type_on_the_hub_leads_on_with_its_sizes(hub: Server) -> None:
    app = ask(open_app("bring.py", bring="hub", repo_id="some/published"))
    assert app.metric
    app.text_input(key="repo_id").set_value("some/other")
    app = ask(app)
    assert not app.metric
    [link] = app.get("page_link")
    assert "model_type=t5" in link.proto.query_string
    assert "vocab_size" in link.proto.query_string


def test_offline_is_said() -> None:
    app = ask(open_app("bring.py", bring="hub"))  # tests run with HF_HUB_OFFLINE
    assert errors(app) == ["The Hub (huggingface.co) cannot be reached from this server."]


def test_a_wrong_view_and_a_name_that_is_too_long_are_refused_in_the_link() -> None:
    app = open_app("bring.py", bring="files", repo_id="a" * 97)
    assert texts(app) == [
        "bring=files in the link is invalid: it must be one of the options, such as file (Weights file).",
        "repo_id in the link is too long: at most 96 characters.",
    ]


def test_a_file_that_is_cut_off_is_read_and_what_is_missing_is_said(models: Path) -> None:
    data = (models / "some" / "published" / "model.safetensors").read_bytes()
    whole = bring_files(data)
    app = bring_files(data[: 8 + int.from_bytes(data[:8], "little")])
    assert metrics(app) == metrics(whole)
    rest = len(data) - 8 - int.from_bytes(data[:8], "little")
    assert f"its header announces {rest:,} bytes of data, but the file has 0" in app.warning[0].value
    assert not whole.warning


def test_all_files_of_a_model_are_read_together(models: Path) -> None:
    folder = models / "some" / "sharded"
    files = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    assert {name.partition(".")[2] for name, _data in files} == {"json", "safetensors", "safetensors.index.json"}
    app = choose(open_app("bring.py", bring="file"), "weights_files", *files)
    assert "is BertForSequenceClassification: it has every tensor, in the right shape" in app.success[0].value
    without = [file for file in files if "00002-of" not in file[0]]
    app = choose(app, "weights_files", *without)
    assert "which was not chosen: choose all files together." in errors(app)[0]


def test_the_file_that_is_wrong_is_named(models: Path) -> None:
    good = (models / "some" / "published" / "model.safetensors").read_bytes()
    app = choose(open_app("bring.py", bring="file"), "weights_files", ("a.safetensors", good), ("b.safetensors", b"PK"))
    assert errors(app)[0].startswith("b.safetensors: This is not a safetensors file: it has 2 bytes")


def test_pickles_are_refused_in_a_sentence() -> None:
    app = bring_files(b"", name="pytorch_model.bin")
    assert errors(app) == [
        "pytorch_model.bin is not a .safetensors file. bertcalc does not open other weight files, because reading a "
        "pickle can run arbitrary code. Use save_pretrained of transformers to write a .safetensors file."
    ]


def test_a_message_that_comes_again_counts_once() -> None:
    state: dict[str, Any] = {"key": {"files": {"number": 1, "files": ["a"]}}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        assert chooser.take_files("key") == ["a"]
        assert chooser.take_files("key") is None
        wrong: tuple[object, ...] = (None, [], {"files": 3}, {"files": {"number": "2", "files": []}})
        for forged in (*wrong, {"files": {"number": 9}}):
            state["key"] = forged if isinstance(forged, dict) else {"files": forged}
            assert chooser.take_files("key") is None
