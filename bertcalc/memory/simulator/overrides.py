"""What is special about some forward methods, besides the operations that a program's steps name.

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


class Own(NamedTuple):
    """Functions on tensors without data, each in place of what forward_pass.py does in the same case.

    ``steps`` run a step, by its role. ``modules`` run a whole module, whose steps share variables, by the role of one
    of these. ``ids`` give the rows that a table is asked for, by its role. ``asides`` are operations that are no steps
    (see ``Trace.aside``), by their names. ``losses`` are the losses that a class returns, by its task. ``handed`` are
    variables that all layers get as an argument, so that a checkpoint holds them.
    """

    steps: Mapping[str, Callable[["Pass", Step], SimulatedTensor | None]] = _NONE
    modules: Mapping[str, Callable[["Pass", Steps], SimulatedTensor]] = _NONE
    ids: Mapping[str, Callable[["Pass", Step], SimulatedTensor]] = _NONE
    asides: Mapping[str, Callable[["Pass", Step], None]] = _NONE
    losses: Mapping[Task, Callable[["Pass", list[SimulatedTensor]], list[SimulatedTensor]]] = _NONE
    handed: tuple[str, ...] = ()
