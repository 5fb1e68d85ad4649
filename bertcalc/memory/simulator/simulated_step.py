"""The entry point of the simulator: from a model, a plan and a batch to the timeline of a step.

The optimizer loops have the same variables as PyTorch's functions for ``foreach=False`` (torch/optim).
"""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS, Optimizer, sizes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.frames import Variables
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import FLOAT32, Tape
from bertcalc.memory.timeline import MemoryChange, alive
from bertcalc.model import modules
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.text import N_
from bertcalc.text.problem import wrong

NOTHING_TO_TRAIN = N_("Everything in {architecture} is frozen: there is nothing to train.")


def simulate(model: Model, how: Plan | Inference, batch: Batch, overrides: Overrides) -> list[MemoryChange]:
    """Simulate a training step with a plan, or a forward pass, and return its timeline.

    ``overrides`` replace the defaults where the model's forward methods differ from them. Raises InputError if nothing
    is trained.
    """
    step = Pass(model, how, batch, overrides)
    step.begin()
    if isinstance(how, Plan):
        return _train(step, how)
    step.forward()
    return step.memory.changes


def _train(step: Pass, plan: Plan) -> list[MemoryChange]:
    optimizer = Optimizing(step)
    variables = Variables()
    for number in range(2):  # the second step starts with optimizer states and the outputs of the first
        step.memory.changes = [change._replace(phase="before") for change in alive(step.memory.changes)]
        with step.tape.autocast or nullcontext():
            returned = step.forward()
            kept = Variables({f"outputs {index}": output for index, output in enumerate(returned)})
            if plan.keep_outputs:  # the loop holds the outputs until the next forward pass has returned
                variables |= kept
            variables["loss"] = loss = step.loss(returned)
            kept.clear()
        step.memory.check()
        if not loss.node or not any(parameter.node for parameter in step.parameters.values()):
            raise wrong(NOTHING_TO_TRAIN, "train", plan.freezing.train, architecture=step.model.cls.name)
        step.memory.phase = "backward"
        step.tape.backward(loss)
        step.memory.phase = "optimizer"
        optimizer.step()
        if not plan.accumulate or number:
            optimizer.zero_grad()
        step.memory.check()
    return step.memory.changes


class Optimizing:
    """An optimizer with its master weights and states."""

    def __init__(self, step: Pass) -> None:
        self._step = step
        self._optimizer = step.plan.optimizer
        self._rule = PRECISIONS[step.plan.precision]
        self._masters = Variables()
        self._states: list[SimulatedTensor] = []
        for name, parameter in step.parameters.items():
            if parameter.node and self._rule.master:
                step.memory.where = name
                self._masters[name] = step.tape.new(parameter.shape, FLOAT32, "optimizer states")
            if parameter.node and self._rule.gradient != self._rule.weight:
                parameter.node.set_grad(step.tape.new(parameter.shape, FLOAT32, "gradients"))

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        tape, memory = self._step.tape, self._step.memory
        trained = {name: self._masters.get(name, parameter) for name, parameter in self._step.trained().items()}
        if not self._states:
            for memory.where, tensor in trained.items():
                states = _states(self._optimizer, tensor)
                self._states += [tape.new(shape, item, "optimizer states").own() for shape, item in states]
        if not self._masters:
            _update(tape, self._optimizer, self._each(trained.items()))
            return
        for memory.where, tensor in trained.items():
            gradient = tape.like(tensor) if self._rule.gradient != FLOAT32 else None
            _update(tape, self._optimizer, [tensor])
            if gradient:
                gradient.drop()

    def _each(self, tensors: Iterable[tuple[str, SimulatedTensor]]) -> Iterator[SimulatedTensor]:
        for self._step.memory.where, tensor in tensors:
            yield tensor

    def zero_grad(self) -> None:
        """Release the gradients; float32 gradients of 16-bit weights stay."""
        if self._rule.gradient == self._rule.weight:
            for parameter in self._step.parameters.values():
                if parameter.node:
                    parameter.node.set_grad(None)


def _states(optimizer: Optimizer, tensor: SimulatedTensor) -> list[tuple[Shape, int]]:
    """The (shape, bytes per element) pairs of a tensor's optimizer states."""
    steps = ((), FLOAT32)  # a counter, which PyTorch keeps on the CPU
    average = (tensor.shape, tensor.item)
    match optimizer:
        case "sgd":
            return []
        case "momentum":
            return [average]
        case "adamw":
            return [steps, average, average]
        case "adamw-8bit":
            num_bytes = OPTIMIZERS[optimizer](sizes([modules.Tensor("", tensor.shape, 1)]), tensor.item)
            return [((num_bytes,), 1)]
        case "adafactor" if len(tensor.shape) == 1:
            return [steps, average]
        case "adafactor":
            return [steps, *((shape, tensor.item) for shape in _sums(tensor.shape))]


def _sums(shape: Shape) -> tuple[Shape, Shape]:
    *stack, rows, columns = shape
    return (*stack, rows, 1), (*stack, 1, columns)


def _update(tape: Tape, optimizer: Optimizer, tensors: Iterable[SimulatedTensor]) -> None:
    """Run the optimizer's loop over tensors.

    Each key of ``held`` is a variable of PyTorch's loop, which holds its value until it is overwritten. Optimizers
    other than AdamW and Adafactor work in place. The 8-bit AdamW of bitsandbytes has one kernel per tensor; this has
    not been measured.
    """
    held = Variables()
    for tensor in tensors:
        if optimizer == "adamw":
            held["denominator"] = tape.like(tape.like(tensor))  # a square root, then its quotient
        elif optimizer == "adafactor":
            tape.new((), tensor.item).drop()  # the norm of the parameter
            if len(tensor.shape) == 1:
                held["squared gradient"] = tape.like(tensor)
                held["estimate"] = tape.like(tensor)
            else:
                rows, columns = _sums(tensor.shape)
                held["mean of rows"] = tape.new(rows, tensor.item)
                held["mean of columns"] = tape.new(columns, tensor.item)
                held["estimate"] = tape.like(tensor)
                tape.new((*tensor.shape[:-2], 1, 1), tensor.item).drop()  # the mean of the state of the rows
            held["update"] = held["estimate"]
            tape.new((), tensor.item).drop()  # the norm of the update
    held.clear()
