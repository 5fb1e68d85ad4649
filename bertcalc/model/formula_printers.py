"""Write expressions as text, LaTeX and Python: SymPy's printers with mathematical notation.

>>> length, hidden = sympy.symbols("L H")
>>> text(4 * hidden**2 + 9 * hidden), text(length * (hidden + 2), {"L": "12", "H": "768"}, times=" · ")
('4H² + 9H', '12 · (768 + 2)')
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from bertcalc.text.digits import superscript

# Placeholders for * and - in names, so that only the operators of an expression are replaced.
_HELD = str.maketrans("*-", "\ue000\ue001")
_RELEASED: dict[str, str | int | None] = {"\ue000": "*", "\ue001": "-"}

Names = Mapping[Any, str]
_NO_NAMES: Names = MappingProxyType({})  # each symbol keeps its name


def text(
    expression: Any, names: Names = _NO_NAMES, *, times: str = "", minus: str = "-", minus_last: bool = False
) -> str:
    """Write an expression as text, with ``names`` for symbols, ``times`` between factors and ``minus`` as minus sign.

    With ``minus_last``, negative terms come last: L - F, not -F + L.
    """
    held = {name: word.translate(_HELD) for name, word in names.items()}
    written = str(_TextPrinter({"names": held, "minus_last": minus_last}).doprint(expression))
    return written.translate(str.maketrans({"*": times, "-": minus, **_RELEASED}))


def latex(expression: Any, names: Names = _NO_NAMES, *, dots: bool = False) -> str:
    """Write an expression as LaTeX, with ``names`` for symbols; with ``dots``, there are dots between factors."""
    return str(sympy.latex(expression, symbol_names=names, mul_symbol="dot" if dots else None))


def python(expression: Any, names: Names, *, tight: bool = False) -> str:
    """Write an expression as Python with integers only; floors and ceilings become divisions with //.

    ``names`` maps symbols to names. A sum is divided as a whole, because single terms need not be divisible. With
    ``tight``, a sum is in parentheses.

    >>> python(sympy.Symbol("n_inner") / 2 + 1, {"n_inner": "inner"})
    '((inner + 2) // 2)'
    """
    written = str(_PythonPrinter({"names": names, "minus_last": True}).doprint(expression))
    return f"({written})" if tight and expression.is_Add and quotient(expression)[1] == 1 else written


def quotient(expression: Any) -> tuple[Any, Any]:
    """The numerator and the denominator of an expression."""
    above, below = sympy.fraction(sympy.together(expression))
    return above, below


class _NamedPrinter(StrPrinter):  # type: ignore[misc]  # SymPy has no types
    """SymPy's printer, with ``names`` for symbols."""

    _default_settings = StrPrinter._default_settings | {"names": {}, "minus_last": False}

    def _print_Symbol(self, symbol: Any) -> str:
        return str(self._settings["names"].get(symbol.name, symbol.name))

    def _as_ordered_terms(self, expression: Any, order: Any = None) -> list[Any]:
        terms: list[Any] = super()._as_ordered_terms(expression, order)
        return (
            sorted(terms, key=lambda term: bool(term.as_coeff_Mul()[0] < 0)) if self._settings["minus_last"] else terms
        )


class _TextPrinter(_NamedPrinter):
    def _print_Integer(self, number: Any) -> str:
        return f"{int(number):,}"

    def _print_Pow(self, power: Any, rational: bool = False) -> str:
        if power.exp.is_Integer and power.exp > 0:
            return f"{self.parenthesize(power.base, PRECEDENCE['Pow'])}{superscript(int(power.exp))}"
        if power.exp.is_Integer and power.exp < -1:
            return f"1/{self._print(power.base**-power.exp)}"
        return str(super()._print_Pow(power, rational))

    def _print_floor(self, function: Any) -> str:
        return f"⌊{self._print(function.args[0])}⌋"

    def _print_ceiling(self, function: Any) -> str:
        return f"⌈{self._print(function.args[0])}⌉"

    def _print_LatticeOp(self, function: Any) -> str:
        return f"{type(function).__name__.lower()}({', '.join(sorted(map(self._print, function.args)))})"


class _PythonPrinter(_NamedPrinter):
    def _print(self, expression: Any, **options: Any) -> str:
        above, below = quotient(expression)
        return self._divided(above, below) if below != 1 else str(super()._print(expression, **options))

    def _divided(self, above: Any, below: Any) -> str:
        return f"({self._inside(above)} // {self._inside(below)})"

    def _inside(self, part: Any) -> str:
        return self._print(part) if part.is_Atom else f"({self._print(part)})"

    def _print_floor(self, function: Any) -> str:
        return self._divided(*quotient(function.args[0]))

    def _print_ceiling(self, function: Any) -> str:
        above, below = quotient(function.args[0])
        return f"(-(-{self._inside(above)} // {self._inside(below)}))"

    def _print_LatticeOp(self, function: Any) -> str:
        return f"{type(function).__name__.lower()}({', '.join(map(self._print, function.args))})"
