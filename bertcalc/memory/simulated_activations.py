"""The activations of transformers 5.23 (transformers/activations.py) on tensors without numbers.

Each is written with the operations and in the order of the original, because what is alive meanwhile depends on that.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from bertcalc.memory.tape import Gradients, Tape, Tensor
from bertcalc.tree.nn import Activation

_KERNELS: dict[str, Literal["input", "output"]] = {
    "GELU": "input",
    "GELUActivation": "input",
    "GELUTanh": "input",
    "Hardswish": "input",
    "LeakyReLU": "input",
    "MishActivation": "input",
    "ReLU": "output",
    "ReLU6": "input",
    "Sigmoid": "output",
    "SiLUActivation": "input",
    "SiLU": "input",
    "Tanh": "output",
}


def simulate_activation(tape: Tape, module: Activation, x: Tensor, learned: Sequence[Tensor]) -> Tensor:
    """What the activation gives, by the kind that ``print`` shows and by what is kept of it."""
    kind = module.kind
    if kind in _KERNELS and not module.kept.more:
        return tape.kernel(kind, x, keep=_KERNELS[kind])
    if kind in _WRITTEN_OUT:
        return _WRITTEN_OUT[kind](tape, x, *learned)
    raise NotImplementedError(f"Nothing says what {kind} allocates.")


def _gelu_new(t: Tape, x: Tensor) -> Tensor:
    """Also gelu_accurate and gelu_python_tanh."""
    return t.multiply(t.scale(x), t.shift(_tanh(t, t.scale(t.add(x, t.scale(t.power(x)))))))


def _gelu_fast(t: Tape, x: Tensor) -> Tensor:
    return t.multiply(t.scale(x), t.shift(_tanh(t, t.multiply(t.scale(x), t.shift(t.multiply(t.scale(x), x))))))


def _gelu_python(t: Tape, x: Tensor) -> Tensor:
    return t.multiply(t.scale(x), t.shift(_erf(t, t.scale(x))))


def _gelu_10(t: Tape, x: Tensor) -> Tensor:
    y = t.kernel("Gelu", x, keep="input")
    return _clamp(t, y)


def _laplace(t: Tape, x: Tensor) -> Tensor:
    x = t.scale(t.shift(x))
    return t.scale(t.shift(_erf(t, x)))


def _quick_gelu(t: Tape, x: Tensor) -> Tensor:
    return t.multiply(x, t.kernel("Sigmoid", t.scale(x), keep="output"))


def _relu_squared(t: Tape, x: Tensor) -> Tensor:
    positive = t.kernel("Relu", x, keep="output")
    return t.power(positive)


def _sqrt_softplus(t: Tape, x: Tensor) -> Tensor:
    return _sqrt(t, t.kernel("Softplus", x, keep="input"))


def _prelu(t: Tape, x: Tensor, weight: Tensor) -> Tensor:
    slope = t.view(weight, (1,) * len(x.shape))
    y = t.like(x)
    t.record("PReLUKernel", (x, slope), (y,), (x, slope), lambda grad, *kept: (t.like(grad), t.like(grad)))
    return y


def _xielu(t: Tape, x: Tensor, alpha_p: Tensor, alpha_n: Tensor) -> Tensor:
    beta = Tensor(alpha_p.storage, (), (), alpha_p.item)  # buffers of one number each: no matter which
    alpha_p = t.kernel("Softplus", alpha_p, keep="input")
    alpha_n = t.add(beta, t.kernel("Softplus", alpha_n, keep="input"))
    return _where(
        t,
        t.new(x.shape, 1),
        t.add(t.multiply(t.multiply(alpha_p, x), x), t.multiply(beta, x)),
        t.add(t.multiply(t.subtract(_expm1(t, _minimum(t, x)), x), alpha_n), t.multiply(beta, x)),
    )


_WRITTEN_OUT: dict[str, Callable[..., Tensor]] = {
    "AccurateGELUActivation": _gelu_new,
    "ClippedGELUActivation": _gelu_10,
    "FastGELUActivation": _gelu_fast,
    "GELUActivation": _gelu_python,
    "GELUTanh": _gelu_new,
    "LaplaceActivation": _laplace,
    "LinearActivation": lambda t, x: x,
    "NewGELUActivation": _gelu_new,
    "PReLU": _prelu,
    "QuickGELUActivation": _quick_gelu,
    "ReLUSquaredActivation": _relu_squared,
    "SqrtSoftplusActivation": _sqrt_softplus,
    "XIELUActivation": _xielu,
}


# Operations whose backward pass makes more than its result. The names are for what a C++ expression has until its end.


def _tanh(t: Tape, x: Tensor) -> Tensor:
    return t.kernel("Tanh", x, keep="output")


def _erf(t: Tape, x: Tensor) -> Tensor:
    y = t.like(x)

    def rule(grad: Tensor, x: Tensor) -> Gradients:
        square = t.like(x)
        negative = t.like(square)
        exponential = t.like(negative)
        scaled = t.like(exponential)
        return (t.like(scaled),)

    t.record("Erf", (x,), (y,), (x,), rule)
    return y


def _sqrt(t: Tape, x: Tensor) -> Tensor:
    y = t.like(x)

    def rule(grad: Tensor, y: Tensor) -> Gradients:
        twice = t.like(y)
        return (t.like(twice),)

    t.record("Sqrt", (x,), (y,), (y,), rule)
    return y


def _clamp(t: Tape, x: Tensor) -> Tensor:
    y = t.like(x)

    def rule(grad: Tensor, x: Tensor) -> Gradients:
        zero = t.new((), grad.item)
        above, below = t.new(x.shape, 1), t.new(x.shape, 1)
        result = t.like(grad)
        del zero, above, below
        return (result,)

    t.record("Clamp", (x,), (y,), (x,), rule)
    return y


def _expm1(t: Tape, x: Tensor) -> Tensor:
    y = t.like(x)

    def rule(grad: Tensor, y: Tensor) -> Gradients:
        shifted = t.like(y)
        return (t.like(shifted),)

    t.record("Expm1", (x,), (y,), (y,), rule)
    return y


def _minimum(t: Tape, x: Tensor) -> Tensor:
    """Of a tensor and a buffer of one number."""
    y = t.like(x)

    def rule(grad: Tensor, x: Tensor) -> Gradients:
        half, equal = t.like(grad), t.new(x.shape, 1)
        chosen = t.like(half)
        greater = t.new(x.shape, 1)
        del half, equal, greater
        return (chosen,)

    t.record("Minimum", (x,), (y,), (x,), rule)
    return y


def _where(t: Tape, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    chosen = t.like(x)

    def rule(grad: Tensor, condition: Tensor) -> Gradients:
        return _masked(t, grad), _masked(t, grad)

    t.record("Where", (x, y), (chosen,), (condition,), rule)
    return chosen


def _masked(t: Tape, grad: Tensor) -> Tensor:
    zero = t.new((), grad.item)
    masked = t.like(grad)
    del zero
    return masked
