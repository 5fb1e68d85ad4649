"""``python -m bertcalc`` prints the same figures as the library, and a message if the input is wrong."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bertcalc
from bertcalc.__main__ import main
from bertcalc.families.published import PUBLISHED, PublishedCount


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out
    return printed.err.strip()


def test_a_table_has_the_published_total_and_its_formula(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "bert-base-uncased")
    assert "109,482,240" in text
    assert "L (4H² + 2HI + 9H + I)" in text
    assert "22,348,431,360  FLOPs" in text


@pytest.mark.parametrize("published", [one for one in PUBLISHED if not one.surplus][::7], ids=lambda one: one.preset)
def test_json_has_what_was_published(published: PublishedCount, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [published.preset, "--architecture", published.architecture, "--json"]
    if not published.add_pooling_layer:
        arguments.append("--add-pooling-layer=false")
    found = json.loads(said(capsys, *arguments))
    assert found["parameters"] == published.parameters == sum(found["components"].values())


def test_fields_have_their_own_names_and_heads_follow(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "distilbert-base-uncased", "--dim", "1024", "--n_layers=3", "--json"))
    config = bertcalc.DistilBertConfig(dim=1024, n_heads=16, n_layers=3)
    assert found["parameters"] == bertcalc.build(config).num_parameters()
    assert (found["config"]["n_heads"], found["config"]["dim"]) == (16, 1024)
    assert "H = 1,020, L = 12, A = 12" in said(capsys, "--hidden-size", "1020", "--num-attention-heads", "12")


def test_a_batch_has_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "--batch-size", "4e0", "--sequence-length", "32", "--json"))
    model = bertcalc.build(bertcalc.BertConfig())
    assert found["forward"] == bertcalc.forward_flops(model, 4, 32)
    assert found["training"] == bertcalc.training_flops(model, 4, 32)
    assert found["activations"] == bertcalc.saved_activation_bytes(model, 4, 32)
    assert found["inference_memory"] == bertcalc.inference_peak_bytes(model, 4, 32)
    assert found["training_memory"] == bertcalc.training_peak_bytes(model, 4, 32)


def test_steps_have_their_figures(capsys: pytest.CaptureFixture[str]) -> None:
    lora = "lora,r=16,target_modules=query+value"
    found = json.loads(said(capsys, "--changes", lora, "--json"))
    model = bertcalc.load("bert-base-uncased").adapted(bertcalc.Lora(r=16, target_modules=["query", "value"]))
    assert found["changes"] == lora
    assert (found["parameters"], found["trainable"]) == (model.num_parameters(), model.trainable_parameters)
    assert found["file"] == model.file_bytes()
    assert found["training_memory"] == bertcalc.training_peak_bytes(model, 1, 128)
    spaced = json.loads(said(capsys, "--changes", " lora, r=16 , target_modules=query+value; ", "--json"))
    assert spaced["changes"] == lora
    form = bertcalc.BitsAndBytesConfig(load_in_8bit=True)
    text = said(capsys, "gpt2", "--changes=vocabulary,new_num_tokens=20000;bitsandbytes,load_in_8bit=true")
    quantized = bertcalc.load("gpt2").adapted(bertcalc.ResizeVocabulary(20_000)).quantized(form)
    assert f"{quantized.file_bytes:,}" in text
    assert f"{quantized.memory_bytes:,}" in text
    assert "V = 20,000" in text
    assert "ResizeVocabulary(new_num_tokens=20000), BitsAndBytesConfig(load_in_8bit=True)" in text
    assert "Quantized weights are frozen" in text


def test_a_configuration_is_read_and_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "vocab_size": 1000, "x": 1}')
    assert main(["--config", str(file), "--hidden-size", "256", "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    config = bertcalc.RobertaConfig(vocab_size=1000, hidden_size=256, num_attention_heads=4)
    assert found["parameters"] == bertcalc.build(config, "RobertaForMaskedLM").num_parameters()
    assert "Unknown keys, ignored: x." in printed.err


def test_a_configuration_has_the_fields_of_its_own_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: fields were searched in BERT's config, or in another family's config with the same field name."""
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "albert"}')
    found = json.loads(said(capsys, "--config", str(file), "--embedding-size", "256", "--json"))
    assert found["parameters"] == bertcalc.build(bertcalc.AlbertConfig(embedding_size=256)).num_parameters()
    assert refused(capsys, "--config", str(file), "--qa-dropout", "0.1").endswith("cannot be 0.1.")
    for preset, kind in (("electra-small-discriminator", "last"), ("gpt2", "cls_index")):
        found = json.loads(said(capsys, preset, "--summary-type", kind, "--json"))
        assert found["config"]["summary_type"] == kind


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bert-base"], "there is no preset bert-base: did you mean bert-base-uncased?"),
        (["present"], "there is no preset present: python -m bertcalc --help lists them."),
        (["present~vocab_size-8"], "there is no preset present: python -m bertcalc --help lists them."),
        (["bert-base-uncased~vocab_size-8 gpt2"], "vocab_size '8 gpt2' is invalid"),
        (["bert-base-uncased~vocab_size-8", "--vocab-size", "9"], "write each field once, with a value: vocab_size-"),
        (["nope nope"], "there is no preset nope nope: python -m bertcalc --help lists them."),
        (["--hiden-size", "8"], "there is no field hiden_size: did you mean hidden_size?"),
        (["--hidden-size", "1000"], "hidden_size 1,000 cannot be split into heads of 64: use 1,024."),
        (["--hidden-size"], "Cannot read --hidden-size: write a field and its value, such as --hidden-size 1024."),
        (["bert-base-uncased", "roberta-base"], "Cannot read roberta-base: write a field and its value"),
        (["--vocab-size", "1~layers-3"], "Cannot read --vocab-size"),
        (
            ["--vocab-size", "-1"],
            "vocab_size -1 is invalid: it must be a whole number from 1 to 10,000,000; the nearest is 1.",
        ),
        (["--sequence-length", "513"], "sequence_length 513 is invalid: it must be a whole number from 1 to 512"),
        (["--batch-size", "0"], "batch_size 0 is invalid"),
        (["--vocab-size", "1e9"], "vocab_size 1,000,000,000 is invalid: it must be a whole number"),
        (["--batch-size", "many"], "batch_size 'many' is invalid: it must be a whole number from 1 to 1,000,000"),
        (["--batch-size", "9" * 5_000], "batch_size '999"),
        ([f"-{'x' * 5_000}"], "Cannot read -xxx"),
        (["--changes", "lorra"], "There is no step 'lorra': did you mean lora?"),
        (["--changes", "lora;ia3"], "LoRA and IA3 exclude each other: remove one of them."),
        (["--config", "/nowhere"], "/nowhere cannot be read: No such file or directory."),
        (["bert-base-uncased", "--config", "/nowhere"], "Give a preset or --config, not both."),
    ],
)
def test_wrong_input_is_a_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(capsys, *arguments)
    assert text.startswith(sentence)
    assert "\n" not in text
    assert len(text) < 500


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hidden_size": 770}', '{"model_type": "llama"}', "\0"])
def test_a_wrong_configuration_is_a_sentence(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    assert refused(capsys, "--config", str(file))


def test_it_is_a_program() -> None:
    """The command works from another folder, without SymPy, and with ``head -1`` as reader."""
    root = str(Path(bertcalc.__file__).parents[1])
    program = f"import sys, runpy; sys.path.insert(0, {root!r}); sys.modules['sympy'] = None; sys.argv[1:] = ['--json']"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}; runpy.run_module('bertcalc', run_name='__main__')"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout)["formulas"]["pooler"] == "H² + H"
    shell = f"{sys.executable} -m bertcalc | head -1"
    cut = subprocess.run(["bash", "-c", shell], cwd=root, capture_output=True, text=True, check=True)
    assert cut.stdout.startswith("BertModel: V = 30,522")
    assert cut.stderr == ""
    for command, code, error in (
        ("--help | true; exit ${PIPESTATUS[0]}", 0, ""),
        (">&-", 0, ""),
        ("> /dev/full", 1, "The output cannot be written: No space left on device.\n"),
    ):
        line = f"PYTHONIOENCODING=gbk {sys.executable} -m bertcalc {command}"  # GBK has no superscript two
        run = subprocess.run(["bash", "-c", line], cwd=root, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (code, error)


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("google-bert/bert-base-uncased", "bert-base-uncased"),
        ("microsoft/deberta-base", "deberta-base"),
        ("https://huggingface.co/FacebookAI/roberta-base", "roberta-base"),
        ("BERT-Base-Uncased", "bert-base-uncased"),
        ("modernbert-base", "ModernBERT-base"),
        ("openai-community/gpt2", "gpt2"),
    ],
)
def test_a_name_of_the_hub_or_in_capitals_is_its_preset(
    name: str, preset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, name) == said(capsys, preset)


def test_a_name_of_the_hub_that_is_not_known_is_near_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean deberta-base?" in refused(capsys, "nobody/deberta-base")
    assert "did you mean bert-base-uncased?" in refused(capsys, "BERT-base")


def test_a_class_is_suggested_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    for name, cls in (("bertmodel", "BertModel"), ("bert_for_masked_lm", "BertForMaskedLM"), ("GPT2", "GPT2Model")):
        assert f"did you mean {cls}?" in refused(capsys, "--architecture", name)


def test_suggestions_are_near(capsys: pytest.CaptureFixture[str]) -> None:
    """Suggestions come from the preset's family first. A name that is not close to any other gets no suggestion."""
    assert refused(capsys, "bert-base-uncased", "--architecture", "maskedlm").endswith("did you mean BertForMaskedLM?")
    assert refused(capsys, "gpt2", "--architecture", "lmheadmodel").endswith("did you mean GPT2LMHeadModel?")
    assert refused(capsys, "bert-base-uncased", "--dtype", "float16") == "there is no field dtype."


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"bertcalc {bertcalc.__version__}\n"
    settings = tomllib.loads((Path(bertcalc.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "bertcalc.__version__"}


def test_json_has_the_reason_of_each_null(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ModernBERT-base", "--architecture", "ModernBertForMaskedLM", "--sparse-prediction", "true", "--json"]
    found = json.loads(said(capsys, *arguments))
    nulls = [key for key, value in found.items() if value is None]
    assert "training_memory" in nulls
    assert list(found["reasons"]) == nulls
    assert "depends on how many tokens are masked" in found["reasons"]["training_memory"]
    assert json.loads(said(capsys, "--json"))["reasons"] == {}


def test_a_class_of_another_family_and_a_file_of_another_type_say_where_to_go(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = refused(capsys, "distilbert-base-uncased", "--architecture", "BertForMaskedLM")
    assert other.endswith(
        "BertForMaskedLM does not belong to the family of distilbert-base-uncased: start from bert-base-uncased."
    )
    assert "another family" not in refused(capsys, "--hidden-size", "1001", "--num-attention-heads", "12")
    for text in ('{"model_type": "llama"}', '{"architectures": ["LlamaForCausalLM"]}'):
        (tmp_path / "config.json").write_text(text)
        assert "python -m bertcalc.discover" in refused(capsys, "--config", str(tmp_path / "config.json"))


def test_given_heads_stay_as_they_are_with_another_width(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "--hidden-size", "1024", "--num-attention-heads", "8", "--json"))
    assert found["config"]["num_attention_heads"] == 8


def test_none_is_written_as_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(said(capsys, "--pad-token-id", "None", "--json"))["config"]["pad_token_id"] is None


def test_a_preset_has_the_changes_of_a_link(capsys: pytest.CaptureFixture[str]) -> None:
    linked = said(capsys, "bert-base-uncased~vocab_size-21128~changes-lora,r=16", "--json")
    assert linked == said(capsys, "bert-base-uncased", "--vocab-size", "21128", "--changes", "lora,r=16", "--json")
