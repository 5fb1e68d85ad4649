"""Build the real model with transformers: on the meta device, or with random weights if they fit into memory."""

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import psutil

from bertcalc.forward.outputs import needs_mask
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Shape
from bertcalc.transformers4.version import ABSOLUTE, FIVE

FORWARD_TOKENS = 8


class RealRun(NamedTuple):
    """The result of a forward pass of a model with random weights.

    ``outputs`` are (name, shape) pairs. ``seconds`` includes the time for building the model.
    """

    parameters: int
    weight_bytes: int
    outputs: list[tuple[str, Shape]]
    seconds: float


@cache
def installed() -> bool:
    """Whether torch and transformers are installed; they are not imported."""
    return all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


def buildable(model: Model) -> Model:
    """Return the model in the form that transformers 5 can build, with absolute positions."""
    return model.changed(config=replace(model.config, **ABSOLUTE))


def not_checked(model: Model) -> int:
    """Return the number of parameters in relative position embeddings, which ``buildable`` leaves out."""
    tensors = model.tensors()
    return sum(tensor.num_parameters() for tensor in tensors if tensor.place.role == "distance")


def real_class(architecture: str) -> Any:
    """Return a class of transformers. Raises NotImplementedError with its name if the installed version lacks it."""
    import transformers

    if not hasattr(transformers, architecture):
        raise NotImplementedError(architecture)
    return getattr(transformers, architecture)


def real_model(model: Model) -> Any:
    """Return the model that transformers builds, on PyTorch's current default device."""
    import transformers

    transformers.logging.set_verbosity_error()  # its warnings about decoders matter only in training
    config = getattr(transformers, type(model.config).__name__)(**FIVE.fields(model.config))
    if model.cls.flattens_regression and model.config.num_labels > 1:
        config.problem_type = "single_label_classification"  # otherwise, forward reads the values of the labels
    options = {} if model.add_pooling_layer else {"add_pooling_layer": False}  # only the body's class accepts it
    return real_class(model.architecture)(config, **options)


def empty_model(model: Model) -> Any:
    """Return the model that transformers builds on the meta device: shapes without weights.

    PyTorch initializes weights even on the meta device. transformers 5.23 can skip the initialization to save
    time, but then does not tie the weights either, so this function calls ``tie_weights``.
    """
    import torch
    from transformers.initialization import no_init_weights

    with torch.device("meta"), no_init_weights():
        real = real_model(model)
    real.tie_weights()
    if model.cls.task == "multiple-choice" and model.config.has("classifier_pooling"):
        real.forward = with_values(real.forward)
    return real


def with_values(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a forward method that reads values of tensors, so that it runs on the meta device, where tensors have none.

    ModernBERT's forward method for multiple choice reads the position of the first token, and whether any token is
    padding.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    class Values(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.full and args[0] == ():
                return func(*args, **{**kwargs, "device": "cpu"})
            if func is torch.Tensor.all and args[0].is_meta:
                return torch.ones((), dtype=torch.bool, device="cpu")
            return func(*args, **(kwargs or {}))

    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        with Values():
            return forward(*args, **kwargs)

    return run


def needed_bytes(model: Module) -> int:
    """Return the bytes of the weights in float32, plus a quarter for building the model and for the forward pass."""
    return 5 * model.num_parameters()


def available_bytes() -> int:
    """Return the memory available to this process in bytes, within the limits of the machine and of the container."""
    free: int = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - int(used)))


def run_forward(model: Model) -> RealRun:
    """Build the model with random weights and run a forward pass on a few tokens.

    Raises MemoryError if the model does not fit into the available memory.
    """
    import torch

    if needed_bytes(model) > available_bytes():
        raise MemoryError
    began = perf_counter()
    real = real_model(model).eval()
    tokens = min(FORWARD_TOKENS, model.config.longest)
    ids = torch.zeros((1, 1, tokens) if model.cls.takes_choices else (1, tokens), dtype=torch.long)
    inputs = {"input_ids": ids}
    if needs_mask(model):
        inputs["attention_mask"] = torch.ones_like(ids)
    with torch.inference_mode():
        outputs = real(**inputs)
    shapes = [(name, tuple(value.shape)) for name, value in outputs.items() if isinstance(value, torch.Tensor)]
    weights = list(real.parameters())
    count = sum(weight.numel() for weight in weights)
    size = sum(weight.numel() * weight.element_size() for weight in weights)
    return RealRun(count, size, shapes, perf_counter() - began)
