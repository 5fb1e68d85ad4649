"""The formula of a discovered class, with the same colors and tooltips as the formula on the first page."""

from collections.abc import Mapping
from typing import Any

from bertcalc.discover.results.components import NAMES, Group, components, groups, live_count
from bertcalc.discover.results.expressions import (
    factor_text,
    group_text,
    has_brackets,
    letters,
    names,
    shape_numbers,
    term_texts,
    text,
    value,
)
from bertcalc.discover.results.result import Discovered
from bertcalc.live.live_formulas import live_size, with_formula
from bertcalc.model.totals import Component
from bertcalc.text.live_numbers import between, fill, grouped
from pages.ui.shell.i18n import _, with_colon
from pages.ui.widgets.numbers import percent, unbroken
from pages.ui.widgets.tables import shape_text
from pages.ui.widgets.total_formula.formula_parts import Part, Tips, data_of, leaves

_LINES = 7  # maximum number of tensors in a tooltip
_NEXT, _PLUS = ["between", "+"], ["sign", "+"]


def formula(discovery: Discovered, values: Mapping[str, int], colors: Mapping[Component, str]) -> dict[str, Any]:
    """Return the data from which the browser draws the formula, in the format of formula_parts.py.

    ``values`` maps each field in the formula to its value.
    """
    return _DiscoveredBuilder(discovery, values, colors).data()


class _DiscoveredBuilder:
    def __init__(self, discovery: Discovered, values: Mapping[str, int], colors: Mapping[Component, str]) -> None:
        self._discovery, self._values, self._colors = discovery, values, colors
        self._letters, self._names = letters(discovery), names(discovery)
        self._parts = {kind: groups(tensors, discovery.fields) for kind, tensors in components(discovery).items()}
        self._rest = discovery.parameters - discovery.explained
        self._total = live_count(discovery.tensors, values) + self._rest
        self._tips: Tips = {}

    def data(self) -> dict[str, Any]:
        written = " + ".join(self._written(group) for parts in self._parts.values() for group in parts)
        rest: list[Part] = self._without() if self._rest else []
        written += " + ?" if rest else ""
        in_letters = [*map(self._of_component, self._parts), *rest[:1]]
        in_numbers = [*map(self._number, self._parts), *rest[1:]]
        return data_of(written, self._total, in_letters, in_numbers, map(self._chip, self._used()), self._tips)

    def _without(self) -> list[Part]:
        """The parts for parameters without a formula: "?" in the line of letters, a count in the line of numbers."""
        self._tips["rest"] = [
            with_colon(_("without a formula"), f"{self._rest:,}"),
            *list(self._discovery.unexplained)[:_LINES],
        ]
        return [
            {"is": "unit", "parts": [_NEXT, {"is": "part", "key": "rest", "label": label, "parts": leaves(label)}]}
            for label in ("?", f"{self._rest:,}")
        ]

    def _used(self) -> list[str]:
        expressions = [
            expression
            for parts in self._parts.values()
            for group in parts
            for expression in (group.copies, group.elements)
        ]
        used = {name.name for expression in expressions for name in expression.free_symbols}
        return [field for field in self._discovery.fields if field in used]

    def _live(self, expression: Any) -> int:
        number: int = with_formula(value(expression, self._values), expression, self._values)
        return number

    def _filled(self, expression: Any) -> str:
        fields = {name: f"{{size{at}:,}}" for at, name in enumerate(self._discovery.fields)}
        sizes = {f"size{at}": live_size(name, self._values[name]) for at, name in enumerate(fields)}
        return fill(text(expression, fields, product=True), **sizes)

    def _factor(self, group: Group) -> str:
        return factor_text(group, self._letters)

    def _written(self, group: Group) -> str:
        return group_text(group, self._letters)

    def _of_component(self, kind: Component) -> Part:
        parts: list[Part] = []
        sign = [] if kind == next(iter(self._parts)) else [_NEXT]
        for group in self._parts[kind]:
            parts.append(self._bracket(kind, group, sign))
            sign = [_PLUS]
        return {"is": "term", "key": kind, "color": self._colors[kind], "parts": parts}

    def _bracket(self, kind: Component, group: Group, sign: list[list[str]]) -> Part:
        key, factor, terms = f"{kind} {group.copies}", self._factor(group), term_texts(group, self._letters)
        self._tips[key] = self._about(group)
        units: list[Part] = []
        brackets = has_brackets(group, self._letters)
        for index, term in enumerate(terms):
            before: list[Part] = [*sign] if not index else [["sign", "−" if term.startswith("−") else "+"]]
            plain = term.removeprefix("−") if index else term
            if factor and not index:
                label = self._written(group)
                before += [{"is": "part", "key": key, "label": label, "parts": leaves(factor)}]
                before += [["open", "("]] if brackets else []
            part: dict[str, Any] = {"is": "part", "key": key, "parts": leaves(plain)}
            if not factor and not index:
                part["label"] = self._written(group)
            after = [["close", ")"]] if brackets and index == len(terms) - 1 else []
            units.append({"is": "unit", "parts": [*before, part, *after]})
        return {"is": "bracket", "key": key, "parts": units}

    def _about(self, group: Group) -> list[str]:
        """The lines of a bracket's tooltip: the equation with numbers, the tensors, and the share of the model."""
        copies, elements = self._live(group.copies), self._live(group.elements)
        figures: dict[str, Any] = {"copies": copies, "elements": elements, "all": copies * elements}
        equation = (
            fill("{copies:,} · {elements:,} = {all:,}", **figures)
            if self._factor(group)
            else fill("{filled} = {elements:,}", filled=self._filled(group.elements), **figures)
        )
        shapes = [
            f"{tensor.name} {unbroken(f'[{shape_text(shape_numbers(tensor.shape, self._values))}]')}"
            for tensor in group.tensors[:_LINES]
        ]
        rest = len(group.tensors) - len(shapes)
        return [
            fill("{letters} = {equation}", letters=self._written(group), equation=equation),
            *shapes,
            *([_("and {count:,} more").format(count=rest)] if rest else []),
            fill(_("{share} of the model"), share=percent(copies * elements, self._total)),
        ]

    def _number(self, kind: Component) -> Part:
        """The part for a component in the line of numbers, such as 12 · 7,087,872."""
        sums = [(self._live(group.copies), self._live(group.elements), group) for group in self._parts[kind]]
        written = (
            fill("{copies:,} · {elements:,}", copies=copies, elements=elements)
            if self._factor(group)
            else grouped(elements)
            for copies, elements, group in sums
        )
        number = between(" + ", written)
        total = sum(copies * elements for copies, elements, _group in sums)
        self._tips[kind] = [
            with_colon(_(NAMES[kind]), grouped(total)),
            fill(
                _("{tensors:,} tensors, {share} of the model"),
                tensors=sum(copies * len(group.tensors) for copies, _one, group in sums),
                share=percent(total, self._total),
            ),
        ]
        part: Part = {"is": "part", "key": kind, "label": number, "parts": leaves(number)}
        sign = [] if kind == next(iter(self._parts)) else [_NEXT]
        return {"is": "unit", "color": self._colors[kind], "parts": [*sign, part]}

    def _chip(self, field: str) -> Part:
        letter, number = self._letters[field], grouped(live_size(field, self._values[field]))
        equation = fill("{field} = {number}", field=field, number=number)
        self._tips[f"chip {field}"] = [equation]
        parts = [["letter", letter], ["name", f"{self._names[field]} "], ["value", number]]
        return {
            "is": "chip",
            "key": f"chip {field}",
            "label": fill("{letter}: {equation}", letter=letter, equation=equation),
            "parts": parts,
        }
