"""Judge the rounded count of one layer times the number of layers: 12 × 7M is not what 12 layers have.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.calculations import find
>>> [entry] = find("12 × 7M = 84M", {})
>>> judged = judge_rounded_product(entry, build(BertConfig()))
>>> judged.verdict, int(judged.right_value)
('wrong', 85054464)
"""

import re
from fractions import Fraction

from bertcalc.diagnosis.layer_parts import Counted
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.named_parts import scoped, with_and_without_biases
from bertcalc.proofreading.verdicts import Judged, right_because
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_OF_PRODUCT, _RIGHT_TO, _LEAST = 2, 100, 10**5  # two factors; a hundredth; smaller counts are of no layer
_JOINS = r"[*`)）(（\s]{0,4}(?:(?:=>?|->|→|⇒|≈|~|:|：|,|，|，?共|makes?|gives?|so|is|in total|total)[\s~≈*`]{0,4}){1,3}"
# Between the count of one and that of all: ~7.1M each = 85.2M
_EACH = re.compile(
    r"[*`)）\s]{0,4}(?:(?:parameters?|params|weights)\s)?(?:each|apiece|per (?:layer|block)|每层|每个?)" + _JOINS
)
_LAYERS_OF = re.compile(r"(?:layers|blocks) (?:of|with|at|having)(?: about| roughly)?[\s~≈*`]{0,4}$", re.I)


def judge_rounded_product(entry: WrittenNumber, model: Model) -> Judged | None:
    """The verdict on the number of layers times the rounded count of one; None for other calculations."""
    calculations = [side for side in entry.sides if side.is_calculation]
    if len(calculations) != 1 or not calculations[0].reach or len(calculations[0].operands) != _OF_PRODUCT:
        return None
    [product] = calculations
    values = {operand.value for operand in product.operands}
    if model.config.num_hidden_layers not in values or product.unit not in (None, "parameters"):
        return None
    term = max(values)
    return judge_rounded(term, product.reach / product.value * term, entry.stated, model)


def judge_each(last: WrittenNumber, between: str, entry: WrittenNumber, model: Model) -> Judged | None:
    """The verdict on what all layers have, behind what each has: 12 layers: ~7.1M each = 85.2M."""
    one = last.best
    joins = _EACH.fullmatch(between) or (_LAYERS_OF.search(last.before) and re.fullmatch(_JOINS, between))
    if entry.computes or last.computes or not joins or not one.reach:
        return None
    layers = model.config.num_hidden_layers
    stated = entry.stated
    if abs(layers * one.value - stated.value) > layers * one.reach + max(stated.reach, stated.rough):
        return None
    return judge_rounded(one.value, one.reach, stated, model)


def judge_rounded(term: Fraction, reach: Fraction, stated: ChainSide, model: Model) -> Judged | None:
    """The verdict on a result that multiplies a ``term``, which rounds the count of a layer by up to ``reach``."""
    one, whole = (next((part for part in scoped("layers", model) if part.layers == of), None) for of in ("one", "all"))
    if one is None or whole is None or term < _LEAST:
        return None
    apart = abs(term - one.right)
    if apart > max(reach, Fraction(one.right, _RIGHT_TO)):
        return None
    return _judged(one, whole, term, reach, stated, model)


def _judged(one: Counted, whole: Counted, term: Fraction, reach: Fraction, stated: ChainSide, model: Model) -> Judged:
    if stated.is_calculation or abs(whole.right - stated.value) <= max(stated.reach, stated.rough):
        return Judged("right", counts=part_in_words(whole, model), counted=whole)
    if abs(term - one.right) <= reach:
        judged = right_because(whole, Problem.of(_ROUNDED), model)
        return judged._replace(verdict="conditional") if stated.about else judged
    matrices = [sum(tensor.num_parameters() for tensor in tensors) for tensors in with_and_without_biases(one)[1:]]
    lacks_biases = any(abs(count - term) <= reach for count in matrices)
    cause = Problem.of(_WITHOUT_BIASES) if lacks_biases else Problem.of(_HAS, count=one.right)
    return right_because(whole, cause, model)._replace(verdict="conditional")


_ROUNDED = N_("the count of one layer is rounded before it is multiplied")
_WITHOUT_BIASES = N_("the biases of the layers are left out, in attention and feed-forward")
_HAS = N_("one layer has {count}")
