"""The result of a discovery: formulas, where they hold, and what was tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as members
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, prod
from typing import Any, NamedTuple

import sympy
from sympy.parsing.sympy_parser import parse_expr

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.results.polynomial_fit import symbol
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem, wrong

_NAMES = dict(vars(sympy))  # sympify imports them all again for each text, which takes ten times as long as parsing
_FUNCTIONS: dict[Any, Callable[..., Any]] = {sympy.floor: floor, sympy.ceiling: ceil, sympy.Min: min, sympy.Max: max}
NOT_ASKED = Problem.of(N_("it was not asked for"))


class Tensors(NamedTuple):
    """All tensors of one folded name and one shape: their number, and the sides, as SymPy expressions."""

    name: str
    copies: Any
    shape: tuple[Any, ...]

    @property
    def expression(self) -> Any:
        """The number of their parameters."""
        return self.copies * sympy.prod(self.shape)

    def counted(self, values: Mapping[str, int]) -> tuple[tuple[int, ...], int] | None:
        """The shape and the number of tensors at these sizes; None where one is fractional or negative."""
        numbers = [exact(each, values) for each in (self.copies, *self.shape)]
        if any(number < 0 or number.denominator != 1 for number in numbers):
            return None
        copies, *shape = map(int, numbers)
        return tuple(shape), copies


class Checked(NamedTuple):
    """Configurations that were not used for fitting: how many agreed, of how many; in how many all fields differed."""

    agreed: int
    of: int
    all_changed: int


@dataclass(frozen=True)
class Formulas:
    """The formulas of tensors, and where they hold."""

    fields: dict[str, int]  # every field that matters, or that a condition names, with its given value
    tensors: tuple[Tensors, ...]
    regime: tuple[Condition, ...]
    checked: Checked
    unexplained: dict[str, Problem]  # folded names, with the reason

    @cached_property
    def total(self) -> Any:
        """The number of parameters as a SymPy expression in Hugging Face's names; None if not all is explained."""
        return None if self.unexplained else sympy.expand(sympy.Add(*(each.expression for each in self.tensors)))

    @property
    def follows(self) -> dict[str, tuple[str, Fraction]]:
        """Fields that are always a share of another field: that field, and the share."""
        return {each.field: (str(each.other), each.factor) for each in self.regime if each.kind == "share"}

    def values(self, **fields: int) -> dict[str, int]:
        """Return the given sizes with some replaced.

        Raises InputError for what is not a field or not a size, and outside of the regime: if another field would have
        to change, too, it names that field.
        """
        for name, value in fields.items():
            if name not in self.fields:
                message = N_("{size} is not one of the sizes that matter here: {known}.")
                raise wrong(message, name, value, size=name, known=", ".join(self.fields))
            if isinstance(value, bool) or not isinstance(value, int) or (value < 1 and value != self.fields[name]):
                raise wrong(N_("{size} has to be a whole number from 1."), name, value, size=name)
        values = {**self.fields, **fields}
        for condition in self.regime:
            if not condition.holds(values):
                raise InputError(condition.problem(values))
        return values

    def completed(self, **fields: int) -> dict[str, int]:
        """Return all sizes with some replaced, and with those moved that have to follow them; nothing is checked."""
        values = {**self.fields, **fields}
        for name, (leader, share) in self.follows.items():
            if name not in fields and (share * values[leader]).denominator == 1:
                values[name] = int(share * values[leader])
        return values

    def outside(self, **fields: int) -> list[Condition]:
        """The conditions that ``completed`` sizes do not meet."""
        values = self.completed(**fields)
        return [condition for condition in self.regime if not condition.holds(values)]

    def count(self, **fields: int) -> int:
        """The number of parameters at other sizes. Raises InputError as ``values`` does, or if there is no total."""
        for name, why in self.unexplained.items():
            raise without(name, why)
        values = self.values(**fields)
        return sum(_product(each, values) for each in self.tensors)

    def _json(self) -> dict[str, Any]:
        names = sorted(
            {str(each) for tensors in self.tensors for each in tensors.expression.free_symbols} | {*self.fields}
        )
        short = {symbol(name): sympy.Symbol(f"x{index}") for index, name in enumerate(names)}
        texts: dict[str, int] = {}

        def text(expression: Any) -> int:
            return texts.setdefault(sympy.sstr(sympy.sympify(expression).xreplace(short)).replace(" ", ""), len(texts))

        tensors = [[each.name, text(each.copies), [text(side) for side in each.shape]] for each in self.tensors]
        regime = [[each.kind, each.field, each.other, str(each.factor)] for each in self.regime]
        plain = {each.name: getattr(self, each.name) for each in members(self)}
        unexplained = {name: _plain(why) for name, why in self.unexplained.items()}
        said = {"tensors": tensors, "regime": regime, "checked": list(self.checked), "unexplained": unexplained}
        return plain | said | {"names": names, "texts": list(texts)}


@dataclass(frozen=True)
class Computed(Formulas):
    """The matrix products of a forward pass, each with its sides as the shape.

    Attention is eager, every token goes through its experts by itself, and a decoder has as many tokens as its encoder.
    """


@dataclass(frozen=True)
class Discovered(Formulas):
    """A class of transformers, with the formulas of its parameters."""

    model_type: str
    cls: str
    given: dict[str, Any]  # fields that differ from the default configuration
    parameters: int  # of the real class at the given sizes
    explained: int  # of these, in tensors with a formula
    builds: int
    seconds: float
    transformers: str  # the version
    compute: Computed | None = None
    no_flops: Problem | None = NOT_ASKED  # why there is no formula for FLOPs
    # Fields that are derived from others unless given, each with those others, which may be none.
    derived: dict[str, list[str]] = field(default_factory=dict)
    no_run: Problem | None = None  # why it is built with the given fields, but does not run forward
    # Fields of nested configurations that transformers fills in with these values if another one of them is given.
    filled: dict[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the parameters that has a formula."""
        return self.explained / self.parameters if self.parameters else 0.0

    @property
    def flops(self) -> Any:
        """The FLOPs of a forward pass's matrix products as a SymPy expression, or None: ``no_flops`` says why."""
        return None if self.compute is None else 2 * self.compute.total

    def count(self, **fields: int) -> int:
        """The number of parameters of the real class with exactly these fields, and the given and usual ones.

        A field of a nested configuration is named by its path: ``text_config.hidden_size``, which stands for
        ``Config(text_config={"hidden_size": ...})``. Where transformers would replace other fields in there, those
        have to be given, too. Raises InputError as ``values`` does, or if there is no total.
        """
        self._check_filled(fields)
        return super().count(**fields)

    def whole(self, **fields: int) -> dict[str, int]:
        """Return these fields with all that has to be given with them: what follows them, and what would be filled in.

        >>> from bertcalc.discover.results.shipped import shipped
        >>> shipped("convbert", "ConvBertForMaskedLM").whole(hidden_size=1536)
        {'hidden_size': 1536, 'embedding_size': 1536}
        """
        completed = self.completed(**fields)
        moved = {name: completed[name] for name in self.follows if completed[name] != self.fields[name]}
        above = {_above(name) for name in fields}
        beside = {name: completed[name] for name in self.filled if _above(name) in above}
        return {**beside, **fields, **moved}

    def _check_filled(self, fields: Mapping[str, int]) -> None:
        above = {_above(name) for name in fields}
        for name, value in self.filled.items():
            if _above(name) in above and name not in fields and name in self.fields:
                message = N_(
                    "transformers makes {nested} anew if one of its fields is given: {size}, {here} here, would be "
                    "{value}. Give {size}, too."
                )
                shown = {"nested": _above(name), "size": name, "here": self.fields[name], "value": value}
                raise wrong(message, name, None, **shown)

    def count_flops(self, *, batch_size: int, sequence_length: int, **fields: int) -> int:
        """The FLOPs of a forward pass at other sizes, as PyTorch's FlopCounterMode counts them.

        Raises InputError as ``count`` does.
        """
        if self.compute is None:
            raise without("FLOPs", self.no_flops or NOT_ASKED)
        self._check_filled(fields)
        return 2 * self.compute.count(batch_size=batch_size, sequence_length=sequence_length, **fields)

    def json(self) -> dict[str, Any]:
        """JSON data, which ``of_json`` reads."""
        found = self._json() | {"seconds": round(self.seconds, 1)}
        computed = self.compute._json() if self.compute else None
        found |= {"compute": computed, "no_flops": self.no_flops and _plain(self.no_flops)}
        no_run = found.pop("no_run")  # what is shipped runs
        return found | ({"no_run": _plain(no_run)} if no_run else {})


def of_json(found: Mapping[str, Any]) -> Discovered:
    """Read what ``Discovered.json`` has written."""
    read, compute = _read(found, Discovered), found.get("compute")
    for name in ("no_flops", "no_run"):
        if why := found.get(name):
            read[name] = Problem.of(why[0], **why[1])
    return Discovered(**{**read, "compute": compute and Computed(**_read(compute, Computed))})


def _read(found: Mapping[str, Any], kind: type) -> dict[str, Any]:
    symbols = {f"x{index}": symbol(name) for index, name in enumerate(found["names"])}
    texts = [parse_expr(text, symbols, global_dict=_NAMES) for text in found["texts"]]
    tensors = tuple(
        Tensors(name, texts[copies], tuple(texts[side] for side in shape)) for name, copies, shape in found["tensors"]
    )
    regime = tuple(Condition(kind, field, other, Fraction(factor)) for kind, field, other, factor in found["regime"])
    rest = {each.name: found[each.name] for each in members(kind) if each.name in found}
    why = {name: Problem.of(message, **values) for name, (message, values) in found["unexplained"].items()}
    return {**rest, "tensors": tensors, "regime": regime, "checked": Checked(*found["checked"]), "unexplained": why}


def _plain(why: Problem) -> list[Any]:
    return [why.message, why.values]


def _above(field: str) -> str:
    """The name of the nested configuration that a field is in; that of the field if it is in none."""
    return field.partition(".")[0]


def without(name: str, why: Problem) -> InputError:
    """The error that there is no formula for something, and why."""
    return InputError(Problem.of(N_("There is no formula for {name}:"), name=name), why)


def exact(expression: Any, values: Mapping[str, int]) -> Fraction:
    """The value of an expression that a fit has made, without any rounding but its own floors and ceilings."""
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
