"""The size of a checkpoint with optimizer states, as transformers' Trainer writes it: the model and optimizer.pt."""

from collections.abc import Iterable, Sequence
from typing import Literal

from bertcalc.model.modules import Shape
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.storage.torch_file import SavedTensor, torch_file_bytes

SavedOptimizer = Literal["adamw", "momentum", "sgd"]
_ADAMW = {
    "weight_decay": 0.01,
    "lr": 5e-05,
    "betas": (0.9, 0.999),
    "eps": 1e-08,
    "amsgrad": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "fused": None,
    "decoupled_weight_decay": True,
}
_SGD = {
    "lr": 5e-05,
    "momentum": 0,
    "dampening": 0,
    "weight_decay": 0,
    "nesterov": False,
    "maximize": False,
    "foreach": None,
    "differentiable": False,
    "fused": None,
}


def optimizer_file_bytes(trained: Sequence[StoredTensor], optimizer: SavedOptimizer = "adamw") -> int:
    """The size of ``torch.save(optimizer.state_dict(), "optimizer.pt")`` with all trained tensors in one group.

    AdamW saves two averages and the number of steps for each tensor, SGD with momentum one average, in its dtype. With
    adapters the trained tensors are few, and the file is small.

    >>> from bertcalc.model.model import build
    >>> from bertcalc.storage.stored_tensors import stored
    >>> optimizer_file_bytes(stored(build("bert-base-uncased"), "F32"))
    876019083
    """
    state = {number: dict(_states(*tensor, optimizer)) for number, tensor in enumerate(trained)}
    settings = _ADAMW if optimizer == "adamw" else _SGD | ({"momentum": 0.9} if optimizer == "momentum" else {})
    group = {**settings, "params": [*range(len(trained))]}
    return torch_file_bytes({"state": {} if optimizer == "sgd" else state, "param_groups": [group]}, "optimizer")


def _states(name: str, dtype: str, shape: Shape, optimizer: SavedOptimizer) -> Iterable[tuple[str, SavedTensor]]:
    if optimizer == "adamw":
        yield "step", SavedTensor("F32", (), f"{name}.step")
        yield "exp_avg", SavedTensor(dtype, shape, f"{name}.exp_avg")
        yield "exp_avg_sq", SavedTensor(dtype, shape, f"{name}.exp_avg_sq")
    else:
        yield "momentum_buffer", SavedTensor(dtype, shape, f"{name}.momentum_buffer")
