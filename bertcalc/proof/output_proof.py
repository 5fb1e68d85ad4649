"""Prove the predicted outputs: compare them with the outputs of the real forward method on the meta device."""

from itertools import zip_longest
from math import prod
from typing import Any, NamedTuple

from bertcalc.forward.outputs import Call, Entry, inputs, outputs, run, taking_all
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.proof.real_model import empty_model

Contents = list[tuple[Shape, str]]


class Returned(NamedTuple):
    """An output: its name or position, its type, and the shape and dtype of each tensor in it."""

    name: str
    kind: str
    tensors: Contents


class ComparedOutput(NamedTuple):
    """An output as we predict it and as the real model returns it; None if one side has no output at this position."""

    ours: Returned | None
    theirs: Returned | None

    @property
    def agrees(self) -> bool:
        """Whether the name, type, shapes and dtypes are the same."""
        return self.ours == self.theirs


def prove(model: Model, call: Call) -> list[ComparedOutput]:
    """Run the real forward method with the arguments of a call, and compare each output with our prediction.

    transformers 5 must be able to build the model and to run the call.
    """
    import torch

    with torch.device("meta"):
        real = empty_model(model)
        real.set_attn_implementation("eager")  # only eager attention returns attentions
        entries = inputs(model, call, run(taking_all(model), call))
        flags = ["output_hidden_states", "output_attentions", "return_dict"]
        flags += [entry.name for entry in entries if entry.given and not entry.tensors]
        returned = real(**{flag: getattr(call, flag) for flag in flags}, **given_tensors(model, entries))
    ours = outputs(model, call, run(model, call))
    return compare(ours, returned)


def countable(model: Model, call: Call) -> bool:
    """Whether the bytes of every tensor fit into a signed 64-bit integer, with which PyTorch counts them."""
    return all(4 * prod(step.gives.shape) < 2**63 for step in run(model, call))


def given_tensors(model: Model, entries: list[Entry], dtype: Any = None) -> dict[str, Any]:
    """Return the inputs of a call as tensors on PyTorch's default device, keyed by name.

    If ``dtype`` is given, it replaces float32. Some models always get an attention_mask. Without it, transformers reads
    the values of tokens or positions, and tensors on the meta device have no values.
    """
    import torch

    masked = model.config.reads_ids
    return {
        entry.name: torch.empty(
            entry.tensors[0].shape, dtype=dtype if dtype and entry.dtype == "float32" else getattr(torch, entry.dtype)
        )
        for entry in entries
        if entry.tensors and (entry.given or (masked and entry.name == "attention_mask"))
    }


def compare(entries: list[Entry], returned: Any) -> list[ComparedOutput]:
    """Compare our outputs with the outputs of a real forward method: a tuple, or a dictionary keyed by name."""
    pairs = (
        [(f"[{index}]", value) for index, value in enumerate(returned)] if type(returned) is tuple else returned.items()
    )
    theirs = [Returned(name, type(value).__name__, _contents(value)) for name, value in pairs]
    return [ComparedOutput(*pair) for pair in zip_longest(map(_ours, entries), theirs)]


def _ours(entry: Entry) -> Returned:
    name = entry.name if entry.position is None else f"[{entry.position}]"
    tensors = [(shape, str(entry.dtype)) for copies, shape in entry.tensors for _copy in range(copies)]
    return Returned(name, entry.container or ("Tensor" if tensors else "NoneType"), tensors)


def _contents(value: Any) -> Contents:
    """Return the shape and dtype of every tensor in an output, which can be None, a tuple or a key/value cache."""
    if value is None:
        return []
    if hasattr(value, "shape"):
        return [(tuple(value.shape), str(value.dtype).removeprefix("torch."))]
    if hasattr(value, "self_attention_cache"):
        value = (value.self_attention_cache, value.cross_attention_cache)
    elif hasattr(value, "layers"):
        value = [tensor for layer in value.layers for tensor in (layer.keys, layer.values)]
    return [content for inside in value for content in _contents(inside)]
