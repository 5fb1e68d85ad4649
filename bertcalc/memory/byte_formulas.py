"""Memory formulas: the functions of ``footprint``, run on SymPy symbols and written as LaTeX."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from bertcalc.config import unchecked
from bertcalc.live.live_formulas import live_size, with_formula
from bertcalc.memory.footprint import kept, korthikanti
from bertcalc.memory.held_formulas import held
from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS, Optimizer, Precision, StateSizes
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import SavedActivation, by_module, total_bytes
from bertcalc.model.formula import (
    CALL_SYMBOLS,
    COUNT_SYMBOLS,
    SYMBOLS,
    Formula,
    exact,
    in_letters,
    plain,
    window_in_letters,
    write,
)
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.model.modules import Component
from bertcalc.model.totals import summed
from bertcalc.text.arguments import checked
from bertcalc.text.live_numbers import FigureBound, staying, within

# The sizes of the trained tensors: N_t parameters in total; R rows and C columns of matrices; v parameters of vectors;
# N_s parameters in tensors too small for 8-bit states; K blocks of the other tensors.
_SIZES = StateSizes(COUNT_SYMBOLS["trained_parameters"], *sympy.symbols("R C v N_s K"))
_LAYERS, _HEADS = SYMBOLS["num_hidden_layers"], SYMBOLS["num_attention_heads"]
_BATCH, _LENGTH = CALL_SYMBOLS["batch_size"], CALL_SYMBOLS["sequence_length"]


class KeptFormulas(NamedTuple):
    """Formulas for the saved activations: per tensor, per component, per module, and the total as plain text."""

    saved: tuple[SavedActivation, ...]
    components: Mapping[Component, Formula]
    modules: Mapping[str, Any]  # sympy.Expr
    total: str


@checked
def kept_formulas(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> KeptFormulas:
    """The formulas for the tensors of ``footprint.kept``, in the same order.

    Sizes become symbols, except that a size of 1 stays numeric if it changes which tensors autograd saves.
    """
    layers = plan.freezing.layers
    if layers == model.config.num_hidden_layers and "num_hidden_layers" in model.config.letters_of_sizes():
        plan = plan._replace(freezing=replace(plan.freezing, layers=_LAYERS))
    return _kept_formulas(*_symbolic(model, batch_size, sequence_length), plan._replace(optimizer="sgd"))


def live_modules(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> dict[str, int]:
    """The saved bytes of each module, as live numbers; ``saved.by_module`` describes the modules.

    The numbers have no value at sizes where a single head or a single layer changes which tensors autograd saves.
    """
    config, batch = model.config, {"batch_size": batch_size, "sequence_length": sequence_length}
    modules = by_module(kept(model, plan, **batch))
    formulas = kept_formulas(model, plan, **batch).modules
    heads, layers = (live_size(field, getattr(config, field)) for field in ("num_attention_heads", "num_hidden_layers"))
    # With a single layer or frozen layers, the module paths differ, so the number of layers has to stay the same.
    bounds = [staying(layers) if plan.freezing.layers or layers == 1 else FigureBound(layers, 2)]
    if config.ones_matter:
        bounds.append(staying(heads) if heads == 1 else FigureBound(heads, 2))
    values = {**config.shared(), **batch}
    return {
        path: within(with_formula(count, formulas[path], values), tuple(bounds))
        if path in formulas
        else held(count, model)
        for path, count in modules.items()
    }


@checked
def korthikanti_formulas(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> list[Formula]:
    """The formula of each term of ``footprint.korthikanti``."""
    plan = plan._replace(optimizer="sgd", freezing=Freezing())
    return _korthikanti_formulas(*_symbolic(model, batch_size, sequence_length), plan)


@checked
def state_expression(precision: Precision, optimizer: Optimizer) -> Any:
    """The bytes of an optimizer's states, as a SymPy expression in the sizes of the trained tensors."""
    return OPTIMIZERS[optimizer](_SIZES, PRECISIONS[precision].state)


def _symbolic(model: Model, batch_size: int, sequence_length: int) -> tuple[Model, Any, Any]:
    """The model, batch size and sequence length with symbols as sizes.

    A size of 1 stays numeric if it changes which tensors autograd saves.
    """
    config = model.config
    sizes = {_HEADS: config.num_attention_heads, _BATCH: batch_size, _LENGTH: sequence_length}
    ones = config.ones_matter
    heads, batch, length = (1 if ones and number == 1 else symbol for symbol, number in sizes.items())
    window = window_in_letters(config, sequence_length)
    letters = unchecked(in_letters(config), num_attention_heads=heads, **window)
    return model.changed(config=letters), batch, length


@lru_cache(maxsize=256)
def _korthikanti_formulas(model: Model, batch: Any, length: Any, plan: Plan) -> list[Formula]:
    return [write(sympy.expand(exact(term))) for _reason, term in korthikanti(model, plan, batch, length)]


@lru_cache(maxsize=256)
def _kept_formulas(model: Model, batch: Any, length: Any, plan: Plan) -> KeptFormulas:
    saved = tuple(kept(model, plan, batch, length))
    by_component: dict[Component, list[SavedActivation]] = {}
    for tensor in saved:
        by_component.setdefault(tensor.place.component, []).append(tensor)
    return KeptFormulas(
        saved,
        {component: write(_by_copies(tensors)) for component, tensors in by_component.items()},
        by_module(saved),
        plain(total_bytes(saved)),
    )


def _by_copies(saved: Sequence[SavedActivation]) -> Any:
    """Write the sum as L B S (...) + B S (...) + ..., repeated layers first; each bracket is the memory of a token."""
    sums = summed((sympy.sympify(tensor.copies), exact(tensor._replace(copies=1).num_bytes())) for tensor in saved)
    terms = [term for copies, num_bytes in sums.items() for term in by_tokens(copies, sympy.expand(num_bytes))]
    return sympy.Add(*terms, evaluate=False) if len(terms) > 1 else sum(terms)


def by_tokens(copies: Any, expression: Any) -> Iterator[Any]:
    """Split ``copies * expression`` into the terms with a factor batch size × sequence length, and the rest.

    Yields only the parts that are not 0.
    """
    tokens = _BATCH * _LENGTH
    per_token = sum(term / tokens for term in sympy.Add.make_args(expression) if (term / tokens).is_polynomial())
    rest = expression - sympy.expand(tokens * per_token)
    yield from (copies * part for part in (tokens * per_token, rest) if part != 0)
