from collections import Counter
from typing import Any

import pytest
import transformers
from hypothesis import given

from bertcalc import ARCHITECTURES, BertConfig, Module, build
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import CLASSES
from tests.oracle import Case, facts
from tests.strategies import SPLIT_IN_TWO, cases

SMALL = BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, intermediate_size=40, num_labels=3)


def kinds(model: Module) -> list[tuple[str, str]]:
    return [(path, module.class_name) for path, module, _ in model.modules(folded=False)]


def real_kinds(model: Any) -> list[tuple[str, str]]:
    return [(path, type(module).__name__) for path, module in model.named_modules()]


@given(cases())
def test_every_model_has_the_names_shapes_order_total_and_text_of_the_real_one(case: Case) -> None:
    assert facts(case.ours()) == facts(case.real())


# Each field has a different value, so that confused fields are noticed.
APART: dict[str, Any] = {
    "vocab_size": 91,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 30,
    "type_vocab_size": 7,
    "num_labels": 5,
    "pad_token_id": 4,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.2,
    "classifier_dropout": 0.3,
    "layer_norm_eps": 1e-3,
    "hidden_act": "relu",
    "embedding_size": 18,
    "task_type_vocab_size": 6,
    "use_task_id": True,
    "relative_attention_num_buckets": 33,
    "summary_activation": "tanh",
    "summary_last_dropout": 0.7,
    "classifier_dropout_prob": 0.6,
    "qa_dropout": 0.4,
    "seq_classif_dropout": 0.5,
}


@pytest.mark.parametrize("architecture", CLASSES)
def test_every_class_takes_each_field_where_the_real_one_does(architecture: str) -> None:
    kind = CLASSES[architecture].config
    values = {name: value for name, value in APART.items() if kind.has(name)}
    if architecture in SPLIT_IN_TWO:
        values["num_labels"] = 2
    decoder: dict[str, Any] = (
        {"is_decoder": True, "add_cross_attention": True} if kind.has("add_cross_attention") else {}
    )
    for more in ({}, {name: value for name, value in decoder.items() if kind.has(name)}):
        case = Case(kind(**values, **more), architecture)
        assert facts(case.ours()) == facts(case.real())


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_at_the_size_of_bert_base(architecture: str, tied: bool) -> None:
    case = Case(BertConfig(tie_word_embeddings=tied), architecture)
    assert facts(case.ours()) == facts(case.real())


@pytest.mark.parametrize("hidden_act", ACTIVATIONS)
def test_every_activation(hidden_act: str) -> None:
    case = Case(BertConfig(hidden_act=hidden_act, num_hidden_layers=1), "BertForMaskedLM")
    assert facts(case.ours()) == facts(case.real())


def test_the_activations_are_those_of_transformers() -> None:
    assert set(ACTIVATIONS) == set(transformers.activations.ACT2FN)


@given(cases())
def test_every_module_has_the_place_and_the_kind_of_the_real_one(case: Case) -> None:
    assert kinds(case.ours()) == real_kinds(case.real())


@given(cases())
def test_there_are_as_many_modules_of_each_kind_as_in_the_real_model(case: Case) -> None:
    folded: Counter[str] = Counter()
    for _, module, copies in case.ours().modules():
        folded[module.class_name] += copies
    real = Counter(kind for _, kind in real_kinds(case.real()))
    for kind in ("Linear", "LayerNorm", "Dropout", "Embedding", "Conv1D"):
        assert folded[kind] == real[kind]
    assert real["Embedding"] > 0


@given(cases())
def test_the_same_tensors_are_tied_to_the_same_owners(case: Case) -> None:
    real = case.real()
    owners = {id(tensor): name for name, tensor in real.named_parameters()}
    everything = real.named_parameters(remove_duplicate=False)
    tied = {name: owners[id(tensor)] for name, tensor in everything if owners[id(tensor)] != name}
    assert case.ours().ties() == tied


@given(cases())
def test_the_folded_tree_has_the_tensors_of_the_unfolded_one(case: Case) -> None:
    model = case.ours()
    assert sum(tensor.copies for tensor in model.tensors()) == len(list(model.named_parameters()))
    assert sum(tensor.num_parameters() for tensor in model.tensors()) == model.num_parameters()


@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "BertModel"])
def test_only_bert_model_can_be_without_its_pooler(architecture: str) -> None:
    case = Case(SMALL, architecture, add_pooling_layer=False)
    for construct in (case.ours, case.real):
        with pytest.raises(TypeError, match="add_pooling_layer"):
            construct()


def test_bert_model_without_its_pooler() -> None:
    with_pooler, without = Case(BertConfig()), Case(BertConfig(), add_pooling_layer=False)
    assert facts(without.ours()) == facts(without.real())
    assert with_pooler.ours().num_parameters() - without.ours().num_parameters() == 768 * 768 + 768


@pytest.mark.parametrize("architecture", ["", "bertmodel", "BertForCausalLM", "GPT2Model"])
def test_an_unknown_architecture_is_a_value_error_that_names_the_known_ones(architecture: str) -> None:
    with pytest.raises(ValueError, match=rf"'{architecture}' is unknown: .*BertModel.*BertForMultipleChoice"):
        build(SMALL, architecture)
