"""A real model in memory is read as the same value, or with the reason why it differs."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given

import bertcalc
from tests.examples import examples
from tests.oracle import Case, ask_transformers4, facts
from tests.strategies import cases

TINY = bertcalc.BertConfig(50, 8, 2, 2, 12, max_position_embeddings=16)


def built(cls: str, **fields: Any) -> Any:
    """Build a real model on the meta device, of a transformers class with these fields of its configuration."""
    kind = getattr(transformers, cls)
    with torch.device("meta"):
        return kind(kind.config_class(**fields))


def size(real: Any) -> int:
    return sum(tensor.numel() for tensor in real.parameters())


@given(cases())
@examples(12)
def test_a_known_model_is_the_same_value(case: Case) -> None:
    real = case.real()
    model = bertcalc.of(real)
    assert isinstance(model, bertcalc.Model)
    assert (model.architecture, model.pooler) == (case.architecture, case.ours().pooler)
    assert facts(model) == facts(real)
    labels = {"num_labels": real.config.num_labels}  # GPT2DoubleHeadsModel sets it to 1
    assert model.config == replace(case.config, **labels)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_tied_head_counts_once(device: str) -> None:
    real = Case(TINY, "BertForMaskedLM").real(device)
    model = bertcalc.of(real)
    assert model == bertcalc.load(TINY, "BertForMaskedLM")
    assert model.num_parameters() == size(real)
    names = [name for name, _tensor in real.named_parameters(remove_duplicate=False)]
    assert len(names) > len(list(model.named_parameters()))


def test_a_class_of_somebody_is_the_class_that_it_is_made_of() -> None:
    class Mine(transformers.BertForTokenClassification):  # type: ignore[misc]
        pass

    with torch.device("meta"):
        model = bertcalc.of(Mine(transformers.BertConfig(num_labels=7)))
    assert isinstance(model, bertcalc.Model)
    assert (model.architecture, model.config.num_labels) == ("BertForTokenClassification", 7)


def test_another_vocabulary_is_that_of_the_configuration() -> None:
    real = built("BertForMaskedLM", hidden_size=8, num_attention_heads=2, intermediate_size=12, num_hidden_layers=2)
    real.resize_token_embeddings(99)
    model = bertcalc.of(real)
    assert isinstance(model, bertcalc.Model)
    assert model.config.vocab_size == 99
    assert facts(model)[:2] == facts(real)[:2]


MODERN: dict[str, Any] = {
    **dict(zip(("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size"), (60, 8, 2, 12), strict=True)),
    **{f"{token}_token_id": number for number, token in enumerate(("pad", "bos", "eos", "cls", "sep"))},
    "num_hidden_layers": 4,
}


LINEAR = {
    key: {"rope_type": "linear", "rope_theta": 5.0, "factor": 2} for key in ("full_attention", "sliding_attention")
}


def test_layers_that_are_not_counted_here_have_parameters() -> None:
    """FLOPs and memory would be those of another pattern of local and global layers."""
    real = built("ModernBertForMaskedLM", **MODERN, layer_types=["sliding_attention"] * 4)
    model = bertcalc.of(real)
    assert isinstance(model, bertcalc.UnknownModel)
    assert model.num_parameters() == real.num_parameters()
    assert model.reason.startswith("bertcalc does not support layer_types ")


@pytest.mark.parametrize(
    ("cls", "fields", "key"),
    [
        ("ModernBertForMaskedLM", MODERN | {"rope_parameters": LINEAR}, "rope_parameters"),
        ("BertModel", {"num_hidden_layers": 1, "output_hidden_states": True}, "output_hidden_states"),
        ("BertModel", {"num_hidden_layers": 1, "chunk_size_feed_forward": 3}, "chunk_size_feed_forward"),
    ],
)
def test_what_is_not_read_is_a_warning_as_of_load(cls: str, fields: dict[str, Any], key: str) -> None:
    real = built(cls, **fields)
    with pytest.warns(UserWarning, match=key) as warned:
        model = bertcalc.of(real)
    with pytest.warns(UserWarning, match=key) as loaded:
        assert model == bertcalc.load(real.config, cls)
    assert [str(warning.message) for warning in warned] == [str(warning.message) for warning in loaded]
    assert {warning.filename for warning in (*warned, *loaded)} == {__file__}


OF_4 = """
import torch, transformers, warnings
import bertcalc
for name in {names}:
    kind = getattr(transformers, name)
    with torch.device("meta"):
        real = kind(kind.config_class(num_hidden_layers=2, is_decoder="Causal" in name))
    with warnings.catch_warnings(action="error"):
        model = bertcalc.of(real)
    same = model.num_parameters() == sum(tensor.numel() for tensor in real.parameters())
    print(type(model).__name__, same, getattr(model, "reason", ""))
"""


def test_tied_tensors_of_transformers_4_have_either_of_their_names() -> None:
    """transformers 4 registers some heads after the base model. PyTorch lists a tied tensor under its first name."""
    kinds = ("Bert", "Roberta", "XLMRoberta", "Camembert", "Electra", "Albert", "MPNet", "Ernie")
    names = [f"{kind}ForMaskedLM" for kind in kinds]
    names += ["RobertaForCausalLM", "XLMRobertaForCausalLM", "CamembertForCausalLM", "GPT2LMHeadModel"]
    [printed] = ask_transformers4([{"program": OF_4.replace("{names}", repr(names))}])
    lines = printed.splitlines()
    assert [line.strip() for line in lines] == ["Model True"] * len(names)


def test_a_tensor_of_its_own_under_the_name_of_a_tied_one_is_named() -> None:
    real = Case(bertcalc.XLMRobertaConfig(50, 8, 2, 2, 12, max_position_embeddings=16), "XLMRobertaForMaskedLM").real()
    real.lm_head.decoder.weight = torch.nn.Parameter(torch.zeros(50, 8, device="meta"))
    model = bertcalc.of(real)
    assert isinstance(model, bertcalc.UnknownModel)
    assert "embeddings.word_embeddings.weight, of shape (50, 8), is not a tensor of" in model.reason


def changed() -> list[tuple[Any, str]]:
    """Models with a changed module, and the message about the first tensor that differs."""
    wider, without, more, longer, untied = (Case(TINY, "BertForMaskedLM").real() for _ in range(5))
    with torch.device("meta"):
        wider.bert.encoder.layer[1].intermediate.dense = torch.nn.Linear(8, 13)
        without.bert.encoder.layer[0].output.dense = torch.nn.Linear(12, 8, bias=False)
        more.bert.encoder.layer[0].adapter = torch.nn.Linear(8, 2)
        longer.bert.encoder.layer.append(torch.nn.Linear(8, 2))
        untied.cls.predictions.decoder.weight = torch.nn.Parameter(torch.zeros(50, 8))
    whose = "a BertForMaskedLM with its configuration"
    return [
        (wider, f"bert.encoder.layer.1.intermediate.dense.weight has the shape (13, 8): in {whose} it has (12, 8)."),
        (without, f"bert.encoder.layer.0.output.dense.bias is missing: in {whose} it has the shape (8,)."),
        (more, f"bert.encoder.layer.0.adapter.weight, of shape (2, 8), is not a tensor of {whose}."),
        (longer, f"bert.encoder.layer.2.weight, of shape (2, 8), is not a tensor of {whose}."),
        (untied, f"cls.predictions.decoder.weight, of shape (50, 8), is not a tensor of {whose}."),
    ]


def test_the_first_tensor_that_differs_is_named() -> None:
    for real, reason in changed():
        model = bertcalc.of(real)
        assert isinstance(model, bertcalc.UnknownModel)
        assert model.reason == reason
        assert model.num_parameters() == size(real)


OTHERS: dict[str, dict[str, Any]] = {
    "T5Model": {"num_layers": 3, "d_model": 16, "d_ff": 20, "num_heads": 2, "d_kv": 8, "vocab_size": 40},
    "BartForConditionalGeneration": {"d_model": 16, "encoder_layers": 2, "decoder_layers": 3, "vocab_size": 40},
    "LlamaForCausalLM": {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 3,
        "vocab_size": 40,
        "intermediate_size": 20,
    },
    "ViTModel": {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20},
    "ConvBertModel": {"num_hidden_layers": 2},
}


@pytest.mark.parametrize("cls", OTHERS)
def test_an_unknown_model_has_the_totals_of_its_modules(cls: str) -> None:
    """Every module has PyTorch's parameter count, and tensors equal named_parameters()."""
    real = built(cls, **OTHERS[cls])
    model = bertcalc.of(real)
    assert isinstance(model, bertcalc.UnknownModel)
    assert model.reason.startswith(f"{cls} is not one of the classes that bertcalc knows. bertcalc.infer(")
    assert model.num_parameters() == size(real)
    assert list(model.named_parameters()) == [(name, tuple(each.shape)) for name, each in real.named_parameters()]
    for name, _module in real.named_modules():
        inside = [tensor for full, tensor in real.named_parameters() if not name or full.startswith(f"{name}.")]
        assert model.get_submodule(name).num_parameters() == sum(tensor.numel() for tensor in inside)


def test_equal_layers_stand_once() -> None:
    model = bertcalc.of(built("T5Model", **OTHERS["T5Model"]))
    blocks = model.get_submodule("encoder.block")
    assert [(name, copies) for name, _layer, copies in blocks.named_children(folded=True)] == [("0", 1), ("*", 2)]
    assert blocks.get_submodule("2").num_parameters() == blocks.get_submodule("*").num_parameters()


def test_any_module_of_pytorch_is_read() -> None:
    plain = bertcalc.of(torch.nn.Linear(3, 4))
    assert isinstance(plain, bertcalc.UnknownModel)
    assert (plain.num_parameters(), plain.reason) == (16, "Linear is not one of the classes that bertcalc knows.")
    assert repr(plain) == "<Linear: 16 parameters. Linear is not one of the classes that bertcalc knows.>"
    layer = torch.nn.Linear(3, 3)
    twice = bertcalc.of(torch.nn.ModuleDict({"a": layer, "b": layer, "c": torch.nn.Linear(3, 3)}))
    assert twice.num_parameters() == 24
    nested = torch.nn.Sequential(torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(3))), torch.nn.ReLU())
    assert bertcalc.of(nested).num_parameters() == 18
    assert str(bertcalc.of(torch.nn.Sequential(layer))) == str(torch.nn.Sequential(layer))


def test_a_configuration_that_is_refused_is_the_reason() -> None:
    real = built("BertModel", hidden_size=8, num_attention_heads=2, num_hidden_layers=0, intermediate_size=4)
    model = bertcalc.of(real)
    assert isinstance(model, bertcalc.UnknownModel)
    assert "num_hidden_layers 0" in model.reason


def test_a_name_is_shown_as_text() -> None:
    real = torch.nn.Module()
    real.register_parameter("<b>x", torch.nn.Parameter(torch.zeros(2)))
    real.add_module("<script>", torch.nn.Linear(1, 1))
    html = bertcalc.of(real)._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("wrong", [None, "bert", 3, torch.nn.Linear, transformers.BertConfig(), bertcalc.load(TINY)])
def test_what_is_no_module_of_pytorch_is_refused(wrong: Any) -> None:
    with pytest.raises(bertcalc.ArgumentError, match=r"real_model must be a torch.nn.Module"):
        bertcalc.of(wrong)


def test_a_lazy_module_is_refused_until_it_has_run() -> None:
    lazy = torch.nn.LazyLinear(3)
    with pytest.raises(bertcalc.InputError, match=r"real_model has a tensor without a shape"):
        bertcalc.of(lazy)
    lazy(torch.zeros(1, 2))
    assert bertcalc.of(lazy).num_parameters() == 9


def test_pytorch_is_not_imported() -> None:
    """A module that only looks like a PyTorch module is read without importing PyTorch."""
    program = """
import sys
import bertcalc

class Tensor:
    shape = (3, 4)

class Linear:
    def named_parameters(self, recurse=True):
        return [("weight", Tensor())]

    def named_children(self):
        return []

    def named_modules(self):
        return [("", self)]

    def extra_repr(self):
        return ""

print(bertcalc.of(Linear()).num_parameters(), "torch" in sys.modules)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["12", "False"]
