"""The formula of a discovered class, drawn like the formula of the first page: in colors, with tips."""

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

_LINES = 7  # of a tip
_NEXT, _PLUS = ["between", "+"], ["sign", "+"]


def formula(found: Discovered, values: Mapping[str, int], colors: Mapping[Component, str]) -> dict[str, Any]:
    """The data of the component: the text for screen readers, lines of parts, and the tips."""
    return _DiscoveredBuilder(found, values, colors).data()


class _DiscoveredBuilder:
    def __init__(self, found: Discovered, values: Mapping[str, int], colors: Mapping[Component, str]) -> None:
        self._found, self._values, self._colors = found, values, colors
        self._letters, self._names = letters(found), names(found)
        self._parts = {kind: groups(tensors, found.fields) for kind, tensors in components(found).items()}
        self._rest = found.parameters - found.explained
        self._total = count(found.tensors, values) + self._rest
        self._tips: Tips = {}

    def data(self) -> dict[str, Any]:
        written = " + ".join(self._written(group) for parts in self._parts.values() for group in parts)
        rest: list[Part] = self._without() if self._rest else []
        written += " + ?" if rest else ""
        in_letters = [*map(self._of_component, self._parts), *rest[:1]]
        in_numbers = [*map(self._number, self._parts), *rest[1:]]
        return data_of(written, self._total, in_letters, in_numbers, map(self._chip, self._used()), self._tips)

    def _without(self) -> list[Part]:
        """The parameters without a formula: a question mark in one line, their number in the other."""
        self._tips["rest"] = [
            with_colon(_("without a formula"), f"{self._rest:,}"),
            *list(self._found.unexplained)[:_LINES],
        ]
        return [
            {"is": "unit", "parts": [_NEXT, {"is": "part", "key": "rest", "label": shown, "parts": leaves(shown)}]}
            for shown in ("?", f"{self._rest:,}")
        ]

    def _used(self) -> list[str]:
        shown = [each for parts in self._parts.values() for group in parts for each in (group.copies, group.one)]
        used = {name.name for each in shown for name in each.free_symbols}
        return [field for field in self._found.fields if field in used]

    def _one(self, group: Group) -> int:
        return value(group.one, self._values)

    def _factor(self, group: Group) -> str:
        """The factor before the bracket; "" if there is one copy."""
        if group.copies == 1:
            return ""
        factor = text(group.copies, self._letters)
        return f"({factor})" if group.copies.is_Add else factor

    def _terms(self, group: Group) -> list[str]:
        return text(group.one, self._letters).replace(" − ", " + −").split(" + ")

    def _written(self, group: Group) -> str:
        factor = self._factor(group)
        inside = " + ".join(self._terms(group)).replace("+ −", "− ")
        return f"{factor}({inside})" if self._has_brackets(group) else factor + inside

    def _has_brackets(self, group: Group) -> bool:
        """Whether one copy has a bracket: 3L(4H²), but 3LH."""
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
        for at, term in enumerate(terms):
            before: list[Part] = [*sign] if not at else [["sign", "−" if term.startswith("−") else "+"]]
            plain = term.removeprefix("−") if at else term
            if factor and not at:
                label = self._written(group)
                before += [{"is": "part", "key": key, "label": label, "parts": leaves(factor)}]
                before += [["open", "("]] if brackets else []
            part: dict[str, Any] = {"is": "part", "key": key, "parts": leaves(plain)}
            if not factor and not at:
                part["label"] = self._written(group)
            after = [["close", ")"]] if brackets and at == len(terms) - 1 else []
            units.append({"is": "unit", "parts": [*before, part, *after]})
        return {"is": "bracket", "key": key, "parts": units}

    def _about(self, group: Group) -> list[str]:
        """The tip of a bracket: the sum with numbers, the tensors, the share."""
        copies, one = value(group.copies, self._values), self._one(group)
        filled = text(group.one, numbers(self._values), product=True)
        shown = f"{copies:,} · {one:,} = {copies * one:,}" if self._factor(group) else f"{filled} = {one:,}"
        shapes = [
            f"{each.name} {unbroken(f'[{shape_text(shape_numbers(each.shape, self._values))}]')}"
            for each in group.tensors[:_LINES]
        ]
        more = len(group.tensors) - len(shapes)
        return [
            f"{self._written(group)} = {shown}",
            *shapes,
            *([_("and {count:,} more").format(count=more)] if more else []),
            _("{share} of the model").format(share=percent(copies * one, self._total)),
        ]

    def _number(self, kind: Component) -> Part:
        """A component in numbers: 12 · 7,087,872."""
        sums = [(value(group.copies, self._values), self._one(group), group) for group in self._parts[kind]]
        number = " + ".join(
            f"{copies:,} · {one:,}" if self._factor(group) else f"{one:,}" for copies, one, group in sums
        )
        total = sum(copies * one for copies, one, _group in sums)
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
        """A letter with its value and Hugging Face's name."""
        letter, shown = self._letters[field], f"{self._values[field]:,}"
        self._tips[f"chip {field}"] = [f"{field} = {shown}"]
        parts = [["letter", letter], ["name", f"{self._names[field]} "], ["value", shown]]
        return {"is": "chip", "key": f"chip {field}", "label": f"{letter}: {field} = {shown}", "parts": parts}
