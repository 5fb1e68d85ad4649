"""MPNet's relative positions on simulated tensors; the encoder computes them once for all layers."""

from bertcalc.families.mpnet import MPNetConfig
from bertcalc.memory.family_steps.roberta_step import positions_after_padding
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, INT64, Tape
from bertcalc.model.trace import Step


def _buckets(run: Pass, step: Step) -> SimulatedTensor:
    tape, square = run.tape, step.takes[0].shape
    run.values |= {name: tape.new(square[:1], INT64) for name in ("rows", "columns")}
    run.values["distances"] = tape.new(square, INT64)
    run.values["buckets"] = _bucket(tape, run.values["distances"])
    return run.values["buckets"]


@frame
def _bucket(tape: Tape, v: Frame, distances: SimulatedTensor) -> SimulatedTensor:
    """Simulate T5's relative_position_bucket: logarithmic buckets for large distances, computed in float32."""
    shape, like = distances.shape, tape.like
    v.n = like(distances)
    v.relative_buckets = like(like(tape.made(shape, INT64, tape.new(shape, BOOL))))  # 0 + (n < 0) * num_buckets
    v.n = like(v.n)
    v.is_small = tape.new(shape, BOOL)
    v.large = like(tape.made(shape, INT64, like(like(like(like(tape.new(shape)))))))
    v.large = like(v.large, like(v.large))
    like(v.n, v.is_small, v.large).drop()  # torch.where, added to ``relative_buckets`` in place
    return v.relative_buckets


def _bias(run: Pass, step: Step) -> SimulatedTensor:
    """Copy the position bias, of shape (length, length, heads), for each sequence, and release the variables."""
    tape, (bias,) = run.tape, run.taken(step)
    heads_first = tape.unsqueeze(tape.permute(bias, (2, 0, 1)), 0)
    biases = tape.contiguous(tape.expand(heads_first, step.gives.shape))
    for name in ("rows", "columns", "distances", "buckets"):
        del run.values[name]
    return biases


register(
    MPNetConfig,
    Overrides(steps={"position_bias": _bias}, ids={"position": positions_after_padding, "relative position": _buckets}),
)
