"""Names of tensors in a hand count are matched to those of the real model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, build
from bertcalc.diagnosis.count_lines import read
from bertcalc.diagnosis.hand_count import LineVerdict, judge
from bertcalc.families import CLASSES
from bertcalc.model.model import Model
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import cases


def verdict_on(text: str, model: Model) -> LineVerdict:
    return judge(read(text, model.config)[0], model, model.config)


@examples(25)
@given(cases(), st.data())
def test_what_pytorch_prints_is_right_and_another_shape_is_not(case: Case, data: st.DataObject) -> None:
    parameters = {
        name: parameter
        for name, parameter in case.real().named_parameters()
        if name.endswith((".weight", ".bias")) and parameter.numel()
    }
    name = data.draw(st.sampled_from(sorted(parameters)))
    shape = list(parameters[name].shape)
    model = case.model
    assert verdict_on(f"{name}: torch.Size({shape})", model).is_right
    wrong = [*shape[:-1], shape[-1] + 1]
    verdict = verdict_on(f"{name}: torch.Size({wrong})", model)
    assert not verdict.is_right
    assert verdict.line.problem
    assert str(shape) in str(verdict.line.problem.values.values())


@examples(25)
@given(cases(), st.sampled_from(["foo.weight", "decoder.layer.0.weight", "encoder.foo.bias"]))
def test_what_the_real_model_does_not_have_is_no_tensor(case: Case, name: str) -> None:
    prefix = CLASSES[case.architecture].prefix
    assert not {name, f"{prefix}.{name}"} & {name for name, _parameter in case.real().named_parameters()}
    model = case.model
    verdict = verdict_on(f"{name} = {model.num_parameters()}", model)
    assert verdict.counted is None
    assert verdict.line.problem
    assert "has no tensor" in verdict.line.problem.message


@pytest.mark.parametrize(("layer", "exists"), [(0, True), (11, True), (12, False), (99, False)])
def test_the_number_of_a_layer_has_to_exist(layer: int, exists: bool) -> None:
    name = f"encoder.layer.{layer}.output.dense.weight"
    assert (name in dict(Case(BertConfig(), "BertModel").real().named_parameters())) == exists
    verdict = verdict_on(f"{name}: torch.Size([768, 3072])", build(BertConfig()))
    assert verdict.is_right == exists
    if not exists:
        assert verdict.line.problem
        assert verdict.line.problem.values["nearest"] == "encoder.layer.11.output.dense.weight"


def test_as_many_numbers_in_another_shape_are_another_tensor() -> None:
    verdict = verdict_on("encoder.layer.0.output.dense.weight: torch.Size([3072, 768])", build(BertConfig()))
    assert not verdict.is_right
    assert verdict.line.problem
    assert verdict.line.problem.values["shape"] == "[768, 3072]"


@pytest.mark.parametrize("architecture", ["BertModel", "BertForMaskedLM"])
def test_a_line_that_names_a_tensor_counts_no_other(architecture: str) -> None:
    """In all layers together, the intermediate bias has as many parameters as the attention's biases."""
    model = build(BertConfig(), architecture)
    name = f"{model.body_prefix}encoder.layer.0.intermediate.dense.bias"
    bias = dict(Case(BertConfig(), architecture).real().named_parameters())[name]
    for count in (bias.numel(), 12 * bias.numel()):
        verdict = verdict_on(f"{name} = {count}", model)
        assert verdict.counted
        assert {tensor.name for tensor in verdict.counted.tensors} == {"encoder.layer.*.intermediate.dense.bias"}
        assert verdict.is_right == (count == bias.numel())


def test_a_tied_tensor_is_one_of_the_model() -> None:
    model = build(BertConfig(), "BertForMaskedLM")
    assert "cls.predictions.decoder.weight" in Case(BertConfig(), "BertForMaskedLM").real().state_dict()
    verdict = verdict_on("cls.predictions.decoder.weight: torch.Size([30522, 768])", model)
    assert not verdict.line.problem
