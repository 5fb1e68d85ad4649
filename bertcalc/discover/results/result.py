"""The result of a search: formulas, the conditions under which they hold, and how they were checked."""

from collections.abc import Callable, Mapping
from dataclasses import field
from dataclasses import fields as members
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, prod
from typing import Any, NamedTuple

import sympy
from sympy.parsing.sympy_parser import parse_expr

from bertcalc.discover.results.conditions import Condition
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.text.records import dataclass
from bertcalc.text.suggestions import nearest

# The names that parse_expr may use. Without this argument, it imports them for each text, which takes longer than
# parsing.
_NAMES = dict(vars(sympy))
_FUNCTIONS: dict[Any, Callable[..., Any]] = {sympy.floor: floor, sympy.ceiling: ceil, sympy.Min: min, sympy.Max: max}
NOT_ASKED = Problem.of(N_("it was not requested"))
_RESET = N_(
    "If one field of {nested} is given, transformers resets the others ({changes}), so this formula does not hold. "
    "Include {nested} in the changes and derive the formula again."
)
_NOT_BUILT = N_(
    "If only some fields of {nested} are given, transformers cannot build this model. Include {nested} in the changes "
    "and derive the formula again."
)


@lru_cache(maxsize=4096)
def _multiplied(*factors: Any) -> Any:
    return sympy.prod(factors)


class Tensors(NamedTuple):
    """All tensors with the same folded name and shape; their number and dimensions are SymPy expressions.

    A folded name has * in place of layer numbers.
    """

    name: str
    copies: Any
    shape: tuple[Any, ...]

    @property
    def expression(self) -> Any:
        """The number of parameters in these tensors."""
        return _multiplied(self.copies, *self.shape)

    def counted(self, values: Mapping[str, int]) -> tuple[tuple[int, ...], int] | None:
        """Return the shape and the number of tensors at these sizes; None if any value is fractional or negative."""
        numbers = [exact(side, values) for side in (self.copies, *self.shape)]
        if any(number < 0 or number.denominator != 1 for number in numbers):
            return None
        copies, *shape = map(int, numbers)
        return tuple(shape), copies


class Checked(NamedTuple):
    """Numbers of test configurations, which were not used for fitting.

    ``agreed`` of them agreed with the formula, ``of`` is the number of all of them, and in ``all_changed`` of them,
    every field was changed.
    """

    agreed: int
    of: int
    all_changed: int


@dataclass(frozen=True)
class Formulas:
    """Formulas for tensors, and the conditions under which they hold."""

    fields: dict[str, int]  # each field in a formula or condition, with its given value
    tensors: tuple[Tensors, ...]
    regime: tuple[Condition, ...]
    checked: Checked
    unexplained: dict[str, Problem]  # folded name -> reason

    @cached_property
    def total(self) -> Any:
        """The number of parameters as a SymPy expression in field names; None if a tensor has no formula."""
        return None if self.unexplained else sympy.expand(sympy.Add(*(tensor.expression for tensor in self.tensors)))

    @property
    def follows(self) -> dict[str, tuple[str, Fraction]]:
        """Fields that are always a fixed multiple of another field, mapped to that field and the factor."""
        return {
            condition.field: (str(condition.other), condition.factor)
            for condition in self.regime
            if condition.kind == "share"
        }

    def values(self, **fields: int) -> dict[str, int]:
        """Return all sizes, with some replaced.

        Raises InputError for unknown fields, invalid sizes, and sizes outside the regime. If another field has to
        change as well, the message names it.
        """
        for name, value in fields.items():
            self._check_known(name, value)
            if isinstance(value, bool) or not isinstance(value, int) or (value < 1 and value != self.fields[name]):
                raise wrong(N_("{size} must be a whole number, 1 or more."), name, value, size=name)
        values = {**self.fields, **fields}
        for condition in self.regime:
            if not condition.holds(values):
                raise InputError(condition.problem(values))
        return values

    def _check_known(self, name: str, value: int) -> None:
        if name in self.fields:
            return
        message = N_("{size} is not one of the sizes in this formula: {known}.")
        if near := nearest(name, self.fields):
            message = N_("{size} is not one of the sizes in this formula: did you mean {nearest}?")
        raise wrong(message, name, value, size=name, known=", ".join(self.fields), nearest=near or "")

    def completed(self, **fields: int) -> dict[str, int]:
        """Return all sizes, with some replaced and the fields that follow them adjusted. Nothing is checked."""
        values = {**self.fields, **fields}
        for name, (leader, share) in self.follows.items():
            if name not in fields and (share * values[leader]).denominator == 1:
                values[name] = int(share * values[leader])
        return values

    def outside(self, **fields: int) -> list[Condition]:
        """Return the conditions that the ``completed`` sizes do not meet."""
        values = self.completed(**fields)
        return [condition for condition in self.regime if not condition.holds(values)]

    def count(self, **fields: int) -> int:
        """Return the number of parameters at other sizes.

        Raises InputError for the same reasons as ``values``, or if a tensor has no formula.
        """
        for name, why in self.unexplained.items():
            raise no_formula_error(name, why)
        values = self.values(**fields)
        return sum(_product(tensor, values) for tensor in self.tensors)

    def _json(self) -> dict[str, Any]:
        names = sorted(
            {str(free_symbol) for tensors in self.tensors for free_symbol in tensors.expression.free_symbols}
            | {*self.fields}
        )
        short = {symbol(name): sympy.Symbol(f"x{index}") for index, name in enumerate(names)}
        texts: dict[str, int] = {}

        def text(expression: Any) -> int:
            return texts.setdefault(sympy.sstr(sympy.sympify(expression).xreplace(short)).replace(" ", ""), len(texts))

        tensors = [[tensor.name, text(tensor.copies), [text(side) for side in tensor.shape]] for tensor in self.tensors]
        regime = [
            [condition.kind, condition.field, condition.other, str(condition.factor)] for condition in self.regime
        ]
        plain = {member.name: getattr(self, member.name) for member in members(self)}
        unexplained = {name: _plain(why) for name, why in self.unexplained.items()}
        data = {"tensors": tensors, "regime": regime, "checked": list(self.checked), "unexplained": unexplained}
        return plain | data | {"names": names, "texts": list(texts)}


@dataclass(frozen=True)
class Computed(Formulas):
    """Formulas for the matrix products of a forward pass; the dimensions of a product are its "shape".

    Attention is eager, experts are computed for each token separately, and a decoder has as many tokens as its encoder.
    """


@dataclass(frozen=True)
class Discovered(Formulas):
    """A transformers class with formulas for its parameters."""

    model_type: str
    cls: str
    given: dict[str, Any]  # fields that differ from the default configuration
    parameters: int  # parameters of the real class at the given sizes
    explained: int  # parameters in tensors with a formula
    builds: int
    seconds: float
    transformers: str  # the version of transformers
    compute: Computed | None = None
    no_flops: Problem | None = NOT_ASKED  # why there is no formula for FLOPs; None if there is one
    # Fields that the class derives unless they are given, mapped to the fields from which they are derived, if known.
    derived: dict[str, list[str]] = field(default_factory=dict)
    no_run: Problem | None = None  # why the class can be built but not run with the given fields; None if it can run
    # Fields of nested configurations that transformers sets to these values if another field of the same nested
    # configuration is given.
    filled: dict[str, int] = field(default_factory=dict)
    # Nested configurations in which no field can be given. Each is mapped to the changes that transformers would make
    # to its other fields; the list is empty if transformers refuses.
    reset: dict[str, list[str]] = field(default_factory=dict)
    printed: str = ""  # the text of print(model), if requested

    @property
    def flops(self) -> Any:
        """FLOPs of a forward pass's matrix products, as a SymPy expression; None if unknown (see ``no_flops``)."""
        return None if self.compute is None else 2 * self.compute.total

    def count(self, **fields: int) -> int:
        """Return the real class's number of parameters with these fields; other fields keep given or default values.

        A field of a nested configuration is named by its path: ``text_config.hidden_size`` means
        ``Config(text_config={"hidden_size": ...})``. transformers may then reset other fields of that nested
        configuration. If these are sizes, they have to be given as well; if they are not, the field is refused.
        Raises InputError in these cases, for the same reasons as ``values``, and if a tensor has no formula.
        """
        self._check_filled(fields)
        return super().count(**fields)

    def whole(self, **fields: int) -> dict[str, int]:
        """Return these fields together with the fields that have to be given with them.

        The additional fields follow one of these fields, or transformers would otherwise reset them.

        >>> from bertcalc.discover.results.shipped import shipped
        >>> shipped("convbert", "ConvBertForMaskedLM").whole(hidden_size=1536)
        {'hidden_size': 1536, 'embedding_size': 1536}
        """
        for name, value in fields.items():
            self._check_known(name, value)
        completed = self.completed(**fields)
        moved = {name: completed[name] for name in self.follows if completed[name] != self.fields[name]}
        above = {_above(name) for name in fields}
        beside = {name: completed[name] for name in self.filled if _above(name) in above}
        return {**beside, **fields, **moved}

    def _check_filled(self, fields: Mapping[str, int]) -> None:
        above = {_above(name) for name in fields}
        for name, changes in self.reset.items():
            if size := next((size for size in fields if _above(size) == name), None):
                message = _RESET if changes else _NOT_BUILT
                raise wrong(message, size, fields[size], nested=name, changes=", ".join(changes))
        for name, value in self.filled.items():
            if _above(name) in above and name not in fields and name in self.fields:
                message = N_(
                    "If one field of {nested} is given, transformers resets the others: {size} would change from "
                    "{here} to {value}. Give {size} as well."
                )
                details = {"nested": _above(name), "size": name, "here": self.fields[name], "value": value}
                raise wrong(message, name, None, **details)

    def count_flops(self, *, batch_size: int, sequence_length: int, **fields: int) -> int:
        """Return the FLOPs of a forward pass at other sizes, as counted by PyTorch's FlopCounterMode.

        Raises InputError for the same reasons as ``count``, or if there is no formula for FLOPs.
        """
        if self.compute is None:
            raise no_formula_error("FLOPs", self.no_flops or NOT_ASKED)
        self._check_filled(fields)
        return 2 * self.compute.count(batch_size=batch_size, sequence_length=sequence_length, **fields)

    def json(self) -> dict[str, Any]:
        """Return the result as JSON data, which ``of_json`` reads."""
        data = self._json() | {"seconds": round(self.seconds, 1)}
        computed = self.compute._json() if self.compute else None
        data |= {"compute": computed, "no_flops": self.no_flops and _plain(self.no_flops)}
        no_run = data.pop("no_run")  # left out in shipped data, where every class runs
        for name in ("reset", "printed"):  # left out if empty, as in most shipped data
            if not data[name]:
                del data[name]
        return data | ({"no_run": _plain(no_run)} if no_run else {})


def of_json(data: Mapping[str, Any]) -> Discovered:
    """Create a result from the data of ``Discovered.json``."""
    read, compute = _read(data, Discovered), data.get("compute")
    for name in ("no_flops", "no_run"):
        if why := data.get(name):
            read[name] = Problem.of(why[0], **why[1])
    return Discovered(**{**read, "compute": compute and Computed(**_read(compute, Computed))})


def _read(data: Mapping[str, Any], kind: type) -> dict[str, Any]:
    symbols = {f"x{index}": symbol(name) for index, name in enumerate(data["names"])}
    texts = [parse_expr(text, symbols, global_dict=_NAMES) for text in data["texts"]]
    tensors = tuple(
        Tensors(name, texts[copies], tuple(texts[side] for side in shape)) for name, copies, shape in data["tensors"]
    )
    regime = tuple(Condition(kind, field, other, Fraction(factor)) for kind, field, other, factor in data["regime"])
    rest = {member.name: data[member.name] for member in members(kind) if member.name in data}
    why = {name: Problem.of(message, **values) for name, (message, values) in data["unexplained"].items()}
    return {**rest, "tensors": tensors, "regime": regime, "checked": Checked(*data["checked"]), "unexplained": why}


def _plain(why: Problem) -> list[Any]:
    return [why.message, why.values]


def _above(field: str) -> str:
    """Return the name of the nested configuration that contains a field, or the field's own name if there is none."""
    return field.partition(".")[0]


def symbol(field: str) -> Any:
    """Return the SymPy symbol of a field."""
    return sympy.Symbol(field, integer=True, positive=True)


def no_formula_error(name: str, why: Problem) -> InputError:
    """Return the error for a missing formula, with the reason."""
    return InputError(Problem.of(N_("There is no formula for {name}:"), name=name), why)


def exact(expression: Any, values: Mapping[str, int]) -> Fraction:
    """Evaluate an expression exactly; only the floors and ceilings in the expression round."""
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if expression.is_Symbol:
        return Fraction(values[expression.name])
    parts = [exact(part, values) for part in expression.args]
    if expression.is_Add:
        return sum(parts, Fraction())
    if expression.is_Mul:
        return prod(parts, start=Fraction(1))
    if expression.is_Pow:
        base, power = parts
        return base ** int(power)
    return Fraction(_FUNCTIONS[expression.func](*parts))


def _product(tensors: Tensors, values: Mapping[str, int]) -> int:
    counted = tensors.counted(values)
    if counted is None:
        raise wrong(N_("With these sizes, a dimension of {name} would not be a whole number."), name=tensors.name)
    shape, copies = counted
    return copies * prod(shape)
