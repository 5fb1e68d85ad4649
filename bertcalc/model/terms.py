"""The parameter count of each component as terms in letters, without SymPy.

>>> from bertcalc import BertConfig
>>> print(component_texts(Model(BertConfig()))["encoder"])
L (4H² + 2HI + 9H + I)
"""

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model.letters import LETTER_OF, model_in_symbols
from bertcalc.model.model import Model
from bertcalc.model.modules import Component, Tensor
from bertcalc.model.polynomials import LetterPolynomial
from bertcalc.model.totals import COMPONENTS, over_layers
from bertcalc.text.arguments import checked

_POLYNOMIALS = {field: LetterPolynomial.letter(letter) for field, letter in LETTER_OF.items()}


class Term(NamedTuple):
    """All tensors of a component that have the same size, written as the number of tensors times this size.

    In layers, tensors with sizes that differ only by a numeric factor form one term: 4H² is four matrices, or GPT-2's
    H² and 3H².
    """

    text: str  # in mathematical notation: 4H²
    expression: LetterPolynomial  # for one layer if the tensors are in every layer
    tensors: tuple[Tensor, ...]  # with symbols as sizes
    fixed: bool  # whether its coefficient is not a number of tensors but a size that no field sets, such as 2 classes

    @property
    def norm(self) -> bool:
        """Whether all tensors of the term are gammas and betas of LayerNorms."""
        return all(tensor.place.role == "norm" for tensor in self.tensors)


class Bracket(NamedTuple):
    """Terms of a component, and their common factor, if any: H (V + P + T), L (4H² + ...)."""

    factor: str
    terms: tuple[Term, ...]
    inside: tuple[str, ...]  # the terms without the factor: V for HV

    @property
    def text(self) -> str:
        """The bracket in mathematical notation."""
        written = " + ".join(self.inside)
        return f"{self.factor} ({written})" if self.braced else f"{self.factor} {written}".lstrip()

    @property
    def braced(self) -> bool:
        """Whether the terms need parentheses around them."""
        return bool(self.factor) and len(self.terms) > 1


@checked
def component_terms(model: Model) -> tuple[tuple[Component, tuple[Bracket, ...]], ...]:
    """The terms of each component's formula; every tensor of the folded tree is in exactly one term.

    If the first layer differs from the others, the tensors that all layers have are counted together:
    ModernBERT's L (4H² + 3HI + H) + (L − 1) H + H.

    >>> from bertcalc import BertConfig
    >>> for component, brackets in component_terms(Model(BertConfig())):
    ...     print(component, " + ".join(bracket.text for bracket in brackets))
    embeddings H (V + P + T) + 2H
    encoder L (4H² + 2HI + 9H + I)
    pooler H² + H
    """
    return _component_terms(model_in_symbols(model, _POLYNOMIALS))


@lru_cache(maxsize=512)
def _component_terms(model: Model) -> tuple[tuple[Component, tuple[Bracket, ...]], ...]:
    alike: dict[Component, dict[Any, list[Tensor]]] = {}
    for tensor in over_layers(model):
        elements = _elements(tensor)
        if tensor.copies != 1 and elements.free_symbols:
            elements //= elements.coefficient
        alike.setdefault(tensor.place.component, {}).setdefault((tensor.copies, elements), []).append(tensor)
    components: list[tuple[Component, tuple[Bracket, ...]]] = []
    for component in [component for component in COMPONENTS if component in alike]:
        sizes = alike[component]
        terms: dict[Any, list[Term]] = {}
        for (copies, _size), tensors in sorted(sizes.items(), key=lambda size: _in_order(size[1][0])):
            terms.setdefault(copies, []).append(_term(tensors))
        layers_first = sorted(terms.items(), key=lambda item: item[0] == 1)
        brackets = [bracket for copies, group in layers_first for bracket in _brackets(copies, group)]
        components.append((component, tuple(brackets)))
    return tuple(components)


@checked
def component_texts(model: Model) -> dict[Component, str]:
    """The formula of each component as text: the sum of its brackets."""
    return {
        component: " + ".join(bracket.text for bracket in brackets) for component, brackets in component_terms(model)
    }


def _in_order(tensor: Tensor) -> tuple[int, bool]:
    """The sort key for matrices before vectors, and attention before feed-forward, as in 4H² + 2HI + 9H + I."""
    return -len(tensor.shape), tensor.place.block == "feed-forward"


def _elements(tensor: Tensor) -> LetterPolynomial:
    return LetterPolynomial.of(prod(tensor.shape))


def _term(tensors: list[Tensor]) -> Term:
    sizes = list(map(_elements, tensors))
    expression, first = sum(sizes, LetterPolynomial.of(0)), sizes[0]
    fixed = not first.free_symbols or (tensors[0].copies == 1 and first.coefficient != 1)
    return Term(str(expression), expression, tuple(tensors), fixed)


def _brackets(copies: Any, terms: list[Term]) -> list[Bracket]:
    """Group terms into brackets.

    In layers, all terms are in one bracket. Elsewhere, terms with a common letter share a bracket, and each LayerNorm
    and projection has its own.
    """
    if copies != 1:
        layers = str(copies)
        return [Bracket(f"({layers})" if " " in layers else layers, tuple(terms), tuple(term.text for term in terms))]
    apart = [term for term in terms if term.norm or term.tensors[0].place.block == "projection"]
    others = [term for term in terms if term not in apart]
    letter = _common_letter(sum((term.expression for term in others), LetterPolynomial.of(0)))
    if not letter:
        return [Bracket("", tuple(terms), tuple(term.text for term in terms))]
    inside = tuple(str(term.expression // LetterPolynomial.letter(letter)) for term in others)
    return [Bracket(letter, tuple(others), inside), *(Bracket("", (term,), (term.text,)) for term in apart)]


def _common_letter(whole: LetterPolynomial) -> str:
    """The letter to factor out of a sum; "" if there is none.

    For VH + PH, it is H. For VH + H, there is none, because factoring would not shorten the sum. For H² + VH, there is
    none either, because H is squared.
    """
    for letter in EVERY_LETTER.values():
        alone = sum(monomial == ((letter, 1),) and number == 1 for monomial, number in whole.terms.items())
        if len(whole.terms) - alone > 1 and all(dict(monomial).get(letter) == 1 for monomial in whole.terms):
            return letter
    return ""
