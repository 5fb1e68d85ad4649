"""Formulas: the definition of a model, run with SymPy symbols as sizes and written as LaTeX.

>>> from bertcalc import BertConfig
>>> formula(Model(BertConfig()), path="encoder.layer.*").latex()
'4 H^{2} + 2 H I + 9 H + I'
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from math import prod
from typing import Any, NamedTuple, TypeVar, cast

import sympy

from bertcalc.config import Config, MixedError, sizes_of, unchecked
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model import formula_printers as printers
from bertcalc.model.change import CHANGE_SIZES, SEVERAL_DEPTHS
from bertcalc.model.inventory import inventory, named
from bertcalc.model.model import Model
from bertcalc.model.modules import Component, Module, ModuleList, Shape, Tensor
from bertcalc.model.steps import Step
from bertcalc.model.totals import COMPONENTS, breakdown, over_layers, submodule, summed, top_level
from bertcalc.model.trace import Sizes
from bertcalc.text import N_
from bertcalc.text.arguments import ArgumentError, checked
from bertcalc.text.digits import latex_number
from bertcalc.text.live_numbers import fill
from bertcalc.text.problem import Problem

# The letters of the sizes of a call, beside those of the model's own sizes.
CALL_LETTERS: dict[str, str] = {
    "batch_size": "B",
    "sequence_length": "S",
    "encoder_sequence_length": "X",
    "num_choices": "N",
}
_MORE_LETTERS = {"masked_positions": "M", **{name: size.letter for name, size in CHANGE_SIZES.items()}}
_COUNT_LETTERS = {"parameters": "N", "trained_parameters": "N_{t}"}
LETTER_OF = {**EVERY_LETTER, **CALL_LETTERS}
_ALL_LETTERS = {**LETTER_OF, **_MORE_LETTERS, **_COUNT_LETTERS}
FIELD_OF = {letter: field for field, letter in (LETTER_OF | _MORE_LETTERS).items()}
LETTER = "|".join(sorted(FIELD_OF, reverse=True))  # in the text of a formula: E' is before E


def _symbols(letters: Mapping[str, str]) -> dict[str, Any]:
    return {field: sympy.Symbol(letter, integer=True, positive=True) for field, letter in letters.items()}


SYMBOLS = _symbols(EVERY_LETTER)
CALL_SYMBOLS = _symbols(CALL_LETTERS)
ALL_SYMBOLS = {**SYMBOLS, **CALL_SYMBOLS, **_symbols(_MORE_LETTERS)}
FIELD_OF_SYMBOL = {symbol: field for field, symbol in ALL_SYMBOLS.items()}
# Symbols for total counts. They differ from those of CALL_LETTERS, whose N is the number of choices.
COUNT_SYMBOLS = {
    "parameters": sympy.Symbol("N", positive=True),
    "trained_parameters": sympy.Symbol("N_t", positive=True),
}

# SymPy prints each symbol as a placeholder, which letters or numbers replace later: printing a formula takes SymPy a
# millisecond, replacing placeholders takes microseconds.
_PLACEHOLDERS = {symbol: rf"\{{{field}\}}" for field, symbol in (ALL_SYMBOLS | COUNT_SYMBOLS).items()}
_PLACEHOLDER = re.compile(r"\\\{(\w+)\\\}")
_DOT = re.compile(r" \\cdot (?![0-9])")  # a dot that letters do without


class Formula(NamedTuple):
    """A formula that can be written with letters or with the numbers of a configuration."""

    expression: Any  # a sympy.Expr
    written: str  # LaTeX with placeholders, products with dots

    def __str__(self) -> str:
        return _text(self.expression)

    @property
    def letters(self) -> dict[str, str]:
        """The letters of the formula, by the names of their sizes."""
        return {field: _ALL_LETTERS[field] for field in _PLACEHOLDER.findall(self.written)}

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        """The formula in LaTeX, which a notebook shows."""
        return f"${self.latex()}$"

    @checked
    def latex(self, config: Config | None = None, **sizes: int) -> str:
        """LaTeX with letters, or with the numbers of a configuration and the ``sizes`` of a call."""
        if config is None:
            return _PLACEHOLDER.sub(lambda match: _ALL_LETTERS[match[1]], _DOT.sub(" ", self.written))
        values = self.numbers_of(config, sizes)
        return _PLACEHOLDER.sub(lambda match: latex_number(values[match[1]]), self.written)

    def numbers_of(self, config: Config, sizes: Mapping[str, int]) -> dict[str, Any]:
        """The numbers for all letters of the formula. Raises ArgumentError for a letter that neither argument has."""
        values = {**config.shared(), **sizes}
        for field in dict.fromkeys(_PLACEHOLDER.findall(self.written)):
            if field not in values:
                message = N_("The formula has a letter for {field}: give a number for it, {field}=1.")
                raise ArgumentError(Problem.of(message, field, None, field=field))
        return values


class SymbolicStep(NamedTuple):
    """A step of the forward pass run with symbols, and the formula of its parameters, if it has any."""

    step: Step
    parameters: Formula | None


class Term(NamedTuple):
    """All tensors of a component with the same number of elements: their number times their size.

    In layers, tensors whose sizes differ only by a number are one term: 4H² is four matrices, or GPT-2's H² and 3H².
    """

    text: str  # as on paper: 4H²
    expression: Any  # a sympy.Expr, for one layer if the tensors are in every layer
    tensors: tuple[Tensor, ...]  # with symbols as sizes
    fixed: bool  # its coefficient is a size that no field sets, not a number of tensors: the 2 classes of 2H

    @property
    def norm(self) -> bool:
        """Whether all its tensors are gammas and betas of LayerNorms."""
        return all(tensor.place.role == "norm" for tensor in self.tensors)


class Bracket(NamedTuple):
    """Terms of a component, and their common factor, if any: H (V + P + T), L (4H² + ...)."""

    factor: str
    terms: tuple[Term, ...]
    inside: tuple[str, ...]  # the terms without the factor: V for HV

    @property
    def text(self) -> str:
        """The bracket as on paper."""
        written = " + ".join(self.inside)
        return f"{self.factor} ({written})" if self.braced else f"{self.factor} {written}".lstrip()

    @property
    def braced(self) -> bool:
        """Whether the terms need brackets around them."""
        return bool(self.factor) and len(self.terms) > 1


_OfModel = TypeVar("_OfModel", bound=Callable[..., Any])


def once(maxsize: int) -> Callable[[_OfModel], _OfModel]:
    """Cache a function of a Model by the model's structure: it gets ``symbolic_model`` of the model."""

    def decorate(function: _OfModel) -> _OfModel:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def from_structure(model: Model, *rest: Any, **named: Any) -> Any:
            return cached(symbolic_model(model), *rest, **named)

        from_structure.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
        return cast(_OfModel, from_structure)

    return decorate


def in_letters(config: Config) -> Config:
    """A configuration with symbols as sizes; sizes that must be equal in its structure share one."""
    return unchecked(config, **{field: SYMBOLS[letter] for field, letter in config.letters_of_sizes().items()})


def window_in_letters(config: Config, sequence_length: int) -> dict[str, int]:
    """The field for a window beside a symbolic sequence length; none without local attention.

    Symbols have no order: a window that the sequence reaches is 0, and one that it does not reach is longer than the
    sequences that stay numbers, which have at most one token and one virtual token.
    """
    return {} if config.window is None else {"local_attention": 0 if config.masks_window(sequence_length) else 8}


def _structure(config: Config) -> Config:
    """A configuration with symbols as sizes and only the other values that determine the structure: a cache key."""
    kind: Any = type(config)
    letters = config.letters_of_sizes()
    # Sizes without a letter: each value gives the model another structure.
    numbers = [field for field in sizes_of(kind) if field not in letters]
    shaping = {field: getattr(config, field) for field in (*config.shaping, *numbers) if field not in letters}
    return _in_letters(kind, tuple(letters.items()), **shaping)


@lru_cache(maxsize=1024)
def _in_letters(kind: type[Config], sizes: tuple[tuple[str, str], ...], **shaping: Any) -> Config:
    return unchecked(kind.default(), **{field: SYMBOLS[of] for field, of in sizes}, **shaping)


@checked
def symbolic_model(model: Model) -> Model:
    """The model with symbols for the sizes that sliders change; the same object for each structure."""
    config = _structure(model.config)
    if any(change.by_layer for change in model.changes):
        layers = model.config.num_hidden_layers
        if hasattr(layers, "max"):
            raise MixedError(Problem.of(SEVERAL_DEPTHS))
        config = unchecked(config, num_hidden_layers=layers)
    changes = tuple(change.in_letters(ALL_SYMBOLS) for change in model.changes)
    return _symbolic_model(config, model.architecture, model.add_pooling_layer, changes)


# Large enough: classes x positions x ties x cross attention x activations (hidden_act is checked before).
_symbolic_model = lru_cache(maxsize=1024)(Model)


@checked
def formula(model: Model, *, path: str = "") -> Formula:
    """The number of parameters of the module at ``path`` as a formula: "" is the model, encoder.layer.* one layer.

    Paths have no body prefix ("bert."). Raises UnknownNameError if there is no module at ``path``.
    """
    if _NUMBER.search(path):  # only the integer model knows whether there is such a layer
        submodule(model, path)
    return _formula(model, path=path)


def formula_text(model: Model, path: str) -> str:
    """The formula of the module at ``path`` as text: a component's as the sum of its brackets.

    >>> from bertcalc import BertConfig
    >>> formula_text(Model(BertConfig()), "embeddings")
    'H (V + P + T) + 2H'
    """
    component = dict(component_terms(model)).get(cast(Component, path))
    return " + ".join(bracket.text for bracket in component) if component else str(formula(model, path=path))


@once(1024)
def trained_formula(model: Model) -> Formula:
    """The number of parameters that are trained, as a formula.

    >>> from bertcalc import BertConfig, Lora
    >>> trained_formula(Model(BertConfig(), changes=(Lora(r=8),)))
    4HLr
    """
    return write(sum(exact(tensor.num_parameters()) for tensor in model.tensors() if not tensor.frozen))


_NUMBER = re.compile("[0-9]")


@once(1024)
def _formula(model: Model, *, path: str) -> Formula:
    return write(_expression(submodule(model, path)))


@checked
@once(1024)
def component_formulas(model: Model) -> tuple[tuple[Component, Formula], ...]:
    """The formula of each component, in running order; their sum is the number of parameters."""
    modules = top_level(model).values()
    counts = summed((module.place.component, count) for module in modules if (count := _expression(module)))
    return tuple((component, write(counts[component])) for component in COMPONENTS if component in counts)


@checked
@once(1024)
def component_terms(model: Model) -> tuple[tuple[Component, tuple[Bracket, ...]], ...]:
    """The terms of each component's formula: every tensor of the folded tree is in one of them.

    If the first layer differs from the others, the tensors that all layers have are counted together:
    ModernBERT's L (4H² + 3HI + H) + (L − 1) H + H.

    >>> from bertcalc import BertConfig
    >>> for component, brackets in component_terms(Model(BertConfig())):
    ...     print(component, " + ".join(bracket.text for bracket in brackets))
    embeddings H (V + P + T) + 2H
    encoder L (4H² + 2HI + 9H + I)
    pooler H² + H
    """
    alike: dict[Component, dict[Any, list[Tensor]]] = {}
    for tensor in over_layers(model):
        elements = exact(prod(tensor.shape))
        if tensor.copies != 1 and not elements.is_number:
            elements = elements.as_coeff_Mul()[1]
        alike.setdefault(tensor.place.component, {}).setdefault((tensor.copies, elements), []).append(tensor)
    components: list[tuple[Component, tuple[Bracket, ...]]] = []
    for component in [component for component in COMPONENTS if component in alike]:
        sizes = alike[component]
        terms: dict[Any, list[Term]] = {}
        for (copies, _elements), tensors in sorted(sizes.items(), key=lambda size: _in_order(size[1][0])):
            terms.setdefault(copies, []).append(_term(tensors))
        layers_first = sorted(terms.items(), key=lambda item: item[0] == 1)
        brackets = [bracket for copies, group in layers_first for bracket in _brackets(copies, group)]
        components.append((component, tuple(brackets)))
    return tuple(components)


def filled(text: str, values: Mapping[str, int]) -> str:
    """The text of a term or bracket with numbers, by the names of fields, instead of letters; live if they are.

    >>> filled("L (4H² + I)", {"num_hidden_layers": 12, "hidden_size": 768, "intermediate_size": 3072})
    '12 · (4 · 768² + 3,072)'
    """
    dotted = re.sub(rf"(?<=[\w²')])( (?=\d)| ?(?=\(|{LETTER}))", " · ", text)
    letters = set(re.findall(LETTER, text))
    return fill(
        re.sub(LETTER, lambda letter: f"{{{FIELD_OF[letter[0]]}:,}}", dotted),
        **{FIELD_OF[letter]: values[FIELD_OF[letter]] for letter in letters},
    )


def in_numbers(expression: Any, values: Mapping[str, int]) -> str:
    """A formula as text with numbers, by the names of fields, instead of letters; live if the numbers are.

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
    """The number of modules of each kind in the inventory, and of those named ``dense``, as formulas."""
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
    """The steps of the forward pass in letters: inputs, outputs and parameters.

    With ``cross``, encoder_hidden_states are given.
    """
    sizes = {field: symbol for field, symbol in CALL_SYMBOLS.items() if cross or field != "encoder_sequence_length"}
    return tuple(
        SymbolicStep(
            step, write(_rows_times_units(exact(step.num_parameters()))) if step.tensors and not step.again else None
        )
        for step in model.run(Sizes(**sizes))
    )


def shape_letters(shape: Shape) -> str:
    """A shape of SymPy expressions as on paper: B × A × S × H/A."""
    return " × ".join(map(_side, shape))


def _in_order(tensor: Tensor) -> tuple[int, bool]:
    """The sort key: matrices before vectors, attention before feed-forward: 4H² + 2HI + 9H + I."""
    return -len(tensor.shape), tensor.place.block == "feed-forward"


def _term(tensors: list[Tensor]) -> Term:
    sizes = [exact(prod(tensor.shape)) for tensor in tensors]
    expression, first = sum(sizes), sizes[0]
    fixed = first.is_number or (tensors[0].copies == 1 and first.as_coeff_Mul()[0] != 1)
    return Term(_text(expression), expression, tuple(tensors), fixed)


def _brackets(copies: Any, terms: list[Term]) -> list[Bracket]:
    """One bracket for layers; otherwise one for the terms with a common factor, LayerNorms and projections apart."""
    if copies != 1:
        layers = _text(copies)
        return [Bracket(f"({layers})" if " " in layers else layers, tuple(terms), tuple(term.text for term in terms))]
    apart = [term for term in terms if term.norm or term.tensors[0].place.block == "projection"]
    others = [term for term in terms if term not in apart]
    together = sum(term.expression for term in others)
    factored = _rows_times_units(together)
    if factored == together:
        return [Bracket("", tuple(terms), tuple(term.text for term in terms))]
    (factor,) = (symbol for symbol in factored.args if symbol.is_Symbol)
    inside = tuple(_text(term.expression / factor) for term in others)
    return [Bracket(_text(factor), tuple(others), inside), *(Bracket("", (term,), (term.text,)) for term in apart)]


def _text(expression: Any) -> str:
    return printers.text(expression, minus="−")


def _side(side: Any) -> str:
    text = printers.text(exact(side))
    return f"({text})" if " " in text else text


def _expression(module: Module) -> Any:
    """The number of a module's parameters, written as layers times one layer, or rows times hidden units."""
    if isinstance(module, ModuleList):
        return sum(copies * _expression(layer) for _name, layer, copies in module.named_children(folded=True))
    if any(isinstance(below, ModuleList) for _, below, _ in module.modules()):
        parts = [_expression(child) for _name, child, _copies in module.named_children(folded=True)]
        return sympy.Add(*(part for part in parts if part != 0), evaluate=False) if len(parts) > 1 else parts[0]
    return _rows_times_units(exact(module.num_parameters()))


def exact(expression: Any) -> Any:
    """An expression without floors: in H // A, the heads divide the hidden size in every valid configuration.

    Floors of the number of layers stay: of L layers, ⌊L / 3⌋ start a pattern of three.
    """
    layers = SYMBOLS["num_hidden_layers"]
    return sympy.sympify(expression).replace(
        lambda part: isinstance(part, sympy.floor) and not part.has(layers), lambda part: part.args[0]
    )


def in_whole_periods(expression: Any, layers: int) -> Any:
    """An expression without floors, for numbers of layers that differ from ``layers`` by whole periods."""
    letter = SYMBOLS["num_hidden_layers"]
    return expression.replace(
        sympy.floor, lambda quotient: quotient - (quotient - sympy.floor(quotient)).subs(letter, layers)
    )


def _rows_times_units(expression: Any) -> Any:
    """VH + PH + TH + 2H as H(V + P + T + 2); 4H^2 + 2HI + 9H + I, which has no common factor, unchanged."""
    for symbol in SYMBOLS.values():
        quotient = sympy.expand(expression / symbol)
        if not quotient.has(symbol) and sympy.count_ops(symbol * quotient) < sympy.count_ops(expression):
            return symbol * quotient
    return expression


def write(expression: Any) -> Formula:
    """Write an expression in the symbols above as a formula."""
    return Formula(expression, printers.latex(expression, _PLACEHOLDERS, dots=True))


@lru_cache(maxsize=4096)
def plain(expression: Any) -> str:
    """An expression as plain text, with the terms of every layer in brackets: ``L·(4 H² + 4 H)``."""
    layers_first = sympy.collect(sympy.expand(exact(expression)), SYMBOLS["num_hidden_layers"])
    return re.sub(r"(?<![\w'])([\d,]+)·", r"\1 ", printers.text(layers_first, times="·"))
