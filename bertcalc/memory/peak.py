"""The most bytes of tensors that are alive at once, in a training step and in a forward pass: simulated, not bounded.

A step is run on tensors without numbers: simulated_pass.py is the forward pass, held.py says what Python keeps longer
than its last use, tape.py has the operations and the backward pass. Equal to the byte to the real model, every storage
followed, and within a few numbers to what PyTorch's CPU allocator hands out (tests/memory/test_peak.py).
"""

from collections.abc import Sequence
from typing import NamedTuple

from bertcalc.family import Model
from bertcalc.memory.saved import Attention, Dtype
from bertcalc.memory.simulated_pass import Pass
from bertcalc.memory.tape import AREAS, Area, Change, Phase, Tape, Tensor


class Moment(NamedTuple):
    """What is alive at one moment of a step: bytes by area, in the order of AREAS."""

    phase: Phase
    where: str
    live: int
    areas: dict[Area, int]


def training_peak_bytes(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    labels: bool = True,
    optimizer: str = "adamw",
    dtype: Dtype = "float32",
    attention: Attention = "eager",
    keep_outputs: bool = True,
    num_choices: int = 1,
    padded: bool = False,
) -> int:
    """The most bytes of tensors alive at any moment of a training step, weights and all: see ``training_changes``."""
    changes = training_changes(
        model,
        batch_size,
        sequence_length,
        labels=labels,
        optimizer=optimizer,
        dtype=dtype,
        attention=attention,
        keep_outputs=keep_outputs,
        num_choices=num_choices,
        padded=padded,
    )
    return peak(changes).live


def inference_peak_bytes(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    dtype: Dtype = "float32",
    attention: Attention = "eager",
    num_choices: int = 1,
    padded: bool = False,
) -> int:
    """The most bytes of tensors alive at any moment of a forward pass under ``torch.no_grad()``, weights and all."""
    changes = inference_changes(
        model,
        batch_size,
        sequence_length,
        dtype=dtype,
        attention=attention,
        num_choices=num_choices,
        padded=padded,
    )
    return peak(changes).live


def peak(changes: Sequence[Change]) -> Moment:
    """The first moment at which most is alive."""
    return max(curve(changes), key=lambda moment: moment.live)


def curve(changes: Sequence[Change]) -> list[Moment]:
    """What is alive after each change, from the first of the forward pass on."""
    areas: dict[Area, int] = dict.fromkeys(AREAS, 0)
    live = 0
    moments = []
    for change in changes:
        areas[change.area] += change.num_bytes
        if change.moved_from:
            areas[change.moved_from] -= change.num_bytes
        else:
            live += change.num_bytes
        if change.phase != "before":
            moments.append(Moment(change.phase, change.where, live, dict(areas)))
    return moments


def alive_at_peak(changes: Sequence[Change]) -> list[Change]:
    """How each storage came that is alive at the peak, with the area that it is in then."""
    before = sum(change.phase == "before" for change in changes)
    live = [moment.live for moment in curve(changes)]
    return _alive(changes[: before + live.index(max(live)) + 1])


def training_changes(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    labels: bool = True,
    optimizer: str = "adamw",
    dtype: Dtype = "float32",
    attention: Attention = "eager",
    keep_outputs: bool = True,
    num_choices: int = 1,
    padded: bool = False,
) -> list[Change]:
    """Everything that comes and goes in one step of the usual loop in steady state, in order.

        outputs = model(**batch, labels=labels)
        outputs.loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    The batch has input_ids and labels alone; if it is ``padded``, also token_type_ids and an attention_mask in which
    there are zeros, so that the model makes a mask of numbers. Nothing is given for cross-attention to look at. The
    optimizer is ``torch.optim.AdamW(foreach=False)``.

    The variable ``outputs`` is set anew when the next forward pass has returned: until then the logits of the step
    before are alive. Without ``keep_outputs`` the loop says ``loss = model(...).loss`` and has the loss alone: the
    logits go before the backward pass.

    Raises ValueError where there is no loss, NotImplementedError for what is not simulated yet.
    """
    _check(model, dtype, attention)
    if optimizer != "adamw":
        raise NotImplementedError(f"The peak is known for AdamW alone so far, not for {optimizer}.")
    if not (labels and model.cls.targets):
        raise ValueError(f"{model.cls.name} gives no loss without labels: nothing can be trained with it alone.")
    step = Pass(model, batch_size, sequence_length, num_choices=num_choices, training=True, padded=padded)
    step.begin()
    outputs: list[Tensor] = []
    states: list[Tensor] = []
    for _step in range(2):  # the second is like every one after it: there are states, and outputs of the step before
        step.memory.changes = [change._replace(phase="before") for change in _alive(step.memory.changes)]
        outputs = step.forward() if keep_outputs else step.forward()[:1]
        step.memory.phase = "backward"
        step.tape.backward(outputs[0])
        step.memory.phase = "optimizer"
        states = states or _states(step)
        _optimizer(step)
        _zero_grad(step)
    step.memory.closed = True
    return step.memory.changes


def inference_changes(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    dtype: Dtype = "float32",
    attention: Attention = "eager",
    num_choices: int = 1,
    padded: bool = False,
) -> list[Change]:
    """Everything that comes and goes in a forward pass of ``model.eval()`` under ``torch.no_grad()``, in order.

    Raises NotImplementedError for what is not simulated yet.
    """
    _check(model, dtype, attention)
    step = Pass(model, batch_size, sequence_length, num_choices=num_choices, training=False, padded=padded)
    step.begin()
    outputs = step.forward()
    step.memory.closed = True
    del outputs  # which were alive until here
    return step.memory.changes


def _check(model: Model, dtype: Dtype, attention: Attention) -> None:
    if dtype != "float32":
        raise NotImplementedError(f"The peak is known for float32 alone so far, not for {dtype}.")
    if attention != "eager":
        raise NotImplementedError(f"The peak is known for eager attention alone so far, not for {attention}.")
    if model.config.transformers_version == 4:
        raise NotImplementedError("The peak is known for transformers 5 alone, which has no relative positions.")
    if not model.family.peaks:
        raise NotImplementedError(f"The peak is not known for {model.family.kind} models yet.")
    if model.cls.task == "question-answering" and model.config.num_labels != 2:
        raise ValueError(f"{model.cls.name} cannot run: its forward method needs num_labels to be 2.")


def _alive(changes: Sequence[Change]) -> list[Change]:
    """Of some changes, those that brought what is alive after them."""
    found: dict[int, Change] = {}
    for change in changes:
        if change.moved_from:
            found[change.storage] = found[change.storage]._replace(area=change.area)
        elif change.num_bytes < 0:
            del found[change.storage]
        elif change.num_bytes:
            found[change.storage] = change
    return list(found.values())


# The optimizer.


def _states(step: Pass) -> list[Tensor]:
    """AdamW's two averages of each tensor that has a gradient, and a counter of steps, which is on the CPU."""
    states = []
    for parameter in step.trained():
        for shape, item in (((), 4), (parameter.shape, parameter.item), (parameter.shape, parameter.item)):
            states.append(step.tape.new(shape, item, "optimizer states"))
    return states


def _optimizer(step: Pass) -> None:
    """AdamW tensor by tensor: its denominator is a variable, alive until the next one is there."""
    tape = step.tape
    denominator: Tensor | None = None
    for name, parameter in step.parameters.items():
        if parameter.node and parameter.node.grad:
            step.memory.where = name
            denominator = _divided(tape, tape.like(parameter))
    del denominator


def _divided(tape: Tape, root: Tensor) -> Tensor:
    return tape.like(root)


def _zero_grad(step: Pass) -> None:
    for parameter in step.parameters.values():
        if parameter.node:
            parameter.node.grad = None
