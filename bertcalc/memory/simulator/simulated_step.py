"""The way into the simulator: a model, a plan and a batch in, the timeline of a step out."""

from contextlib import nullcontext

from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.optimizer_step import Optimizing
from bertcalc.memory.simulator.tape import SimulatedTensor
from bertcalc.memory.simulator.timeline import MemoryChange, alive
from bertcalc.model.model import Model
from bertcalc.model.trace import Sizes
from bertcalc.text import N_
from bertcalc.text.problem import wrong

NOTHING_TO_TRAIN = N_("Everything in {architecture} is frozen: there is nothing to train.")


def simulate(model: Model, how: Plan | Inference, sizes: Sizes, overrides: Overrides) -> list[MemoryChange]:
    """Simulate a training step with a plan, or a forward pass, and return its timeline.

    ``overrides`` are the steps in which the model's forward methods differ from the defaults. Raises InputError if
    nothing is trained.
    """
    step = Pass(model, how, sizes, overrides)
    step.begin()
    if isinstance(how, Plan):
        return _train(step, how)
    outputs = step.forward()  # noqa: F841  # alive until the changes are copied
    return list(step.memory.changes)


def _train(step: Pass, plan: Plan) -> list[MemoryChange]:
    optimizer = Optimizing(step)
    outputs: list[SimulatedTensor] = []
    loss: SimulatedTensor
    for number in range(2):  # from the second step on there are optimizer states and the previous outputs
        step.memory.changes = [change._replace(phase="before") for change in alive(step.memory.changes)]
        with step.tape.autocast or nullcontext():
            returned = step.forward()
            if plan.keep_outputs:
                outputs = returned  # noqa: F841  # held until the next forward pass has returned
            loss = step.loss(returned)
            del returned
        if not loss.node or not any(parameter.node for parameter in step.parameters.values()):
            raise wrong(NOTHING_TO_TRAIN, "train", plan.freezing.train, architecture=step.model.cls.name)
        step.memory.phase = "backward"
        step.tape.backward(loss)
        step.memory.phase = "optimizer"
        optimizer.step()
        if not plan.accumulate or number:
            optimizer.zero_grad()
    return list(step.memory.changes)  # without the releases at the end of this function
