"""The activations of transformers 5.23 (transformers/activations.py) on simulated tensors.

Each has the operations of the original in the same order, because the lifetime of temporary tensors depends on both.
"""

from collections.abc import Callable, Sequence

from bertcalc.config.activations import INPUT, OUTPUT
from bertcalc.memory.simulator.frames import Frame, frame, operation
from bertcalc.memory.simulator.simulated_tensor import Gradients, SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, Tape
from bertcalc.model.modules import Activation


@operation
def simulate_activation(
    tape: Tape, module: Activation, x: SimulatedTensor, learned: Sequence[SimulatedTensor]
) -> SimulatedTensor:
    """Run an activation, selected by what it saves and by its class name."""
    if module.kept in (INPUT, OUTPUT) and not learned:  # a single kernel
        return tape.kernel(x, "input" if module.kept == INPUT else "output")
    if module.kind in _WRITTEN_OUT:
        return _WRITTEN_OUT[module.kind](tape, x, *learned)
    raise NotImplementedError(f"There is no rule for what {module.kind} allocates.")


def _gelu_new(t: Tape, x: SimulatedTensor) -> SimulatedTensor:
    """Also gelu_accurate and gelu_python_tanh."""
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
    v.beta = SimulatedTensor(alpha_p.storage, (), (), alpha_p.item)  # any storage of one element will do
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
