"""Family-specific overrides for the memory simulation.

A family, or a version of transformers, declares them in its own module (``simulation``), which is imported only when
memory is simulated.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from bertcalc.arguments import checked
from bertcalc.family import Model, Task
from bertcalc.forward.steps import Step
from bertcalc.memory.tape import SimulatedTensor
from bertcalc.transformers4.version import version_of

if TYPE_CHECKING:  # simulated_pass imports this module
    from bertcalc.memory.simulated_pass import Pass

Steps = Mapping[str, Step]  # of a module, by their roles
_NONE: Mapping[Any, Any] = {}


class Overrides(NamedTuple):
    """Functions on simulated tensors that replace the defaults of simulated_pass.py.

    ``steps`` run a step, by its role. ``modules`` run a whole module whose steps share variables, by the role of one of
    these steps. ``ids`` return the ids that a table looks up, by its role. ``asides`` run operations that are not steps
    (see ``Trace.aside``), by name. ``losses`` compute the losses that a class returns, by its task. ``handed`` names
    the variables that every layer gets as an argument, so that a checkpoint holds them.
    """

    steps: Mapping[str, Callable[["Pass", Step], SimulatedTensor | None]] = _NONE
    modules: Mapping[str, Callable[["Pass", Steps], SimulatedTensor]] = _NONE
    ids: Mapping[str, Callable[["Pass", Step], SimulatedTensor]] = _NONE
    asides: Mapping[str, Callable[["Pass", Step], None]] = _NONE
    losses: Mapping[Task, Callable[["Pass", list[SimulatedTensor]], list[SimulatedTensor]]] = _NONE
    handed: tuple[str, ...] = ()


@checked
def overrides_of(model: Model) -> Overrides:
    """The overrides for a model's forward methods."""
    name = version_of(model.config).simulation or model.family.simulation
    overrides: Overrides = import_module(name).OVERRIDES if name else Overrides()
    return overrides
