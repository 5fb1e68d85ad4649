"""RoBERTa's positions, which are counted from the padding id, on simulated tensors."""

from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.tape import BOOL, INT32, INT64, SimulatedTensor
from bertcalc.model.steps import Step


def positions_after_padding(run: Pass, step: Step) -> SimulatedTensor:
    """Position ids as in fairseq's make_positions, with int32 in between; a body with a cache adds its length."""
    tape, shape = run.tape, step.takes[0].shape
    if run.model.virtual_tokens:  # vectors instead of ids: they are counted from 0
        return tape.expand(tape.unsqueeze(tape.new(shape[1:], INT64), 0), shape)
    mask = tape.made(shape, INT32, tape.new(shape, BOOL))
    counted = tape.made(shape, INT32, tape.new(shape, INT64))
    if run.model.family.base.caches:
        counted = tape.shift(counted)
    counted = tape.multiply(counted, mask)
    return tape.shift(tape.new(counted.shape, INT64))


OVERRIDES = Overrides(ids={"position": positions_after_padding})
