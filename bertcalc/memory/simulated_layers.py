"""What layers compute in several operations, on tensors without numbers: rotary positions, RMSNorm, shared keys.

Each is written with the operations, variables and in the order of transformers 5.23.
"""

from typing import Any

from bertcalc.memory.tape import Tape, Tensor

_FLOAT32 = 4


def angles(tape: Tape, positions: Tensor, frequencies: Tensor, head_size: int, item: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine for each position, computed in float32 and without gradients."""
    length = positions.shape[1]
    together = _products(tape, positions, frequencies), tape.new((1, length, head_size))
    cosine = tape.like(tape.new((1, length, head_size)))
    sine = tape.like(tape.new((1, length, head_size)))
    found = tape.to(cosine, item), tape.to(sine, item)
    del together
    return found


def _products(tape: Tape, positions: Tensor, frequencies: Tensor) -> Tensor:
    """As many as half the numbers of a head for each position; ``frequencies`` are two times so many."""
    numbers = tape.new(positions.shape)
    same = tape.new(frequencies.shape, _FLOAT32 // 2) if frequencies.item != _FLOAT32 else None
    return tape.made((*positions.shape, *frequencies.shape), _FLOAT32 // 2, numbers, *((same,) if same else ()))


def rotated(tape: Tape, x: Tensor, cosine: Tensor, sine: Tensor, *, wide: bool) -> Tensor:
    """Pairs of numbers turned by the angles; ``wide``, in float32."""
    item = _FLOAT32 if wide else x.item
    cosine, sine = tape.unsqueeze(cosine, 1), tape.unsqueeze(sine, 1)
    return tape.add(tape.multiply(tape.to(x, item), cosine), tape.multiply(_half_turned(tape, tape.to(x, item)), sine))


def _half_turned(tape: Tape, x: Tensor) -> Tensor:
    *sides, size = x.shape
    half = (*sides, quotient(size, 2))
    first, second = tape.narrow(x, half), tape.narrow(x, half)
    return tape.cat(tape.function("neg", second), first)


def quotient(whole: Any, part: Any) -> Any:
    """Of sizes, one of which is so many times the other: letters are divided as they are."""
    return whole // part if isinstance(whole, int) else whole / part


def repeated(tape: Tape, x: Tensor, heads: int) -> Tensor:
    """Keys or values that several heads share, once for each of them."""
    batch, groups, length, size = x.shape
    wide = tape.expand(tape.unsqueeze(x, 2), (batch, groups, quotient(heads, groups), length, size))
    return tape.reshape(wide, (batch, heads, length, size))


def layer_norm(tape: Tape, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """DebertaLayerNorm: torch's, step by step in float32."""
    item, last = x.item, len(x.shape) - 1
    x = tape.to(x, _FLOAT32)
    mean = tape.mean(x, last)
    variance = tape.mean(tape.function("pow", tape.subtract(x, mean)), last)
    x = tape.quotient(tape.subtract(x, mean), tape.function("sqrt", tape.shift(variance)))
    x = tape.to(x, item)
    return tape.add(tape.multiply(weight, x), bias)


def rms_norm(tape: Tape, x: Tensor, weight: Tensor) -> Tensor:
    """Divided by the root of the mean square of each row, which is computed in float32."""
    item = x.item
    x = tape.to(x, _FLOAT32)
    variance = tape.mean(tape.function("pow", x), len(x.shape) - 1)
    x = tape.multiply(x, tape.function("rsqrt", tape.shift(variance)))
    return tape.multiply(weight, tape.to(x, item))
