"""Judge a single number in a text: what it counts, whether it is right, and the likeliest mistake.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "multi-head attention: 2,359,296"
>>> [entry] = find(text, {})
>>> judged = judge(entry, Surroundings(text).of(entry), build(BertConfig()), sure=True)
>>> print(judged.verdict, judged.reasons[0])
wrong 2,362,368 is right for attention of one layer. The mistake: the biases of the attention are left out.
"""

import re
from fractions import Fraction
from functools import lru_cache

from bertcalc.config import Config
from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.hand_count import LineVerdict
from bertcalc.diagnosis.layer_parts import PARTS, TABLES, USUAL, WHOLE_MODEL, WHOLE_OR_BODY, Counted
from bertcalc.diagnosis.miscounts import counted, total
from bertcalc.diagnosis.number_meanings import COUNTS_OTHER_THINGS
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.diagnosis.typos import is_slip
from bertcalc.families.presets import PRESETS
from bertcalc.model.inventory import inventory, named
from bertcalc.model.model import Model
from bertcalc.proofreading.adapters import judge_adapters, judge_trainable_share
from bertcalc.proofreading.byte_claims import judge_bytes
from bertcalc.proofreading.chains import judge_chain
from bertcalc.proofreading.claims import Verdict, in_words
from bertcalc.proofreading.flop_claims import judge_flops
from bertcalc.proofreading.known_terms import judge_rounded_product
from bertcalc.proofreading.labelled_counts import (
    IS_DIFFERENCE,
    contradicted,
    judge_classifier,
    judge_classifier_product,
    judge_with_classifier,
    near_miss,
)
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import without_models
from bertcalc.proofreading.mentions.written_sizes import SUPPOSED
from bertcalc.proofreading.named_parts import (
    WIDE,
    all_parts,
    count_of_part,
    exchanged,
    meant_by_words,
    names_part_but_whole,
    names_particular_part,
    parts_without_biases,
    scoped,
    with_and_without_biases,
)
from bertcalc.proofreading.other_readings import (
    OF_OWN,
    OF_RULE_OF_THUMB,
    OF_VOCABULARY,
    RESIZED,
    ROUGHEST,
    other_reading,
    unless_explained,
)
from bertcalc.proofreading.shares import judge_share
from bertcalc.proofreading.size_slips import MISTYPED, is_rounded_vocabulary, is_slip_of_vocabulary
from bertcalc.proofreading.torch_modules import judge_module
from bertcalc.proofreading.verdicts import (
    LEAST,
    LEAST_WITHOUT_WORDS,
    NO_CLAIM,
    UNKNOWN,
    Judged,
    right_as,
    right_for,
    should_be,
    wrong_by,
)
from bertcalc.proofreading.whole_counts import OWN_MODEL, is_total, judge_other_total, judge_published, judge_total
from bertcalc.storage.tensorflow_names import pytorch_tensor
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem


def judge(
    entry: WrittenNumber, context: Context, model: Model | None, *, sure: bool, published: Config | None = None
) -> Judged:
    """Judge a number by the words around it.

    ``model`` is None for a model that bertcalc does not support. ``sure`` says whether the text is certainly about the
    model; if not, few counts are judged wrong. ``published`` is the configuration of the published model that the text
    names.
    """
    if not entry.computes and COUNTS_OTHER_THINGS.match(entry.after):
        return NO_CLAIM
    context = _with_tensors(_of_all_layers(entry, context, model))
    arithmetic = judge_chain(entry, context.before)
    if arithmetic is not None and arithmetic.verdict == "wrong":
        return _with_meaning(arithmetic, entry, context, model)
    if model is None:
        judged = UNKNOWN if entry.computes or entry.best.value >= LEAST_WITHOUT_WORDS else NO_CLAIM
    else:
        judged = (
            judge_module(entry, context)
            or _vocabulary(entry, context, model, published if sure else None)
            or _by_unit(entry, context, model, sure)
        )
    if judged.verdict == "wrong" and model:
        judged = other_reading(judged, entry, context, model) or judged
        if _is_of_larger_model(judged, entry, context, model):
            return UNKNOWN
    if arithmetic and arithmetic.verdict == "conditional" and judged.verdict != "wrong":
        if model is not None and len(entry.sides) > _OF_RESULT and entry.sides[-2].value == arithmetic.right_value:
            exact = judge(entry._replace(sides=entry.sides[:-1]), context, model, sure=sure, published=published)
            if exact.verdict == "wrong":  # 108,808,704 ≈ 104M lacks biases, whatever M means
                return exact
        return arithmetic._replace(counts=judged.counts, counted=judged.counted)
    if judged.verdict == "unknown" and arithmetic and arithmetic.verdict == "right" and _is_in_numbers(entry):
        return judged._replace(
            reasons=(Problem.of(N_("The calculation is right, but its meaning was not recognized.")),)
        )
    return judged


_OF_RESULT = 2  # number of sides of a calculation with its result


def _is_of_larger_model(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> bool:
    """Whether a tool printed a number as the total of a larger model that contains ``model``.

    False for a typing error, and for the total of another preset.
    """
    value, right = entry.best.value, model.num_parameters()
    if entry.computes or not _MEASURED.search(context.line) or not is_total(context):
        return False
    is_known = judged.right_value != right or sorted(f"{value}") == sorted(f"{right}") or value in _totals_of_presets()
    return not entry.best.reach and not is_known and value * _LARGER > right * (_LARGER + 1)


@lru_cache(maxsize=1)
def _totals_of_presets() -> frozenset[int]:
    """The parameter counts of all presets, without heads."""
    return frozenset(Model(preset.config).num_parameters() for preset in PRESETS.values())


_LARGER = 100  # a total is larger if it exceeds the model's by more than 1/100
_MEASURED = re.compile(r"\b(?:total|trainable)\s?params\s?[:=]|\bnumber of trainable parameters\s?=", re.I)


def _is_in_numbers(entry: WrittenNumber) -> bool:
    """Whether a chain has a calculation, and at least two of its sides have no letters."""
    return entry.computes and len([side for side in entry.sides if not side.letters]) > 1


def _of_all_layers(entry: WrittenNumber, context: Context, model: Model | None) -> Context:
    """Mark the context as covering all layers if a calculation uses their number and exceeds one layer's count."""
    layers = model.config.num_hidden_layers if model else 0
    operands = {operand.value for side in entry.sides for operand in side.operands}
    if model is None or layers < _LEAST_LAYERS or layers not in operands:
        return context
    of_layer = next((part.right for part in scoped("layers", model) if part.layers == "one"), 0)
    return context._replace(of_all=bool(of_layer) and entry.best.value > of_layer)


_LEAST_LAYERS = 3


def _by_unit(entry: WrittenNumber, context: Context, model: Model, sure: bool) -> Judged:
    side = entry.best
    if entry.stated.unit in ("bytes", "FLOPs", "MACs"):
        judged = (judge_bytes if entry.stated.unit == "bytes" else judge_flops)(entry, context, model)
        return judged if sure or judged.verdict != "wrong" else UNKNOWN
    if side.value < 1 or (side.is_decimal and _SHARE.search(" ".join(context.names))):
        return judge_trainable_share(side, context) or judge_share(side, context, model)
    judged = _count(entry, side, context, model, sure)
    part = judged.counted
    is_but_one = judged.verdict == "right" and part is not None and part.layers == "others"
    return right_as(part, model) if is_but_one and part and not _OF_OTHERS.search(context.line) else judged


# Words for all layers except one. Without them, the count of the other layers is right only under a condition.
_OF_OTHERS = re.compile(
    r"\b(?:others?|remaining|rest|except|but|without|freez\w*|frozen|prun\w*|drop\w*|remov\w*|first|last)\b"
    r"|\blayers?\W{0,2}[0-9]{1,2}\W{1,4}(?:to |through )?[0-9]{1,2}\b|\[1:\]|\[[0-9]{1,2}-[0-9]{1,2}\]"
    r"|其余|其他|其它|剩|除|冻结|剪",
    re.I,
)
_SHARE = re.compile("trainable ?%", re.I)


def _with_meaning(judged: Judged, entry: WrittenNumber, context: Context, model: Model | None) -> Judged:
    """Add what a wrong calculation counts to its verdict.

    If its stated result fits the words around it, that result is the right value.
    """
    if model is None or entry.stated.unit == "bytes":
        return judged
    if is_total(context) and not entry.computes:
        return judged._replace(right_value=Fraction(model.num_parameters()))
    if (product := judge_rounded_product(entry, model)) and product.right_value:
        reasons = (*judged.reasons, *product.reasons)
        return product._replace(verdict="wrong", reasons=reasons)
    stated = entry.stated
    meant = meant_by_words(TypedLine("", stated.text, stated.value, None, stated.reach, stated.rough), context, model)
    value = judged.right_value or Fraction(0)
    factors = {operand.value for side in entry.sides if side.is_calculation for operand in side.operands}
    if stated.value - value in factors and re.search("bias|偏置", context.line, re.I):
        return judged._replace(verdict="conditional")  # the result includes the bias: c_attn has 768 × 2304 = 1,771,776
    computed = meant_by_words(TypedLine("", "", value), context, model)
    if meant and meant.is_right and meant.counted and _is_likelier(meant, computed):
        message = N_("The result is right for {part}, but the calculation is wrong.")
        reason = Problem.of(message, part=part_in_words(meant.counted, model))
        return judged._replace(right_value=Fraction(meant.counted.right), reasons=(*judged.reasons, reason))
    counts = part_in_words(computed.counted, model) if computed and computed.is_right and computed.counted else None
    return judged._replace(counts=counts, counted=computed.counted if computed and computed.is_right else None)


def _is_likelier(meant: LineVerdict, computed: LineVerdict | None) -> bool:
    """Whether the words mean the stated result of a calculation, rather than the computed result."""
    if computed is None or not computed.is_right or not computed.counted:
        return True
    stated = meant.counted.part if meant.counted else ""
    return stated in USUAL and computed.counted.part not in USUAL


def _count(entry: WrittenNumber, side: ChainSide, context: Context, model: Model, sure: bool) -> Judged:
    alone = not entry.computes
    if (alone and _is_year(side)) or (side.is_shape and len(entry.sides) == 1 and not _names_tensor(context)):
        return NO_CLAIM
    if alone and (judged := _half_norm(entry, context, model) or judge_classifier(_typed(side), context, model)):
        return judged
    if (
        not alone
        and sure
        and (judged := judge_classifier_product(entry, context, model) or judge_with_classifier(entry, model))
    ):
        return judged
    if side.value < LEAST and (alone or side.value < 10) and not (entry.computes and _modules(side, context, model)):
        return NO_CLAIM if alone else UNKNOWN._replace(verdict="unknown" if len(entry.sides) > 1 else None)
    if modules := _modules(side, context, model):
        return modules
    if sure and (norm := _norm_as_matrix(entry, context, model)):
        return norm
    is_named = _OF_TENSORS.search(" ".join(context.names[:2]))
    if not alone and len(entry.sides) > 1 and side.value in _sizes_computed(model) and not is_named:
        return Judged("right", counts=Problem.of(N_("a size of the model")))
    if alone and (judged := _size(side, context, model)):
        return judged
    if _DECAY.search(" ".join(context.names)):
        return _decayed(side, model)
    if product := judge_rounded_product(entry, model):
        if product.verdict == "wrong" and _ABOUT.search(context.line):
            return product._replace(verdict="conditional")
        return product if sure or product.verdict == "right" else UNKNOWN
    line = _typed(side)
    verdict = meant_by_words(line, context, model)
    is_of_tensor = (
        alone
        and not side.reach
        and not _CHANGED.search(context.header)
        and any(map(_TENSOR.fullmatch, context.names[:1]))
    )
    if is_of_tensor and verdict and verdict.counted and verdict.counted.right and not verdict.is_right:
        return right_for(verdict.counted, model)
    if verdict and verdict.is_right and verdict.counted:
        if sure and (meant := exchanged(verdict.counted, context, model)):
            return right_for(meant, model)
        return _lacks_biases(entry, context, model) or _right(verdict.counted, side, context, model)
    if whole := judge_total(side, context, model):
        return whole
    if alone and (rounded := _rounded_part(line, context, model)):
        return Judged("right", counts=part_in_words(rounded, model), counted=rounded)
    if alone and (adapters := judge_adapters(side, context, model)):
        return adapters
    if without := _without_biases(line, context, model):
        return without
    if of_head := _of_one_head(side, context, model):
        return Judged("right", counts=part_in_words(of_head, model), counted=of_head)
    part = _any_part(side, model)
    particular = names_particular_part(context, model)
    if sure and part and (meant := exchanged(part, context, model)):
        return right_for(meant, model)
    is_norm = side.value == 2 * model.config.hidden_size and any(map(_NORM.search, context.names[:1]))
    if part and is_norm:
        return Judged("right", counts=part_in_words(part, model), counted=part)
    if part and _is_layer_times_layers(entry, part, model):
        return Judged("right", counts=part_in_words(part, model), counted=part)
    if part and verdict and verdict.counted and _are_biases_of(part, verdict.counted):
        return Judged("right", counts=part_in_words(part, model), counted=part)
    if part and (lacking := _lacks_biases(entry, context, model)):
        return lacking
    if (
        part
        and not particular
        and not (verdict and verdict.explanation and _names_whole(verdict, context, model, part))
    ):
        lacking = _matrices_alone(entry, part, context, model) if sure else None
        if lacking is None and alone and _is_smaller(part, context, model):
            return right_as(part, model)
        return lacking or Judged("right", counts=part_in_words(part, model), counted=part)
    if table := _table_of_rounded_vocabulary(side, context, model):
        return table
    if verdict and verdict.explanation and verdict.counted:
        if _multiplies_vocabulary(side, model) and verdict.counted.part not in (*OF_VOCABULARY, *WHOLE_OR_BODY):
            return UNKNOWN
        if not sure or (alone and side.value < LEAST_WITHOUT_WORDS and not particular):
            return UNKNOWN if sure or not alone else NO_CLAIM
        if not particular and verdict.counted.part not in WIDE:
            return _otherwise(line, side, context, model, alone=alone) or UNKNOWN
        if not verdict.counted.right and verdict.counted.part not in (*TABLES, "pooler"):
            return UNKNOWN
        if IS_DIFFERENCE.search(" ".join((*context.names, *context.headings[:1]))):
            return UNKNOWN
        causes = [cause.miscount for cause in verdict.explanation]
        is_odd = any(map(_GATED.match, causes)) and not context.is_in_text(_GATE)
        if is_odd or (len(causes) >= _TOO_MANY and verdict.counted.part not in WHOLE_OR_BODY):
            return UNKNOWN
        is_plain = len(causes) == 1 or (len(causes) == 2 and all(map(OF_RULE_OF_THUMB.search, causes)))
        too_rough = side.reach * ROUGHEST > side.value or not is_plain
        if (line.reach and too_rough) or (side.letters and side.value < _LEAST_OF_LETTERS):
            if not side.letters and (judged := _otherwise(line, side, context, model, alone=alone)):
                return judged
            return UNKNOWN if len(entry.sides) > 1 or not side.letters else NO_CLAIM
        if elsewhere := judge_published(side):
            return elsewhere
        is_far = any(cause.miscount in _FAR_FETCHED for cause in verdict.explanation)
        of_whole = verdict.counted.part in WHOLE_OR_BODY and part is not None and part.part in USUAL
        is_unlikely = len(verdict.explanation) > _MOST_OF_WHOLE or (part is not None and part.layers == "one")
        of_heading = part is not None and part.part in TABLES and not any(map(_EMBEDDED.search, context.names))
        if part and (is_far or (of_whole and is_unlikely) or of_heading):
            return right_as(part, model)
        of_size = any(_SIZE_TAKEN.match(cause) for cause in causes)
        if context.supposes or _is_shape(entry) or (of_size and side.letters):
            return UNKNOWN
        judged = wrong_by(verdict.counted, verdict.explanation, model)
        judged = unless_explained(judged, verdict.explanation, entry, context, model)
        is_nearly_rounded = abs(verdict.counted.right - side.value) <= _ROUNDED_TOO_FAR * entry.stated.reach
        return judged._replace(verdict="conditional") if is_nearly_rounded else judged
    if part and (alone or len(entry.sides) > 1):
        by_chance = sure and alone and contradicted(line, context, model)
        return by_chance or right_as(part, model)
    if adapters := judge_adapters(side, context, model):
        return adapters
    if sure and (judged := _otherwise(line, side, context, model, alone=alone)):
        return judged
    if side.letters or (alone and side.unit is None and side.value < LEAST_WITHOUT_WORDS):
        return NO_CLAIM
    if entry.computes and len(entry.sides) == 1 and side.value < LEAST_WITHOUT_WORDS:
        return NO_CLAIM
    return UNKNOWN


_GATED, _GATE, _TOO_MANY = re.compile("gated"), re.compile(r"gate|glu\b|门控", re.I), 3


def _are_biases_of(part: Counted, whole: Counted) -> bool:
    """Whether a part has only some of the biases that the words mean, such as query, key and value but not output."""
    names = {tensor.name for tensor in part.tensors}
    both = part.part.startswith("biases of") and whole.part.startswith("biases of")
    return both and part.layers == whole.layers and names < {tensor.name for tensor in whole.tensors}


def _is_layer_times_layers(entry: WrittenNumber, part: Counted, model: Model) -> bool:
    """Whether a calculation multiplies the right count of one layer by the number of layers: 12 * 7,087,872."""
    layers = model.config.num_hidden_layers
    factors = {operand.value for side in entry.sides for operand in side.operands}
    return part.part == "layers" and part.layers == "all" and {layers, Fraction(part.right, layers)} <= factors


def _rounded_part(line: TypedLine, context: Context, model: Model) -> Counted | None:
    """The named part if its count rounds to the number, as in "a pooler with 590,000 parameters"; otherwise None."""
    if line.reach or not line.value or line.value % _THOUSAND or not names_particular_part(context, model):
        return None
    verdict = meant_by_words(line._replace(reach=line.rough), context, model)
    return verdict.counted if verdict and verdict.is_right else None


_THOUSAND = 1000


def _typed(side: ChainSide) -> TypedLine:
    return TypedLine("", side.text, side.value, None, side.reach, max(side.reach, side.rough))


def _sizes_computed(model: Model) -> tuple[int, ...]:
    """The model sizes that texts calculate: 12 × 64 = 768, 4 × 768 = 3072, 768 / 12 = 64."""
    config = model.config
    return config.hidden_size, config.intermediate_size, config.hidden_size // config.num_attention_heads


_OF_EMBEDDINGS = re.compile(r"\bemb|嵌入", re.I)
_NORM = re.compile(r"layer[ -]?norm|\blns?\b|\bln_\w|层归一化", re.I)
_HALF_OF_NORM = re.compile(r"gamma|beta|γ|β|weight|bias|\bsize|\bdim|\beach\b|各|权重|偏置|维|\bH\b|\bh\b", re.I)
_SCALE, _SHIFT = re.compile(r"\bscal|缩放", re.I), re.compile(r"\bshift|平移", re.I)
_COUNTED = re.compile(r"\W{0,3}(?:more |other |additional |个)?(?:param|weights|numbers|参数)", re.I)


def _half_norm(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a LayerNorm count that includes only one of its two vectors (another 768 parameters), or return None."""
    words = " ".join((*context.names[:2], context.sentence))
    named = "LayerNorm of the embeddings" if _OF_EMBEDDINGS.search(words) else "LayerNorm of the attention"
    of_norm = next((part for part in scoped(named, model) if part.right == 2 * entry.best.value), None)
    if of_norm is None or not _COUNTED.match(entry.after) or not _NORM.search(words):
        return None
    one_of_two = bool(_SCALE.search(words)) != bool(_SHIFT.search(words))
    return None if _HALF_OF_NORM.search(words) or one_of_two else right_for(of_norm, model)


def _table_of_rounded_vocabulary(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a count of word embeddings with a rounded vocabulary size (30,000 × 768); return None for others."""
    vocabulary, hidden = model.config.vocab_size, model.config.hidden_size
    factors = sorted(operand.value for operand in side.operands)
    is_named = any(map(_OF_EMBEDDINGS.search, (*context.names, *context.headings[:1])))
    if not side.is_calculation or len(factors) != _OF_MATRIX or factors[0] != hidden or not is_named:
        return None
    rounded = factors[1]
    if not is_rounded_vocabulary(rounded, vocabulary) or side.value != rounded * hidden:
        return None
    reason = Problem.of(_ROUNDED_VOCABULARY, count=vocabulary, written=in_words(rounded))
    words = next((part for part in scoped("word embeddings", model) if part.right == vocabulary * hidden), None)
    return Judged("conditional", Fraction(words.right), part_in_words(words, model), (reason,)) if words else None


def _norm_as_matrix(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a LayerNorm that is counted as a matrix (layernorm = 768 * 768); return None for other numbers."""
    hidden = Fraction(model.config.hidden_size)
    is_matrix = any([operand.value for operand in side.operands][:2] == [hidden] * 2 for side in entry.sides)
    if not is_matrix or entry.best.value not in (hidden**2, hidden**2 + hidden):
        return None
    if not any(map(_NORM_ALONE.fullmatch, context.names[:1])):
        return None
    norms = (norm for norm in scoped("LayerNorm of the attention", model) if norm.layers == "one")
    return next((right_for(norm, model) for norm in norms), None)


_NORM_ALONE = re.compile(r"\W*(?:the )?(?:layer[ _-]?norm(?:ali[sz]ation)?|(?:层)?归一化层?)(?:的?参数量?)?\W*", re.I)


def _multiplies_vocabulary(side: ChainSide, model: Model) -> bool:
    """Whether a calculation contains a vocabulary size; if so, it does not count a part of a layer."""
    least, most = _VOCABULARIES
    sizes = (model.config.intermediate_size, model.config.hidden_size)
    vocabularies = (operand.value for operand in side.operands if least <= operand.value <= most)
    return side.is_calculation and any(value not in sizes for value in vocabularies)


_VOCABULARIES = 20_000, 300_000
_EMBEDDED = re.compile(r"\bemb|嵌入|词向量", re.I)  # without these words, only the heading is about embeddings
_MOST_OF_WHOLE = 2  # maximum number of mistakes in a whole model's count if a part has exactly this count


def _otherwise(line: TypedLine, side: ChainSide, context: Context, model: Model, *, alone: bool) -> Judged | None:
    """Judge a number that clearly differs from the count that the words mean, although no known mistake explains it.

    Return None if there is no verdict.
    """
    if any(IS_DIFFERENCE.search(name) for name in context.names[:2] if name not in context.headings):
        return None
    if _multiplies_vocabulary(side, model) or _is_of_other_sizes(side, model):
        return None
    return (
        _slip(side, context, model)
        or judge_other_total(side, context, model)
        or contradicted(line, context, model)
        or (near_miss(line, context, model) if alone else None)
    )


def _is_of_other_sizes(side: ChainSide, model: Model) -> bool:
    """Whether a calculation contains sizes but none of the model's widths; if so, it is about another model."""
    config = model.config
    widths = {config.hidden_size, config.intermediate_size, getattr(config, "embedding_size", config.hidden_size)}
    widths |= {times * config.hidden_size for times in (2, 3, 4)}
    sizes = {operand.value for operand in side.operands}
    are_sizes = side.is_calculation and not side.letters and max(sizes, default=0) < _LEAST_COUNTED
    return are_sizes and len([size for size in sizes if size > _MOST_OF_FACTOR]) > 1 and not widths & sizes


_LEAST_COUNTED, _MOST_OF_FACTOR = 10**4, 100
_ROUNDED_TOO_FAR = 2  # a number rounded the wrong way is off by at most twice its rounding error: 590K for 590,592
_DECAY = re.compile(r"\bdecay", re.I)


def _decayed(side: ChainSide, model: Model) -> Judged:
    """Judge a number of parameters with weight decay (usually all matrices) or without it (biases and LayerNorms)."""
    matrices = sum(tensor.num_parameters() for tensor in counted(model) if len(tensor.shape) > 1)
    for count, words in (
        (matrices, N_("all matrices")),
        (model.num_parameters() - matrices, N_("all biases and LayerNorms")),
    ):
        if side.value == count:
            return Judged("right", counts=Problem.of(words))
    return UNKNOWN


# A shape, not a count: a matrix of 768 x 64.
_SHAPE = re.compile(r"[0-9]+\*[0-9]+")


def _is_shape(entry: WrittenNumber) -> bool:
    """Whether a number may be only a shape: a product of two sizes without a result."""
    return len(entry.sides) == 1 and bool(_SHAPE.fullmatch(re.sub("[x×·⋅]", "*", entry.best.text)))


_WITHOUT = re.compile(
    r"(?:without|no|not count\w*"
    r"|ignor\w*|omit\w*|neglect\w*|exclud\w*|w/o)\s(?:\w+\s){0,4}?bias|bias(?:es)?\s?=\s?False"
    r"|matri(?:x|ces) (?:alone|only)|weights only|(?:不[考虑算计含包括]{1,3}|忽略|没有|无)(?:\S{0,6}偏置| ?bias)",
    re.I,
)


_WITH_BIASES = re.compile(
    r"\b(?:with|plus|and|including|incl\.?) (?:the |their |all )?bias(?:es)?\b"
    r"|bias(?:es)? included|(?<![不])[加带含]上?偏置",
    re.I,
)
_MATRICES = re.compile(r"\b(?:weights?|kernel|matri(?:x|ces))\b|(?-i:\bW(?:_?[A-Za-z0-9])?\b)(?<!We)|权重|矩阵", re.I)


def _names_whole(verdict: LineVerdict, context: Context, model: Model, part: Counted) -> bool:
    """Whether the words beside a number, not only a heading, mean the layers or the whole model.

    For a common part, "per layer" only means that the part is counted in one layer.
    """
    if verdict.counted and verdict.counted.part == "layers":
        names = (_PER_LAYER.sub(" ", name) if part.part in USUAL else name for name in context.names)
        return any(re.search(PARTS["layers"][1], name, re.I) for name in names)
    scope = context.scope(model.config.num_hidden_layers)
    is_sum = part.layers == "one" and any(map(_IS_SUM.match, context.names[:1]))
    if part.part == "layers" and (part.layers == scope or is_sum):
        return any(re.search(r"total|总|model|模型", name, re.I) for name in context.names)
    return _says_total(context) or bool(scope)


# Words for how many layers are counted, not for which part: parameters per layer.
_PER_LAYER = re.compile(
    r"\b(?:per|(?:in|for|inside|within) (?:each|every|one|a))(?: \w+){0,2}? (?:layer|block)\b|每一?层", re.I
)


_IS_SUM = re.compile(r"\W*(?:sum|together|sub-?total|小计|合计)", re.I)  # labels of a sum of lines


def _says_total(context: Context) -> bool:
    return any(re.search(r"total|总|合计|加起来|sum|model|模型|param|参数", name, re.I) for name in context.names)


def _without_biases(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """Judge a count without biases; return None unless the text says that it leaves them out."""
    says_so = any(_WITHOUT.search(text) for text in (*context.names, *context.headings[:1], context.line))
    of_part = (heading for heading in context.headings[:1] if names_part_but_whole(_MATRICES.sub(" ", heading)))
    near = (*context.names[:2], *of_part)
    says_so = says_so or context.without_biases or any(map(_MATRICES.search, near))
    says_so = says_so or bool(_BIAS_BELOW.match(context.below))
    if not says_so or any(map(_WITH_BIASES.search, context.names)):
        return None
    names = (*context.names, *context.headings[:1])
    for part in parts_without_biases(model, max(LEAST, line.bounds[0]), line.bounds[1]):
        if any(re.search(PARTS[part.part][1], name, re.I) for name in names):
            counts = Problem.of(N_("{part} without biases"), part=part_in_words(part, model))
            return Judged("right", counts=counts, counted=part)
    return None


_BIAS_BELOW = re.compile(
    r"[\s|*•+-]*(?:bias(?:es)?|b_?[0-9oqkv]|偏置)\b(?!\s?=\s?(?:True|False))|这是.{0,12}?(?:weight|权重)", re.I
)  # the next line counts the bias, so this number leaves it out
# Words that say that biases are included: biases included; with its bias.
_INCLUDED = re.compile(
    r"\bbias(?:es)? (?:are )?included|\bincluding (?:the |its |their |all )?bias|含偏置|包括偏置|加上?偏置"
    r"|\bwith (?:a|its|the|their) bias(?:es)?\b(?! of [0-9])",
    re.I,
)


def _lacks_biases(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a count without biases in a sentence that claims to include them; return None for other counts."""
    side = entry.best
    if entry.computes or side.reach or not _INCLUDED.search(context.sentence) or _MATRICES.match(entry.after):
        return None
    for part in _WITH_BIASES_ALONE:
        for meant in scoped(part, model):
            matrices = sum(tensor.num_parameters() for tensor in meant.tensors if len(tensor.shape) == 2)
            is_named = re.search(PARTS[part][1], context.sentence, re.I)
            if is_named and matrices == side.value != meant.right:
                described = part_in_words(meant, model)
                message = N_("{right} is right for {part}: its {count} biases are left out.")
                reason = Problem.of(message, right=meant.right, part=described, count=meant.right - matrices)
                return Judged("wrong", Fraction(meant.right), described, (reason,), meant)
    return None


_ABOUT = re.compile(r"[×x*]\s?[~≈约]\s?[0-9]")  # a factor that the text marks as rounded


def _matrices_alone(entry: WrittenNumber, part: Counted, context: Context, model: Model) -> Judged | None:
    """Judge a sum that leaves out a part's biases; return None if the text mentions biases or counts only matrices."""
    whole = _OF_MATRICES.get(part.part)
    before = context.text[max(0, entry.start - _MOST_BEFORE) : entry.start]
    near = " ".join((*context.names[:2], *context.headings[:1], context.sentence, entry.after))
    if whole is None or not entry.computes or _MATRICES.search(near):
        return None
    if context.is_in_text(_SPEAKS_OF_BIASES) or OWN_MODEL.search(context.line) or context.is_in_text(_OWN_CLASS):
        return None
    meant = next((other for other in scoped(whole, model) if other.layers == part.layers), None)
    if meant is None or meant.right == part.right or abs(meant.right - entry.stated.value) <= entry.stated.reach:
        return None
    message = N_("{right} is right for {part}: its {count} biases are left out.")
    described = part_in_words(meant, model)
    reason = Problem.of(message, right=meant.right, part=described, count=meant.right - part.right)
    verdict: Verdict = "conditional" if _MATRICES.search(before) else "wrong"
    return Judged(verdict, Fraction(meant.right), described, (reason,), meant)


_MOST_BEFORE = 250  # number of characters before a number in which the text may say that it counts matrices
_OF_MATRICES = {"matrices of the attention": "attention", "matrices of the feed-forward network": "feed-forward"}
# A line that mentions biases but no LayerNorm.
_SPEAKS_OF_BIASES = re.compile(r"^(?![^\n]*(?:norm|归一))[^\n]*(?:bias|偏置)", re.I | re.M)
_OWN_CLASS = re.compile(r"\bnn\.(?:Linear|Module)\b")
_WITH_BIASES_ALONE = (
    "query of the attention",
    "key of the attention",
    "value of the attention",
    "output projection of the attention",
    "query, key and value",
    "attention",
    "first matrix of the feed-forward network",
    "second matrix of the feed-forward network",
    "feed-forward",
    "pooler",
)
_LEAST_OF_LETTERS = 10**6  # smallest formula in letters that is judged wrong; letters may mean something else


_SIZE_TAKEN = re.compile("[A-Z]=")  # a mistake that confuses two sizes, which a formula in letters cannot do
# Mistakes that are rejected if another part has exactly the stated count.
_FAR_FETCHED = ("decoder layers", "cross attention added")


def _is_year(side: ChainSide) -> bool:
    return side.unit is None and bool(re.fullmatch("(?:19|20)[0-9]{2}", side.text.strip()))


_CHANGED = re.compile(r"after|prun|trained|saved|之后|剪枝", re.I)  # headers of columns about a changed model
_TENSOR = re.compile(r"\W*(?:\w+\.){2,12}(?:weight|bias)[\W0-9]*(?:(?:has|is|shape|有|为)[\W0-9]*)?")
_VARIABLE = re.compile(r"(?<!\w)\w+(?:/\w+){2,12}/(?:kernel|bias|gamma|beta|\w+_embeddings)\b")


def _with_tensors(context: Context) -> Context:
    """Replace TensorFlow's variable names by PyTorch's, and a column header such as "Decoder" by "Decoder layers"."""
    names = (_VARIABLE.sub(lambda name: pytorch_tensor(name[0], ())[0], name) for name in context.names)
    named = [_STACK.sub(r"\1 layers", name) if name == context.header else name for name in names]
    if (
        not context.after
        and not any(map(_TENSOR.match, named[:1]))
        and (variable := _NAMED_VARIABLE.match(context.line))
    ):
        named = [pytorch_tensor(variable["name"], ())[0], *named]
    return context._replace(names=tuple(named))


# A line that begins with a TensorFlow variable's name: name = bert/pooler/dense/bias:0, shape = (768,) ...
_NAMED_VARIABLE = re.compile(
    r"\W{0,9}name ?= ?(?P<name>\w+(?:/\w+){2,12}/(?:kernel|bias|gamma|beta))(?::0)?\W{1,3}shape ?="
)
_STACK = re.compile(r"^\W*((?:transformer )?(?:de|en)coder|transformer)\W*$", re.I)


def _names_tensor(context: Context) -> bool:
    return bool(context.names and re.search(r"\w\.(?:weight|bias)\b", context.names[0]))


def _modules(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a count of modules, such as 37 for Dropout; return None for other numbers."""
    if side.value.denominator != 1 or side.value > LEAST:
        return None
    for name in context.names[:2]:
        for group in (*inventory(model), named(model, "dense")):
            beside = re.search(rf"(?<![A-Za-z]){re.escape(group.name)}(?![A-Za-z])", name, re.I)
            if beside and group.modules == side.value:
                message = N_("{count} modules: {name}")
                return Judged("right", counts=Problem.of(message, count=group.modules, name=group.name))
    return None


_VOCABULARY_LETTER = re.compile(r"(?<![A-Za-z0-9*×·+/^])\|?V\|?\s?=\s?$")
_VOCABULARY = re.compile(r"vocab|词表|词汇|词典|^V$|-?tokens?$", re.I)


def _vocabulary(entry: WrittenNumber, context: Context, model: Model, published: Config | None) -> Judged | None:
    """Judge a vocabulary size that is mistyped, or rounded as in 30,000; return None for other numbers."""
    side = entry.best
    is_other_model = OWN_MODEL.search(" ".join(context.names[:2])) or OF_OWN.search(context.sentence)
    is_vocabulary = _is_vocabulary(context) or _VOCABULARY_LETTER.search(context.before)
    if entry.computes or published is None or side.unit or is_other_model or not is_vocabulary:
        return None
    right = published.vocab_size
    others = {entry.config.vocab_size for entry in PRESETS.values() if type(entry.config) is type(published)}
    is_own = context.is_in_text(RESIZED) or context.is_in_text(OF_OWN) or SUPPOSED.search(context.sentence)
    if side.value.denominator == 1 and is_slip_of_vocabulary(int(side.value), published) and not is_own:
        values = {"field": "vocab_size", "right": right, "written": in_words(side.value)}
        reason = Problem.of(MISTYPED, **values)
        return Judged("wrong", Fraction(right), Problem.of(N_("the vocabulary")), (reason,))
    if side.value in others or not is_rounded_vocabulary(side.value, right):
        return None
    if not side.text.strip().isdigit() and "," not in side.text:
        return UNKNOWN  # 30k is clearly rounded
    reason = Problem.of(_ROUNDED_VOCABULARY, count=right, written=in_words(side.value))
    return Judged("wrong", Fraction(right), Problem.of(N_("the vocabulary")), (reason,))


_ROUNDED_VOCABULARY = N_("The vocabulary has {count} tokens; {written} is rounded.")


def _is_vocabulary(context: Context) -> bool:
    beside = " ".join(context.names[:2])
    return bool(_VOCABULARY.search(beside)) and not re.search(r"param|参数", beside, re.I)


# Words after a size: 1024 hidden units, 1024 维.
_OF_SIZE = re.compile(r"[- ]?(?:hidden\b|units|dim)|[ 个]?(?:维|隐藏)", re.I)


_NAMED_SIZE = re.compile(
    r"(?:d_?model|n_embd|d_?ff|(?:hidden|intermediate)[ _](?:size|dim\w*))\W{0,3}(?:is|of|为|是)?\W{0,3}$", re.I
)


_OF_TENSORS = re.compile(r"bias|偏置|norm|归一|param|参数", re.I)


def _size(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a size of the model; return None for other numbers. Most sizes on their own are not claims."""
    config = model.config
    sizes = {value for value in vars(config).values() if isinstance(value, int) and not isinstance(value, bool)}
    if side.value == config.vocab_size:
        return Judged("right", counts=Problem.of(N_("the vocabulary"))) if _is_vocabulary(context) else NO_CLAIM
    if side.value in sizes and (side.value < LEAST_WITHOUT_WORDS or _NAMED_SIZE.search(context.before)):
        meant = meant_by_words(TypedLine("", side.text, side.value), context, model)
        beside = _OF_TENSORS.search(" ".join(context.names[:2]))
        is_size = _OF_SIZE.match(context.after)
        return None if meant and meant.is_right and beside and side.value >= LEAST and not is_size else NO_CLAIM
    if _is_vocabulary(context) and side.unit is None and LEAST <= side.value < 10**6:
        return UNKNOWN
    return None


def _right(part: Counted, side: ChainSide, context: Context, model: Model) -> Judged:
    """Judge a right count; it is conditional if it leaves out a part and the words do not say so."""
    described = part_in_words(part, model)
    judged = Judged("right", counts=described, counted=part)
    if norms := _with_norms(part, context, model):
        return right_for(norms, model)
    if part.part in WHOLE_OR_BODY and (whole := _with_pooler(part, context, model)):
        return whole
    if _is_smaller(part, context, model):
        return right_as(part, model)
    missing = count_of_part("LayerNorm of the embeddings", model)
    covers = any(
        side.value - side.reach <= other.right <= side.value + side.reach
        for other in all_parts(model)
        if other.part == "embeddings"
    )
    if (
        part.part == "embeddings without LayerNorm"
        and missing
        and not covers
        and not re.search(r"without|norm|三|three|tables", context.line, re.I)
    ):
        message = N_("The LayerNorm of the embeddings ({count}) is not included.")
        reason = Problem.of(message, count=missing)
        return judged._replace(verdict="conditional", reasons=(reason,))
    if not side.reach and side.value != part.right:
        message = N_("This is rounded: the exact count is {count}.")
        return judged._replace(reasons=(Problem.of(message, count=part.right),))
    return judged


def _with_norms(part: Counted, context: Context, model: Model) -> Counted | None:
    """The part with its LayerNorm if the count's label mentions the LayerNorm (Q/K/V/O/biases/LN); otherwise None."""
    if part.part not in ("attention", "feed-forward") or not any(map(_AND_NORM.search, context.names[:1])):
        return None
    wider = scoped(f"{part.part} with LayerNorm", model)
    return next((other for other in wider if other.layers == part.layers and other.right != part.right), None)


_AND_NORM = re.compile(
    r"(?:bias(?:es)?|[kqvo])(?:\s?[/+,、]\s?|,? (?:and|plus) )(?:LN|layer.?norms?|层归一化)(?!\w)"
    r"(?!.{0,12}(?:separate|单独|另))",
    re.I,
)


def _is_smaller(part: Counted, context: Context, model: Model) -> bool:
    """Whether the words before a number name a larger part than the one that the number counts."""
    name = without_models(next(iter(context.names), ""))
    if part.part == "layers" and part.layers == "one" and model.config.num_hidden_layers > 1:
        return bool(_ENCODER.fullmatch(name))
    if part.layers != "one" or part.part.startswith("layers") or part.part not in PARTS:
        return False
    if _LAYER.fullmatch(name):
        return not re.search(_called(part), context.sentence, re.I)
    is_in_attention = part.part != "attention" and any(tensor.place.block == "attention" for tensor in part.tensors)
    return is_in_attention and bool(_ATTENTION.fullmatch(name))


_HAS = r"\W*(?:has|have|holds?|contains?|takes?|有|的参数量?(?:为|是)?)?\W*"
_ENCODER = re.compile(rf"\W*(?:the )?(?:whole |entire )?(?:encoder(?: (?:of|in))?|的?编码器){_HAS}", re.I)
_LAYER = re.compile(
    rf"\W*(?:(?:one|each|an?|every|per|single) )(?:encoder |transformer )?(?:layer|block)(?: (?:of|in))?{_HAS}"
    rf"|\W*(?:的?每|的?一)个?层{_HAS}",
    re.I,
)
_ATTENTION = re.compile(
    r"\W*(?:the )?(?:multi-head |self-)?attention (?:of|in) (?:one|each|a|every)\W*(?:layer|block)(?: (?:of|in))?"
    rf"{_HAS}",
    re.I,
)


def _with_pooler(part: Counted, context: Context, model: Model) -> Judged | None:
    """Judge a count that includes the pooler although the words around it exclude the pooler."""
    pooler = count_of_part("pooler", model)
    if not pooler or not any(map(_WITHOUT_POOLER.search, context.names[:1])):
        return None
    counts = Problem.of(N_("{architecture} without pooler"), architecture=model.architecture)
    return should_be(Fraction(part.right - pooler), counts)


_WITHOUT_POOLER = re.compile(
    r"\b(?:without|no|excluding) (?:the |a )?pooler|add_pooling_layer=False|(?:不含|没有|不带|去掉)池化", re.I
)


def _slip(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a count with a mistyped digit or two exchanged digits; return None for other numbers."""
    if side.reach or side.value.denominator != 1 or side.value < LEAST or side.is_calculation:
        return None
    for right, part in _counts_of_parts(model):
        is_exchanged = sorted(str(right)) == sorted(str(int(side.value)))
        if not is_slip(int(side.value), right) or (side.value < LEAST_WITHOUT_WORDS and not is_exchanged):
            continue
        names = (*context.names, context.sentence) if is_exchanged else context.names
        if any(re.search(_called(part), name, re.I) for name in names):
            message = N_("{right} is right for {part}: a digit is mistyped.")
            described = part_in_words(part, model)
            reason = Problem.of(message, right=part.right, part=described)
            return Judged("wrong", Fraction(part.right), described, (reason,), part)
    return None


@lru_cache(maxsize=32)
def _counts_of_parts(model: Model) -> list[tuple[int, Counted]]:
    """Return (count, part) pairs for the parts that texts usually count."""
    return [(part.right, part) for part in all_parts(model) if part.part in PARTS and part.heads == "all"]


def _called(part: Counted) -> str:
    """The pattern for a part's names; for the whole model, it includes the names of the model without its head."""
    also = f"|{PARTS['the model without its head'][1]}" if part.part == WHOLE_MODEL else ""
    return PARTS[part.part][1] + also


def _any_part(side: ChainSide, model: Model) -> Counted | None:
    """The part, module, tensor or output head with exactly this count; None if there is none."""
    if side.reach or side.value < LEAST or side.value.denominator > 1:
        return None
    return _matrix_of(side, model) or _by_count(model).get(int(side.value))


def _matrix_of(side: ChainSide, model: Model) -> Counted | None:
    """The matrix with the two sizes that a product multiplies, such as 768 × 3072; None if there is none."""
    sizes = sorted(operand.value for operand in side.operands)
    if not side.is_calculation or len(sizes) != _OF_MATRIX or sizes[0] == sizes[1]:
        return None
    single = (part for part in all_parts(model) if len(part.tensors) == 1 and part.right == side.value)
    return next((part for part in single if sorted(part.tensors[0].shape) == sizes and part.part in PARTS), None)


_OF_MATRIX = 2


def _of_one_head(side: ChainSide, context: Context, model: Model) -> Counted | None:
    """The part of an attention head with this count, with or without biases; None unless the words name a head."""
    if side.reach or not any(map(_HEAD.search, context.names[:2])):
        return None
    parts = (part for part in all_parts(model) if part.heads == "one" and part.layers != "all")
    return next(
        (part for part in parts for tensors in with_and_without_biases(part) if total(tensors) == side.value), None
    )


_HEAD = re.compile(r"\b(?:attention )?head\b|单个头|每个头|一个头|头的|个head|head的", re.I)


@lru_cache(maxsize=32)
def _by_count(model: Model) -> dict[int, Counted]:
    """The first part, module, tensor or output head with each count, keyed by the count."""
    return {part.right: part for part in reversed((*all_parts(model), *_heads(model))) if part.heads == "all"}


@lru_cache(maxsize=32)
def _heads(model: Model) -> tuple[Counted, ...]:
    """The output heads of the family's model classes."""
    heads = []
    for cls in model.family.classes:
        try:
            tensors = counted(model.changed(architecture=cls.name))
        except InputError:
            continue
        head = tuple(tensor for tensor in tensors if tensor.place.component == "head")
        heads.append(Counted(cls.name, head))
    return tuple(heads)
