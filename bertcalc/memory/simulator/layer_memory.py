"""Parts of layers that take several operations, on simulated tensors: rotary positions, RMSNorm, shared keys.

Each function has the operations and variables of transformers 5.23, in the same order.
"""

from typing import Any

from bertcalc.memory.simulator.frames import Frame, frame, operation
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import FLOAT32, Tape


@frame
def angles(
    tape: Tape, v: Frame, positions: SimulatedTensor, frequencies: SimulatedTensor, head_size: int, item: int
) -> tuple[SimulatedTensor, SimulatedTensor]:
    """The cosine and sine for each position, computed in float32 and without gradients."""
    length = positions.shape[1]
    v.freqs = _products(tape, positions, frequencies)
    v.emb = tape.new((1, length, head_size))
    v.cos = tape.like(tape.new((1, length, head_size)))
    v.sin = tape.like(tape.new((1, length, head_size)))
    return tape.to(v.cos, item), tape.to(v.sin, item)


def _products(tape: Tape, positions: SimulatedTensor, frequencies: SimulatedTensor) -> SimulatedTensor:
    """The products of positions and frequencies, which are half the elements of the angles."""
    numbers = [tape.new(positions.shape)]
    if frequencies.item != FLOAT32:
        numbers.append(tape.new(frequencies.shape, FLOAT32 // 2))
    return tape.made((*positions.shape, *frequencies.shape), FLOAT32 // 2, *numbers)


@operation
def rotated(
    tape: Tape, x: SimulatedTensor, cosine: SimulatedTensor, sine: SimulatedTensor, *, wide: bool
) -> SimulatedTensor:
    """Rotate a query or key by the angles, in float32 if ``wide``."""
    item = FLOAT32 if wide else x.item
    cosine, sine = tape.unsqueeze(cosine, 1), tape.unsqueeze(sine, 1)
    return tape.add(tape.multiply(tape.to(x, item), cosine), tape.multiply(_half_turned(tape, tape.to(x, item)), sine))


@operation
def _half_turned(tape: Tape, x: SimulatedTensor) -> SimulatedTensor:
    *sides, size = x.shape
    half = (*sides, quotient(size, 2))
    first, second = tape.narrow(x, half), tape.narrow(x, half)
    return tape.cat(tape.function("neg", second), first)


def quotient(whole: Any, part: Any) -> Any:
    """``whole / part`` without a remainder, of integers or symbols."""
    return whole // part if isinstance(whole, int) else whole / part


def repeated(tape: Tape, x: SimulatedTensor, heads: int) -> SimulatedTensor:
    """Repeat keys or values for each of the heads that share them (grouped-query attention)."""
    batch, groups, length, size = x.shape
    wide = tape.expand(tape.unsqueeze(x, 2), (batch, groups, quotient(heads, groups), length, size))
    return tape.reshape(wide, (batch, heads, length, size))


@frame
def layer_norm(
    tape: Tape, v: Frame, x: SimulatedTensor, weight: SimulatedTensor, bias: SimulatedTensor
) -> SimulatedTensor:
    """LayerNorm computed step by step in float32."""
    last = len(x.shape) - 1
    v.x = tape.to(x, FLOAT32)
    v.mean = tape.mean(v.x, last)
    v.variance = tape.mean(tape.function("pow", tape.subtract(v.x, v.mean)), last)
    v.x = tape.quotient(tape.subtract(v.x, v.mean), tape.function("sqrt", tape.shift(v.variance)))
    v.x = tape.to(v.x, x.item)
    return tape.add(tape.multiply(weight, v.x), bias)


@frame
def rms_norm(tape: Tape, v: Frame, x: SimulatedTensor, weight: SimulatedTensor) -> SimulatedTensor:
    """RMSNorm: each row divided by the root of its mean square, which is computed in float32."""
    v.x = tape.to(x, FLOAT32)
    v.variance = tape.mean(tape.function("pow", v.x), len(x.shape) - 1)
    v.x = tape.multiply(v.x, tape.function("rsqrt", tape.shift(v.variance)))
    return tape.multiply(weight, tape.to(v.x, x.item))
