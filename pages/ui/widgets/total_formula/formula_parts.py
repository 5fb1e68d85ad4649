"""The total's formula as parts to draw, with a tip for each term, letter and number.

A part is a leaf, [class, text], or a dictionary: ``is`` (its class), ``parts`` inside it, and optionally ``key``, under
which ``tips`` has the lines of its tip, ``label``, its name for a screen reader (it also makes the part focusable),
``color``, and ``brace``, the text under it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bertcalc.config.fields import field_named
from bertcalc.model.formula import FIELD_OF, Bracket, Term, component_terms, filled
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.model.names import norm_kind
from bertcalc.model.totals import Component, over_layers
from pages.ui.shell.i18n import _, with_colon
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.total_formula.words import COUNTED, brace_of, greek, lines_of

Part = dict[str, Any] | list[str]
Tips = dict[str, list[str]]

_CLASSES = {"letter": "[A-Zα-ω]", "power": "[⁰¹²³⁴-⁹]", "sign": "[+−·]", "digit": "[^A-Zα-ω⁰¹²³⁴-⁹+−· ]+"}
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_TOKEN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _CLASSES.items()))
_PLUS, _NEXT, _EQUALS = ["sign", "+"], ["between", "+"], ["between", "="]


def total_formula(model: Model, colors: Mapping[Component, str]) -> dict[str, Any]:
    """The data of the component for a model whose program is known."""
    return _TotalBuilder(model, colors).data()


def leaves(text: str) -> list[Part]:
    """The letters, digits and signs of a formula in plain text, such as 4H²."""
    return [[str(match.lastgroup), match[0].translate(_DIGITS)] for match in _TOKEN.finditer(text)]


def data_of(
    written: str, total: int, letters: Iterable[Part], numbers: Iterable[Part], chips: Iterable[Part], tips: Tips
) -> dict[str, Any]:
    """The data of the component: the text for a screen reader, lines of parts, and the tips."""
    whole: Part = {"is": "unit", "parts": [_EQUALS, ["total", f"{total:,}"]]}
    in_letters: Part = {"is": "sum", "parts": list(letters)}
    in_numbers: Part = {"is": "sum", "parts": [*numbers, whole]}
    return {
        "label": f"N = {written} = {total:,}",
        "lines": [
            {"is": "line", "parts": [{"is": "start", "parts": [["letter", "N"], _EQUALS]}, in_letters]},
            {"is": "line", "parts": [{"is": "start", "parts": [_EQUALS]}, in_numbers]},
            {"is": "chips", "parts": list(chips)},
        ],
        "tips": tips,
    }


class _TotalBuilder:
    """Makes the parts and tips of the formula in one pass over its terms."""

    def __init__(self, model: Model, colors: Mapping[Component, str]) -> None:
        self._config = model.config
        self._colors = colors
        self._tensors = {tensor.name: tensor for tensor in over_layers(model)}
        self._total = sum(tensor.num_parameters() for tensor in self._tensors.values())
        self._sizes = {name: tensor._replace(copies=1).num_parameters() for name, tensor in self._tensors.items()}
        self._norm = norm_kind(model)
        self._terms = component_terms(model)
        self._written = " + ".join(bracket.text for _component, brackets in self._terms for bracket in brackets)
        self._tips: Tips = {}

    def data(self) -> dict[str, Any]:
        return data_of(self._written, self._total, self._letters(), self._numbers(), self._chips(), self._tips)

    def _letters(self) -> Iterator[Part]:
        """The formula with letters: a part for each component."""
        for component, brackets in self._terms:
            sign = [] if component == self._terms[0][0] else [_NEXT]
            parts: list[Part] = []
            for bracket in brackets:
                parts += self._bracket(component, bracket, sign)
                sign = [_PLUS]
            yield {"is": "term", "key": component, "color": self._colors[component], "parts": parts}

    def _bracket(self, component: Component, bracket: Bracket, sign: list[list[str]]) -> list[Part]:
        """The terms of a bracket with their signs; the factor before it has a tip about the whole bracket."""
        units: list[Part] = []
        key = f"{component} {bracket.factor}"
        for term, inside in zip(bracket.terms, bracket.inside, strict=True):
            before: list[Part] = [*sign]
            if bracket.factor and not units:
                factor = {"is": "part", "key": key, "label": bracket.text, "parts": leaves(bracket.factor)}
                before += [factor, ["open", "("]] if bracket.braced else [factor]
            after = [["close", ")"]] if bracket.braced and term == bracket.terms[-1] else []
            units.append({"is": "unit", "parts": [*before, self._term(term, inside), *after]})
            sign = [_PLUS]
        if not bracket.factor:
            return units
        self._tips[key] = self._about(bracket)
        return [{"is": "bracket", "key": key, "parts": units}]

    def _term(self, term: Term, inside: str) -> Part:
        """A term as it is written in its bracket; its tip has the whole term."""
        elements, copies = self._elements(term.tensors), self._copies(term.tensors)
        key = term.tensors[0].name  # stays the same if there are more tensors: 8H² for 4H²
        text = f"{term.text} = {filled(term.text, self._config)}"
        share = _("{share} of the model")
        if self._is_layers(term.tensors):
            share = _("In each layer: {layers:,} · {one:,} = {count:,}, {share} of the model")
        figures = {
            "layers": copies,
            "one": elements,
            "count": elements * copies,
            "share": percent(elements * copies, self._total),
        }
        self._tips[key] = [
            text if text.endswith(f" {elements:,}") else f"{text} = {elements:,}",
            *lines_of(term.tensors, self._tensors),
            share.format(**figures),
        ]
        return {"is": "part", "key": key, "label": inside, "brace": brace_of(term), "parts": leaves(inside)}

    def _about(self, bracket: Bracket) -> list[str]:
        """The tip of a bracket: its tensors, or the layers."""
        tensors = [tensor for term in bracket.terms for tensor in term.tensors]
        elements, copies = self._elements(tensors), self._copies(tensors)
        share = _("{share} of the model").format(share=percent(elements * copies, self._total))
        if self._is_layers(tensors):
            layers = _("Layers: {layers:,}, each with its own {tensors:,} tensors")
            text = layers.format(layers=copies, tensors=len(tensors))
            return [f"{bracket.text} = {copies:,} · {elements:,} = {copies * elements:,}", text, share]
        numbers = f"{bracket.text} = {filled(bracket.text, self._config)} = {elements:,}"
        return [numbers, *lines_of(tensors, self._tensors), share]

    def _numbers(self) -> Iterator[Part]:
        """The formula with the number of each component: 12 · 7,087,872 for the layers."""
        for component, brackets in self._terms:
            tensors = [tensor for bracket in brackets for term in bracket.terms for tensor in term.tensors]
            # Tensors of each layer, of each but the first, and of all layers together: MPNet's layers share a table.
            groups: dict[Any, list[Tensor]] = {}
            for tensor in sorted(tensors, key=lambda tensor: not self._is_layers([tensor])):
                groups.setdefault(tensor.copies, []).append(tensor)
            sums = [(self._copies(group), self._elements(group), group) for group in groups.values()]
            number = " + ".join(
                f"{copies:,} · {elements:,}" if self._is_layers(group) else f"{elements:,}"
                for copies, elements, group in sums
            )
            count = sum(copies * elements for copies, elements, _group in sums)
            written = " + ".join(bracket.text for bracket in brackets)
            text = _("{tensors:,} tensors, {share} of the model")
            text = text.format(
                tensors=sum(copies * len(group) for copies, _elements, group in sums), share=percent(count, self._total)
            )
            self._tips[component] = [with_colon(_(component), f"{written} = {count:,}"), text]
            part: Part = {"is": "part", "key": component, "label": number, "parts": leaves(number)}
            sign = [] if component == self._terms[0][0] else [_NEXT]
            yield {"is": "unit", "color": self._colors[component], "parts": [*sign, part]}

    def _chips(self) -> Iterator[Part]:
        """Each letter of the formula with its value and its name."""
        own_name = self._config.own_name
        for letter in dict.fromkeys(re.findall("[A-Z]", self._written)):
            field, value = FIELD_OF[letter], filled(letter, self._config)
            about = [f"{own_name(field)} {letter} = {value}", _(field_named(field).meaning)]
            yield self._chip(letter, value, _(COUNTED[field]), about)
        norms = [tensor for tensor in self._tensors.values() if tensor.place.role == "norm"]
        letters = greek(norms)
        # Several widths: ALBERT's embeddings are narrower than its layers.
        units = " / ".join(dict.fromkeys(f"{tensor.shape[0]:,}" for tensor in norms))
        count = sum(tensor.copies for tensor in norms if tensor.name.endswith("weight"))
        if "β" in letters:
            norm, meaning = _("{value} each, LayerNorm"), _("γ (weight) and β (bias) of a LayerNorm")
            does = _("γ scales and β shifts each of the {units} elements of a token's vector.")
        else:
            norm, meaning = _("{value}, LayerNorm"), _("γ (weight): there is no β (bias)")
            does = _("γ scales each of the {units} elements of a token's vector.")
        lines = (norm, meaning, does.format(units=units), _("LayerNorms in the model: {count:,}").format(count=count))
        first, *about = (line.replace("LayerNorm", self._norm) for line in lines)
        yield self._chip(letters, units, first, about)

    def _chip(self, letters: str, value: str, message: str, about: list[str]) -> Part:
        """A letter with its value; ``message`` is in the language of the session, with a placeholder {value}."""
        self._tips[letters] = about
        before, after = message.split("{value}")
        parts = [["letter", letters], ["name", before], ["value", value], ["name", after]]
        return {"is": "chip", "key": letters, "label": f"{letters} {message.format(value=value)}", "parts": parts}

    def _elements(self, tensors: Iterable[Tensor]) -> int:
        """The elements of tensors, in one layer if they are in every layer."""
        return sum(self._sizes[tensor.name] for tensor in tensors)

    def _copies(self, tensors: Sequence[Tensor]) -> int:
        return self._tensors[tensors[0].name].copies

    def _is_layers(self, tensors: Sequence[Tensor]) -> bool:
        """Whether tensors are in every layer; their symbolic copies say so even if there is only one layer."""
        return tensors[0].copies != 1
