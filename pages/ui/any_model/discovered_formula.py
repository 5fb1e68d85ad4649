"""The formula of a discovered class, drawn like the formula on the first page, in colors and with tooltips."""

from collections.abc import Mapping
from typing import Any

from bertcalc.discover.results.components import NAMES, Group, components, count, groups
from bertcalc.discover.results.expressions import letters, names, numbers, shape_numbers, text, value
from bertcalc.discover.results.result import Discovered
from bertcalc.model.totals import Component
from pages.ui.shell.i18n import _, with_colon
from pages.ui.widgets.numbers import percent, unbroken
from pages.ui.widgets.tables import shape_text
from pages.ui.widgets.total_formula.formula_parts import Part, Tips, data_of, leaves

_LINES = 7  # in a tooltip
_NEXT, _PLUS = ["between", "+"], ["sign", "+"]


def formula(discovery: Discovered, values: Mapping[str, int], colors: Mapping[Component, str]) -> dict[str, Any]:
    """Return the formula component's data: the text for screen readers, lines of parts, and tooltips."""
    return _DiscoveredBuilder(discovery, values, colors).data()


class _DiscoveredBuilder:
    def __init__(self, discovery: Discovered, values: Mapping[str, int], colors: Mapping[Component, str]) -> None:
        self._discovery, self._values, self._colors = discovery, values, colors
        self._letters, self._names = letters(discovery), names(discovery)
        self._parts = {kind: groups(tensors, discovery.fields) for kind, tensors in components(discovery).items()}
        self._rest = discovery.parameters - discovery.explained
        self._total = count(discovery.tensors, values) + self._rest
        self._tips: Tips = {}

    def data(self) -> dict[str, Any]:
        written = " + ".join(self._written(group) for parts in self._parts.values() for group in parts)
        rest: list[Part] = self._without() if self._rest else []
        written += " + ?" if rest else ""
        in_letters = [*map(self._of_component, self._parts), *rest[:1]]
        in_numbers = [*map(self._number, self._parts), *rest[1:]]
        return data_of(written, self._total, in_letters, in_numbers, map(self._chip, self._used()), self._tips)

    def _without(self) -> list[Part]:
        """Parameters without a formula: a question mark in the line of letters, and their number in the other."""
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

    def _elements(self, group: Group) -> int:
        return value(group.elements, self._values)

    def _factor(self, group: Group) -> str:
        """The factor before the bracket; "" for a single copy."""
        if group.copies == 1:
            return ""
        factor = text(group.copies, self._letters)
        return f"({factor})" if group.copies.is_Add else factor

    def _terms(self, group: Group) -> list[str]:
        return text(group.elements, self._letters).replace(" − ", " + −").split(" + ")

    def _written(self, group: Group) -> str:
        factor = self._factor(group)
        inside = " + ".join(self._terms(group)).replace("+ −", "− ")
        return f"{factor}({inside})" if self._has_brackets(group) else factor + inside

    def _has_brackets(self, group: Group) -> bool:
        """Whether one copy is in brackets: 3L(4H²), but 3LH."""
        terms = self._terms(group)
        return bool(self._factor(group)) and (len(terms) > 1 or not terms[0][0].isalpha())

    def _of_component(self, kind: Component) -> Part:
        """A component in letters."""
        parts: list[Part] = []
        sign = [] if kind == next(iter(self._parts)) else [_NEXT]
        for group in self._parts[kind]:
            parts.append(self._bracket(kind, group, sign))
            sign = [_PLUS]
        return {"is": "term", "key": kind, "color": self._colors[kind], "parts": parts}

    def _bracket(self, kind: Component, group: Group, sign: list[list[str]]) -> Part:
        key, factor, terms = f"{kind} {group.copies}", self._factor(group), self._terms(group)
        self._tips[key] = self._about(group)
        units: list[Part] = []
        brackets = self._has_brackets(group)
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
        """The tooltip of a bracket: the sum in numbers, the tensors, and the share of the model."""
        copies, elements = value(group.copies, self._values), self._elements(group)
        filled = text(group.elements, numbers(self._values), product=True)
        equation = (
            f"{copies:,} · {elements:,} = {copies * elements:,}" if self._factor(group) else f"{filled} = {elements:,}"
        )
        shapes = [
            f"{tensor.name} {unbroken(f'[{shape_text(shape_numbers(tensor.shape, self._values))}]')}"
            for tensor in group.tensors[:_LINES]
        ]
        rest = len(group.tensors) - len(shapes)
        return [
            f"{self._written(group)} = {equation}",
            *shapes,
            *([_("and {count:,} more").format(count=rest)] if rest else []),
            _("{share} of the model").format(share=percent(copies * elements, self._total)),
        ]

    def _number(self, kind: Component) -> Part:
        """A component in numbers: 12 · 7,087,872."""
        sums = [(value(group.copies, self._values), self._elements(group), group) for group in self._parts[kind]]
        number = " + ".join(
            f"{copies:,} · {elements:,}" if self._factor(group) else f"{elements:,}" for copies, elements, group in sums
        )
        total = sum(copies * elements for copies, elements, _group in sums)
        self._tips[kind] = [
            with_colon(_(NAMES[kind]), f"{total:,}"),
            _("{tensors:,} tensors, {share} of the model").format(
                tensors=sum(copies * len(group.tensors) for copies, _one, group in sums),
                share=percent(total, self._total),
            ),
        ]
        part: Part = {"is": "part", "key": kind, "label": number, "parts": leaves(number)}
        sign = [] if kind == next(iter(self._parts)) else [_NEXT]
        return {"is": "unit", "color": self._colors[kind], "parts": [*sign, part]}

    def _chip(self, field: str) -> Part:
        """A letter with its value and its field name."""
        letter, number = self._letters[field], f"{self._values[field]:,}"
        self._tips[f"chip {field}"] = [f"{field} = {number}"]
        parts = [["letter", letter], ["name", f"{self._names[field]} "], ["value", number]]
        return {"is": "chip", "key": f"chip {field}", "label": f"{letter}: {field} = {number}", "parts": parts}
