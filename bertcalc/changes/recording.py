"""The steps that an adapter adds to the step of a module."""

from collections.abc import Mapping

from bertcalc.changes.adapter import place_in
from bertcalc.model.modules import Dropout, Module, Shape, Tensor
from bertcalc.model.trace import Operation, Step, Value


class Recording:
    """The steps that an adapter adds after a step."""

    def __init__(self, step: Step, path: str) -> None:
        self.steps: list[Step] = []
        self._step = step
        self._path = path
        self._copies = step.tensors[0].copies if step.tensors else 1
        self.base = step.gives._replace(name=self._named("base_layer"))  # the value of the wrapped module

    def _named(self, name: str) -> str:
        return f"{self._step.name.removesuffix('_again')}.{name}" + "_again" * self._step.again

    def call(self, name: str, module: Module, x: Value, shape: Shape) -> Value:
        """Call a module below the wrapper."""
        operation: Operation = "dropout" if isinstance(module, Dropout) else self._step.operation
        tensors = {f"{name}.{last}": sides for last, sides in module.parameters.items()}
        return self.made(name, operation, (x,), shape, tensors, module)

    def made(
        self,
        name: str,
        operation: Operation,
        takes: tuple[Value, ...],
        shape: Shape,
        tensors: Mapping[str, Shape] | None = None,
        module: Module | None = None,
    ) -> Value:
        step = self._step
        place = place_in(step.place)
        named = self._named(name)
        own = tuple(
            Tensor(f"{self._path}.{last}", sides, self._copies, place) for last, sides in (tensors or {}).items()
        )
        gives = Value(named, shape)
        self.steps.append(
            Step(named, operation, takes, gives, own, step.runs, module, place, core=step.core, again=step.again)
        )
        return gives
