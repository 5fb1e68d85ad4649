from typing import Any

import pytest
import torch

from bertcalc import BertConfig, build
from bertcalc.config.activations import INPUT, OUTPUT
from bertcalc.model.modules import Activation, Dropout, Embedding, Linear, Module, ModuleList, Norm

Torch: Any = torch.nn


def a_stack(length: int) -> Module:
    return Module("Model", layers=ModuleList(Module("Layer", fc=Linear(3, 2), norm=Norm("LayerNorm", 2, 1e-5)), length))


@pytest.mark.parametrize(
    ("ours", "real"),
    [
        (Linear(3, 2), Torch.Linear(3, 2)),
        (Embedding(5, 4), Torch.Embedding(5, 4)),
        (Embedding(5, 4, 0), Torch.Embedding(5, 4, 0)),
        (Norm("LayerNorm", 7, 1e-12), Torch.LayerNorm(7, 1e-12)),
        (Dropout(0.25), Torch.Dropout(0.25)),
        (Activation("Tanh", OUTPUT), Torch.Tanh()),
        (Activation("PReLU", INPUT, "num_parameters=1", {"weight": (1,)}), Torch.PReLU()),
        (ModuleList(Dropout(0.5), 1), Torch.ModuleList([Torch.Dropout(0.5)])),
        (ModuleList(Dropout(0.5), 3), Torch.ModuleList([Torch.Dropout(0.5) for _ in range(3)])),
    ],
    ids=lambda module: type(module).__name__,
)
def test_a_module_has_the_tensors_and_the_text_of_pytorch(ours: Module, real: Any) -> None:
    assert str(ours) == str(real)
    assert dict(ours.named_parameters()) == {name: tuple(tensor.shape) for name, tensor in real.named_parameters()}


def test_a_list_of_one_is_printed_by_its_number_and_not_as_a_range() -> None:
    assert str(a_stack(1)).splitlines()[1:3] == ["  (layers): ModuleList(", "    (0): Layer("]
    assert str(a_stack(2)).splitlines()[1:3] == ["  (layers): ModuleList(", "    (0-1): 2 x Layer("]


def test_a_layer_is_found_by_any_of_its_numbers_and_by_the_star() -> None:
    layer = a_stack(12).get_submodule("layers.*")
    assert layer.class_name == "Layer"
    assert all(a_stack(12).get_submodule(f"layers.{number}").class_name == "Layer" for number in range(12))
    assert a_stack(12).get_submodule("layers.11.fc").num_parameters() == 8


def test_the_empty_path_is_the_module_itself() -> None:
    model = a_stack(2)
    assert model.get_submodule("") is model


NUMBERS_THAT_ARE_NONE = ["2", "-1", "01", "²", "١", "9" * 5000, ""]


@pytest.mark.parametrize(
    "path",
    ["nothing", ".", "layers.*.fc.weight", *(f"layers.{number}" for number in NUMBERS_THAT_ARE_NONE)],
    ids=lambda path: path[:20],
)
def test_a_path_that_leads_nowhere_is_a_key_error(path: str) -> None:
    with pytest.raises(KeyError):
        a_stack(2).get_submodule(path)


def test_the_folded_tree_has_each_tensor_once_with_its_copies() -> None:
    model = a_stack(5)
    assert [(tensor.name, tensor.shape, tensor.copies) for tensor in model.tensors()] == [
        ("layers.*.fc.weight", (2, 3), 5),
        ("layers.*.fc.bias", (2,), 5),
        ("layers.*.norm.weight", (2,), 5),
        ("layers.*.norm.bias", (2,), 5),
    ]
    assert [tensor.name for tensor in model.tensors(folded=False)][3:5] == ["layers.0.norm.bias", "layers.1.fc.weight"]


@pytest.mark.parametrize("folded", [True, False])
def test_folded_and_unfolded_tensors_add_up_to_the_same_total(folded: bool) -> None:
    model = build(BertConfig())
    assert sum(tensor.num_parameters() for tensor in model.tensors(folded=folded)) == 109_482_240


def test_lists_of_lists_multiply() -> None:
    model = ModuleList(ModuleList(Linear(3, 2), 4), 5)
    assert model.num_parameters() == 4 * 5 * 8
    assert [(tensor.name, tensor.copies) for tensor in model.tensors()] == [("*.*.weight", 20), ("*.*.bias", 20)]
    assert len(list(model.named_parameters())) == 40


def test_a_tied_tensor_is_not_counted_where_it_is_not_owned() -> None:
    tied = Linear(3, 2, {"weight": "embeddings.weight"})
    assert dict(tied.named_parameters()) == {"bias": (2,)}
    assert tied.num_parameters() == 2
    assert str(tied) == str(Linear(3, 2))
