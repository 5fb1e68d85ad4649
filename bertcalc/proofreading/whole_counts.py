"""Judge a number that counts a whole model: by its classes and conventions, as published, or with mistakes.

>>> from bertcalc.proofreading.mentions.contexts import Context
>>> is_total(Context(("BERT-base has", "parameters"), (), "")), is_total(Context(("The query has",), (), ""))
(True, False)
"""

import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import (
    CLAIMS,
    KnownCount,
    every_count,
    known_counts,
    other_labels,
    published_counts,
)
from bertcalc.diagnosis.layer_parts import PARTS, WHOLE_MODEL
from bertcalc.diagnosis.part_words import known_in_words
from bertcalc.diagnosis.relatives import RELATIVES, SIZE_NAMES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.described_models import model_of, preset_with
from bertcalc.proofreading.mentions.calculations import ChainSide
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import (
    is_model_name,
    model_name_pattern,
    models_named,
    names_model,
    preset_at,
)
from bertcalc.proofreading.mentions.program import OF_PROGRAM
from bertcalc.proofreading.named_parts import count_of_part, counts_of, names_part_but_whole
from bertcalc.proofreading.verdicts import UNKNOWN, Judged, instead, is_far, should_be
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.problem import Problem

_TOTAL = re.compile(r"param|参数|total|总|model|模型|合计|加起来|共|bert", re.I)


def judge_total(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a total that is right for the model, for another class or convention, or as published.

    Return None for any other number.
    """
    if side.value < 10**6:
        return None
    if leaves_out_embeddings(context):
        return _without_embeddings(side, model)
    named_total = any(_TOTAL.search(name) for name in (*context.names, *context.headings[:1], context.line))
    named_total = named_total or is_name(context)
    right = model.num_parameters()
    is_close = side.may_mean(right) or 0 <= right - side.value < 2 * side.reach  # rounded or truncated
    if named_total and side.reach and is_close and not _BODY.search(context.line):
        count = KnownCount(model, right)
        return Judged(
            "right", Fraction(right), Problem.of(N_("This is the count of {known}."), known=known_in_words(count))
        )
    for count in _likeliest_first(model):
        if side.reach and count.model.config.tie_word_embeddings != model.config.tie_word_embeddings:
            continue
        if side.means(count.total) and (named_total or not side.reach):
            if meant := _class_beside(context, count, model):
                return total_is(meant)
            message = N_("This is the count of {known}.")
            reason = Problem.of(message, known=known_in_words(count))
            is_named = count.model.architecture in context.line or count == KnownCount(model, model.num_parameters())
            if is_named:
                return Judged("right", Fraction(count.total), reason)
            return Judged("conditional", Fraction(count.total), reason, (reason,))
    if not side.reach and (labelled := _with_labels(int(side.value), context, model)):
        return labelled
    says_so = named_total and context.is_in_text(_WITHOUT_QKV)
    if (says_so or context.is_in_text(_OWN_CLASS)) and (judged := _without_qkv_biases(side, model, says_so=says_so)):
        return judged
    for claim in CLAIMS:
        if named_total and claim.is_meant(side.typed) and PRESETS[claim.preset].config == model.config:
            message = N_("This number is published ({source}), but the model has {count} parameters.")
            reason = Problem.of(message, source=claim.source, count=model.num_parameters())
            return Judged("conditional", Fraction(model.num_parameters()), None, (reason,))
    return None


OUTSIDE_EMBEDDINGS = Problem.of(N_("the parameters outside the embeddings"))
_WITHOUT_EMBEDDINGS = re.compile(
    r"(?:\bnon-?embedding\b|\bparam\w* (?:without|excluding|outside|except) (?:the )?embed|非(?:嵌入|词嵌入|embedding))"
    r"(?:[^\d,.;，。；\s]|\s++){0,30}$",
    re.I,
)


_EXCLUDED = (
    r"(?:(?:without|excluding|except(?: for)?|ignoring|outside(?: of)?|not (?:counting|including)) (?:the |its |all )?"
    r"(?:\w+ )?embed|(?:不含|不算|不计|不包括|除去|去掉|除了)(?:词|所有)?(?:嵌入|embed))"
)
_EXCLUDED_BEFORE = re.compile(
    _EXCLUDED + r"\w{0,8}(?:[^\w.;。；]|\b(?:it|this|that|BERT\S{0,10}|has|is|are)\b){0,8}$", re.I
)
_EXCLUDED_BEHIND = re.compile(r"[^\d.;。；]{0,40}?" + _EXCLUDED, re.I)


def leaves_out_embeddings(context: Context) -> bool:
    """Whether the words beside a number exclude the embeddings: 85.6M non-embedding parameters."""
    before = _WITHOUT_EMBEDDINGS.search(context.before) or _EXCLUDED_BEFORE.search(context.before)
    return bool(before or _NON_EMBEDDING.match(context.after) or _EXCLUDED_BEHIND.match(context.after))


_NON_EMBEDDING = re.compile(
    r"\s?(?:(?:parameters|weights)[ (]{1,2})?non-?embedding\b|\s?个?非(?:词嵌入|嵌入|embedding)", re.I
)


def _without_embeddings(side: ChainSide, model: Model) -> Judged | None:
    """Judge the count of a model without its embeddings, or without some of their tables; None if it is far off."""
    total, lacking = model.num_parameters(), count_of_part("embeddings", model)
    tables = [
        count_of_part(name, model) for name in ("word embeddings", "position embeddings", "token type embeddings")
    ]
    without_positions = tables[1:2] if model.family.name == "gpt2" else []  # as nanoGPT counts
    of_layers = total - count_of_part("layers", model, "all")
    for without in (lacking, *accumulate(tables), *without_positions, of_layers):
        if side.means(total - without):
            return Judged("right", counts=OUTSIDE_EMBEDDINGS)
    right = total - lacking
    is_close = abs(right - side.value) * _PARTS <= right
    return should_be(right, OUTSIDE_EMBEDDINGS) if is_close and not side.is_calculation else None


def _with_labels(value: int, context: Context, model: Model) -> Judged | None:
    """Judge the exact count of a class with another number of labels; right only if the text states that number."""
    counts = [*other_labels(model.config, value)]
    if not counts:
        return None
    stated = {int(labels["labels"] or labels["classes"]) for labels in STATED_LABELS.finditer(context.text)}
    by_words = [
        count for count in counts if count.model.architecture in context.line or count.model.config.num_labels in stated
    ]
    count = next(iter((*by_words, *counts)))
    reason = Problem.of(N_("This is the count of {known}."), known=known_in_words(count))
    if by_words:
        return Judged("right", Fraction(value), reason)
    return Judged("conditional", Fraction(value), reason, (reason,))


STATED_LABELS = re.compile(
    r"(?<![\w.,])(?:(?P<labels>[0-9]{1,4})[ -]?(?:个)?(?:labels|classes|tags|way\b|分?类|标签)"
    r"|num_labels ?= ?(?P<classes>[0-9]{1,4}))",
    re.I,
)


def _without_qkv_biases(side: ChainSide, model: Model, *, says_so: bool) -> Judged | None:
    """Judge a total without the biases of query, key and value, in a text about a model without them.

    If the text does not say so, it must be the exact count of a model whose output matrix is separate.
    """
    biases = count_of_part("biases of query, key and value", model)
    for count in _likeliest_first(model) if biases else ():
        is_separate = count.model.config.tie_word_embeddings < model.config.tie_word_embeddings and not side.reach
        if (says_so or is_separate) and side.means(count.total - biases):
            message = N_("This is the count of {known}, without the biases of query, key and value.")
            reason = Problem.of(message, known=known_in_words(count))
            return Judged("conditional", Fraction(count.total - biases), reason, (reason,))
    return None


_WITHOUT_QKV = re.compile(
    r"qkv_?bias\W{0,4}(?:=|:|False|is)|(?:\bno|without|omits?) (?:the |any )?bias(?:es)? (?:of|in|for|on)"
    r" (?:the )?(?:q\b|qkv|query)"
    r"|(?:\bno|without) (?:qkv|q/k/v|query[\w, /-]{0,20}value) bias|(?:没有|无|不含|不带)\s?qkv\s?(?:的)?偏置",
    re.I,
)
# A program of the text's own counts the parameters of its own class.
_OWN_CLASS = re.compile(r"\.numel\(\)|\bGPTModel\b|\bGPT_CONFIG|\bout_head\b|\btok_emb\b|\bnn\.Module\b")
_BODY = re.compile(r"(?<![A-Za-z])[A-Z]\w{2,20}For[A-Z]|without|backbone|不含|骨干", re.I)


@lru_cache(maxsize=32)
def _likeliest_first(model: Model) -> tuple[KnownCount, ...]:
    """The known counts of a model; among classes with the same count, the most commonly meant class comes first."""
    return tuple(sorted(every_count(model.config, known_counts), key=_is_unusual))


def _is_unusual(count: KnownCount) -> bool:
    return count.model.architecture.endswith(_UNUSUAL)


_UNUSUAL = ("ForNextSentencePrediction", "ForMultipleChoice")


def judge_other_total(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a named model's parameter count if it is wrong, or only close to a known count; otherwise return None."""
    if (behind := _CLASS_BEHIND.match(context.after)) and (named := _of_class(behind["name"], model)):
        is_near = abs(named.num_parameters() - side.value) * _PARTS <= named.num_parameters()
        return total_is(named) if is_near and not side.may_mean(named.num_parameters()) else None
    is_of_text = any(map(_TOTAL_OF_TEXT.match, context.names[:1]))
    beside = context.names[0] if is_of_text else " ".join(context.names[:2])
    plain = re.search(r"\b(?:has|have|contains?|with|is|are)\b|有|为|达|总|共|total", beside, re.I)
    about = (re.search(r"param|参数|total|总", beside, re.I) and plain) or is_name(context)
    names_one = any(len(models_named(heading)) == 1 for heading in context.headings[:1])
    about = about or (names_one and any(map(COUNT_OF_ALL.fullmatch, context.names[:1])))
    in_brackets = any(re.match("param|参数", name, re.I) for name in context.names[:2])
    in_brackets = in_brackets and bool(_IN_BRACKETS.search(context.before)) and not _is_of_derived(context.before)
    about = about or (in_brackets and names_model(context.before))
    names_count = any(map(_NAMED_COUNT.search, context.names[:1])) and names_model(beside[:_LONGEST_NAME])
    about = about or names_count
    about = about or any(_OF_NAME.match(name) and names_model(name[:_NEAR]) for name in context.names[:2])
    is_behind, is_example = _is_behind_name(side, context), is_of_example(context)
    if is_behind or is_example:
        about, beside = True, ""  # words after the bracket may name a part: (110M params) to classify
    is_behind_sizes = side.counts_parameters and not context.supposes and _between_name_and_count(context) is not None
    in_list = is_behind_sizes and ends_list_of_sizes(context)
    if is_behind_sizes and not OWN_MODEL.search(context.line) and _is_power_of_ten_apart(side, model):
        return total_is(model)
    about, beside = (True, "") if in_list else (about, beside)
    beside_part = names_part_but_whole(_SIZE_NAMES_OF_PARTS.sub(" ", beside))
    if not about or side.value < 10**6 or beside_part or not side.counts_parameters:
        return None
    is_of_own = OWN_MODEL.search(" ".join((*context.names, *context.headings[:1], context.sentence)))
    if is_of_own or (_is_other_column(context) and not in_list):
        return None
    right = model.num_parameters()
    is_counted = _COUNTS.match(context.after) or _OF_PARAMETERS.search(context.header)
    is_named = is_behind or ((in_list or is_name(context)) and bool(is_counted))
    counts_all = is_named or any(map(_COUNTED_ALL.search, context.names[:2]))
    of_named = is_name(context) or _is_in_list_of(context) or names_count
    if (is_of_text or (of_named and counts_all)) and not context.supposes and _is_power_of_ten_apart(side, model):
        return total_is(model)
    most_apart = _OF_PROGRAM if context.names[:1] == (OF_PROGRAM,) else 4 if is_named else 2
    most_above = _ABOVE_NAMED if is_name(context) and is_counted else 4
    if not right / Fraction(most_apart) <= side.value <= most_above * right:
        return None
    reach = side.rough
    is_part = not is_name(context) and _ONLY_TOTAL.search(beside) and _is_of_layers(side, model)
    is_table = 0 < len(side.operands) <= _OF_TABLE and side.is_calculation  # a product of two sizes
    if (context.supposes and not is_example) or is_part or is_table:
        return None
    counts = (KnownCount(model, right), *every_count(model.config, known_counts))
    close = [count for count in counts if _is_close(count, side, model)]
    if not close or not reach or reach * _FOUR_DIGITS <= side.value:
        return total_is(model)
    nearest = close[0]
    message = N_("This is close to the parameter count of {known} ({count}).")
    reason = Problem.of(message, known=known_in_words(nearest), count=nearest.total)
    return Judged("conditional", Fraction(nearest.total), None, (reason,))


_ABOVE_NAMED = 16  # ALBERT-base has 110M parameters: the model is named beside the count


def is_of_example(context: Context) -> bool:
    """Whether the only model named beside a count is an example: a model with 110M parameters (such as BERT-base)."""
    in_brackets = re.split("[)）]", context.after)[0]
    is_named = EXAMPLE_BEHIND.match(context.after) and len(models_named(in_brackets)) == 1
    return bool(is_named) and not names_model(context.before)


EXAMPLE_BEHIND = re.compile(
    r"\s?个?(?:param(?:eter)?s|params|参数)的?(?:模型)?\s?[(（]\s?(?:例?如|比如|such as|e\.g\.,?)\s?(?=[A-Z])",
    re.I,
)


def _is_close(count: KnownCount, side: ChainSide, model: Model) -> bool:
    """Whether a rounded number may mean a count: the model's count within 2 %, or the count of a class of similar size.

    A number of three digits with a last digit other than 0 must be the count, either rounded or truncated.
    """
    reach, right, unit = side.rough, model.num_parameters(), 2 * side.reach
    has_three = unit and side.value >= _THREE_DIGITS * unit and (side.value / unit) % 10
    if count.total == right:
        reach = max(reach, unit if has_three else side.value / _PARTS)
    elif not has_three and abs(count.total - right) * _OTHER_CLASS > right:
        return False
    return abs(count.total - side.value) <= reach


# The smallest number of three digits, and a tolerance of a twentieth: a class within it has a head, but no separate
# decoder.
_THREE_DIGITS, _OTHER_CLASS = 100, 20


def ends_list_of_sizes(context: Context) -> bool:
    """Whether a list of sizes is between a model's name and its count: BERT-base has 12 layers and 11 billion ..."""
    between = _between_name_and_count(context)
    if between is None or not re.search("[0-9]", between):
        return False
    return _last_known(context.before) is not None and not _is_of_derived(context.before)


def _between_name_and_count(context: Context) -> str | None:
    """The text between a model's name and its count if it contains only sizes; otherwise None."""
    mention = _last_known(context.before)
    if mention is None:
        return None
    between = context.before[mention.end() :]
    counts = _COUNTS.match(context.after) or any(map(_COUNTED_ALL.search, (between, context.header)))
    return between if counts and _SIZES_BETWEEN.fullmatch(between) else None


def _last_known(text: str) -> re.Match[str] | None:
    """The last name of a model in a text; None if there is none or if bertcalc does not support that model."""
    mention = next(reversed([*model_name_pattern().finditer(text)]), None)
    return mention if mention and preset_at(mention) else None


def _is_behind_name(side: ChainSide, context: Context) -> bool:
    """Whether a number of parameters is in brackets directly after a model's name: RoBERTa-base (110M params)."""
    is_count = _COUNTS.match(context.after) or (_MILLIONS.search(side.text) and _CLOSED.match(context.after))
    return bool(is_count) and opens_behind_name(context.before)


def opens_behind_name(before: str) -> bool:
    """Whether a text ends with the name of a known model and an opening bracket: We use RoBERTa-base (

    >>> opens_behind_name("We use RoBERTa-base ("), opens_behind_name("a version of RoBERTa-base (")
    (True, False)
    """
    mention = _last_known(before)
    return mention is not None and not _is_of_derived(before) and bool(_OPENED.fullmatch(before[mention.end() :]))


def _is_of_derived(before: str) -> bool:
    """Whether the last model that a text names is the original of the model it is about: a version of BERT-base."""
    mention = _last_known(before)
    return mention is not None and bool(_DERIVED.search(before[: mention.start()]))


_MILLIONS, _CLOSED = re.compile(r"(?:M|million|[万亿])$", re.I), re.compile(r"\s?(?:[)）,，;；]|[-–—] )")
_OPENED = re.compile(r"[\s`*]{0,4}[(（]\s?[~≈约]?\s?")
_DERIVED = re.compile(  # as in "a version of BERT-base (66M parameters)"
    r"(?:\b(?:of|from|than|over|on|to|like|unlike|vs\.?|versus)|基于|相比|比|版|类似)\s?(?:the |a |an )?[`*]{0,2}$",
    re.I,
)
_SIZES_BETWEEN = re.compile(
    r"(?:[\s,，、:：(（|*`=-]|[0-9.]+|\b(?:has|have|having|with|and|an?|of|is|the|its|layers?|blocks?|hidden|size"
    r"|[LHA]|dim(?:ension(?:s|al)?)?|heads?|attention|encoder|transformer|param(?:eter)?s?|total|about|around|roughly|model)\b"
    r"|released|by|Google|OpenAI|Meta|发布|提出|开源|谷歌"
    r"|[模型有共包含具拥个层头编码器隐藏维度大小和总的参数量约为是达高注意力一])*+",
    re.I,
)


def _is_in_list_of(context: Context) -> bool:
    """Whether a number of parameters is in a list of a model's sizes: BERT-base has 12 layers and 11 billion ..."""
    return (
        bool(_COUNTS.match(context.after))
        and len(models_named(context.sentence)) == 1
        and not names_part_but_whole(_SIZE_NAMES_OF_PARTS.sub(" ", context.before))
    )


# Names of sizes that contain the name of a part.
_SIZE_NAMES_OF_PARTS = re.compile(
    r"(?:attention|encoder|decoder|transformer|hidden)[ -](?:heads|layers|blocks|size)|注意力头|隐藏层", re.I
)


def _is_power_of_ten_apart(side: ChainSide, model: Model) -> bool:
    """Whether a number is the model's count with a wrong decimal point or unit: 11 billion for 110 million."""
    shifted = (count * factor for count in _published(model) for factor in _TENS)
    if not any(abs(count - side.value) <= max(side.reach, count / _PARTS) for count in shifted):
        return False
    published = {name: preset.config for name, preset in PRESETS.items()}
    published |= {name: relative.config for name, relative in RELATIVES.items()}
    siblings = (name for name, config in published.items() if type(config) is type(model.config))
    counts = (model_of(name).num_parameters() for name in siblings)
    return not any(abs(count - side.value) <= side.value / _CLOSE_SIZE for count in counts)


_TENS = tuple(Fraction(10) ** exponent for exponent in (-3, -2, -1, 1, 2, 3))
_CLOSE_SIZE = 10  # a count within a tenth of a sibling's may mean the sibling: 70B beside a model of 7B


# The text before a count in brackets behind a model's name: BERT-base (12 layers, hidden size 768, 110M parameters)
_IN_BRACKETS = re.compile(r"[(（](?:[^()（）]*[,，、;；])?\s?(?:about |约)?$")
_NAMED_COUNT = re.compile(
    r"(?:param(?:eter)?s?|parameter count|参数(?:总?量|数量?)?)[^,.;，。；:：\d]{0,8}[(（](?:about |~|≈|约)?\s?$", re.I
)
COUNT_OF_ALL = re.compile(
    r"(?:(?:#|total|number of|num|model|all|trainable) ?)*(?:of )?param(?:eter)?s?|(?:模型)?总?参数(?:总?量|数)?", re.I
)
_OF_NAME, _NEAR = re.compile(r"(?:parameters|params|weights) (?:of|in) ", re.I), 40
# Words that mean all of something, not necessarily the whole model.
_ONLY_TOTAL = re.compile(r"\b(?:in total|total|altogether|overall)\b|总共|一共|共", re.I)


def _is_of_layers(side: ChainSide, model: Model) -> bool:
    """Whether a number is the count of a part in all layers."""
    parts = counts_of(tuple(PARTS), model)
    return any(side.may_mean(part.right) for part in parts if part.layers == "all" and part.part != WHOLE_MODEL)


_OF_TABLE = 2  # number of factors in the count of an embedding table
_OF_PROGRAM = 12  # a total in a program may be this many times too small, as with one layer
_COUNTS = re.compile(r"\s?(?:param|个?参数)", re.I)
_COUNTED_ALL, _OF_PARAMETERS = re.compile(r"param|参数(?:量|数|规模)", re.I), re.compile(r"param|参数", re.I)
_PARTS = 50  # a rounded number may be off by a fiftieth
_FOUR_DIGITS = 2000  # a number with an error of at most 1/2,000, such as one of four digits, is meant to be exact


_CLASS = re.compile(r"(?<![A-Za-z])([A-Z][A-Za-z0-9]{2,20}(?:Model|For[A-Z][A-Za-z]{2,30}))(?![A-Za-z])")


# The class of a total, in brackets behind it: 109.5M parameters (`BertForMaskedLM`, AdamW)
_CLASS_BEHIND = re.compile(
    r"[ M]{0,2}(?:trainable |total )?(?:param(?:eter)?s?|参数)\s?[(（]\s?"
    r"(?P<name>[A-Z]\w{2,20}(?:Model|For[A-Z]\w{2,30}))\b"
)


def _of_class(name: str, model: Model) -> Model | None:
    return model.changed(architecture=name) if name in {cls.name for cls in model.family.classes} else None


def _class_beside(context: Context, count: KnownCount, model: Model) -> Model | None:
    """The model of the class that the nearest words name, if the number counts a different class; otherwise None."""
    beside = set(_CLASS.findall(" ".join(context.names[:1])))
    classes = {cls.name for cls in model.family.classes}
    if len(beside) != 1 or not beside <= classes:
        return None
    [name] = beside
    counts = [other.total for other in every_count(model.config, known_counts) if other.model.architecture == name]
    return model.changed(architecture=name) if counts and count.total not in counts else None


OWN_MODEL = re.compile(
    r"keras|自己|自定义|(?<![\w-])(?:our|my|own|custom|toy|tiny|smaller) (?:\w+[ -]){0,3}"
    r"(?:model|bert|transformer|net|network|version|implementation|encoder|config|vocab|tokeni[sz]er)",
    re.I,
)
# Headers of columns that count whole models.
_OF_WHOLE = re.compile(
    r"param|参数|total|size|count|number|value|weights|actual|exact|model|calcul|formula|公式|计算|模型|总|大小|规模|数量|#",
    re.I,
)


def _is_other_column(context: Context) -> bool:
    """Whether a number's column has a header that does not mean counts of whole models."""
    return bool(context.header) and not (_OF_WHOLE.search(context.header) or names_model(context.header))


_NAME = re.compile(
    rf"(?:the )?(?:bert|roberta|albert|electra|gpt)?[ _-]?2?[ _-]?(?:{SIZE_NAMES})"
    r"(?: model)?"
    r"|(?:the )?(?:distil|ro|al|deberta|xlm-ro)?bert[\w-]{0,20}|gpt-?2[\w-]{0,10}",
    re.I,
)


_AROUND_NAME = re.compile(
    r"^(?:[\W_]|(?:OpenAI|Google|谷歌|Meta|微软|Microsoft)(?:的| 的|['’]s)?"
    r"|(?:and|or|vs|versus|while|for|in|the|estimated|total|number of|params|parameters|of|以及|和|而)\s)+"
    r"|(?:[\W_]|[的总大约共为是有具拥含仅只达]|参数(?:总?量|数量?|规模)?|模型|包含|已经?|[到了]"
    r"|\b(?:has|have|contains?|with|is|only|just|total|count|params|parameters?)\b)++$",
    re.I,
)


_LONGEST_NAME = 200  # maximum number of characters of a name with the words around it


def is_name(context: Context) -> bool:
    """Whether the nearest words are only the name of a model: BERT-base; base."""
    short = [name for name in context.names[:1] if len(name) <= _LONGEST_NAME]
    behind_colon = (re.split("[:：]", name.rstrip(" :：*"))[-1] for name in short)
    labels = [_AROUND_NAME.sub("", re.sub(r"\([^()]{0,40}\)?", "", name)) for name in (*short, *behind_colon)]
    return any(_NAME.fullmatch(label) or is_model_name(label) for label in labels)


def judge_difference(side: ChainSide, model: Model, other: Model) -> Judged:
    """Judge the difference between two models' parameters: 225M more parameters than BERT-base."""
    right = abs(model.num_parameters() - other.num_parameters())
    counts = Problem.of(_DIFFERENCE, first=name_of(model), second=name_of(other), count=right)
    classes = {count.model.architecture: count.total for count in every_count(other.config, known_counts)}
    differences = {right} | {
        abs(count.total - classes[count.model.architecture])
        for count in every_count(model.config, known_counts)
        if count.model.architecture in classes
    }
    if any(map(side.may_mean, differences)):
        return Judged("right", counts=counts)
    published = (abs(first - second) for first in _published(model) for second in _published(other))
    if any(map(side.may_mean, published)):
        return Judged("conditional", Fraction(right), counts, (counts,))
    if is_far(side.value, right, _FARTHEST) or (side.rough and abs(right - side.value) * _PARTS < right):
        return UNKNOWN
    return Judged("wrong", Fraction(right), counts, (counts,))


_FARTHEST = 4


def _published(model: Model) -> list[int]:
    """A model's number of parameters, and its published numbers of parameters."""
    return [model.num_parameters(), *claimed_counts(model)]


def claimed_counts(model: Model) -> tuple[int, ...]:
    """The rounded numbers that were published for a model and that are not its count."""
    return tuple(claim.parameters for claim in CLAIMS if PRESETS[claim.preset].config == model.config)


def name_of(model: Model) -> str:
    """The name of a model's preset, or else the name of its class."""
    return preset_with(model.config) or model.architecture


_DIFFERENCE = N_("The parameter counts of {first} and {second} differ by {count}.")
# The total of the text's model, in a sentence that does not name the model again.
_TOTAL_OF_TEXT = re.compile(
    r"\W*(?:(?:so|thus|in)\W+)?(?:the\s)?(?:total|overall)\s(?:number of\s)?param(?:eter)?s?(?:\scount)?"
    r"\W*(?:is|are|=|:)?\W*$"
    r"|\W*(?:总参数[量数]?|参数(?:量|数)?总[计数量]|总的?参数(?:量|数)?)\W*(?:[为是共大约]{1,3}|一共)?\W*$",
    re.I,
)
_TOTAL_IS = N_("{architecture} has {count} parameters.")


_OF_ANOTHER = N_("This is the count of a different model: {preset}.")


def judge_published(side: ChainSide) -> Judged | None:
    """Judge the count of another published model; return None for other numbers."""
    entry = published_counts().get(int(side.value)) if not side.reach and side.value >= 10**6 else None
    if entry is None:
        return None
    reason = Problem.of(_OF_ANOTHER, preset=entry[0])
    return Judged("conditional", side.value, reason, (reason,))


def is_of_another(judged: Judged) -> bool:
    """Whether a verdict says that a number is the count of another published model."""
    return bool(judged.reasons) and judged.reasons[0].message == _OF_ANOTHER


def is_total_of_model(judged: Judged) -> bool:
    """Whether a verdict only says how many parameters the model has."""
    return bool(judged.reasons) and judged.reasons[0].message == _TOTAL_IS


def total_is(model: Model) -> Judged:
    """Return the verdict that a number is wrong and should be the model's total."""
    right = model.num_parameters()
    reason = Problem.of(_TOTAL_IS, architecture=model.architecture, count=right)
    return Judged("wrong", Fraction(right), None, (reason,))


def is_total(context: Context) -> bool:
    """Whether the words beside a number, or its heading, mean the whole model, not a part of it."""
    names = (*context.names, *context.headings[:1])
    whole = any(re.search(PARTS[WHOLE_MODEL][1], name, re.I) for name in names) or is_name(context)
    if OWN_MODEL.search(" ".join(names)) or _is_other_column(context):
        return False
    return whole and not any(names_part_but_whole(name) for name in context.names)


def searched(value: int, model: Model, *, untied: bool = False) -> Judged | None:
    """Judge a total by the likeliest mistakes that lead to it in any class of the family.

    ``untied`` is True if the text says that the decoder is not tied. Return None if the total is a known count, or if
    no explanation is likely enough.
    """
    typed = Typed(Fraction(value), Fraction(value), Fraction(value), None)
    decoders = [cls.name for cls in model.family.classes if cls.task in ("causal-lm", "masked-lm")]
    if untied and decoders:
        model = model.changed(replace(model.config, tie_word_embeddings=False), decoders[0])
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), typed)
    if diagnosis.known or not diagnosis.confident:
        return None
    likeliest = diagnosis.miscounted[0]
    count = likeliest.known_count
    if count.mix or not count.right <= 2 * value <= 4 * count.right:
        return None
    reason = instead(count.right, known_in_words(count), likeliest.explanation, model.config)
    return Judged("wrong", Fraction(count.right), None, (reason,))


def may_be_estimate(side: ChainSide) -> bool:
    """Whether a number is rounded, but to at least four digits, so that its mistakes can be told apart."""
    return 0 < side.reach * _FOUR_DIGITS <= side.value


def judge_estimate(side: ChainSide, model: Model) -> Judged | None:
    """Judge a rounded total that leaves out small parts, such as biases; return None for other totals.

    It is right under this condition: somebody who rounds may leave them out on purpose.
    """
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), side.typed)
    likeliest = next(iter(diagnosis.miscounted), None)
    if likeliest is None or not {cause.miscount for cause in likeliest.explanation} <= _SMALL_PARTS:
        return None
    count = likeliest.known_count
    reason = instead(count.right, known_in_words(count), likeliest.explanation, model.config)
    return Judged("conditional", Fraction(count.right), None, (reason,))


# Mistakes that leave out at most a hundredth of a model.
_SMALL_PARTS = {
    *("biases", "layer biases", "attention biases", "qkv biases", "feed-forward biases", "pooler bias"),
    *("LayerNorm", "LayerNorm half", "embedding LayerNorm", "layer LayerNorms", "pooler", "token types"),
}
