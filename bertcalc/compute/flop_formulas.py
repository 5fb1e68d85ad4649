"""Formulas for FLOPs: the steps of a forward pass with symbolic sizes, counted by the functions of ``flops``."""

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

import sympy

from bertcalc.compute.chips import seconds
from bertcalc.compute.conventions import PublishedRule, RuleSizes
from bertcalc.compute.flops import PYTORCH, Convention, CostRow, Part, Phase, at_masked, by_name, by_part, tokens, total
from bertcalc.config import Config
from bertcalc.model.formula import ALL_SYMBOLS, SYMBOLS, Formula, exact, plain, symbolic_steps, write
from bertcalc.model.formula_printers import latex, text
from bertcalc.model.model import Model
from bertcalc.model.trace import Step
from bertcalc.text.arguments import checked
from bertcalc.text.digits import brief, on_paper
from bertcalc.text.live_numbers import fill

_LENGTH, _MASKED = (ALL_SYMBOLS[field] for field in ("sequence_length", "masked_positions"))
Letters = tuple[Step, ...]
_Polynomial = tuple[tuple[int, tuple[tuple[str, int], ...]], ...]


@checked
def letters(model: Model, convention: Convention = PYTORCH, *, cross: bool = False) -> Letters:
    """The steps of the forward pass with symbolic shapes. With ``cross``, encoder_hidden_states are passed.

    M, the number of masked positions, appears if the convention counts the masked-LM head at masked positions only.
    """
    steps = [symbolic.step for symbolic in symbolic_steps(model, cross=cross)]
    return tuple(at_masked(steps, _MASKED) if convention.logits == "masked" else steps)


@checked
@lru_cache(maxsize=128)  # 0.1 MB per entry
def part_expressions(steps: Letters, convention: Convention) -> dict[Part, Any]:
    """The forward cost of each part, as a sympy.Expr."""
    return by_part(steps, convention)


@checked
@lru_cache(maxsize=128)  # 0.1 MB per entry
def total_expression(steps: Letters, convention: Convention, phase: Phase) -> Any:
    """The cost of all steps in a phase, as a sympy.Expr."""
    return total(steps, convention, phase)


@checked
@lru_cache(maxsize=128)  # 0.1 MB per entry
def part_formulas(steps: Letters, convention: Convention) -> dict[Part, tuple[Formula, ...]]:
    """The terms of each part's forward cost; they sum to the model's cost."""
    return {
        part: tuple(map(write, sympy.Add.make_args(_layers_first(cost))))
        for part, cost in part_expressions(steps, convention).items()
    }


@checked
@lru_cache(maxsize=128)  # 0.1 MB per entry
def plain_formulas(steps: Letters, convention: Convention) -> dict[Part, str]:
    """The formula of each part's forward cost as plain text."""
    return {part: plain(cost) for part, cost in part_expressions(steps, convention).items()}


@checked
@lru_cache(maxsize=128)  # 0.1 MB per entry
def name_expressions(steps: Letters, convention: Convention) -> tuple[CostRow, ...]:
    """The rows of ``by_name`` with sympy.Expr as copies and costs."""
    return tuple(by_name(steps, convention))


@checked
@lru_cache(maxsize=128)  # 0.1 MB per entry
def name_formulas(steps: Letters, convention: Convention) -> dict[str, Formula]:
    """The forward cost of one copy of each step and module, keyed by name; "" is the whole model."""
    return {row.name: write(_layers_first(row.cost)) for row in name_expressions(steps, convention)}


@checked
@lru_cache(maxsize=1024)
def crossover(steps: Letters, convention: Convention, parts: tuple[Part, ...]) -> Formula | None:
    """The sequence length at which scores and context cost as much as ``parts`` together.

    None if a cost in ``parts`` does not grow with the length, such as the projection of an encoder's output.
    """
    costs = by_part(steps, convention)
    difference = exact(costs["scores and context"] - sum(costs.get(part, 0) for part in parts))
    square, line, constant = (sympy.expand(difference).coeff(_LENGTH, power) for power in (2, 1, 0))
    return write(sympy.cancel(-line / square)) if constant == 0 else None


def time_formula(flops: Fraction, peak: int, utilisation: Fraction, devices: int) -> tuple[str, str]:
    """The formula for the training time in seconds, as a (LaTeX, text) pair.

    The LaTeX has the letters F, R, u and n for the arguments. The text has their values, and is live if ``flops`` is
    live.
    """
    letters = "FRun"
    expression = seconds(*sympy.symbols(" ".join(letters), positive=True))
    numbers = (on_paper(flops), on_paper(peak), brief(utilisation), f"{devices:,}")
    written = text(expression, {letter: f"{{{letter}}}" for letter in letters}, times=" · ")
    return latex(expression), fill(written.replace("/", " / "), **dict(zip(letters, numbers, strict=True)))


@checked
def value(formula: Formula, config: Config, **sizes: int) -> Fraction:
    """The value of a formula for a configuration, and for the ``sizes`` of a batch, such as sequence_length."""
    numbers = formula.numbers_of(config, sizes)
    above, below = (
        sum(factor * prod(numbers[field] ** power for field, power in powers) for factor, powers in polynomial)
        for polynomial in _quotient(formula.expression)
    )
    return Fraction(above, below)


@lru_cache(maxsize=4096)
def _quotient(expression: Any) -> tuple[_Polynomial, _Polynomial]:
    """The numerator and denominator of an expression as plain tuples, because substitution in SymPy is slow."""
    letters = tuple(ALL_SYMBOLS.values())
    above, below = (sympy.Poly(part, *letters).terms() for part in sympy.fraction(sympy.together(expression)))
    return _polynomial(above), _polynomial(below)


def _polynomial(terms: list[tuple[tuple[int, ...], Any]]) -> _Polynomial:
    return tuple(
        (int(factor), tuple((field, power) for field, power in zip(ALL_SYMBOLS, powers, strict=True) if power))
        for powers, factor in terms
    )


@checked
@lru_cache(maxsize=1024)
def rule_expression(steps: Letters, rule: PublishedRule) -> Any:
    """The count of a published rule, as a sympy.Expr."""
    letters = {field: ALL_SYMBOLS[field] for field in RuleSizes._fields}
    return rule.formula(RuleSizes(**{**letters, "batch_size": tokens(steps) / _LENGTH}), steps)


@checked
@lru_cache(maxsize=1024)
def rule_formulas(steps: Letters, rule: PublishedRule) -> tuple[tuple[Formula, ...], tuple[Formula, ...]]:
    """The terms of a published rule, and the terms of PyTorch's count minus the rule."""
    theirs = exact(rule_expression(steps, rule))
    rest = exact(total(steps, phase=rule.phase)) - theirs
    sums = sympy.collect(theirs, SYMBOLS["num_hidden_layers"]), sympy.expand(rest)
    first, second = (tuple(map(write, sympy.Add.make_args(expression))) for expression in sums)
    return first, second


def _layers_first(cost: Any) -> Any:
    """A sum with the cost of a layer in brackets: L (...) + ..."""
    return sympy.collect(sympy.expand(exact(cost)), SYMBOLS["num_hidden_layers"])
