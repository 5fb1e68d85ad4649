"""Family-specific overrides for the memory simulation.

Those of the families, and of transformers 4, are in bertcalc/memory/family_steps.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bertcalc.memory.simulator.tape import SimulatedTensor
from bertcalc.model.family import Task
from bertcalc.model.steps import Step

if TYPE_CHECKING:  # forward_pass imports this module
    from bertcalc.memory.simulator.forward_pass import Pass

Steps = Mapping[str, Step]  # of a module, by their roles
_NONE: Mapping[Any, Any] = {}


class Overrides(NamedTuple):
    """Functions on simulated tensors that replace the defaults of forward_pass.py.

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
