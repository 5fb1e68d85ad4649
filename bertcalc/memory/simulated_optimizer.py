"""The step of an optimizer on tensors without data: its states, and the temporary tensors of its loop.

Each loop has the variables of PyTorch's own function for ``foreach=False`` (torch/optim).
"""

from collections.abc import Callable, Iterable, Iterator

from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS, Optimizer, sizes
from bertcalc.memory.simulated_pass import Pass
from bertcalc.memory.tape import Tape, Tensor
from bertcalc.tree import nn
from bertcalc.tree.nn import Shape

_FLOAT32 = 4


class Optimizing:
    """An optimizer with its master weights and states."""

    def __init__(self, step: Pass) -> None:
        self._step = step
        self._loop = _LOOPS[step.plan.optimizer]
        self._rule = PRECISIONS[step.plan.precision]
        self._masters: dict[str, Tensor] = {}
        self._states: list[Tensor] = []
        for name, parameter in step.parameters.items():
            if parameter.node and self._rule.master:
                step.memory.where = name
                self._masters[name] = step.tape.new(parameter.shape, _FLOAT32, "optimizer states")
            if parameter.node and self._rule.gradient != self._rule.weight:
                parameter.node.grad = step.tape.new(parameter.shape, _FLOAT32, "gradients")

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        tape, memory = self._step.tape, self._step.memory
        trained = {name: self._masters.get(name, parameter) for name, parameter in self._step.trained().items()}
        if not self._states:
            for memory.where, tensor in trained.items():
                self._states += _STATES[self._step.plan.optimizer](tape, tensor)
        if not self._masters:
            self._loop(tape, self._each(trained.items()))
            return
        for memory.where, tensor in trained.items():
            gradient = tape.like(tensor) if self._rule.gradient != _FLOAT32 else None
            self._loop(tape, [tensor])
            del gradient

    def _each(self, tensors: Iterable[tuple[str, Tensor]]) -> Iterator[Tensor]:
        for self._step.memory.where, tensor in tensors:
            yield tensor

    def zero_grad(self) -> None:
        """Release the gradients; float32 gradients of 16-bit weights stay."""
        if self._rule.gradient == self._rule.weight:
            for parameter in self._step.parameters.values():
                if parameter.node:
                    parameter.node.grad = None


# States.


def _counter(tape: Tape) -> Tensor:
    """The step counter, which PyTorch keeps on the CPU."""
    return tape.new((), _FLOAT32, "optimizer states")


def _average(tape: Tape, tensor: Tensor) -> Tensor:
    return tape.new(tensor.shape, tensor.item, "optimizer states")


def _factors(tape: Tape, tensor: Tensor) -> list[Tensor]:
    if len(tensor.shape) == 1:
        return [_counter(tape), _average(tape, tensor)]
    return [_counter(tape), *(tape.new(shape, tensor.item, "optimizer states") for shape in _sums(tensor.shape))]


def _sums(shape: Shape) -> tuple[Shape, Shape]:
    """The shapes of a matrix's sums: one number for each row, and one for each column."""
    *stack, rows, columns = shape
    return (*stack, rows, 1), (*stack, 1, columns)


def _quantized(tape: Tape, tensor: Tensor) -> list[Tensor]:
    num_bytes = OPTIMIZERS["adamw-8bit"](sizes([nn.Tensor("", tensor.shape, 1)]), tensor.item)
    return [tape.new((num_bytes,), 1, "optimizer states")]


_STATES: dict[Optimizer, Callable[[Tape, Tensor], list[Tensor]]] = {
    "sgd": lambda tape, tensor: [],
    "momentum": lambda tape, tensor: [_average(tape, tensor)],
    "adamw": lambda tape, tensor: [_counter(tape), _average(tape, tensor), _average(tape, tensor)],
    "adamw-8bit": _quantized,
    "adafactor": _factors,
}


# Loops. A key of ``held`` is a variable of PyTorch's loop: it holds its value until it is overwritten.


def _in_place(tape: Tape, tensors: Iterable[Tensor]) -> None:
    for _tensor in tensors:
        pass


def _adamw(tape: Tape, tensors: Iterable[Tensor]) -> None:
    held: dict[str, Tensor] = {}
    for tensor in tensors:
        held["denominator"] = tape.like(tape.like(tensor))  # a square root, divided


def _adafactor(tape: Tape, tensors: Iterable[Tensor]) -> None:
    held: dict[str, Tensor] = {}
    for tensor in tensors:
        tape.new((), tensor.item)  # its norm
        if len(tensor.shape) == 1:
            held["squared gradient"] = tape.like(tensor)
            held["estimate"] = tape.like(tensor)
        else:
            rows, columns = _sums(tensor.shape)
            held["mean of rows"] = tape.new(rows, tensor.item)
            held["mean of columns"] = tape.new(columns, tensor.item)
            held["estimate"] = tape.like(tensor)
            tape.new((*tensor.shape[:-2], 1, 1), tensor.item)  # the mean of the state of the rows
        held["update"] = held["estimate"]
        tape.new((), tensor.item)  # its norm


_LOOPS: dict[Optimizer, Callable[[Tape, Iterable[Tensor]], None]] = {
    "sgd": _in_place,
    "momentum": _in_place,
    "adamw": _adamw,
    "adamw-8bit": _in_place,  # bitsandbytes has one kernel for each tensor; not measured
    "adafactor": _adafactor,
}
