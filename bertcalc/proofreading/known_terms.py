"""Judge a calculation by those of its terms that are known counts.

It may multiply the rounded count of one layer by the number of layers (12 × 7M), have one wrong term in a sum of parts
(28,661,760 + 56,687,616), or lack some terms.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> [entry] = find("12 × 7M = 84M", {})
>>> judged = judge_rounded_product(entry, build(BertConfig()))
>>> judged.verdict, int(judged.right_value)
('wrong', 85054464)
>>> [entry] = find("28,661,760 + 56,687,616 = 85,349,376", {})
>>> str(judge_sum_of_parts(entry, build(BertConfig())).reasons[0])  # doctest: +NORMALIZE_WHITESPACE
'85,054,464 is right for all 12 layers. The mistake:
28,366,848 is right for attention with LayerNorm of all 12 layers, not 28,661,760.'
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import product

from bertcalc.config import letters
from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.hand_count import Gap, TermsReport, check
from bertcalc.diagnosis.layer_parts import PARTS, WHOLE_MODEL, Counted
from bertcalc.diagnosis.miscounts import total
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.model.model import Model
from bertcalc.proofreading.chains import gives
from bertcalc.proofreading.described_models import with_sizes
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.named_parts import counts_of, part_in, with_and_without_biases
from bertcalc.proofreading.verdicts import Judged, right_part, wrong_because, wrong_part
from bertcalc.text import N_
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.problem import InputError, Problem

# The number of factors in a product, a tolerance of a hundredth, and the smallest count of a layer.
_OF_PRODUCT, _RIGHT_TO, _LEAST = 2, 100, 10**5
_NEAR, _ALMOST = 20, 2000  # tolerances of a twentieth and of one part in 2,000
_JOINS = r"[*`)）(（\s]{0,4}(?:(?:=>?|->|→|⇒|≈|~|:|：|,|，|，?共|makes?|gives?|so|is|in total|total)[\s~≈*`]{0,4}){1,3}"
# Words between the count of one layer and the count of all layers: ~7.1M each = 85.2M
_EACH = re.compile(
    r"[*`)）\s]{0,4}(?:(?:parameters?|params|weights)\s)?(?:each|apiece|per (?:layer|block)|每层|每个?)" + _JOINS
)
# Words around the count of one layer, if the count of all layers follows: 每层约700万参数，共8400万
_OF_EACH = re.compile(r"(?:每一?个?层|\b(?:each|every) (?:layer|block))[^,，;；。]{0,12}$", re.I)
_TOGETHER = re.compile(
    r"[*`\s]{0,4}(?:parameters?|params|weights|个?参数)?[,，;；]\s?(?:[0-9]{1,3} ?(?:个?层|layers))?"
    r"(?:(?:一?共|总共|总计|合计)[计有是为约]{0,2}|(?:for a|a) total of|in total|altogether)[\s:：约~≈]{0,4}",
    re.I,
)
_LAYERS_OF = re.compile(r"(?:layers|blocks) (?:of|with|at|having)(?: about| roughly)?[\s~≈*`]{0,4}$", re.I)


def judge_rounded_product(entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge the rounded count of one layer times the number of layers; return None for other calculations."""
    calculations = [side for side in entry.sides if side.is_calculation]
    if len(calculations) != 1 or not calculations[0].reach or len(calculations[0].operands) != _OF_PRODUCT:
        return None
    [calculation] = calculations
    if model.config.num_hidden_layers not in calculation.numbers or not calculation.counts_parameters:
        return None
    term = max(calculation.numbers)
    return judge_rounded(term, calculation.reach / calculation.value * term, entry.stated, model)


def judge_each(last: WrittenNumber, between: str, entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a total of all layers after the rounded count of one layer, as in "12 layers: ~7.1M each = 85.2M".

    ``last`` is the count of one layer, and ``between`` is the text between the two numbers. Return None for other
    numbers.
    """
    one = last.best
    joins = (
        _EACH.fullmatch(between)
        or (_LAYERS_OF.search(last.before) and re.fullmatch(_JOINS, between))
        or (_OF_EACH.search(last.before) and _TOGETHER.fullmatch(between))
    )
    if entry.computes or last.computes or not joins or not one.rough:
        return None
    layers = model.config.num_hidden_layers
    stated = entry.stated
    if abs(layers * one.value - stated.value) > layers * one.rough + stated.rough:
        return None
    return judge_rounded(one.value, one.rough, stated, model)


def judge_in_brackets(last: WrittenNumber, between: str, entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a count before a rounded product in brackets with a different result: 85.2M (7.08M × 12).

    ``last`` is the count, ``entry`` is the product, and ``between`` is the text between the two. Return None if the
    count and the product agree.
    """
    product, stated = entry.stated, last.stated
    bracketed = f"{between}(" if product.text.startswith("(") else between
    if last.computes or len(entry.sides) > 1 or not _OPENS.fullmatch(bracketed):
        return None
    judged = judge_rounded_product(entry._replace(sides=(product, stated)), model)
    apart = abs(product.value - stated.value)
    is_near = apart <= product.reach + stated.rough or apart * _NEAR > stated.value
    if judged is None or is_near or not stated.counts_parameters:
        return None
    other = gives(product.value, stated.text)
    is_other = judged.verdict != "right" and judged.right_value
    return judged._replace(verdict="wrong", reasons=(*other.reasons, *judged.reasons)) if is_other else None


_OPENS = re.compile(r"[\s*`]{0,8}[(（][\s~≈]{0,3}")


def judge_rounded(term: Fraction, reach: Fraction, stated: ChainSide, model: Model) -> Judged | None:
    """Judge a total that multiplies ``term``, the count of one layer rounded by at most ``reach``.

    ``stated`` is the total in the text. Return None if ``term`` is not close to the count of one layer.
    """
    one, whole = part_in("layers", model, "one"), part_in("layers", model, "all")
    if one is None or whole is None or term < _LEAST:
        return None
    apart = abs(term - one.right)
    if apart > max(reach, Fraction(one.right, _RIGHT_TO)):
        return None
    return _judged(one, whole, term, reach, stated, model)


def _judged(one: Counted, whole: Counted, term: Fraction, reach: Fraction, stated: ChainSide, model: Model) -> Judged:
    reach_of_all = max(stated.rough, Fraction(whole.right, _ALMOST))  # accepts 24 × 12.6M = 302.4M
    if stated.is_calculation or abs(whole.right - stated.value) <= reach_of_all:
        return right_part(whole, model)
    if abs(term - one.right) <= reach:
        judged = wrong_because(whole, Problem.of(_ROUNDED), model)
        return judged._replace(verdict="conditional") if stated.about else judged
    matrices = [*map(total, with_and_without_biases(one)[1:])]
    lacks_biases = any(abs(count - term) <= reach for count in matrices)
    cause = Problem.of(_WITHOUT_BIASES) if lacks_biases else Problem.of(_HAS, count=one.right)
    return wrong_because(whole, cause, model)._replace(verdict="conditional")


_ROUNDED = N_("the count of one layer is rounded before it is multiplied")
_WITHOUT_BIASES = N_("the biases of attention and feed-forward are left out")
_HAS = N_("one layer has {count}")


# --- sums of parts ---


_WHOLES = (WHOLE_MODEL, "layers", "attention with LayerNorm", "attention", "feed-forward with LayerNorm", "embeddings")
_SUM = re.compile(r"[0-9]{3,12}(?:\+[0-9]{3,12}){1,4}")
_LEAST_TERM = 10_000  # a smaller term may count a different part


def judge_sum_of_parts(entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a sum of parts of a layer or a model with one wrong term; return None for other sums."""
    side = entry.calculation
    if side is None or side.reach or not side.counts_parameters or not _SUM.fullmatch(side.text):
        return None
    terms = tuple(map(int, side.numbers))
    judged = [_with_wrong_term(whole, terms, model) for whole in counts_of(_WHOLES, model) if _is_counted(whole)]
    return next(filter(None, judged), None)


def _is_counted(part: Counted) -> bool:
    return part.heads == "all" and part.layers != "others"


def _with_wrong_term(whole: Counted, terms: Sequence[int], model: Model) -> Judged | None:
    """Judge a sum that should count ``whole`` but has one wrong term."""
    if not abs(sum(terms) - whole.right) * _NEAR <= whole.right:
        return None
    tensors = set(whole.tensors)
    inside = [part for part in counts_of(tuple(PARTS), model) if _is_counted(part) and tensors > set(part.tensors)]
    fitting = [[part for part in inside if term in _counts(part)] for term in terms]
    for index, term in enumerate(terms):
        for parts in product(*(fitting[:index] + fitting[index + 1 :])):
            others = [tensor for part in parts for tensor in part.tensors]
            rest = tensors - set(others)
            part = next((part for part in inside if set(part.tensors) == rest), None)
            is_apart = len(others) == len(set(others))
            is_wrong = part and (_is_wrong(term, part, model) or _lacks_biases(term, part, parts))
            if part and is_apart and term >= _LEAST_TERM and is_wrong:
                words = part_in_words(part, model)
                return wrong_because(whole, Problem.of(_TERM, part=words, count=part.right, written=term), model)
    return None


def _lacks_biases(term: int, part: Counted, others: Sequence[Counted]) -> bool:
    """Whether a term leaves out a part's biases, although ``others``, which have biases, are counted with them."""
    has_biases = any(other.part in ("attention", "feed-forward") for other in others)
    return has_biases and term != part.right and term in _counts(part)


_TERM = N_("{count} is right for {part}, not {written}")


def judge_whole_sum(entry: WrittenNumber, model: Model, *, without_biases: bool = False) -> Judged | None:
    """Judge a sum over a whole model if each term is right, but terms are missing or counted twice.

    ``without_biases`` is True if the text leaves the biases out. Return None for other sums.
    """
    report, words = _on_right_terms(entry, model), next(iter(counts_of(("word embeddings",), model)), None)
    if report is None or words is None or report.typed == report.right:
        return None
    counts_words = any(
        verdict.counted and set(words.tensors) <= set(verdict.counted.tensors) for verdict in report.verdicts
    )
    whole = next(iter(counts_of((WHOLE_MODEL,), model)))
    if not counts_words:
        return None
    if without_biases and report.typed in _without_biases(whole):
        return wrong_part(whole, model)._replace(verdict="conditional")
    return _with_gaps(whole, report.gaps, model)


def _without_biases(whole: Counted) -> set[int]:
    """The counts of a whole model without its biases, with and without its pooler."""
    body = tuple(tensor for tensor in whole.tensors if tensor.place.component != "pooler")
    return {count for tensors in (whole.tensors, body) for count in _counts(whole._replace(tensors=tensors))}


def judge_heads_times(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a product that gives each attention head matrices of the full hidden size; return None for others.

    >>> from bertcalc import BertConfig, build
    >>> from bertcalc.proofreading.mentions.calculations import find
    >>> from bertcalc.proofreading.mentions.contexts import Surroundings
    >>> text = "Each head has query, key and value: 12 * 3 * 768 * 768 = 21,233,664"
    >>> *_numbers, entry = find(text, {})
    >>> print(judge_heads_times(entry, Surroundings(text).of(entry), build(BertConfig())).reasons[0])
    1,771,776 is right for query, key and value of one layer: its matrices are divided among the 12 heads.
    """
    config, calculation = model.config, entry.calculation
    heads, hidden = config.num_attention_heads, config.hidden_size
    if calculation is None or heads == 1 or heads not in calculation.numbers or hidden not in calculation.numbers:
        return None
    for matrices, name in _OF_HEADS.items():
        weights = matrices * hidden**2
        has_one_bias = calculation.value == heads * weights + hidden
        if not has_one_bias and calculation.value not in (heads * weights, heads * (weights + matrices * hidden)):
            continue
        part = part_in(name, model, "one")
        is_ambiguous = heads == config.num_hidden_layers and not has_one_bias
        if part and _is_of_heads(entry, context, is_ambiguous=is_ambiguous):
            return wrong_part(part, model, _SHARED_BY_HEADS, heads=heads)
    return None


def _is_of_heads(entry: WrittenNumber, context: Context, *, is_ambiguous: bool) -> bool:
    """Whether a calculation multiplies by the number of heads; if ``is_ambiguous``, the factor may count layers."""
    if not is_ambiguous:
        return bool(_HEADS.search(context.sentence)) and not _SEVERAL_LAYERS.search(context.sentence)
    around = context.text[max(0, entry.start - _MOST_BEFORE) : entry.start] + context.sentence
    of_one = _EACH_HEAD.search(around) or (_HEADS.search(context.sentence) and _OF_ONE_LAYER.search(context.sentence))
    return bool(of_one) and not (_SEVERAL_LAYERS.search(context.sentence) or _LAYERS_STATED.search(around))


# Number of matrices: the part that has them. They are tried in this order.
_OF_HEADS = {3: "query, key and value", 4: "attention", 1: "output projection of the attention"}
_SHARED_BY_HEADS = N_("{right} is right for {part}: its matrices are divided among the {heads} heads.")
_MOST_BEFORE = 200  # number of characters before a calculation that are searched for heads
_HEADS = re.compile(r"\bheads?\b|(?:个|多|每)头|头(?:的|数|注意力)", re.I)
_EACH_HEAD = re.compile(
    r"\b(?:each|every|per|one) (?:of (?:the|its) )?(?:[0-9]+ )?(?:attention )?heads?\b|每一?个?(?:注意力)?头", re.I
)
_OF_ONE_LAYER = re.compile(r"\b(?:per|each|every|one) (?:\w+ )?(?:layer|block)\b|每一?个?层|一层", re.I)
_LAYERS_STATED = re.compile(r"\bL\s?=|\b[0-9]+ (?:\w+ )?(?:layers|blocks)\b|[0-9]+ ?个?层", re.I)
_SEVERAL_LAYERS = re.compile(
    r"\ball (?:the |[0-9]+ |twelve )?(?:layers|blocks)|\b[0-9]+ (?:\w+ )?(?:layers|blocks)\b|\blayers\b|\bstack\b"
    r"|\b(?:the|whole|entire) (?:encoder|model|network)\b|\b(?:in )?total\b|\boverall\b|\bL\s?="
    r"|[0-9]+ ?个?层|所有层|全部层|整个|总[共计]|合计",
    re.I,
)


def judge_layer_sum(entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a sum over one layer if each term is right, but terms are missing or counted twice.

    Return None for other sums.
    """
    layer = part_in("layers", model, "one")
    norm = {2 * model.config.hidden_size: "LayerNorm of the attention"}  # 2H could also count two of the biases
    report = _on_right_terms(entry, model.changed(with_sizes(model.config, {"num_hidden_layers": 1})), norm)
    if report is None or layer is None or report.typed < layer.right // 2:
        return None
    tensors = (tensor for verdict in report.verdicts if verdict.counted for tensor in verdict.counted.tensors)
    is_inside = all(tensor.place.component == "encoder" for tensor in tensors)
    gaps = [gap for gap in report.gaps if gap.component == "encoder"]
    return _with_gaps(layer, gaps, model) if is_inside else None


def _on_right_terms(entry: WrittenNumber, model: Model, names: Mapping[int, str] = {}) -> TermsReport | None:
    """The report on a sum's terms; None unless each term counts a part of the model.

    ``names`` maps the value of a term to the name of the part that it counts.
    """
    side = entry.calculation
    if side is None or side.reach or not side.counts_parameters or len(side.operands) < _LEAST_OPERANDS:
        return None
    terms = _expanded(side.text)
    if not _FEWEST_TERMS <= len(terms) <= _MOST_TERMS:
        return None
    report = check(model, model.config, [TypedLine(names.get(int(term), ""), f"{term}", term) for term in terms])
    return report if all(verdict.is_right and verdict.is_term for verdict in report.verdicts) else None


def parts_of_terms(entry: WrittenNumber, model: Model) -> list[Counted]:
    """Return the parts that single terms of a calculation count correctly, except terms that fit several parts.

    >>> from bertcalc import BertConfig, build
    >>> from bertcalc.proofreading.mentions.calculations import find
    >>> [entry] = find("(4*(768*768+768) + 2*768*3072 + 4*768) * 12 = 85,017,600", {})
    >>> [part.part for part in parts_of_terms(entry, build(BertConfig()))]
    ['LayerNorms of the layers', 'attention', 'matrices of the feed-forward network']
    """
    side = entry.calculation
    if side is None or side.reach or not side.counts_parameters:
        return []
    every = [part for part in counts_of(tuple(PARTS), model) if part.heads == "all"]
    parts = []
    sizes = letters(model.config)
    for term in _summands(_LETTER.sub(lambda letter: f"{sizes.get(letter[0], letter[0])}", side.text)):
        if term == f"4 * {model.config.hidden_size}":
            fitting = [part for part in every if part.part == "LayerNorms of the layers" and part.layers == "one"]
        else:
            value = _value(term)
            fitting = [part for part in every if part.right == value]
            written = {int(number) for number in _INTEGER.findall(term)}
            fitting = [part for part in fitting if term.isdigit() or _sizes_in(part) <= written]
        tensors = {frozenset(tensor.name for tensor in part.tensors if tensor.num_parameters()) for part in fitting}
        parts += fitting[:1] if len(tensors) == 1 else []
    return parts


def _sizes_in(part: Counted) -> set[int]:
    return {size for tensor in part.tensors for size in tensor.shape}


_INTEGER, _LETTER = re.compile("[0-9]+"), re.compile(r"(?<![A-Za-z_])[A-Z](?![A-Za-z_])")


def _value(term: str) -> Fraction | None:
    """The value of a term; None if it contains a letter without a value."""
    with suppress(InputError):
        return evaluate(term.replace("**", "^"))
    return None


def _summands(text: str) -> Iterator[str]:
    """The terms and factors of a calculation as Python code, from the whole calculation to its large numbers."""
    nodes: list[ast.expr] = []
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        nodes.append(_parsed(text))
    for node in nodes:
        if not isinstance(node, ast.Constant) or (isinstance(node.value, int) and node.value >= _LEAST_TERM):
            yield ast.unparse(node)
        match node:
            case ast.BinOp(left, ast.Add() | ast.Mult(), right):
                nodes += (left, right)


def _with_gaps(part: Counted, gaps: Sequence[Gap], model: Model) -> Judged | None:
    judged = wrong_part(part, model)
    return judged._replace(reasons=(*judged.reasons, *(gap.in_words() for gap in gaps))) if gaps else None


_FEWEST_TERMS, _MOST_TERMS, _LEAST_OPERANDS = 4, 40, 6


def _expanded(text: str) -> list[Fraction]:
    """The terms of a sum, with sums in parentheses multiplied out; empty if the text is not a sum of products.

    >>> [int(term) for term in _expanded("5*7 + (2*3 + 4) * 12")]
    [35, 72, 48]
    """
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError, InputError):
        return list(_terms(_parsed(text)))
    return []


def _parsed(text: str) -> ast.expr:
    return ast.parse(_POWER.sub("**", _PRODUCT.sub("*", text)), mode="eval").body


def _terms(node: ast.expr) -> Iterator[Fraction]:
    match node:
        case ast.BinOp(left, ast.Add(), right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.BinOp(left, ast.Mult(), right):
            yield from (first * second for first in _terms(left) for second in _terms(right))
        case _:
            yield evaluate(ast.unparse(node).replace("**", "^"))


_PRODUCT, _POWER = re.compile("[×·⋅]"), re.compile(r"\^")


def _counts(part: Counted) -> set[int]:
    """The counts of a part with and without biases."""
    return {*map(total, with_and_without_biases(part))}


def _is_wrong(term: int, part: Counted, model: Model) -> bool:
    """Whether a term is close to a part's count but wrong, and not the count of embeddings with other table sizes."""
    has_other_tables = "embeddings" in part.part and (term - part.right) % model.config.hidden_size == 0
    is_near = abs(term - part.right) * _NEAR <= part.right
    return is_near and not has_other_tables and term not in _counts(part)
