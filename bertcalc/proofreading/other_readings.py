"""Find another reading of a number that was judged wrong, from other words of its sentence or its calculation.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "Two layers of it have 14,175,744 parameters."
>>> [entry] = find(text, {})
>>> str(other_reading(Judged("wrong"), entry, Surroundings(text).of(entry), build(BertConfig())).counts)
'2 times one layer'
"""

import re
from collections.abc import Collection
from fractions import Fraction

from bertcalc.diagnosis.explain import Explanation
from bertcalc.diagnosis.layer_parts import PARTS, TABLES, USUAL, WHOLE_OR_BODY, Counted
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import ends_with_unlisted_model
from bertcalc.proofreading.mentions.written_sizes import in_digits, stated_positions, stated_sizes
from bertcalc.proofreading.named_parts import WIDE, all_parts, count_of_part, meant_alone, names_particular_part
from bertcalc.proofreading.size_slips import is_published
from bertcalc.proofreading.verdicts import LEAST_WITHOUT_WORDS, UNKNOWN, Judged, right_as, right_part
from bertcalc.proofreading.whole_counts import OUTSIDE_EMBEDDINGS, is_total, is_total_of_model
from bertcalc.text import N_
from bertcalc.text.amounts import typed
from bertcalc.text.problem import InputError, Problem

ROUGHEST = 400  # a number needs about three significant digits: 85.1M


def other_reading(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a number by another reading that makes it right or unclear; return None if there is no such reading."""
    side = entry.best
    if judged.counted and judged.counted.part.startswith(("gamma of", "beta of")):
        return UNKNOWN  # words that name one of the two often mean both
    if not side.counts_parameters or side.value < LEAST_WITHOUT_WORDS or side.reach * ROUGHEST > side.value:
        return UNKNOWN if judged.counted and _says_only_biases(judged.counted, context) else None
    if times := _of_some_layers(side, context, model):
        return times
    of_whole = is_total_of_model(judged) or (judged.counted is not None and judged.counted.part in WIDE)
    only_above = not names_particular_part(context._replace(headings=()), model)
    if (of_whole or only_above) and (part := _named_in_sentence(side, context, model)):
        return right_as(part, model)
    if of_whole and not side.reach and not is_total(context._replace(headings=())):
        usual = (part for part in all_parts(model) if part.part in USUAL and part.part not in WHOLE_OR_BODY)
        exact = next((part for part in usual if part.right == side.value and part.layers == "all"), None)
        return right_as(exact, model) if exact and judged.counted and judged.counted.part in WHOLE_OR_BODY else None
    unnamed = not names_particular_part(context._replace(names=context.names[:1], headings=()), model)
    if (entry.computes or unnamed) and (part := _module(judged, side, context, model)):
        return right_part(part, model)
    return None


def _named_in_sentence(side: ChainSide, context: Context, model: Model) -> Counted | None:
    """The part with this count that the sentence names, although the nearest words mean the whole model; else None."""
    scope = context.scope(model.config.num_hidden_layers)
    for part in all_parts(model):
        is_part = part.part in PARTS and part.part not in WHOLE_OR_BODY and part.heads == "all"
        if not is_part or part.layers == "others" or (scope and part.layers != scope):
            continue
        if side.means(part.right) and re.search(PARTS[part.part][1], context.sentence, re.I):
            return part
    return None


_LAYERS = re.compile(
    r"(?<![\w.-])(?P<number>[0-9]{1,3}|\w{2,12}(?:-four)?|[两三四六八十]) ?个?(?:layers|blocks|层)", re.I
)


def _of_some_layers(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge the count of several layers: two layers have 14,175,744 parameters."""
    for name in context.names[:2]:
        number = in_digits(match["number"]) if (match := _LAYERS.search(name)) else 0
        if not 1 < number < model.config.num_hidden_layers:
            continue
        for part in all_parts(model):
            is_named = part.part == "layers" or re.search(PARTS.get(part.part, ("", "(?!)"))[1], name, re.I)
            if part.layers == "one" and is_named and side.means(number * part.right):
                counts = Problem.of(N_("{number} times {part}"), number=number, part=part_in_words(part, model))
                return Judged("right", counts=counts)
    return None


# Modules with weights and biases that texts often calculate separately from the rest.
_MODULES = (
    "query, key and value",
    "output projection of the attention",
    "first matrix of the feed-forward network",
    "second matrix of the feed-forward network",
)


def _module(judged: Judged, side: ChainSide, context: Context, model: Model) -> Counted | None:
    """The module that a number counts with its biases if only a heading names the part around it; otherwise None."""
    if any(meant_alone(name) and name in " ".join(context.before.split()) for name in context.names[:1]):
        return None
    whole = {tensor.name for tensor in judged.counted.tensors} if judged.counted else set()
    fitting = (part for part in all_parts(model) if part.part in _MODULES and part.heads == "all")
    inside = (part for part in fitting if {tensor.name for tensor in part.tensors} < whole)
    return next((part for part in inside if part.layers != "others" and part.right == side.value), None)


_ONLY_BIASES = re.compile(r"\W*(?:bias(?:es)?|偏置)\W*", re.I)


def _says_only_biases(part: Counted, context: Context) -> bool:
    """Whether the words beside a number name biases without naming the part that has them."""
    return part.part.startswith("biases") and any(map(_ONLY_BIASES.fullmatch, context.names[:2]))


# Words for a count without embeddings, whatever the text means by embeddings.
_NON_EMBEDDING = re.compile(
    r"non-?embedding|(?:without|excluding|with) (?:(?:the|all|its|position|word) )*embeddings?\b"
    r"|(?:不含|不包括|除去|非)嵌入",
    re.I,
)
# Words for a vocabulary with added or removed tokens.
RESIZED = re.compile(
    r"\b(?:add(?:ed|ing|s)?|extra|resiz\w*|pad(?:ded|s|ding)?|trimm\w*|extend\w*)\b.{0,40}(?:token|vocab|entr|word)"
    r"|resize_token|add_tokens|(?:token|vocab)\w*.{0,20}\b(?:added|padded|trimmed|extended)|tokeni[sz]er has|新增|扩充"
    r"|扩展词表",
    re.I,
)


def has_added_tokens(judged: Judged, value: Fraction, context: Context, model: Model) -> bool:
    """Whether a wrong count is right with a few more rows of word embeddings, in a text that adds tokens."""
    if judged.counted is not None and judged.counted.part not in (*WHOLE_OR_BODY, *OF_VOCABULARY):
        return False
    rows = (value - (judged.right_value or 0)) / model.config.hidden_size
    return rows.denominator == 1 and 0 < rows <= _MOST_ADDED and context.is_in_text(RESIZED)


_MOST_ADDED = 1000


def is_of_unlisted_model(entry: WrittenNumber, context: Context, model: Model) -> bool:
    """Whether a number's row, or the words before it in its sentence, name a model that bertcalc does not know.

    A ``model`` with sizes from the text is known, whatever its name.
    """
    if not is_published(model):
        return False
    words = next(filter(None, entry.cells), "") if entry.cells else _CLAUSES.split(context.before)[-1]
    return ends_with_unlisted_model(words)


_CLAUSES = re.compile(r"[。！？；;]|[.!?]\s")


def is_of_variant(judged: Judged, context: Context, model: Model) -> bool:
    """Whether the words beside a wrong number say that it counts a variant of the model.

    A variant lacks the embeddings, has a different number of layers, or has added tokens.
    """
    sentence = context.sentence or context.line
    words = " ".join((sentence, context.header, *context.names[:1], *context.headings[:1]))
    if _NON_EMBEDDING.search(words):
        return judged.counts != OUTSIDE_EMBEDDINGS
    is_of_part = judged.counted is not None and judged.counted.part not in (*WHOLE_OR_BODY, *OF_VOCABULARY, "layers")
    has_other_blocks = not count_of_part("gate of the feed-forward network", model)
    has_other_blocks = has_other_blocks and context.is_in_text(_OTHER_BLOCKS)
    if not is_published(model):
        return has_other_blocks  # the model already has the text's own sizes
    if is_of_part:
        return False
    if has_other_blocks:
        return True
    layers = {stated.size for stated in stated_sizes(sentence).values() if stated.field == "num_hidden_layers"}
    vocabulary = model.config.vocab_size
    numbers = (int(number.replace(",", "")) for number in _LONG_NUMBER.findall(sentence))
    resized = any(
        number != vocabulary and number % 1000 and abs(number - vocabulary) * _NEAR_VOCABULARY <= vocabulary
        for number in numbers
    )
    of_layers = judged.counted is None or judged.counted.part in (*WHOLE_OR_BODY, "layers")
    is_own = bool(RESIZED.search(sentence) or OF_OWN.search(sentence))
    return resized or is_own or (of_layers and bool(layers - {model.config.num_hidden_layers}))


# Parts of newer models. In a text that gives them to a model without gates, exact totals are of a variant.
_OTHER_BLOCKS = re.compile(r"swi-?glu|ge-?glu|\brms_?norm", re.I)
_LONG_NUMBER = re.compile(r"(?<![0-9.,])[0-9]{2,3},?[0-9]{3}(?![0-9,.]*[0-9])")
_NEAR_VOCABULARY = 10  # a number within a tenth of the vocabulary size may be another vocabulary size
# Words for a vocabulary of the text's own; its size may then be a multiple of 1,000.
OF_OWN = re.compile(r"\bwe (?:pre)?train|trimm|\bgerman\b|我们训练|裁剪", re.I)
OF_VOCABULARY = (
    *TABLES,
    "embeddings",
    "embeddings without LayerNorm",
    "projection of the embeddings",
    "head",
    "decoder",
)


def unless_explained(
    judged: Judged, explanation: Explanation, entry: WrittenNumber, context: Context, model: Model
) -> Judged:
    """Make the verdict conditional if the text explains the difference, such as with another vocabulary size."""
    size = re.fullmatch("V=([0-9]+)|P=([0-9]+)|[A-Z]=[0-9]+|padded to .*|rounded to .*", explanation[0].miscount)
    chosen = size is not None and (
        int(size[2] or 0) in stated_positions(context.text) or bool(size[1] and _PRINTED.search(context.line))
    )
    vocabulary = [value for value in entry.factors if value % 1000 == 0 and value >= LEAST_WITHOUT_WORDS]
    if size and size[1] and any(_contains(text, Fraction(size[1])) for text in (context.line, *context.headings)):
        vocabulary.append(Fraction(size[1]))
    apart = all("bias" in cause.miscount for cause in explanation) and (
        re.search("bias|偏置", entry.after[:40], re.I) or _contains(context.line, judged.right_value)
    )
    right = judged.right_value or Fraction(0)
    near = abs(entry.best.value - right) <= right * _RULE_OF_THUMB_ERROR
    rounds = entry.computes and len(entry.sides) == 1 and any(_rounds(cell, right) for cell in entry.cells)
    is_exact = not entry.best.is_calculation and not entry.best.reach
    is_rough = not is_exact and (entry.stated.about or (entry.stated.letters and _RULE_OF_THUMB.search(context.line)))
    causes = [cause.miscount for cause in explanation]
    conditions = (
        apart,
        all("bias" in cause for cause in causes)
        and _SPEAKS_OF_WEIGHTS.search(context.sentence.partition(entry.stated.text)[0]),
        near and (is_rough or rounds or _ABOUT.search(entry.before)),
        not is_exact and entry.stated.means(right),
        (entry.stated.letters or entry.best.reach) and all(map(OF_RULE_OF_THUMB.search, causes)),
        context.without_biases and any(map(_IS_BIAS.search, causes)) and all(map(_MAY_LACK.search, causes)),
        model.family.name == "gpt2" and _is_without_positions(judged, explanation),
        any(_OUTPUT_LAYER.search(name) for name in context.names[:3]),
        len(explanation) == 1 and (chosen or (size and vocabulary)),
        bool(_RULE_IN_LETTERS.search(context.before[-_NEAR:])) and all(map(OF_RULE_OF_THUMB.search, causes)),
        entry.computes and all(map(_IS_BIAS.search, causes)) and any(map(_SHAPE.search, entry.cells)),
        _says_why(explanation, context),
        _is_as_in_bert(causes, context),
    )
    return judged._replace(verdict="conditional") if any(conditions) else judged


_SPEAKS_OF_WEIGHTS = re.compile(
    r"[0-9]\s(?:weights|weight elements)\b|[0-9]\s?个?权重|(?:矩阵|matri(?:x|ces))[:：]?\s?[0-9][0-9,. ]*[*×x]", re.I
)  # as in "147,456 weights per head" and "the output matrix 768×768"


def _is_as_in_bert(causes: Collection[str], context: Context) -> bool:
    """Whether a text about ALBERT counts BERT's wide tables or unshared layers for comparison."""
    beside = " ".join((context.line, *context.names[:2], *context.headings[:1]))
    is_table = bool(_OF_FULL_WIDTH & {*causes}) and context.is_in_text(_BERT)
    return bool(is_table or (_NOT_SHARED & {*causes} and _BERT.search(beside) and not is_of_shared_layers(context)))


def is_of_shared_layers(context: Context) -> bool:
    """Whether the sentence of a number says that layers are shared, or names ALBERT and not BERT."""
    names_albert = re.search("albert", context.sentence, re.I) and not _BERT.search(context.sentence)
    return bool(names_albert or (_SHARED.search(context.sentence) and not context.supposes))


_SHARED = re.compile(r"\bshar(?:e|es|ed|ing)\b|共享", re.I)


_BERT = re.compile(r"(?<![A-Za-z])BERT(?![a-z])|(?<![a-z])bert(?:-(?:base|large)\b)|\bBert\b")
_OF_FULL_WIDTH = {"words of H", "embeddings of H", "tables of H", "unshared BERT"}
_NOT_SHARED = {"layers not shared", "attention not shared", "feed-forward not shared"}


def _rounds(cell: str, right: Fraction) -> bool:
    """Whether the cell beside a calculation states the rounded right value: | 3 × 768 × 768 | 1.8M/layer |."""
    amount = re.match(r"[~≈约]?\s?([0-9.,]+\s?(?:M|百万|万|million)?)", cell)
    try:
        return amount is not None and typed(amount[1]).means(int(right))
    except InputError:
        return False


def _is_without_positions(judged: Judged, explanation: Explanation) -> bool:
    """Whether a total leaves out only the position embeddings, as nanoGPT prints it."""
    whole = judged.counted is not None and judged.counted.part in WHOLE_OR_BODY
    return whole and [cause.miscount for cause in explanation] == ["positions"]


# A line of a Keras summary; its model has its own vocabulary.
_PRINTED = re.compile(r"\(None(?:, (?:None|[0-9]+))+\)")
_IS_BIAS = re.compile("bias|beta", re.I)
_SHAPE = re.compile(r"[(（\[]\s?[0-9]{2,6}, ?[0-9]{2,6}\s?[)）\]]")  # the shape of a matrix in the row: (768, 3072)
_MAY_LACK = re.compile("bias|beta|norm|pooler", re.I)  # mistakes of a text that leaves out the biases
# A rule of thumb in letters just before a number: 12d² per block, 7.08M
_RULE_IN_LETTERS = re.compile(r"[0-9]{1,2}\s?[·*×]?\s?(?:[dhHD]|n_embd|d_?model|hidden\w*)\s?(?:²|\^\(?2|\*\*2)")
_NEAR = 40
OF_RULE_OF_THUMB = re.compile("bias|beta|norm", re.I)  # mistakes that leave out the same parts as 12d²
# Words for leaving something out, and the words after them, which may name it.
_NOT_COUNTED = re.compile(
    r"(?:\bwithout|\bnot count|n't count|\bexclud|\bignor|\bomit|\bleav\w* out|\bfreez|\bfrozen"
    r"|冻结|不含|不计|不算|不包括|未计|忽略)(.{0,60})",
    re.I,
)


# Maps a word in a mistake's name to a pattern for the part that the mistake leaves out.
_LEFT_OUT = {
    "position": r"position|\bwpe\b|位置",
    "bias": r"bias|偏置",
    "norm": r"norm|\bln\b|归一",
    "type": r"segment|type|类型|段",
    "pooler": r"pool|池化",
    "embeddings": r"embed|嵌入",
    "words": r"embed|嵌入",
}


def _says_why(explanation: Explanation, context: Context) -> bool:
    """Whether the line itself says that it leaves out all missing parts."""
    left_out = " ".join(match[1] for match in _NOT_COUNTED.finditer(context.line))
    patterns = [
        next(
            (pattern for word, pattern in _LEFT_OUT.items() if word in cause.miscount.lower() and cause.amount < 0),
            r"(?!)",
        )
        for cause in explanation
    ]
    return bool(left_out) and all(re.search(pattern, left_out, re.I) for pattern in patterns)


# Words that call a number approximate; it has to be right to one part in 500.
_ABOUT = re.compile(r"(?:\babout|\bapproximately|\broughly|[~≈]|约|大概|近似)\W{0,3}$", re.I)
_RULE_OF_THUMB_ERROR = Fraction(1, 500)


# An "output layer" may be the pooler, the output of the attention, or a head.
_OUTPUT_LAYER = re.compile(r"^(?!.*(?:att|注意力|ffn|feed|前馈)).*(?:\boutput layer|输出层)", re.I)
_RULE_OF_THUMB = re.compile(r"\b(?:about|approximately|roughly)\b|rule of thumb|[~≈]|约|大概|近似", re.I)


def _contains(line: str, value: Fraction | None) -> bool:
    """Whether a line contains a whole number, with or without separators."""
    return value is not None and bool(re.search(rf"(?<![0-9,])(?:{int(value)}|{int(value):,})(?![0-9])", line))
