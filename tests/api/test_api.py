"""The public API: what ``load`` accepts, what the methods of models return, and messages about wrong input."""

import copy
import inspect
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given

import bertcalc
from bertcalc.discover.results.shipped import shipped
from bertcalc.families import FAMILIES, PRESETS
from bertcalc.model.change import Change
from bertcalc.model.freezing import Freezing
from tests.examples import examples
from tests.oracle import Case, facts, real_config
from tests.strategies import cases

BERT = bertcalc.load("bert-base-uncased")
TINY = bertcalc.BertConfig(50, 8, 2, 2, 12, max_position_embeddings=16)


@given(cases())
@examples(8)
def test_a_configuration_of_transformers_is_the_model_that_it_builds(case: Case) -> None:
    """A transformers configuration loads as an object, as a dictionary and as a file, without a warning."""
    real, config = case.real(), real_config(case.config)
    config.architectures = [case.architecture]
    for source in (config, config.to_dict(), config.to_diff_dict() | {"model_type": config.model_type}):
        model = bertcalc.load(source, add_pooling_layer=case.add_pooling_layer)
        assert facts(model) == facts(real)
        assert model.architecture == case.architecture


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_a_file_that_transformers_saves_is_loaded(family: Any, tmp_path: Path) -> None:
    config = getattr(transformers, family.config.__name__)()
    config.architectures = [family.classes[1].name]
    config.save_pretrained(tmp_path)
    model = bertcalc.load(str(tmp_path / "config.json"))
    assert model.architecture == family.classes[1].name
    for source in (tmp_path, str(tmp_path), tmp_path / "config.json"):
        assert facts(bertcalc.load(source)) == facts(model)
    body = bertcalc.load(tmp_path, family.base.name)
    assert facts(body) == facts(Case(family.config(), family.base.name).real())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_loaded_by_its_name(name: str) -> None:
    model = bertcalc.load(name)
    assert model.config == PRESETS[name].config
    assert model.num_parameters() == bertcalc.build(model.config).num_parameters()


def test_a_preset_can_have_a_class() -> None:
    model = bertcalc.load("google-bert/bert-base-uncased", "BertForMaskedLM")
    assert facts(model) == facts(Case(bertcalc.BertConfig(), "BertForMaskedLM").real())


def test_ours_and_the_pooler() -> None:
    assert (
        bertcalc.load(TINY, "BertForPreTraining").num_parameters()
        == bertcalc.build(TINY, "BertForPreTraining").num_parameters()
    )
    bare = bertcalc.load(TINY, add_pooling_layer=False)
    assert facts(bare) == facts(Case(TINY, "BertModel", add_pooling_layer=False).real())
    assert (
        bertcalc.load("albert-base-v2", add_pooling_layer=False).num_parameters()
        < bertcalc.load("albert-base-v2").num_parameters()
    )


def test_a_method_gives_what_the_function_gives() -> None:
    model, batch = bertcalc.load(TINY, "BertForMaskedLM"), {"batch_size": 2, "sequence_length": 5}
    more: list[tuple[str, str, dict[str, Any]]] = [
        ("flops", "forward_flops", {}),
        ("training_flops", "training_flops", {"freezing": Freezing(layers=1), "recompute": "full"}),
        ("training_peak_bytes", "training_peak_bytes", {"optimizer": "sgd", "dtype": "bfloat16"}),
        ("inference_peak_bytes", "inference_peak_bytes", {"attention": "fused"}),
        ("saved_activation_bytes", "saved_activation_bytes", {"fused_dropout": True}),
    ]
    figures = [getattr(model, method)(**batch, **options) for method, _function, options in more]
    assert figures == [getattr(bertcalc, function)(model, **batch, **options) for _, function, options in more]
    assert len(set(figures)) == len(figures)


def test_a_formula_has_the_value_of_the_model() -> None:
    """The formulas of the model and of its parts have the right values, also as text."""
    model = bertcalc.load("bert-base-uncased", "BertForMaskedLM")
    letters = {"H": 768, "P": 512, "T": 2, "V": 30522, "L": 12, "I": 3072}
    for path, count in [("", 109_514_298), ("encoder.layer.*", 7_087_872), ("encoder", 85_054_464)]:
        expression = model.formula(path).expression
        assert expression.subs({symbol: letters[symbol.name] for symbol in expression.free_symbols}) == count
    assert str(model.formula("encoder.layer.0")) == repr(model.formula("encoder.layer.*")) == "4H² + 2HI + 9H + I"
    assert model.formula("encoder.layer.*")._repr_latex_() == "$4 H^{2} + 2 H I + 9 H + I$"


def test_a_model_without_a_pooler_has_a_formula_without_one() -> None:
    with_pooler, bare = bertcalc.load(TINY), bertcalc.load(TINY, add_pooling_layer=False)
    assert (with_pooler.formula().expression - bare.formula().expression).expand() == with_pooler.formula(
        "pooler"
    ).expression.expand()
    assert BERT.compare(BERT.replace(add_pooling_layer=False)).difference == -(768**2 + 768)


def test_a_wrong_count_is_explained() -> None:
    [[cause]] = BERT.explain(109_482_240 - 512 * 768)
    assert (cause.miscount, cause.amount) == ("positions", -512 * 768)
    assert BERT.explain(109_482_240) == [()]


@given(cases())
@examples(8)
def test_a_copy_with_other_fields_is_the_real_model_with_these(case: Case) -> None:
    model = bertcalc.load(case.config, case.architecture, add_pooling_layer=case.add_pooling_layer)
    before = facts(model)
    words = case.config.vocab_size + 77
    copied = model.replace(num_hidden_layers=4, vocab_size=words)
    assert facts(copied) == facts(Case(copied.config, *case[1:]).real())
    assert (copied.config.num_hidden_layers, copied.config.vocab_size) == (4, words)
    assert facts(model) == facts(model.replace()) == before


def test_a_copy_can_be_of_another_class() -> None:
    tags = BERT.replace(architecture="BertForTokenClassification", num_labels=9)
    assert facts(tags) == facts(Case(bertcalc.BertConfig(num_labels=9), "BertForTokenClassification").real())
    assert facts(tags.replace(architecture="BertModel", num_labels=2)) == facts(BERT)
    bare = BERT.replace(add_pooling_layer=False)
    assert not bare.pooler
    assert not bare.replace(vocab_size=5).pooler
    assert bare.replace(architecture="BertForMaskedLM").architecture == "BertForMaskedLM"
    assert bare.replace(add_pooling_layer=True).num_parameters() == BERT.num_parameters()
    lora = bertcalc.Lora(target_modules=["query", "value"])
    assert BERT.adapted(lora).replace(add_pooling_layer=False) == bare.adapted(lora)
    assert bertcalc.load("gpt2").replace(n_layer=6, hidden_size=384, n_inner=99).config == bertcalc.GPT2Config(
        n_layer=6, n_embd=384, n_inner=99
    )


def test_models_can_be_copied_and_pickled() -> None:
    for model in (copy.copy(BERT), copy.deepcopy(BERT), pickle.loads(pickle.dumps(BERT))):
        assert isinstance(model, bertcalc.Model)
        assert facts(model) == facts(BERT)
        assert model.flops(1, 8) == BERT.flops(1, 8)


def test_what_is_exported_has_an_example() -> None:
    """Every exported function, change and format has an example, and so has each method of the public Model."""
    exported = {name: getattr(bertcalc, name) for name in bertcalc.__all__ if name[0].islower()}
    exported |= {
        name: kind for name, kind in vars(bertcalc).items() if inspect.isclass(kind) and issubclass(kind, Change)
    }
    methods = {name: method for name, method in vars(bertcalc.Model).items() if not name.startswith("_")}
    assert [name for name, thing in (exported | methods).items() if ">>>" not in (inspect.getdoc(thing) or "")] == []


@pytest.mark.parametrize("method", ["widget", "interactive_page", "file_bytes"])
def test_many_models_have_no_sliders_and_no_file(method: str) -> None:
    many = bertcalc.load(bertcalc.columns(TINY, num_hidden_layers=[1, 2]))
    with pytest.raises(bertcalc.ArgumentError, match=rf"^{method}\(\) takes a single model, not a model of columns.$"):
        getattr(many, method)()


def test_columns_are_a_model_without_a_tree_to_show() -> None:
    many = bertcalc.load(bertcalc.columns(TINY, num_hidden_layers=[1, 2]))
    assert many.num_parameters().tolist() == [  # type: ignore[attr-defined]
        bertcalc.build(TINY).replace(num_hidden_layers=layers).num_parameters() for layers in (1, 2)
    ]
    assert repr(many) == "<BertModel>"
    assert many._repr_html_() is None
    assert many._repr_mimebundle_() == {"text/plain": "<BertModel>"}


def test_the_same_class_and_function_under_every_name() -> None:
    assert all(hasattr(bertcalc, name) for name in bertcalc.__all__)
    assert isinstance(bertcalc.build(TINY), bertcalc.Model)
    assert isinstance(BERT, bertcalc.Module)


def warned(source: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bertcalc.load(source)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_a_key_that_may_change_the_count_is_a_warning() -> None:
    assert warned({"model_type": "bert", "hiden_act": "relu"}) == ["hiden_act is unknown: did you mean hidden_act?"]
    with pytest.raises(bertcalc.InputError, match="hiden_size is unknown: did you mean hidden_size"):
        bertcalc.load({"model_type": "bert", "hiden_size": 1024})
    assert warned({"model_type": "bert", "extra_layers": 1}) == [
        "Unknown keys, ignored: extra_layers. If they change the model, its count differs."
    ]
    assert warned({"model_type": "bert", "architectures": ["Nobody"]})
    assert warned({"model_type": "bert", "gradient_checkpointing": False, "vocab_size": 5}) == []


def test_a_formula_that_comes_with_bertcalc_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertcalc.discover.discover", None)
    bloom = bertcalc.infer("bloom", "BloomForCausalLM")
    assert bloom is shipped("bloom", "BloomForCausalLM")
    assert bloom.count(n_layer=70, hidden_size=14336, n_head=112) == 176_247_271_424


def test_any_other_class_is_looked_for() -> None:
    """``infer`` accepts changed fields. Without a class, it uses transformers' base model."""
    found = bertcalc.infer("bert", changes={"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40})
    assert found.cls == "BertModel"
    config = bertcalc.BertConfig(hidden_size=24, num_attention_heads=3, intermediate_size=40, num_hidden_layers=5)
    assert found.count(num_hidden_layers=5) == bertcalc.build(config).num_parameters()


@pytest.mark.parametrize("missing", ["sympy", "torch"])
def test_what_is_not_installed_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertcalc.api.find_spec", lambda name: None if name == missing else object())
    with pytest.raises(ImportError, match=r"pip install .*(sympy|torch)"):
        bertcalc.infer("bert", changes={"hidden_size": 24})
    if missing == "sympy":
        with pytest.raises(ImportError, match="Formulas need SymPy"):
            BERT.formula()


# What is loaded, and words of the message that says what would be right.
REFUSED: list[tuple[Any, str]] = [
    ("bert-base", "There is no preset 'bert-base', and no file of that name: did you mean bert-base-uncased?"),
    ("", "There is no preset '', and no file of that name. Presets are bert-base-uncased"),
    ("nowhere/config.json", "nowhere/config.json cannot be read: No such file or directory."),
    ("null\0.json", "cannot be read: embedded null byte"),
    (Path(__file__), "This is not a config.json: expected a JSON object"),
    (Path(__file__).parent, "config.json cannot be read"),
    (b"bert-base-uncased", "source must be a preset, the path of a config.json, a dictionary or a configuration"),
    (None, "source must be a preset"),
    (transformers.BertConfig, "source must be a preset"),
    (torch.nn.Linear(1, 1), "(bertcalc.of reads a PyTorch model)"),
    ({"model_type": "t5"}, "model_type 't5' is not supported"),
    ({"model_type": "bart"}, "model_type 'bart' is not supported"),
    ({"model_type": "bertt"}, "model_type 'bertt' is unknown: did you mean bert?"),
    ({"model_type": "lama"}, "model_type 'lama' is unknown: did you mean llama?"),
    ("bert-bse-uncased", "and no file of that name: did you mean bert-base-uncased?"),
    (transformers.T5Config(), "bertcalc.infer finds the formula of any class of transformers."),
    ({"hidden_size": 770}, "hidden_size 770 is not a multiple of num_attention_heads 12: use 768 or 780."),
    ({"a": None}, "This is not a model's config.json"),
    ({"hidden_size": 10**5000}, "source must be a dictionary that can be written as JSON"),
]


@pytest.mark.parametrize(("source", "words"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_what_is_no_model_is_refused_in_a_sentence(source: Any, words: str) -> None:
    with pytest.raises(bertcalc.InputError) as caught:
        bertcalc.load(source)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["bert-base-uncased", "FacebookAI/roberta-base"])
def test_a_preset_comes_before_a_folder_of_its_name_with_a_warning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(name)
    folder.mkdir(parents=True)
    preset = bertcalc.load(name)  # the empty folder contains no model
    transformers.BertConfig(hidden_size=24, num_hidden_layers=1).save_pretrained(folder)
    with pytest.warns(UserWarning, match="is read as the preset, not as the file or folder of that name") as warned:
        assert bertcalc.load(name) == preset
    assert f"write ./{name} to read it." in str(warned[0].message)
    assert warned[0].filename == __file__
    assert bertcalc.load(f"./{name}").config.hidden_size == bertcalc.load(folder.absolute()).config.hidden_size == 24


def test_a_module_shows_its_parameters() -> None:
    assert repr(BERT.get_submodule("encoder.layer.0")) == "<BertLayer: 7,087,872 parameters>"
    assert repr(BERT.get_submodule("embeddings.dropout")) == "<Dropout: 0 parameters>"
    many = bertcalc.load(bertcalc.columns(bertcalc.BertConfig(), num_hidden_layers=[12, 24]))
    assert repr(many.get_submodule("encoder")) == "<BertEncoder>"


UNTYPED: Any = bertcalc  # for calls that a type checker refuses


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: BERT.replace(self=3), "BertConfig has no self"),
        (lambda: UNTYPED.BertConfig(cls=3), "BertConfig has no cls"),
        (lambda: UNTYPED.training_peak_bytes(BERT, 1, 8, batch_size=2), "has two values for batch_size."),
        (
            lambda: UNTYPED.training_peak_bytes(BERT, 1, 8, model=BERT),
            "has two values for model.",
        ),
        (lambda: BERT.inference_peak_bytes(1, 8, dtype=torch.float64), "dtype torch.float64 is invalid"),
        (lambda: bertcalc.load({}), "source must be a dictionary with the fields of a config.json"),
        (lambda: bertcalc.infer("bert", ""), 'The installed transformers has no model class "".'),
    ],
)
def test_what_is_meant_wrong_is_told_in_a_sentence(ask: Any, words: str) -> None:
    with pytest.raises(bertcalc.InputError) as refusal:
        ask()
    assert words in str(refusal.value)
