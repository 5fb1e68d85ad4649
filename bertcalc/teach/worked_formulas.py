"""Work out exercises line by line, from the model's tensors and steps with symbolic sizes.

>>> from bertcalc.teach.exercises import sheet
>>> [line] = worked(sheet(1, "easy")[0])
>>> line.latex()
'H^{2} = 10^{2} = 100'
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from bertcalc.compute.flop_formulas import letters, name_formulas
from bertcalc.compute.flops import PYTORCH
from bertcalc.diagnosis.cause_formulas import SYMBOLIC_SIZES
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted
from bertcalc.memory.optimizers import StateSizes, parts
from bertcalc.model.formula import (
    Formula,
    component_formulas,
    exact,
    formula,
    shape_letters,
    symbolic_model,
    symbolic_steps,
    write,
)
from bertcalc.model.formula_printers import latex
from bertcalc.model.modules import Shape, Tensor
from bertcalc.teach.exercises import change
from bertcalc.teach.questions import Exercise, TrainingMemory, asked, by_place
from bertcalc.text import N_
from bertcalc.text.digits import latex_number

_PARAMETERS = sympy.Symbol("N")
_TOGETHER = (N_("together"),)


class WorkedLine(NamedTuple):
    """A line of a solution: its label (English, or a name in backticks), and letters, numbers and result in LaTeX."""

    label: tuple[str, ...]
    letters: str
    numbers: str
    result: str

    def latex(self) -> str:
        """Return the line as one equation, without repeated sides."""
        return " = ".join(dict.fromkeys(part for part in (self.letters, self.numbers, self.result) if part))


def worked(exercise: Exercise) -> tuple[WorkedLine, ...]:
    """Return the solution: the terms of a count and their sum, one equation, or the effect of each field."""
    match exercise.kind:
        case "shape" | "step":
            return (_shape(exercise),)
        case "flops":
            return (_flops(exercise),)
        case "field":
            return tuple(_changes(exercise))
    if exercise.memory is not None:
        return tuple(_memory(exercise.memory))
    lines = tuple(_terms(exercise, exercise.tensors, _symbolic(exercise)))
    return lines if len(lines) == 1 else (*lines, _total(exercise))


def worked_wrong(exercise: Exercise) -> tuple[WorkedLine, ...]:
    """Return the worked count with one wrong line. It has no letters, because they would reveal the wrong line."""
    wrong = MISCOUNTS[exercise.miscount].make(_symbolic(exercise), SYMBOLIC_SIZES)
    return tuple(line._replace(letters="") for line in _terms(exercise, exercise.miscounted(), wrong))


def _symbolic(exercise: Exercise) -> tuple[Tensor, ...]:
    model = symbolic_model(exercise.model)
    return tuple(asked(exercise, counted(model)))


def _terms(exercise: Exercise, tensors: Iterable[Tensor], symbolic: Iterable[Tensor]) -> Iterator[WorkedLine]:
    padded = MiscountSizes.of(exercise.config).padded_by(exercise.miscount)
    values = by_place(tensors, exercise.model)
    for place, count in by_place(symbolic, exercise.model).items():
        term = _written(exact(count))
        yield _line(place, term, exercise, values[place], padded_vocab_size=padded)


def _total(exercise: Exercise) -> WorkedLine:
    """Return the line with the sum: the formula of the module, or the sum of the model's component formulas."""
    result = sum(tensor.num_parameters() for tensor in exercise.tensors)
    if exercise.path:
        return _line(_TOGETHER, formula(exercise.model, path=exercise.path), exercise, result)
    components = component_formulas(exercise.model)
    return WorkedLine(_TOGETHER, " + ".join(term.latex() for _, term in components), "", latex_number(result))


def _line(label: tuple[str, ...], term: Formula, exercise: Exercise, result: int, **sizes: int) -> WorkedLine:
    return WorkedLine(label, term.latex(), term.latex(exercise.config, **sizes), latex_number(result))


@lru_cache(maxsize=1024)
def _written(count: Any) -> Formula:
    return write(sympy.factor(count))


def _flops(exercise: Exercise) -> WorkedLine:
    assert isinstance(exercise.right, int)
    assert exercise.batch is not None
    steps = letters(exercise.model)
    cost = name_formulas(steps, PYTORCH)[exercise.path]
    return _line(("FLOPs",), cost, exercise, exercise.right, **exercise.batch.sizes())


def _shape(exercise: Exercise) -> WorkedLine:
    model = symbolic_model(exercise.model)
    shapes: dict[str, Shape] = {model.without_prefix(tensor.name): tensor.shape for tensor in model.tensors()}
    shapes |= {symbolic.step.name: symbolic.step.gives.shape for symbolic in symbolic_steps(exercise.model)}
    assert isinstance(exercise.right, tuple)
    sides = r" \times ".join(map(latex_number, exercise.right))
    return WorkedLine((N_("shape"),), shape_letters(shapes[exercise.path]).replace("×", r"\times"), "", sides)


def _memory(memory: TrainingMemory) -> Iterator[WorkedLine]:
    rules = parts(_PARAMETERS, StateSizes(elements=_PARAMETERS), memory.precision, memory.optimizer)
    sizes = memory.num_bytes()
    for part, count in sizes.items():
        yield _bytes((part,), rules[part], memory, count)
    if len(sizes) > 1:
        yield _bytes(_TOGETHER, sum(rules[part] for part in sizes), memory, sum(sizes.values()))


def _bytes(label: tuple[str, ...], rule: Any, memory: TrainingMemory, count: int) -> WorkedLine:
    numbers = latex(rule, {_PARAMETERS: latex_number(memory.parameters)}, dots=True)
    return WorkedLine(label, latex(rule), numbers, latex_number(count))


def _changes(exercise: Exercise) -> Iterator[WorkedLine]:
    assert exercise.batch is not None
    assert exercise.unit is not None
    for field in exercise.options:
        difference = change(exercise.unit, field, exercise.model, exercise.batch)
        sign = "+" if difference > 0 else ""
        yield WorkedLine((f"`{field}`",), "", "", f"{sign}{latex_number(difference)}")
