"""Formulas: the definition of a model, run with SymPy symbols as sizes and written as LaTeX.

>>> from bertcalc import BertConfig
>>> formula(Model(BertConfig()), path="encoder.layer.*").latex()
'4 H^{2} + 2 H I + 9 H + I'
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, NamedTuple, TypeVar, cast

import sympy
from sympy.core.sympify import converter

from bertcalc.config import Config, unchecked
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model import formula_printers as printers
from bertcalc.model.batch import Batch
from bertcalc.model.inventory import inventory, named
from bertcalc.model.letters import CALL_LETTERS, LETTER_OF, model_in_symbols
from bertcalc.model.model import Model
from bertcalc.model.modules import Component, Module, ModuleList, Shape
from bertcalc.model.polynomials import LetterPolynomial
from bertcalc.model.terms import component_texts
from bertcalc.model.totals import COMPONENTS, breakdown, submodule, summed, top_level
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.arguments import ArgumentError, checked
from bertcalc.text.digits import latex_number
from bertcalc.text.live_numbers import fill
from bertcalc.text.problem import Problem

_COUNT_LETTERS = {"parameters": "N", "trained_parameters": "N_{t}"}
_ALL_LETTERS = LETTER_OF | _COUNT_LETTERS
_OfModel = TypeVar("_OfModel", bound=Callable[..., Any])
_NUMBER = re.compile("[0-9]")


def _symbols(letters: Mapping[str, str]) -> dict[str, Any]:
    return {field: _symbol(letter) for field, letter in letters.items()}


def _symbol(letter: str) -> Any:
    return sympy.Symbol(letter, integer=True, positive=True)


def _from_polynomial(polynomial: LetterPolynomial) -> Any:
    return sympy.Add(
        *(
            sympy.Rational(number.numerator, number.denominator)
            * sympy.Mul(*(_symbol(letter) ** exponent for letter, exponent in monomial))
            for monomial, number in polynomial.terms.items()
        )
    )


converter[LetterPolynomial] = _from_polynomial  # so that sympify and SymPy's operators accept polynomials


SYMBOLS = _symbols(EVERY_LETTER)
CALL_SYMBOLS = _symbols(CALL_LETTERS)
ALL_SYMBOLS = _symbols(LETTER_OF)
FIELD_OF_SYMBOL = {symbol: field for field, symbol in ALL_SYMBOLS.items()}
# Symbols for total counts. They differ from the symbols of CALL_LETTERS, where N is the number of choices.
COUNT_SYMBOLS = {
    "parameters": sympy.Symbol("N", positive=True),
    "trained_parameters": sympy.Symbol("N_t", positive=True),
}

# SymPy prints each symbol as a placeholder. Letters or numbers are filled in later, because SymPy's printers are slow,
# but replacing placeholders is fast.
_PLACEHOLDERS = {symbol: rf"\{{{field}\}}" for field, symbol in (ALL_SYMBOLS | COUNT_SYMBOLS).items()}
_PLACEHOLDER = re.compile(r"\\\{(\w+)\\\}")
_DOT = re.compile(r" \\cdot (?![0-9])")  # a multiplication dot that a formula with letters does not need


class Formula(NamedTuple):
    """A formula that can be written with letters or with the numbers of a configuration."""

    expression: Any  # a sympy.Expr
    written: str  # LaTeX with placeholders, products with dots

    def __str__(self) -> str:
        return printers.text(self.expression, minus="−")

    @property
    def letters(self) -> dict[str, str]:
        """The letters of the formula, keyed by size."""
        return {field: _ALL_LETTERS[field] for field in _PLACEHOLDER.findall(self.written)}

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        """The formula in LaTeX, for display in a notebook."""
        return f"${self.latex()}$"

    @checked
    def latex(self, config: Config | None = None, **sizes: int) -> str:
        """The formula in LaTeX.

        Without ``config``, it has letters. Otherwise, it has the numbers of ``config`` and the ``sizes`` of a call.
        """
        if config is None:
            return _PLACEHOLDER.sub(lambda match: _ALL_LETTERS[match[1]], _DOT.sub(" ", self.written))
        values = self.numbers_of(config, sizes)
        return _PLACEHOLDER.sub(lambda match: latex_number(values[match[1]]), self.written)

    def numbers_of(self, config: Config, sizes: Mapping[str, int]) -> dict[str, Any]:
        """The values of all letters in the formula, keyed by size.

        Raises ArgumentError if neither ``config`` nor ``sizes`` has a value for a letter.
        """
        values = {**config.shared(), **sizes}
        for field in dict.fromkeys(_PLACEHOLDER.findall(self.written)):
            if field not in values:
                message = N_("The formula contains {field} as a symbol: give it a value, such as {field}=1.")
                raise ArgumentError(Problem.of(message, field, None, field=field))
        return values


class SymbolicStep(NamedTuple):
    """A step of the forward pass with symbols as sizes; ``parameters`` is None if the step has no parameters."""

    step: Step
    parameters: Formula | None


def once(maxsize: int) -> Callable[[_OfModel], _OfModel]:
    """Cache a function of a model by the model's structure, with at most ``maxsize`` entries.

    The function receives ``symbolic_model(model)``.
    """

    def decorate(function: _OfModel) -> _OfModel:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def from_structure(model: Model, *rest: Any, **named: Any) -> Any:
            return cached(symbolic_model(model), *rest, **named)

        from_structure.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
        return cast(_OfModel, from_structure)

    return decorate


def in_letters(config: Config) -> Config:
    """A configuration with symbols as sizes; sizes that must be equal in its structure share a symbol."""
    return unchecked(config, **{field: SYMBOLS[letter] for field, letter in config.letters_of_sizes().items()})


def window_in_letters(config: Config, sequence_length: int) -> dict[str, int]:
    """A dictionary with the ``local_attention`` for a symbolic sequence length; empty without local attention.

    Symbols have no order, so the window is a number: 0 if ``sequence_length`` needs a mask for local attention,
    otherwise 8. No numeric sequence length reaches 8: it is at most 2, for one token and one virtual token.
    """
    return {} if config.window is None else {"local_attention": 0 if config.masks_window(sequence_length) else 8}


@checked
def symbolic_model(model: Model) -> Model:
    """The model with symbols for the sizes that sliders change; models with the same structure share one object."""
    return model_in_symbols(model, ALL_SYMBOLS)


@checked
def formula(model: Model, *, path: str = "") -> Formula:
    """The formula for the number of parameters of the module at ``path``.

    The path "" is the whole model, and encoder.layer.* is a single layer. Paths have no body prefix ("bert."). Raises
    UnknownNameError if there is no module at ``path``.
    """
    if _NUMBER.search(path):  # raises an error for a missing layer, which symbols cannot show
        submodule(model, path)
    return _formula(model, path=path)


def formula_text(model: Model, path: str) -> str:
    """The formula of the module at ``path`` as text; a component's formula is the sum of its brackets.

    >>> from bertcalc import BertConfig
    >>> formula_text(Model(BertConfig()), "embeddings")
    'H (V + P + T) + 2H'
    """
    return component_texts(model).get(cast(Component, path)) or str(formula(model, path=path))


@once(1024)
def trained_formula(model: Model) -> Formula:
    """The number of trained parameters as a formula.

    >>> from bertcalc import BertConfig, Lora
    >>> trained_formula(Model(BertConfig(), changes=(Lora(r=8),)))
    4HLr
    """
    return write(sum(exact(tensor.num_parameters()) for tensor in model.tensors() if not tensor.frozen))


@once(1024)
def _formula(model: Model, *, path: str) -> Formula:
    return write(_expression(submodule(model, path)))


@checked
@once(1024)
def component_formulas(model: Model) -> tuple[tuple[Component, Formula], ...]:
    """The (component, formula) pairs, in the order of the forward pass. The formulas sum to the parameter count."""
    modules = top_level(model).values()
    counts = summed((module.place.component, count) for module in modules if (count := _expression(module)))
    return tuple((component, write(counts[component])) for component in COMPONENTS if component in counts)


def in_numbers(expression: Any, values: Mapping[str, int]) -> str:
    """Write a formula as text with numbers instead of letters; ``values`` is keyed by field.

    The text is live if the numbers are (see bertcalc.text.live_numbers).

    >>> in_numbers(4 * SYMBOLS["hidden_size"] ** 2, {"hidden_size": 768})
    '4 · 768²'
    """
    used = {FIELD_OF_SYMBOL[symbol]: symbol.name for symbol in sympy.sympify(expression).free_symbols}
    names = {letter: f"{{{field}:,}}" for field, letter in used.items()}
    text = printers.text(expression, names, times=" · ", minus="−")
    return fill(text, **{field: values[field] for field in used})


@checked
@once(1024)
def count_formulas(model: Model) -> dict[str, Formula]:
    """Formulas for the number of modules of each kind, and of modules named ``dense``, keyed by kind or name."""
    groups = [*inventory(model), named(model, "dense")]
    return {group.name: write(sympy.sympify(group.modules)) for group in groups}


@checked
@once(1024)
def tensor_formulas(model: Model, *, copies: bool = True) -> tuple[str, ...]:
    """The shape of each tensor of the folded tree in letters, such as ``I · H``.

    With ``copies``, a tensor that is in every layer has the number of layers in front: ``L · I · H``.
    """
    return tuple(
        " · ".join(map(_side, ((tensor.copies,) if copies and tensor.copies != 1 else ()) + tensor.shape))
        for tensor in model.tensors()
    )


@checked
@once(1024)
def bar_formulas(model: Model, *, path: str = "") -> tuple[str, ...]:
    """The formula of each bar of ``breakdown`` as plain text: ``L·(4 H² + 4 H)``."""
    return tuple(plain(bar.parameters) for bar in breakdown(model, path))


@checked
@once(512)
def symbolic_steps(model: Model, *, cross: bool = False) -> tuple[SymbolicStep, ...]:
    """The steps of the forward pass with symbolic sizes: their inputs, outputs and parameters.

    With ``cross``, the inputs include encoder_hidden_states.
    """
    sizes = {field: symbol for field, symbol in CALL_SYMBOLS.items() if cross or field != "encoder_sequence_length"}
    return tuple(
        SymbolicStep(
            step, write(_rows_times_units(exact(step.num_parameters()))) if step.tensors and not step.again else None
        )
        for step in model.steps(Batch(**sizes))
    )


def shape_letters(shape: Shape) -> str:
    """A shape of SymPy expressions in mathematical notation: B × A × S × H/A."""
    return " × ".join(map(_side, shape))


def _side(side: Any) -> str:
    text = printers.text(exact(side))
    return f"({text})" if " " in text else text


def _expression(module: Module) -> Any:
    """The parameter count of a module, as the number of layers times one layer, or as rows times hidden units."""
    if isinstance(module, ModuleList):
        return sum(copies * _expression(layer) for _name, layer, copies in module.named_children(folded=True))
    if any(isinstance(below, ModuleList) for _, below, _ in module.modules()):
        parts = [_expression(child) for _name, child, _copies in module.named_children(folded=True)]
        return sympy.Add(*(part for part in parts if part != 0), evaluate=False) if len(parts) > 1 else parts[0]
    return _rows_times_units(exact(module.num_parameters()))


def exact(expression: Any) -> Any:
    """Remove floors, as in H // A: in every valid configuration, the number of heads divides the hidden size.

    Floors of the number of layers stay, such as ⌊L / 3⌋ for a pattern that repeats every three layers.
    """
    layers = SYMBOLS["num_hidden_layers"]
    return sympy.sympify(expression).replace(
        lambda part: isinstance(part, sympy.floor) and not part.has(layers), lambda part: part.args[0]
    )


def in_whole_periods(expression: Any, layers: int) -> Any:
    """Remove floors; the result is valid only if the number of layers differs from ``layers`` by whole periods."""
    letter = SYMBOLS["num_hidden_layers"]
    return expression.replace(
        sympy.floor, lambda quotient: quotient - (quotient - sympy.floor(quotient)).subs(letter, layers)
    )


def _rows_times_units(expression: Any) -> Any:
    """Factor out a letter if that shortens the expression.

    VH + PH + TH + 2H becomes H(V + P + T + 2). 4H^2 + 2HI + 9H + I has no common factor and stays unchanged.
    """
    for symbol in SYMBOLS.values():
        quotient = sympy.expand(expression / symbol)
        if not quotient.has(symbol) and sympy.count_ops(symbol * quotient) < sympy.count_ops(expression):
            return symbol * quotient
    return expression


def write(expression: Any) -> Formula:
    """Convert an expression in the symbols of this module to a formula."""
    return Formula(expression, printers.latex(expression, _PLACEHOLDERS, dots=True))


@lru_cache(maxsize=4096)
def plain(expression: Any) -> str:
    """An expression as plain text, with the terms of each layer in parentheses: ``L·(4 H² + 4 H)``."""
    layers_first = sympy.collect(sympy.expand(exact(expression)), SYMBOLS["num_hidden_layers"])
    return re.sub(r"(?<![\w'])([\d,]+)·", r"\1 ", printers.text(layers_first, times="·"))
