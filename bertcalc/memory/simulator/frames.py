"""The scopes that own simulated tensors: variables by name, the frame of a function, the arguments of an operation.

A simulated function has the same variables as the original function in transformers:

    @frame
    def forward(tape: Tape, v: Frame, x: SimulatedTensor, weight: SimulatedTensor) -> SimulatedTensor:
        v.scaled = tape.scale(x)  # lives until the function returns
        return tape.multiply(v.scaled, tape.shift(weight))  # the shifted weight lives until multiply returns

A helper without a frame does not change lifetimes. A helper that gets ``v`` uses the variables of its caller.
"""

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor

First = TypeVar("First")
Result = TypeVar("Result")
P = ParamSpec("P")


class Variables(dict[str, SimulatedTensor]):
    """Variables keyed by name: each owns its tensor until it is overwritten or deleted."""

    def __init__(self, tensors: Mapping[str, SimulatedTensor] | None = None) -> None:
        super().__init__()
        self |= tensors or {}

    def __setitem__(self, name: str, tensor: SimulatedTensor) -> None:
        tensor.own()
        before = self.get(name)
        dict.__setitem__(self, name, tensor)
        if before:
            before.disown()

    def __ior__(self, tensors: Mapping[str, SimulatedTensor]) -> "Variables":  # type: ignore[override,misc]
        for name, tensor in tensors.items():
            self[name] = tensor
        return self

    def __delitem__(self, name: str) -> None:
        super().pop(name).disown()

    def release(self, name: str) -> None:
        """Delete a variable if it exists."""
        if name in self:
            del self[name]

    def pop(self, name: str) -> SimulatedTensor:  # type: ignore[override]
        """Delete a variable and return its value as a temporary."""
        return super().pop(name).pass_on()

    def clear(self) -> None:
        """Delete all variables."""
        for name in list(self):
            self.release(name)


class Frame:
    """The local variables of a Python function, as attributes.

    An attribute is a tensor or a list of tensors. ``frame`` releases all attributes when the function returns.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> SimulatedTensor: ...

    def __setattr__(self, name: str, value: SimulatedTensor | list[SimulatedTensor]) -> None:
        variables = self.__dict__
        owned = _owned(value)
        if name in variables:
            delattr(self, name)
        variables[name] = value if isinstance(value, SimulatedTensor) else owned

    def __delattr__(self, name: str) -> None:
        value = self.__dict__.pop(name)
        for tensor in [value] if isinstance(value, SimulatedTensor) else value:
            tensor.disown()

    def release(self) -> None:
        """Release all variables."""
        for name in list(self.__dict__):
            delattr(self, name)


def frame(function: Callable[Concatenate[First, Frame, P], Result]) -> Callable[Concatenate[First, P], Result]:
    """Decorate a function to get a ``Frame`` as its second argument, and to own its arguments until it returns.

    The tensors that it returns become temporaries of the caller unless they have another owner.
    """

    @wraps(function)
    def run(first: First, /, *args: P.args, **options: P.kwargs) -> Result:
        variables = Frame()
        return _owning(args, variables, partial(function, first, variables, *args, **options))

    return run


def operation(function: Callable[Concatenate[First, P], Result]) -> Callable[Concatenate[First, P], Result]:
    """Decorate a function of several operations to own its arguments until it returns: ``frame`` without variables."""

    @wraps(function)
    def run(first: First, /, *args: P.args, **options: P.kwargs) -> Result:
        return _owning(args, None, partial(function, first, *args, **options))

    return run


def _owning(args: tuple[object, ...], variables: Frame | None, call: Callable[[], Result]) -> Result:
    """Run a function that owns its arguments and variables until it returns; return its result."""
    arguments = [value.own() for value in args if isinstance(value, SimulatedTensor)]
    results: list[SimulatedTensor] = []
    try:
        result = call()
        results = _owned(result)
    finally:
        if variables is not None:
            variables.release()
        for tensor in arguments:
            tensor.disown()
    for tensor in results:
        tensor.pass_on()
    return result


def _owned(values: object) -> list[SimulatedTensor]:
    """Add an owner to each tensor in ``values``, and return these tensors."""
    if isinstance(values, SimulatedTensor):
        return [values.own()]
    if isinstance(values, (tuple, list)):
        return [value.own() for value in values if isinstance(value, SimulatedTensor)]
    return []
