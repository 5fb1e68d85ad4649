"""The proof of tensors detects errors. The tests make the models differ on purpose."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers

from bertcalc import ARCHITECTURES, BertConfig, Module, build
from bertcalc.model.model import Model
from bertcalc.proof import real_model, tensor_proof
from tests.oracle import Case

SMALL = BertConfig(vocab_size=100, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)


def test_equal_models_agree_in_every_check() -> None:
    result = tensor_proof.prove(Model(SMALL, "BertForPreTraining"))
    assert result.agrees
    assert not result.differences
    assert set(result.versions) == {"transformers", "torch"}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_empty_model_is_the_real_one(architecture: str, tied: bool) -> None:
    """Weights are tied even if they are not initialised."""
    case = Case(replace(SMALL, tie_word_embeddings=tied), architecture)
    empty, real = real_model.empty_model(Model(case.config, architecture)), case.real()
    assert {tensor.device.type for tensor in empty.parameters()} == {"meta"}
    assert str(empty) == str(real)
    for duplicates in (True, False):
        assert [(name, tensor.shape) for name, tensor in empty.named_parameters(remove_duplicate=duplicates)] == [
            (name, tensor.shape) for name, tensor in real.named_parameters(remove_duplicate=duplicates)
        ]
    assert type(empty).init_weights is transformers.PreTrainedModel.init_weights  # the method is restored


def test_another_shape_names_exactly_the_tensors_that_differ() -> None:
    other = Case(BertConfig(**{**vars(SMALL), "vocab_size": 101})).real()
    checks, differences = tensor_proof.compare(build(SMALL), other)
    [difference] = differences
    assert difference.ours == ("embeddings.word_embeddings.weight", (100, 24))
    assert difference.theirs == ("embeddings.word_embeddings.weight", (101, 24))
    assert [check.name for check in checks if not check.agrees] == [
        "Shapes, in order",
        "Parameters",
        "Lines of print(model)",
    ]


def test_a_missing_tensor_is_found() -> None:
    checks, differences = tensor_proof.compare(build(SMALL, add_pooling_layer=False), Case(SMALL).real())
    assert [difference.theirs and difference.theirs[0] for difference in differences] == [
        "pooler.dense.weight",
        "pooler.dense.bias",
    ]
    assert all(difference.ours is None for difference in differences)
    assert {check.name for check in checks if not check.agrees} >= {
        "Tensors",
        "Parameters",
        "BertPooler",
        "Modules named dense",
        "Linear",
        "Tanh",
    }


@pytest.mark.parametrize("architecture", ["BertModel", "BertForMaskedLM", "BertForMultipleChoice"])
def test_a_forward_pass_has_the_weights_that_were_counted(architecture: str) -> None:
    run = real_model.run_forward(Model(SMALL, architecture))
    assert run.parameters == build(SMALL, architecture).num_parameters()
    assert run.weight_bytes == 4 * run.parameters
    assert run.outputs


def test_a_forward_pass_that_does_not_fit_is_refused_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_model, "available_bytes", lambda: 1000)
    monkeypatch.setattr(real_model, "real_model", lambda *_: pytest.fail("it was built all the same"))
    with pytest.raises(MemoryError):
        real_model.run_forward(Model(SMALL))


def test_the_model_of_the_proof_has_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    compare = tensor_proof.compare

    def spy(model: Module, real: Any) -> Any:
        assert {weight.device for weight in real.parameters()} == {torch.device("meta")}
        return compare(model, real)

    monkeypatch.setattr(tensor_proof, "compare", spy)
    assert tensor_proof.prove(Model(SMALL)).agrees
