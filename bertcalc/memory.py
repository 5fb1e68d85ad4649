"""What training keeps in memory: the tensors that autograd saves on the way forward, read from the forward pass."""

from collections.abc import Iterator
from math import prod
from typing import Literal, NamedTuple

from bertcalc.activations import Kept
from bertcalc.forward import Step, Value, forward
from bertcalc.nn import Activation, Dropout, Module, Shape

Dtype = Literal["float32", "bfloat16", "float16"]
ITEM_BYTES: dict[Dtype, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


class Saved(NamedTuple):
    """A tensor that is kept for the backward pass, or all its copies in a repeated layer."""

    name: str  # of the value, or of the step that keeps something of its own
    step: str  # that needs it first
    shape: Shape
    item_bytes: int
    copies: int

    def num_bytes(self) -> int:
        """Bytes of all copies together."""
        return self.copies * prod(self.shape) * self.item_bytes


def saved_activation_bytes(
    model: Module,
    batch_size: int,
    sequence_length: int,
    dtype: Dtype = "float32",
    attention: Literal["eager", "fused"] = "eager",
    fused_dropout: bool = False,
) -> int:
    """Bytes of the tensors that autograd keeps for the backward pass of one training step.

    Equal to what torch.autograd.graph.saved_tensors_hooks sees on the real model: each storage once, without
    parameters, buffers and integer index tensors. ``fused_dropout`` keeps dropout masks in one byte an element, as
    PyTorch's CUDA kernel does, where other devices keep them in ``dtype``. ``attention="fused"`` keeps what PyTorch's
    flash attention keeps: query, key, value, the output and one float32 for each row of scores.
    """
    total = 0
    for saved in saved_activations(
        model, batch_size, sequence_length, dtype=dtype, attention=attention, fused_dropout=fused_dropout
    ):
        total = total + saved.num_bytes()
    return total


def saved_activations(
    model: Module,
    batch_size: int,
    sequence_length: int,
    *,
    dtype: Dtype = "float32",
    attention: Literal["eager", "fused"] = "eager",
    fused_dropout: bool = False,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
) -> list[Saved]:
    """The tensors themselves, in the order in which they are saved; those of a layer once, with their copies."""
    steps = forward(
        model, batch_size, sequence_length, encoder_sequence_length=encoder_sequence_length, num_choices=num_choices
    )
    fused = attention == "fused"
    width = ITEM_BYTES[dtype]
    own = {step.gives.name for step in steps}
    storages: dict[str, Value] = {}  # of the values that are a view of another one
    found: dict[str, Saved] = {}
    for step in steps:
        for value in _kept_values(step, fused):
            root = storages.get(value.name, value)
            copies = step.copies if root.name in own else 1  # what comes from outside, all layers read
            found.setdefault(root.name, Saved(root.name, step.name, root.shape, width, copies))
        for name, shape, item_bytes in _kept_besides(step, fused, width, 1 if fused_dropout else width):
            own_name = f"{step.name}: {name}"
            found[own_name] = Saved(own_name, step.name, shape, item_bytes, step.copies)
        if _is_view(step, fused):
            storages[step.gives.name] = storages.get(step.takes[0].name, step.takes[0])
    return list(found.values())


def cache_bytes(
    model: Module,
    batch_size: int,
    sequence_length: int,
    *,
    dtype: Dtype = "float32",
    encoder_sequence_length: int | None = None,
) -> int:
    """Bytes of the keys and values that a decoder gives back, so that the next token need not compute them again."""
    total = 0
    for step in forward(model, batch_size, sequence_length, encoder_sequence_length=encoder_sequence_length):
        if step.name.endswith(("key_heads", "value_heads")):
            total = total + step.copies * prod(step.gives.shape) * ITEM_BYTES[dtype]
    return total


def _kept_values(step: Step, fused: bool) -> tuple[Value, ...]:
    """What a step takes or gives that its backward needs."""
    match step.operation:
        case "linear" | "norm":
            return step.takes[:1]
        case "matmul":
            return (step.takes[1], step.gives) if fused and _is_context(step) else step.takes
        case "softmax":
            return () if fused else (step.gives,)
        case "activation":
            kept = _activation(step).kept
            return step.takes * kept.input + (step.gives,) * kept.output
    return ()


def _kept_besides(step: Step, fused: bool, width: int, mask: int) -> Iterator[tuple[str, Shape, int]]:
    """What a step makes for its backward alone: a name, a shape, and bytes for each element."""
    shape = step.gives.shape
    match step.operation:
        case "norm":
            yield "mean", (*shape[:-1], 1), 4
            yield "rstd", (*shape[:-1], 1), 4
        case "dropout" if _dropout(step).p and not (fused and step.name.endswith(_PROBABILITIES)):
            # All or nothing: PyTorch multiplies by a single 0.
            yield ("mask", shape, mask) if _dropout(step).p < 1 else ("zero", (), width)
        case "activation":
            kept = _activation(step).kept
            yield from ((f"part {number}", shape, width) for number in range(kept.more))
            yield from ((f"choice {number}", shape, 1) for number in range(kept.bools))
            # transformers makes xielu's tensors in bfloat16, also for a float32 model.
            yield from ((f"scalar {number}", (1,), 2) for number in range(kept.scalars))
        case "matmul" if fused and _is_context(step):
            yield "logsumexp", shape[:-1], 4


def _is_view(step: Step, fused: bool) -> bool:
    """Whether a step gives the memory that it takes, under another shape or none."""
    match step.operation:
        case "view":
            return True
        case "dropout":
            return not _dropout(step).p
        case "activation":
            return _activation(step).kept == Kept()
        case "copy":  # the flash kernel writes its output in the order in which the heads are merged
            return fused and step.name.endswith("merge_heads")
    return False


_PROBABILITIES = "attention.self.dropout"


def _is_context(step: Step) -> bool:
    return step.name.endswith("attention.self.context")


def _activation(step: Step) -> Activation:
    assert isinstance(step.module, Activation)
    return step.module


def _dropout(step: Step) -> Dropout:
    assert isinstance(step.module, Dropout)
    return step.module
