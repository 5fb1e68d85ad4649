"""Find a reading that makes a seemingly wrong number right or unclear: a changed size, or the share of another total.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "Doubling the layers of BERT-base to 24, the encoder has 170,108,928 parameters."
>>> entry = find(text, {})[-1]
>>> benign_reading(Judged("wrong"), entry, Surroundings(text).of(entry), build(BertConfig())).verdict
'unknown'
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

from bertcalc.config.fields import is_int
from bertcalc.diagnosis.known_counts import every_count, known_counts
from bertcalc.diagnosis.layer_parts import PARTS
from bertcalc.diagnosis.miscounts import total
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.diagnosis.typos import is_slip
from bertcalc.model.model import Model
from bertcalc.proofreading.chains import is_first_of_ratio
from bertcalc.proofreading.described_models import model_of
from bertcalc.proofreading.labelled_counts import LACKS_BIASES
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import models_named
from bertcalc.proofreading.mentions.written_sizes import PLAUSIBLE, stated_sizes
from bertcalc.proofreading.named_parts import all_parts, count_of_part
from bertcalc.proofreading.verdicts import LEAST_WITHOUT_WORDS, UNKNOWN, Judged, right_part, should_be
from bertcalc.text import N_
from bertcalc.text.amounts import typed
from bertcalc.text.problem import Problem

_SIZE = (
    rf"(?:{PARTS['feed-forward'][1]}|layers?|depth|width|wide|hidden|vocab\w*|positions?|intermediate|embeddings?|tokens?"
    r"|[VHLIP]\b|层数?|隐藏|维度|宽度|词表|前馈|位置|中间)"
)
_VERB = (
    r"(?:wid(?:en|er)|narrow|doubl|halv|tripl|quadrupl|extend|enlarg|shr[iu]nk|increas|decreas|reduc|lower|cut|grow"
    r"|swap|replac|chang|drop|remov|factoriz|resiz)(?:\w{0,4})"
)
# Words for a change of a model's size: doubling the layers, w/o position embeddings, 把词表换成 21,128.
_CHANGES_SIZE = re.compile(
    rf"\b{_VERB}\b[^.。;；]{{0,40}}?{_SIZE}|{_SIZE}[^.。;；]{{0,30}}?\b{_VERB}\b|\bw/o\b"
    rf"|\bwith [^.;]{{0,30}}(?:width|depth)\b[^.;]{{0,30}}\bbut\b"
    rf"|{_SIZE}[^。;；]{{0,24}}?(?:改|换|减|增|扩|缩|降|变|翻)\S{{0,2}}(?:为|成|到|至|倍|半)"
    r"|\bfrom [0-9][0-9,.]*\S? to (?:[0-9]|$)|从\s?[0-9][0-9,.]*\s?[万亿M]?\s?(?:降|减|增|升|变|压)|\bfrom $|从\s?$"
    rf"|(?:扩大|缩小|减少|增加|去掉|替换)[^。;；]{{0,10}}{_SIZE}",
    re.I,
)
_COUNTS_OPERATIONS = re.compile(
    r"[^.。;；]{0,12}?(?:multipl(?:y|ies|ication)|\bMACs?\b|mult-?adds?|operations?\b|\bFLOPs?\b|次?乘加|次乘法|次运算)",
    re.I,
)
_OF_LORA = re.compile(r"\bLoRA\b|\br ?= ?[0-9]|\brank\b|秩", re.I)  # a doubled rank changes no size of the model
_SEVERAL_MODELS = re.compile(
    r"\b(?:two|three|four|both|several)\b[^.。;；]{0,20}?(?:model|bert|cop(?:y|ies))|[两三四几][个份]", re.I
)
_WITH_BIAS = re.compile(r"\b(?:also|plus|and)\b[^.。;；]{0,20}\bbias", re.I)
_NUMBER = re.compile(
    r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3}){1,3}(?![0-9,]*[0-9])|(?<![0-9.,])[0-9]{1,4}(?:\.[0-9]{1,3})?\s?(?:M|million|亿|万)\b"
)
_MOST_NUMBERS, _LEAST_SHARE = 8, Fraction(1, 10_000)


def benign_reading(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Return the verdict on a wrong number in another reading of its sentence; None if no other reading fits."""
    sentence = context.sentence or context.line
    if entry.stated.is_percent:
        return _share_of_other_whole(judged, entry, context, model)
    if (entry.computes and _COUNTS_OPERATIONS.match(entry.after)) or _is_part_of_sum(entry, context):
        return UNKNOWN
    if entry.stated.unit == "bytes":
        is_of_several = _SEVERAL_MODELS.search(sentence) and entry.stated.value > (judged.right_value or 0)
        is_operand = entry.computes and any(_rounds(number, judged.right_value) for number in entry.numbers)
        return UNKNOWN if is_of_several or is_operand else None
    if entry.computes and (part := _divided_by_layers(entry, model)):
        return part
    lacks_biases = any(reason.message == LACKS_BIASES for reason in judged.reasons)
    crossing = None if lacks_biases else _other_count(entry, context, model)
    if other := crossing or _left_by_part(judged, entry, context, model):
        return other
    changes_size = any(map(_CHANGES_SIZE.search, (sentence, context.before)))
    if not entry.computes and changes_size and not _OF_LORA.search(sentence):
        return UNKNOWN
    if (
        _is_rounded_beside_exact(judged, entry, context)
        or _is_of_stated_width(entry, context, model)
        or _differs_as_stated(entry, model)
        or _is_of_compared(entry, sentence)
        or _is_named_by_other(entry, context)
    ):
        return UNKNOWN
    if judged.right_value and _WITH_BIAS.search(entry.after[:_NEAR]):
        return judged._replace(verdict="conditional")
    return None


_NEAR = 90


def _is_part_of_sum(entry: WrittenNumber, context: Context) -> bool:
    """Whether a number is a running total, or a sum that goes on in the next line."""
    is_running = any(map(_SO_FAR.fullmatch, (*context.names[:1], *entry.cells[:2])))
    return is_running or (entry.computes and bool(_SUM_GOES_ON.match(context.text, entry.end)))


_SO_FAR = re.compile(
    r"\W*(?:(?:total |sum )?(?:so|thus) far|running (?:total|sum)|(?:合计)?至此|到(?:目前|这里|此)为止)\W*", re.I
)
_SUM_GOES_ON = re.compile(r"\s?(?:\([^()\n]{0,30}\))?[ \t]*(?:\+[ \t]*\n\s*|\n[ \t]*\+[ \t]?)[(\d][^\n=]{0,200}=")


def _other_count(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a count that crosses the parts: all biases, all matrices, one head, or embeddings without projection.

    Return None for other numbers.
    """
    if entry.best.reach or not entry.best.counts_parameters:
        return None
    words = " ".join((context.sentence or context.line, context.header, *context.names, *context.headings[:1]))
    for message, pattern, counts in _CROSSING:
        if entry.best.value in counts(model) and re.search(pattern, words, re.I):
            return Judged("right", counts=Problem.of(message))
    return None


@lru_cache(maxsize=32)
def _counts_of_biases(model: Model) -> frozenset[int]:
    """The biases in one layer, in all layers, and in the model, with the beta of each LayerNorm."""
    biases = [tensor for tensor in model.tensors() if tensor.name.endswith("bias")]
    inside = [tensor for tensor in biases if tensor.place.component == "encoder"]
    return frozenset((total(biases), total(inside), total(inside) // model.config.num_hidden_layers))


@lru_cache(maxsize=32)
def _counts_by_dimensions(model: Model) -> frozenset[int]:
    """The entries of all matrices of the model, and those of all its vectors."""
    matrices = total(tensor for tensor in model.tensors() if len(tensor.shape) > 1)
    return frozenset((matrices, model.num_parameters() - matrices))


def _counts_of_head(model: Model) -> frozenset[int]:
    """The query, key or value of one head, or all three, with and without their biases."""
    config = model.config
    width = config.hidden_size // config.num_attention_heads
    return frozenset(times * width * rows for times in (1, 3) for rows in (config.hidden_size, config.hidden_size + 1))


def _counts_of_tables(model: Model) -> frozenset[int]:
    """The embeddings without their projection to the hidden size, if they have one."""
    projection = count_of_part("projection of the embeddings", model)
    return frozenset((count_of_part("embeddings", model) - projection,)) if projection else frozenset()


# Counts that no part has: what they count, words that mention it, and the counts.
_CROSSING: Sequence[tuple[str, str, Callable[[Model], frozenset[int]]]] = (
    (N_("all biases, including those of the LayerNorms"), r"bias|偏置", _counts_of_biases),
    (N_("all matrices, or all vectors"), r"bias|vector|matri|2-?D|decay|偏置|矩阵|向量", _counts_by_dimensions),
    (N_("a matrix of one head"), r"(?<![a-z])heads?(?![a-z])|头", _counts_of_head),
    (N_("the embeddings without their projection"), r"\bemb|嵌入", _counts_of_tables),
)


def _rounds(operand: Fraction, right: Fraction | None) -> bool:
    """Whether an operand is the right size in bytes, MB or GB, to about three digits: 219 in 2 × 219 MB."""
    return right is not None and any(abs(operand * unit - right) * 200 <= right for unit in (1, 10**6, 10**9))


def _left_by_part(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge the rest of the model in a table column "Trainable" or "Remaining", whose row may name the other part.

    Return None if the number is neither the sum of the embeddings, some layers and the pooler, nor near the rest.
    """
    part, value = judged.counted, entry.stated.value
    if part is None or not _IS_LEFT.fullmatch(context.header):
        return None
    if value in _sums_of_modules(model):
        return UNKNOWN
    left = model.num_parameters() - part.right
    if abs(left - value) * _ROUNDS > left or abs(part.right - value) * _ROUNDS <= part.right:
        return None
    described = Problem.of(N_("all parameters other than those of {part}"), part=part_in_words(part, model))
    return should_be(left, described)


@lru_cache(maxsize=32)
def _sums_of_modules(model: Model) -> frozenset[int]:
    """The parameters of the embeddings, any number of layers and the pooler, each alone and in every combination."""
    layer, tables = count_of_part("layers", model, "one"), count_of_part("embeddings", model)
    pooler, layers = count_of_part("pooler", model), range(model.config.num_hidden_layers + 1)
    return frozenset(
        number * layer + first + last for number in layers for first in (0, tables) for last in (0, pooler)
    )


_IS_LEFT = re.compile(
    r"\W*(?:number of |# ?)?(?:trainable|trained|remaining|left|kept|rest|unfrozen|可训练|剩余|剩下|保留)的?"
    r"\s?(?:param(?:eter)?s|weights|参数量?)?\W*",
    re.I,
)


def _is_rounded_beside_exact(judged: Judged, entry: WrittenNumber, context: Context) -> bool:
    """Whether a number only rounds the right one, which its line states, too: about 30,000 tokens (exactly 30,522)."""
    value, right = entry.stated.value, judged.right_value
    if entry.computes or right is None or right.denominator != 1 or value % _THOUSAND or right % _THOUSAND == 0:
        return False
    if abs(value - right) * _ROUNDS > right:
        return False
    exact = re.compile(rf"(?<![\d,.*×·]){right.numerator:,}(?![\d,]*\d|\s?[×*·])")
    is_stated = exact.search(context.line) or exact.search(re.sub(r"(?<=\d)(?=(?:\d{3})+(?!\d))", ",", context.line))
    return bool(is_stated)


_THOUSAND, _ROUNDS = 1000, 50


def _is_named_by_other(entry: WrittenNumber, context: Context) -> bool:
    """Whether the words before a number may name another number, the last in its sum or ratio."""
    first, stated = entry.sides[0], entry.stated
    is_sum = len(entry.sides) > 1 and not entry.computes and first.unit == stated.unit and not first.about
    is_sum = is_sum and abs(first.value - stated.value) > first.rough + stated.rough
    return is_sum or is_first_of_ratio(context.text[entry.end : entry.end + _NEAR])


def _is_of_stated_width(entry: WrittenNumber, context: Context, model: Model) -> bool:
    """Whether a number is about another hidden size, which is beside it or, for a calculation, anywhere in the text."""
    if entry.best.value < LEAST_WITHOUT_WORDS:
        return False  # a size itself
    beside = (context.sentence, entry.after[:_NEAR].partition("\n")[0], *context.headings[:1])
    widths = {width for text in beside for width in _widths(text)} | (_widths(context.text) & {*entry.factors})
    right = model.config.hidden_size
    if any(width != right and not is_slip(width, right) for width in widths):
        return True
    of_model = {size for size in model.config.shared().values() if is_int(size)}
    former = {int(match["before"] or match["after"]) for match in _FORMER_WIDTH.finditer(context.text)}
    return bool((former - of_model) & {*entry.factors})


# The width of the model that a smaller one is compared with: 隐藏层维度：384（原768的1/2）, hidden size: 768 -> 384
_FORMER_WIDTH = re.compile(
    r"(?:hidden|width|隐藏?层|宽度)[^\n]{0,24}?"
    r"(?:(?:原来?的?|\bfrom|\boriginally|instead of) ?(?P<after>[0-9]{3,4})(?![\d,.])"
    r"|(?<![\d,.])(?P<before>[0-9]{3,4}) ?(?:before\b|originally|→|->))",
    re.I,
)


@lru_cache(maxsize=32)
def _widths(text: str) -> frozenset[int]:
    """The hidden sizes that a text states."""
    low, high = PLAUSIBLE["hidden_size"]
    stated = (stated.size for stated in stated_sizes(text).values() if stated.field == "hidden_size")
    return frozenset(width for width in stated if low <= width <= high)


def _differs_as_stated(entry: WrittenNumber, model: Model) -> bool:
    """Whether a number or a cell beside it is a difference from a right count: 109,485,312 | +3,072."""
    cells = [cell.strip(" *`") for cell in entry.cells]
    if cells and _DIFFERENCE.fullmatch(cells[entry.column]):
        return True  # a difference itself
    differences = [int(cell.replace(",", "").replace("−", "-")) for cell in cells if _DIFFERENCE.fullmatch(cell)]
    counts = {count.total for count in every_count(model.config, known_counts)} if differences else set()
    return any(difference and entry.best.value - difference in counts for difference in differences)


_DIFFERENCE = re.compile(r"[+−-][0-9]{1,3}(?:,[0-9]{3})*|[+−-][0-9]{1,12}")


def _is_of_compared(entry: WrittenNumber, sentence: str) -> bool:
    """Whether a number is the total of one of the models that its sentence compares: 124.6M vs. 109.5M."""
    if not _COMPARES.search(sentence) or not entry.best.counts_parameters:
        return False
    totals = (model_of(name).num_parameters() for name in models_named(sentence))
    return any(map(entry.best.means, totals))


_COMPARES = re.compile(
    r"\bvs\b|versus|\b(?:more|fewer|less|larger|smaller) (?:\w+ )?than\b|difference|\bas\b|[对比]", re.I
)


def _share_of_other_whole(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a percentage as the ratio of two numbers in its sentence, or as a share of a total that the sentence names.

    Return None if neither reading fits.
    """
    stated, part = entry.stated, judged.counted
    if stated.value < _LEAST_SHARE:
        return None
    if stated.value == 1:
        return UNKNOWN  # the whole of which the text gives shares
    sentence = context.sentence or context.line
    values = _numbers_in(sentence)
    if _is_ratio(stated, values):
        reason = Problem.of(N_("This is the ratio of two numbers in this sentence."))
        return Judged("right", counts=reason)
    of_all = [typed(match["whole"]).value for match in _ALL.finditer(context.text, 0, entry.start)][-1:]
    if _is_ratio(stated, [*values, *of_all]) or _is_ratio(stated, _numbers_in(context.line)):
        return UNKNOWN  # a share of a number in another sentence, perhaps the number called 100 %
    names_sublayer = any(map(_SUBLAYER.search, context.names[:2]))
    if entry.cells or not (part or names_sublayer):
        return None
    named = [name for name, words in _WHOLES.items() if re.search(words, sentence, re.I)]
    wholes = [*values, *(Fraction(count_of_part(name, model)) for name in named)]
    counts = [part.right] if part else []
    if names_sublayer:
        names = (*_IN_LAYERS, *_IN_EMBEDDINGS) if "layers" in named else _IN_EMBEDDINGS
        counts += [count_of_part(name, model) for name in names]
    if any(whole and stated.may_mean(count, whole) for count in counts for whole in wholes):
        return Judged("conditional", counts=part_in_words(part, model) if part else None)
    return None


def _numbers_in(text: str) -> list[Fraction]:
    return [typed(match[0]).value for match in _NUMBER.finditer(text)][:_MOST_NUMBERS]


def _is_ratio(share: ChainSide, values: Sequence[Fraction]) -> bool:
    """Whether a percentage is the ratio of two of the values."""
    return any(whole and share.may_mean(part / whole) for part, whole in permutations(values, 2))


_ALL = re.compile(rf"(?P<whole>{_NUMBER.pattern})[^\n\d]{{0,12}}[(（|]\s?100\s?%", re.I)
_SUBLAYER = re.compile(
    rf"{PARTS['attention'][1]}|{PARTS['feed-forward'][1]}|embeddings?\b|\bwords?\b|\bpositions?\b|位置", re.I
)
_IN_LAYERS = ("attention", "feed-forward", "attention with LayerNorm", "feed-forward with LayerNorm")
_IN_EMBEDDINGS = ("word embeddings", "position embeddings")
_WHOLES = {"layers": r"encoder|layers|编码器|层", "embeddings": r"\b(?:within|among) (?:the |its )?embeddings?\b"}


def _divided_by_layers(entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a count divided by the number of layers: 85,054,464 / 12 = 7,087,872; return None for other numbers."""
    layers = model.config.num_hidden_layers
    quotient = re.compile(rf"[0-9,]+\s?/\s?{layers}")
    divides = any(quotient.fullmatch(side.text.strip()) for side in entry.sides if side.is_calculation)
    if not divides or entry.best.reach or entry.best.value < LEAST_WITHOUT_WORDS:
        return None
    parts = (part for part in all_parts(model) if part.layers == "one" and part.heads == "all")
    part = next((part for part in parts if part.right == entry.best.value), None)
    return right_part(part, model) if part else None
