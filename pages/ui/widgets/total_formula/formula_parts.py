"""The formula of a parameter count as nested parts for the browser, with a tooltip for each term, letter and number.

A part is a leaf, [class, text], or a dictionary with the keys ``is`` (its class) and ``parts`` (the parts inside it).
Optional keys are ``key`` (of its tooltip's lines in ``tips``), ``label`` (its name for a screen reader, which also
makes the part focusable), ``color``, and ``brace`` (the text under it).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from bertcalc.config.fields import field_named
from bertcalc.live.formula_templates import templated
from bertcalc.live.live_formulas import live_reading, live_sizes, with_formula
from bertcalc.model.formula import formula_text
from bertcalc.model.letters import COUNTED, FIELD_OF, filled
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.model.names import norm_kind
from bertcalc.model.terms import Bracket, Term, component_terms
from bertcalc.model.totals import Component, over_layers
from bertcalc.text import Translate
from bertcalc.text.live_numbers import Evaluation, LiveText, between, fill, grouped
from pages.ui.shell.i18n import _, translator, with_colon
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.total_formula.words import brace_of, greek, lines_of

Part = dict[str, Any] | list[str]
Tips = dict[str, list[str]]

_CLASSES = {"letter": "[A-Zα-ω]", "power": "[⁰¹²³⁴-⁹]", "sign": "[+−·]", "digit": "[^A-Zα-ω⁰¹²³⁴-⁹+−· ]+"}
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_TOKEN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _CLASSES.items()))
_PLUS, _NEXT, _EQUALS, _MINUS = ["sign", "+"], ["between", "+"], ["between", "="], ["sign", "−"]
_product = lru_cache(maxsize=1024)(prod)


def total_formula(model: Model, colors: Mapping[Component, str]) -> dict[str, Any]:
    """The data from which the browser draws a model's parameter count: the formula in letters and in numbers."""
    return _total_formula(model, tuple(colors.items()), translator())


@templated
def _total_formula(model: Model, colors: tuple[tuple[Component, str], ...], _language: Translate) -> dict[str, Any]:
    return _TotalBuilder(model, dict(colors)).data()


def leaves(text: str) -> list[Part]:
    """Split a formula in plain text, such as 4H², into leaves: letters, powers, signs and numbers.

    Each live number becomes one leaf of class "digit".
    """
    if isinstance(text, LiveText):
        parts = (leaves(part) if type(part) is str else [["digit", part]] for part in text.parts)
        return [leaf for part in parts for leaf in part]
    return [[str(match.lastgroup), match[0].translate(_DIGITS)] for match in _TOKEN.finditer(text)]


def data_of(
    written: str, total: int, letters: Iterable[Part], numbers: Iterable[Part], chips: Iterable[Part], tips: Tips
) -> dict[str, Any]:
    """Assemble the data from which the browser draws a formula.

    The data are a label for screen readers, the lines with ``letters``, ``numbers`` and ``chips`` (the legend), and the
    tooltips. ``written`` is the formula as plain text.
    """
    whole: Part = {"is": "unit", "parts": [_EQUALS, ["total", grouped(total)]]}
    in_letters: Part = {"is": "sum", "parts": list(letters)}
    in_numbers: Part = {"is": "sum", "parts": [*numbers, whole]}
    return {
        "label": fill("N = {written} = {total:,}", written=written, total=total),
        "lines": [
            {"is": "line", "parts": [{"is": "start", "parts": [["letter", "N"], _EQUALS]}, in_letters]},
            {"is": "line", "parts": [{"is": "start", "parts": [_EQUALS]}, in_numbers]},
            {"is": "chips", "parts": list(chips)},
        ],
        "tips": tips,
    }


def part_formula(model: Model, path: str, count: int) -> dict[str, Any]:
    """The data from which the browser draws the formula of the module at ``path``.

    The formula is in letters and in numbers, and results in ``count``. For a module that is in every
    layer, the number of layers follows. The numbers are live.
    """
    letters, sizes = formula_text(model, path), live_sizes(model.config)
    numbers = filled(letters, sizes)
    layers = sizes["num_hidden_layers"]
    copies: list[Part] = [["copies", _("in each layer, ")], ["letter", "L"], _EQUALS, ["digit", grouped(layers)]]
    in_letters: Part = {"is": "sum", "parts": leaves(letters)}
    in_numbers: Part = {"is": "sum", "parts": [*leaves(numbers), _EQUALS, ["total", grouped(count)]]}
    return {
        "label": fill("{letters} = {numbers} = {count:,}", letters=letters, numbers=numbers, count=count),
        "lines": [
            {"is": "line", "parts": [in_letters, *([{"is": "sum", "parts": copies}] if "*" in path else [])]},
            {"is": "line", "parts": [{"is": "start", "parts": [_EQUALS]}, in_numbers]},
        ],
        "tips": {},
    }


def equation(letters: str, numbers: str, result: str) -> str:
    """The text "letters = numbers = result"; the result is left out if ``numbers`` is already a single number."""
    whole = fill("{letters} = {numbers}", letters=letters, numbers=numbers)
    same = len(leaves(numbers)) == 1
    return whole if same else fill("{whole} = {result}", whole=whole, result=result)


def sum_data(letter: str, terms: Sequence[tuple[str, str, str]], total: int, unit: str) -> dict[str, Any]:
    """The data from which the browser draws a sum, without tooltips.

    Each term is a tuple: its text with letters, its text with numbers, and its color.
    """
    written, numbers = (between(" + ", [term[way] for term in terms]) for way in (0, 1))
    whole: Part = {"is": "unit", "parts": [_EQUALS, ["total", grouped(total)], ["name", f" {unit}"]]}
    starts: list[list[Part]] = [[["letter", letter], _EQUALS], [_EQUALS]]
    sums: list[list[Part]] = [[*_sum(terms, 0)], [*_sum(terms, 1), whole]]
    return {
        "label": fill(
            f"{letter} = {{written}} = {{numbers}} = {{total:,}} {{unit}}",
            written=written,
            numbers=numbers,
            total=total,
            unit=unit,
        ),
        "lines": [
            {"is": "line", "parts": [{"is": "start", "parts": start}, {"is": "sum", "parts": parts}]}
            for start, parts in zip(starts, sums, strict=True)
        ],
        "tips": {},
    }


def _sum(terms: Sequence[tuple[str, str, str]], way: int) -> Iterator[Part]:
    """Yield the unbreakable units of a sum. Each unit begins with its sign, and lines break between units.

    ``way`` is 0 for the texts with letters and 1 for the texts with numbers.
    """
    for at, term in enumerate(terms):
        units: list[list[Part]] = [[_NEXT] if at else []]
        for leaf in leaves(term[way]):
            if leaf in (_PLUS, _MINUS) and len(units[-1]) > (units[-1][:1] == [_NEXT]):
                units.append([])
            units[-1].append(leaf)
        yield from ({"is": "unit", "color": term[2], "parts": unit} for unit in units)


class _TotalBuilder:
    """Builds the parts and tooltips of a model's formula in one pass over its terms."""

    def __init__(self, model: Model, colors: Mapping[Component, str]) -> None:
        self._config = model.config
        self._colors = colors
        self._tensors = {tensor.name: tensor for tensor in over_layers(model)}
        self._sizes = live_sizes(model.config)
        self._present = Evaluation(self._sizes)
        self._norm = norm_kind(model)
        self._terms = component_terms(model)
        self._total = live_reading(Model.num_parameters, model)
        self._written = " + ".join(bracket.text for _component, brackets in self._terms for bracket in brackets)
        self._tips: Tips = {}

    def data(self) -> dict[str, Any]:
        return data_of(self._written, self._total, self._letters(), self._numbers(), self._chips(), self._tips)

    def _letters(self) -> Iterator[Part]:
        """Yield the formula with letters, as one part for each component."""
        for component, brackets in self._terms:
            sign = [] if component == self._terms[0][0] else [_NEXT]
            parts: list[Part] = []
            for bracket in brackets:
                parts += self._bracket(component, bracket, sign)
                sign = [_PLUS]
            yield {"is": "term", "key": component, "color": self._colors[component], "parts": parts}

    def _bracket(self, component: Component, bracket: Bracket, sign: list[list[str]]) -> list[Part]:
        """The terms of a bracket with their signs, after its factor. The factor's tooltip describes the bracket."""
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
        """The part for a term, without the bracket's factor; its tooltip shows the term with the factor."""
        elements, copies = self._elements(term.tensors), self._copies(term.tensors)
        key = term.tensors[0].name  # the key stays the same when tensors are added to the term: 4H² becomes 8H²
        numbers = self._filled(term.text)
        share = _("{share} of the model")
        if self._is_layers(term.tensors):
            share = _("In each layer: {layers:,} · {one:,} = {count:,}, {share} of the model")
        figures: dict[str, Any] = {
            "layers": copies,
            "one": elements,
            "count": elements * copies,
            "share": percent(elements * copies, self._total),
        }
        self._tips[key] = [
            equation(term.text, numbers, grouped(elements)),
            *lines_of(term.tensors, self._shape),
            fill(share, **figures),
        ]
        return {"is": "part", "key": key, "label": inside, "brace": brace_of(term), "parts": leaves(inside)}

    def _about(self, bracket: Bracket) -> list[str]:
        """The lines of a bracket's tooltip: its count, its tensors and its share of the model.

        For layers, the number of tensors in a layer replaces the list of tensors.
        """
        tensors = [tensor for term in bracket.terms for tensor in term.tensors]
        elements, copies = self._elements(tensors), self._copies(tensors)
        share = fill(_("{share} of the model"), share=percent(elements * copies, self._total))
        figures: dict[str, Any] = {"whole": bracket.text, "copies": copies, "one": elements, "all": copies * elements}
        if self._is_layers(tensors):
            text = fill(
                _("Layers: {layers:,}, each with its own {tensors:,} tensors"), layers=copies, tensors=len(tensors)
            )
            return [fill("{whole} = {copies:,} · {one:,} = {all:,}", **figures), text, share]
        numbers = fill("{whole} = {numbers} = {one:,}", numbers=self._filled(bracket.text), **figures)
        return [numbers, *lines_of(tensors, self._shape), share]

    def _numbers(self) -> Iterator[Part]:
        """Yield the formula with numbers, as one part for each component: 12 · 7,087,872 for the layers."""
        for component, brackets in self._terms:
            tensors = [tensor for bracket in brackets for term in bracket.terms for tensor in term.tensors]
            # Group tensors by their number of copies. A component can have tensors in every layer, in every layer
            # except the first, and outside the layers (MPNet's layers share a table).
            groups: dict[Any, list[Tensor]] = {}
            for tensor in sorted(tensors, key=lambda tensor: not self._is_layers([tensor])):
                groups.setdefault(tensor.copies, []).append(tensor)
            sums = [(self._copies(group), self._elements(group), group) for group in groups.values()]
            numbers = tuple(
                fill("{copies:,} · {elements:,}", copies=copies, elements=elements)
                if self._is_layers(group)
                else grouped(elements)
                for copies, elements, group in sums
            )
            number = between(" + ", numbers)
            count = sum(copies * elements for copies, elements, _group in sums)
            written = " + ".join(bracket.text for bracket in brackets)
            tensor_count = sum(copies * len(group) for copies, _elements, group in sums)
            share = percent(count, self._total)
            text = fill(_("{tensors:,} tensors, {share} of the model"), tensors=tensor_count, share=share)
            whole = fill("{written} = {count:,}", written=written, count=count)
            self._tips[component] = [with_colon(_(component), whole), text]
            part: Part = {"is": "part", "key": component, "label": number, "parts": leaves(number)}
            sign = [] if component == self._terms[0][0] else [_NEXT]
            yield {"is": "unit", "color": self._colors[component], "parts": [*sign, part]}

    def _chips(self) -> Iterator[Part]:
        """Yield a legend entry for each letter of the formula, with the letter's value and meaning."""
        own_name = self._config.own_name
        for letter in dict.fromkeys(re.findall("[A-Z]", self._written)):
            field, value = FIELD_OF[letter], self._filled(letter)
            named = fill("{name} {letter} = {value}", name=own_name(field), letter=letter, value=value)
            about = [named, _(field_named(field).meaning)]
            yield self._chip(letter, value, _(COUNTED[field]), about)
        terms = [term for _component, brackets in self._terms for bracket in brackets for term in bracket.terms]
        norms = [tensor for term in terms for tensor in term.tensors if tensor.place.role == "norm"]
        letters = greek(norms)
        # A model can have LayerNorms of several widths: ALBERT's embeddings are narrower than its layers.
        units = between(" / ", tuple(dict.fromkeys(grouped(self._shape(norm)[0]) for norm in norms)))
        count = sum(self._copies([tensor]) for tensor in norms if tensor.name.endswith("weight"))
        if "β" in letters:
            norm, meaning = _("{value} each, LayerNorm"), _("γ (weight) and β (bias) of a LayerNorm")
            does = _("γ scales and β shifts each of the {units} elements of a token's vector.")
        else:
            norm, meaning = _("{value}, LayerNorm"), _("γ (weight): there is no β (bias)")
            does = _("γ scales each of the {units} elements of a token's vector.")
        first, *about = (
            line.replace("LayerNorm", self._norm)
            for line in (norm, meaning, does, _("LayerNorms in the model: {count:,}"))
        )
        about = [fill(line, units=units, count=count) for line in about]
        yield self._chip(letters, units, first, about)

    def _chip(self, letters: str, value: str, message: str, about: list[str]) -> Part:
        """A legend entry: a letter with its value, which replaces {value} in the translated ``message``."""
        self._tips[letters] = about
        before, after = message.split("{value}")
        parts = [["letter", letters], ["name", before], ["value", value], ["name", after]]
        label = fill("{letters} {text}", letters=letters, text=fill(message, value=value))
        return {"is": "chip", "key": letters, "label": label, "parts": parts}

    def _filled(self, text: str) -> str:
        return filled(text, self._sizes)

    def _elements(self, tensors: Iterable[Tensor]) -> int:
        """The number of elements of the tensors; tensors of repeated layers count once."""
        return sum(self._live(prod(self._tensors[tensor.name].shape), _product(tensor.shape)) for tensor in tensors)

    def _copies(self, tensors: Sequence[Tensor]) -> int:
        return self._live(self._tensors[tensors[0].name].copies, tensors[0].copies)

    def _shape(self, tensor: Tensor) -> tuple[int, ...]:
        return tuple(map(self._live, self._tensors[tensor.name].shape, tensor.shape))

    def _live(self, number: int, formula: Any) -> int:
        live_number: int = with_formula(number, formula, self._present)
        return live_number

    def _is_layers(self, tensors: Sequence[Tensor]) -> bool:
        """Whether tensors repeat in each layer. Symbolic copies show this even if the model has only one layer."""
        return tensors[0].copies != 1
