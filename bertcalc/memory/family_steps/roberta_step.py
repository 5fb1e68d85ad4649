"""RoBERTa's position ids, which count from the padding id, on simulated tensors."""

from bertcalc.families.roberta import RobertaConfig
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, INT32, INT64
from bertcalc.model.trace import Step


@frame
def positions_after_padding(run: Pass, v: Frame, step: Step) -> SimulatedTensor:
    """Position ids as in fairseq's make_positions, computed in int32; a body with a cache adds the cache's length."""
    tape, shape = run.tape, step.takes[0].shape
    if run.model.virtual_tokens:  # the input is vectors instead of ids: positions count from 0
        return tape.expand(tape.unsqueeze(tape.new(shape[1:], INT64), 0), shape)
    v.mask = tape.made(shape, INT32, tape.new(shape, BOOL))
    counted = tape.made(shape, INT32, tape.new(shape, INT64))
    if run.model.family.base.caches:
        counted = tape.shift(counted)
    v.incremental_indices = tape.multiply(counted, v.mask)
    return tape.shift(tape.new(shape, INT64))


register(RobertaConfig, Overrides(ids={"position": positions_after_padding}))
