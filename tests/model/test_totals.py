from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Lora, Module, build
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.families import CLASSES
from bertcalc.model.totals import (
    COMPONENTS,
    PARTS,
    breakdown,
    openable,
    place_of,
    submodule,
    totals_by_component,
    totals_by_part,
)
from tests.examples import examples
from tests.oracle import Case, bare, component_of
from tests.strategies import bert_cases, cases

Part = tuple[str, str]


def claims(model: Any) -> Iterator[tuple[Iterable[Any], Part]]:
    """Yield the tensors of the real model with the part that they belong to. The first claim on a tensor counts."""
    body = getattr(model, "bert", model)
    embeddings = body.embeddings
    yield embeddings.word_embeddings.parameters(), ("embeddings", "word")
    yield embeddings.position_embeddings.parameters(), ("embeddings", "position")
    yield embeddings.token_type_embeddings.parameters(), ("embeddings", "token type")
    yield embeddings.LayerNorm.parameters(), ("embeddings", "LayerNorm")
    for layer in body.encoder.layer:
        for module in layer.modules():
            if type(module).__name__ == "LayerNorm":
                yield module.parameters(), ("encoder", "LayerNorm")
        if hasattr(layer, "crossattention"):
            yield layer.crossattention.parameters(), ("encoder", "cross-attention")
        yield layer.attention.parameters(), ("encoder", "attention")
        yield layer.intermediate.parameters(), ("encoder", "feed-forward")
        yield layer.output.parameters(), ("encoder", "feed-forward")
    if body.pooler:
        yield body.pooler.parameters(), ("pooler", "dense")
    if predictions := getattr(getattr(model, "cls", None), "predictions", None):
        yield predictions.transform.LayerNorm.parameters(), ("head", "LayerNorm")
        yield predictions.transform.parameters(), ("head", "transform")
        yield [predictions.bias], ("head", "decoder bias")
        yield predictions.decoder.parameters(), ("head", "decoder")
    if following := getattr(getattr(model, "cls", None), "seq_relationship", None):
        yield following.parameters(), ("head", "next sentence")
    if hasattr(model, "classifier"):
        yield model.classifier.parameters(), ("head", "classifier")
    if hasattr(model, "qa_outputs"):
        yield model.qa_outputs.parameters(), ("head", "answer span")


def real_parts(model: Any) -> dict[Part, int]:
    """The parameters of a real model's parts, taken from its modules rather than from tensor names."""
    claimed: set[int] = set()
    parts: dict[Part, int] = {}
    for tensors, part in claims(model):
        for tensor in tensors:
            if id(tensor) not in claimed:
                claimed.add(id(tensor))
                parts[part] = parts.get(part, 0) + tensor.numel()
    assert claimed == {id(tensor) for tensor in model.parameters()}
    return parts


def every_total(model: Module) -> list[dict[Any, int]]:
    return [totals_by_component(model), totals_by_part(model)]


@given(bert_cases())
def test_every_part_is_that_of_the_real_model(case: Case) -> None:
    assert totals_by_part(case.ours()) == real_parts(case.real())


@examples(40)
@given(cases(), st.booleans(), st.booleans())
def test_parameters_outside_of_embeddings_are_those_of_transformers(case: Case, trainable: bool, outside: bool) -> None:
    """This holds even if a head lists the word embeddings first, as its decoder's weight (XLM-RoBERTa)."""
    assert case.ours().num_parameters(trainable, outside) == case.real().num_parameters(trainable, outside)
    whole = case.ours().num_parameters(only_trainable=trainable)
    assert whole == case.real().num_parameters(trainable)


@given(bert_cases())
def test_every_component_is_that_of_the_real_model(case: Case) -> None:
    real: dict[str, int] = {}
    for (component, _), count in real_parts(case.real()).items():
        real[component] = real.get(component, 0) + count
    found = totals_by_component(case.ours())
    assert found == real
    assert list(found) == [component for component in COMPONENTS if component in real]


@given(bert_cases(POSITION_EMBEDDING_TYPES))
def test_components_and_parts_each_add_up_to_the_total(case: Case) -> None:
    model = case.ours()
    for totals in every_total(model):
        assert sum(totals.values()) == model.num_parameters()
        assert all(count > 0 for count in totals.values())


@given(bert_cases(POSITION_EMBEDDING_TYPES))
def test_every_tensor_falls_in_one_named_part_of_its_component(case: Case) -> None:
    model = case.ours()
    for tensor in model.tensors():
        component, part = place_of(tensor)
        assert part in PARTS.values()
        assert component == component_of(tensor.name)


def test_every_part_occurs_in_some_architecture() -> None:
    models = [build(family.fullest(), name) for name, family in CLASSES.items()]
    models.append(build("bert-base-uncased").changed(changes=(Lora(),)))
    found = {place_of(tensor)[1] for model in models for tensor in model.tensors()}
    assert found == set(PARTS.values())


def real_count(model: Any, path: str) -> int:
    """The elements below a path of the real model, without tensors that an earlier module owns."""
    module = getattr(model, "bert", model) if path.split(".")[0] in COMPONENTS else model
    for name in path.replace("*", "0").split(".") if path else ():
        module = getattr(module, name)
    owned = {id(tensor): name for name, tensor in model.named_parameters()}
    below = {id(tensor): tensor.numel() for tensor in module.parameters()}
    names = {tensor: bare(owned[tensor], "BertModel") for tensor in below}
    return sum(count for tensor, count in below.items() if names[tensor].startswith(path.replace("*", "0")))


@given(bert_cases())
def test_whatever_is_opened_adds_up_to_the_same_module_of_the_real_model(case: Case) -> None:
    ours, real = case.ours(), case.real()
    for path in openable(ours):
        bars = breakdown(ours, path)
        assert sum(bar.parameters for bar in bars) == real_count(real, path) == submodule(ours, path).num_parameters()


@given(bert_cases(POSITION_EMBEDDING_TYPES))
def test_whatever_is_offered_to_be_opened_can_be_and_is_worth_it(case: Case) -> None:
    model = case.ours()
    paths = openable(model)
    assert paths[0] == ""
    assert len(set(paths)) == len(paths)
    for path in paths:
        bars = breakdown(model, path)
        assert len(bars) > 1
        assert {bar.path for bar in bars} - {""} <= set(paths)
        assert all(bar.name and bar.parameters > 0 for bar in bars)
        if path:
            assert {bar.component for bar in bars} == {component_of(path)}
            # A bar that cannot be opened further is a single tensor.
            names = {bare(tensor.name, "BertModel") for tensor in model.tensors()}
            assert {f"{path}.{bar.name}" for bar in bars if not bar.path} <= names


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_path_into_the_body_opens_the_same_in_every_architecture(architecture: str) -> None:
    body = "embeddings", "encoder.layer.*", "encoder.layer.*.attention.self.query"
    for path in body:
        assert breakdown(build(BertConfig(), architecture), path) == breakdown(build(BertConfig()), path)


def test_one_layer_is_opened_as_one_layer() -> None:
    bars = breakdown(build(BertConfig()), "encoder.layer.*")
    assert sum(bar.parameters for bar in bars) == 7_087_872
    assert [bar.name for bar in bars if bar.path][:2] == ["attention.self.query", "attention.self.key"]


@pytest.mark.parametrize("path", ["nothing", "encoder.layer.12", "cls", "embeddings.nothing", "encoder.layer.*.."])
def test_a_path_that_leads_nowhere_is_a_key_error(path: str) -> None:
    with pytest.raises(KeyError):
        breakdown(build(BertConfig()), path)
