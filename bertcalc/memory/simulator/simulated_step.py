"""The way into the simulator: a model, a plan and a batch in, the timeline of a step out."""

from contextlib import nullcontext

from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.frames import Variables
from bertcalc.memory.simulator.optimizer_step import Optimizing
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
    step.forward()
    return step.memory.changes


def _train(step: Pass, plan: Plan) -> list[MemoryChange]:
    optimizer = Optimizing(step)
    variables = Variables()
    for number in range(2):  # from the second step on there are optimizer states and the previous outputs
        step.memory.changes = [change._replace(phase="before") for change in alive(step.memory.changes)]
        with step.tape.autocast or nullcontext():
            returned = step.forward()
            kept = Variables({f"outputs {index}": output for index, output in enumerate(returned)})
            if plan.keep_outputs:  # until the next forward pass has returned
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
