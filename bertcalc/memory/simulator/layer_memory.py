"""Parts of layers that consist of several operations, on simulated tensors: activations, rotary positions, norms.

Each function has the operations and variables of transformers 5.23, in the same order.
"""

from collections.abc import Callable
from typing import Any

from bertcalc.config.activations import INPUT, OUTPUT
from bertcalc.memory.simulator.frames import Frame, frame, operation
from bertcalc.memory.simulator.simulated_tensor import Gradients, SimulatedTensor, Tensors
from bertcalc.memory.simulator.tape import BOOL, FLOAT32, Tape
from bertcalc.model.modules import Activation


@operation
def simulate_activation(tape: Tape, module: Activation, x: SimulatedTensor, learned: Tensors) -> SimulatedTensor:
    """Run an activation with the parameters ``learned``. What it saves and its class name determine its operations.

    Raises NotImplementedError if there is no rule for it.
    """
    if module.kept in (INPUT, OUTPUT) and not learned:  # a single kernel
        return tape.kernel(x, "input" if module.kept == INPUT else "output")
    if module.class_name in _WRITTEN_OUT:
        return _WRITTEN_OUT[module.class_name](tape, x, *learned)
    raise NotImplementedError(f"There is no rule for what {module.class_name} allocates.")


def _gelu_new(t: Tape, x: SimulatedTensor) -> SimulatedTensor:
    """Simulate gelu_new, gelu_accurate or gelu_python_tanh, which all allocate the same."""
    return t.multiply(t.scale(x), t.shift(t.function("tanh", t.scale(t.add(x, t.scale(t.function("pow", x)))))))


def _gelu_fast(t: Tape, x: SimulatedTensor) -> SimulatedTensor:
    return t.multiply(
        t.scale(x), t.shift(t.function("tanh", t.multiply(t.scale(x), t.shift(t.multiply(t.scale(x), x)))))
    )


@frame
def _laplace(t: Tape, v: Frame, x: SimulatedTensor) -> SimulatedTensor:
    v.x = t.scale(t.shift(x))
    return t.scale(t.shift(t.function("erf", v.x)))


@frame
def _xielu(
    t: Tape, v: Frame, x: SimulatedTensor, alpha_p: SimulatedTensor, alpha_n: SimulatedTensor
) -> SimulatedTensor:
    v.beta = SimulatedTensor(alpha_p.storage, (), (), alpha_p.item)  # a buffer: any storage of one element will do
    v.alpha_p = t.function("softplus", alpha_p)
    v.alpha_n = t.add(v.beta, t.function("softplus", alpha_n))
    return _where(
        t,
        t.new(x.shape, BOOL),
        t.add(t.multiply(t.multiply(v.alpha_p, x), x), t.multiply(v.beta, x)),
        t.add(t.multiply(t.subtract(t.function("expm1", _minimum(t, x)), x), v.alpha_n), t.multiply(v.beta, x)),
    )


_WRITTEN_OUT: dict[str, Callable[..., SimulatedTensor]] = {
    "AccurateGELUActivation": _gelu_new,
    "ClippedGELUActivation": lambda t, x: _clamp(t, t.function("gelu", x)),
    "FastGELUActivation": _gelu_fast,
    "GELUActivation": lambda t, x: t.multiply(t.scale(x), t.shift(t.function("erf", t.scale(x)))),
    "GELUTanh": _gelu_new,
    "LaplaceActivation": _laplace,
    "LinearActivation": lambda t, x: x,
    "NewGELUActivation": _gelu_new,
    "PReLU": lambda t, x, weight: _prelu(t, *t.lower(x, weight)),
    "QuickGELUActivation": lambda t, x: t.multiply(x, t.function("sigmoid", t.scale(x))),
    "ReLUSquaredActivation": lambda t, x: t.function("pow", t.function("relu", x)),
    "SqrtSoftplusActivation": lambda t, x: t.function("sqrt", t.function("softplus", x)),
    "XIELUActivation": _xielu,
}


# Operations whose backward pass makes temporary tensors.


def _prelu(t: Tape, x: SimulatedTensor, weight: SimulatedTensor) -> SimulatedTensor:
    slope = t.view(weight, (1,) * len(x.shape))
    y = t.new(x.shape, x.item)
    return t.record((x, slope), y, (x, slope), lambda grad, *kept: (t.like(grad), t.like(grad)))


def _clamp(t: Tape, x: SimulatedTensor) -> SimulatedTensor:
    def rule(grad: SimulatedTensor, x: SimulatedTensor) -> Gradients:
        _zero, _above, _below = t.new((), grad.item), t.new(x.shape, BOOL), t.new(x.shape, BOOL)
        return (t.like(grad),)

    return t.record((x,), t.new(x.shape, x.item), (x,), rule)


def _minimum(t: Tape, x: SimulatedTensor) -> SimulatedTensor:
    """The minimum of a tensor and a buffer with one element."""

    def rule(grad: SimulatedTensor, x: SimulatedTensor) -> Gradients:
        _half, _equal = t.like(grad), t.new(x.shape, BOOL)
        chosen = t.like(grad)
        _greater = t.new(x.shape, BOOL)
        return (chosen,)

    return t.record((x,), t.new(x.shape, x.item), (x,), rule)


def _where(t: Tape, condition: SimulatedTensor, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
    def masked(grad: SimulatedTensor) -> SimulatedTensor:
        return t.like(grad, t.new((), grad.item))

    return t.record((x, y), t.new(x.shape, x.item), (condition,), lambda grad, condition: (masked(grad), masked(grad)))


@frame
def angles(
    tape: Tape, v: Frame, positions: SimulatedTensor, frequencies: SimulatedTensor, head_size: int, item: int
) -> tuple[SimulatedTensor, SimulatedTensor]:
    """The cosine and sine of the rotary angles of each position, computed in float32 and without gradients."""
    length = positions.shape[1]
    v.freqs = _products(tape, positions, frequencies)
    v.emb = tape.new((1, length, head_size))
    v.cos = tape.like(tape.new((1, length, head_size)))
    v.sin = tape.like(tape.new((1, length, head_size)))
    return tape.to(v.cos, item), tape.to(v.sin, item)


def _products(tape: Tape, positions: SimulatedTensor, frequencies: SimulatedTensor) -> SimulatedTensor:
    """The products of positions and frequencies: half as many elements as the angles have."""
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
    """The exact quotient of integers or symbols: ``whole`` is a multiple of ``part``."""
    return whole // part if isinstance(whole, int) else whole / part


def repeated(tape: Tape, x: SimulatedTensor, heads: int) -> SimulatedTensor:
    """Repeat shared keys or values, so that each of the ``heads`` heads has its own (grouped-query attention)."""
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
    """RMSNorm: divide each row by the root of its mean square, which is computed in float32."""
    v.x = tape.to(x, FLOAT32)
    v.variance = tape.mean(tape.function("pow", v.x), len(x.shape) - 1)
    v.x = tape.multiply(v.x, tape.function("rsqrt", tape.shift(v.variance)))
    return tape.multiply(weight, tape.to(v.x, x.item))
