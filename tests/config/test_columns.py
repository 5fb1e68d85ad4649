from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, ElectraConfig, InputError, Model, Module, build, columns, load
from bertcalc.config import DIMENSIONS, POSITION_EMBEDDING_TYPES
from tests.oracle import Case
from tests.strategies import bert_cases, configs

PAIR = ["hidden_size", "num_attention_heads"]  # together in one row, since the heads must divide the hidden size
GROUPS = [PAIR, *([name] for name in DIMENSIONS if name not in PAIR)]


@given(
    bert_cases(POSITION_EMBEDDING_TYPES),
    st.lists(configs(), min_size=1, max_size=5),
    st.lists(st.sampled_from(GROUPS), min_size=1, unique_by=tuple),
    st.sampled_from(["int16", "int32", "int64", "uint16", "uint32", "uint64"]),
)
def test_every_row_is_the_count_of_its_configuration(
    case: Case, rows: list[Config], groups: list[list[str]], dtype: str
) -> None:
    case = case._replace(config=replace(case.config, pad_token_id=None))
    changes = [{name: getattr(row, name) for group in groups for name in group} for row in rows]
    arrays = {name: np.array([change[name] for change in changes], dtype) for name in changes[0]}
    many = case._replace(config=columns(case.config, **arrays)).ours()
    single = [case._replace(config=replace(case.config, **change)).ours() for change in changes]
    assert counts(many) == [model.num_parameters() for model in single]
    tensors = np.array([[tensor.num_parameters() for tensor in model.tensors()] for model in single])
    assert all(np.all(tensor.num_parameters() == want) for tensor, want in zip(many.tensors(), tensors.T, strict=True))


def counts(model: Module) -> list[int]:
    """The totals of a model of columns, which must be an int64 column."""
    total: object = model.num_parameters()
    assert isinstance(total, np.ndarray)
    assert total.dtype == np.int64
    numbers: list[int] = total.tolist()
    return numbers


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64"])
def test_products_outgrow_the_callers_type_without_wrapping(dtype: str) -> None:
    arrays = {"hidden_size": [96, 120], "intermediate_size": [255, 255] if dtype == "uint8" else [32_767, 1]}
    many = columns(BertConfig(), **{name: np.array(numbers, dtype) for name, numbers in arrays.items()})
    assert counts(build(many)) == [
        build(BertConfig(hidden_size=hidden, intermediate_size=intermediate)).num_parameters()
        for hidden, intermediate in zip(*arrays.values(), strict=True)
    ]


def test_columns_do_not_change_the_callers_arrays() -> None:
    hidden = np.array([768, 1536])
    build(columns(BertConfig(), hidden_size=hidden)).num_parameters()
    assert hidden.tolist() == [768, 1536]


@pytest.mark.parametrize(("outer", "inner"), list(permutations(DIMENSIONS, 2)))
def test_any_two_columns_broadcast_against_each_other(outer: str, inner: str) -> None:
    base = BertConfig(hidden_size=36)
    grid = {name: np.array([1, 2, 3] if name == "num_attention_heads" else [36, 72, 108]) for name in (outer, inner)}
    grid[outer] = grid[outer][:, None]
    many = build(columns(base, **grid), "BertForTokenClassification")
    assert np.asarray(many.num_parameters()).tolist() == [
        [
            build(replace(base, **{outer: row, inner: cell}), "BertForTokenClassification").num_parameters()
            for cell in grid[inner].tolist()
        ]
        for (row,) in grid[outer].tolist()
    ]


@pytest.mark.parametrize("field", DIMENSIONS)
def test_a_column_that_does_not_matter_still_gives_a_whole_column(field: str) -> None:
    one = build(columns(BertConfig(), **{field: np.full(3, getattr(BertConfig, field))}))
    assert counts(one) == [109_482_240] * 3


def test_a_million_rows_take_one_build() -> None:
    layers = np.arange(1_000_000) % 1000 + 1
    total = np.asarray(build(columns(BertConfig(), num_hidden_layers=layers)).num_parameters())
    assert np.unique(np.diff(total[:1000])).tolist() == [7_087_872]


OF_ONE: dict[str, Callable[[Any], object]] = {
    "explain()": lambda model: model.explain(5),
    "compare()": lambda model: load("bert-base-uncased").compare(model),
    "training_peak_bytes()": lambda model: model.training_peak_bytes(1, 8),
    "inference_peak_bytes()": lambda model: model.inference_peak_bytes(1, 8),
    "replace()": lambda model: model.replace(hidden_act="relu"),
}


@pytest.mark.parametrize("name", OF_ONE)
@pytest.mark.parametrize("field", ["num_hidden_layers", "vocab_size"])
def test_what_is_for_a_single_model_is_refused_in_a_sentence(field: str, name: str) -> None:
    model = load(columns(BertConfig(), **{field: [12, 24]}))
    with pytest.raises(InputError) as refusal:
        OF_ONE[name](model)
    assert str(refusal.value) == f"{name} takes a single model, not a model of columns."


def test_layers_of_columns_are_listed_folded_only() -> None:
    model = load(columns(BertConfig(), num_hidden_layers=[12, 24]))
    assert len(list(model.tensors())) == len(list(load("bert-base-uncased").tensors()))
    with pytest.raises(InputError, match="no single number of layers"):
        list(model.named_parameters())
    assert "(*)" not in str(model)
    assert "[12 24] x BertLayer(" in str(model)
    assert repr(model) == "<BertModel>"


def test_rows_of_different_structure_are_refused_in_a_sentence() -> None:
    model = load(columns(ElectraConfig(), hidden_size=[128, 256]))
    assert repr(model) == "<ElectraModel>"
    asks: list[Callable[[Model], object]] = [Model.num_parameters, str, lambda model: list(model.named_parameters())]
    for ask in asks:
        with pytest.raises(InputError, match="The rows of these columns"):
            ask(model)


def test_columns_are_equal_row_by_row() -> None:
    layers = columns(BertConfig(), num_hidden_layers=[12, 24])
    assert layers == columns(BertConfig(), num_hidden_layers=np.array([12, 24]))
    assert load(layers) == load(columns(BertConfig(), num_hidden_layers=range(12, 36, 12)))
    for other in (
        *(BertConfig(), columns(BertConfig(), num_hidden_layers=[12, 25]), columns(BertConfig(), hidden_size=[12, 24])),
        *(columns(BertConfig(), num_hidden_layers=[12, 24, 36]), columns(BertConfig(), num_hidden_layers=[[12, 24]])),
        columns(BertConfig(hidden_act="relu"), num_hidden_layers=[12, 24]),
    ):
        assert layers != other
        assert load(layers) != load(other)
    assert columns(BertConfig(), num_hidden_layers=[12]) != BertConfig()


def test_configurations_are_equal_and_hashed_by_their_values() -> None:
    assert BertConfig() == BertConfig(num_hidden_layers=12)
    assert BertConfig() != BertConfig(num_hidden_layers=13)
    assert BertConfig() != ElectraConfig(**{k: v for k, v in vars(BertConfig()).items() if ElectraConfig.has(k)})
    assert len({BertConfig(), BertConfig(num_hidden_layers=12), BertConfig(num_hidden_layers=13)}) == 2
