"""Parts of layers that take several operations, on simulated tensors: rotary positions, RMSNorm, shared keys.

Each function has the operations and variables of transformers 5.23, in the same order.
"""

from typing import Any

from bertcalc.memory.simulator.tape import FLOAT32, SimulatedTensor, Tape


def angles(
    tape: Tape, positions: SimulatedTensor, frequencies: SimulatedTensor, head_size: int, item: int
) -> tuple[SimulatedTensor, SimulatedTensor]:
    """The cosine and sine for each position, computed in float32 and without gradients."""
    length = positions.shape[1]
    together = _products(tape, positions, frequencies), tape.new((1, length, head_size))
    cosine = tape.like(tape.new((1, length, head_size)))
    sine = tape.like(tape.new((1, length, head_size)))
    pair = tape.to(cosine, item), tape.to(sine, item)
    del together
    return pair


def _products(tape: Tape, positions: SimulatedTensor, frequencies: SimulatedTensor) -> SimulatedTensor:
    """The products of positions and frequencies, which are half the elements of the angles."""
    numbers = tape.new(positions.shape)
    same = tape.new(frequencies.shape, FLOAT32 // 2) if frequencies.item != FLOAT32 else None
    return tape.made((*positions.shape, *frequencies.shape), FLOAT32 // 2, numbers, *((same,) if same else ()))


def rotated(
    tape: Tape, x: SimulatedTensor, cosine: SimulatedTensor, sine: SimulatedTensor, *, wide: bool
) -> SimulatedTensor:
    """Rotate a query or key by the angles, in float32 if ``wide``."""
    item = FLOAT32 if wide else x.item
    cosine, sine = tape.unsqueeze(cosine, 1), tape.unsqueeze(sine, 1)
    return tape.add(tape.multiply(tape.to(x, item), cosine), tape.multiply(_half_turned(tape, tape.to(x, item)), sine))


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


def layer_norm(tape: Tape, x: SimulatedTensor, weight: SimulatedTensor, bias: SimulatedTensor) -> SimulatedTensor:
    """LayerNorm computed step by step in float32."""
    item, last = x.item, len(x.shape) - 1
    x = tape.to(x, FLOAT32)
    mean = tape.mean(x, last)
    variance = tape.mean(tape.function("pow", tape.subtract(x, mean)), last)
    x = tape.quotient(tape.subtract(x, mean), tape.function("sqrt", tape.shift(variance)))
    x = tape.to(x, item)
    return tape.add(tape.multiply(weight, x), bias)


def rms_norm(tape: Tape, x: SimulatedTensor, weight: SimulatedTensor) -> SimulatedTensor:
    """RMSNorm: each row divided by the root of its mean square, which is computed in float32."""
    item = x.item
    x = tape.to(x, FLOAT32)
    variance = tape.mean(tape.function("pow", x), len(x.shape) - 1)
    x = tape.multiply(x, tape.function("rsqrt", tape.shift(variance)))
    return tape.multiply(weight, tape.to(x, item))
