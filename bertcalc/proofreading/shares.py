"""Judge a share of the parameters: 21.8% of BERT-base are in the embeddings.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "31% of BERT-base is a lookup table."
>>> [entry] = find(text, {})
>>> print(judge_share(entry.best, Surroundings(text).of(entry), build(BertConfig())).reasons[0])
The share of this component is 21.4 %: word embeddings.

The module also judges a model's size relative to another model: 61% of the parameters of BERT, 40% fewer, 3.06 times
as many.

>>> compared_in("DistilBERT has", "of the parameters of BERT-base")
ComparedModels(other='BERT-base', comparative='', is_bare=False)
>>> compared_in("DistilBERT 相比 BERT-base 减少了大约", "")
ComparedModels(other='BERT-base', comparative='减少', is_bare=False)
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from bertcalc.diagnosis.known_counts import every_count, known_counts
from bertcalc.diagnosis.layer_parts import PARTS, WHOLE_OR_BODY
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.diagnosis.relatives import SIZE_NAMES
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.model.totals import totals_by_component
from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.described_models import model_of
from bertcalc.proofreading.mentions.calculations import ChainSide
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import without_models
from bertcalc.proofreading.named_parts import all_parts, count_of_part, meant_alone, scoped
from bertcalc.proofreading.verdicts import NO_CLAIM, UNKNOWN, Judged, compared, is_far
from bertcalc.proofreading.whole_counts import name_of
from bertcalc.text import N_
from bertcalc.text.amounts import typed
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem

_DOUBLE = Fraction(1, 10**12)  # tolerance for shares that were computed in double precision
_OF_COMPONENT = N_("the share of this component: {component}")
_OF_A_LAYER = N_("the previous number's share of a layer")
_OF_LAYER = N_("the share of a layer: {component}")


def _equals(share: Fraction, side: ChainSide) -> bool:
    return abs(share - side.value) <= max(side.reach, _DOUBLE)


def judge_share(side: ChainSide, context: Context, model: Model, *, among_shares: bool = False) -> Judged:
    """Judge the share of a component: 0.2177 of the parameters are in the embeddings.

    The verdict is NO_CLAIM for any other number. ``among_shares`` is True if a number nearby is a share of the
    parameters.
    """
    if _OF_RESULTS.search(" ".join(context.names[:1])) or _is_of_rest(context):
        return NO_CLAIM
    if len(re.sub(r"\D", "", side.text.lstrip("0."))) < 2:
        judged = _other_share(side, context, model, among_shares)
        is_far = judged and judged.right_value and not Fraction(2, 5) < side.value / judged.right_value < Fraction(5, 2)
        return judged if judged and is_far else NO_CLAIM
    right, other = model.num_parameters(), _other_share(side, context, model, among_shares)
    is_trained = _IS_TRAINED.search(context.sentence)  # 0.54 % is the share of the pooler, but also of many adapters
    for component, count in totals_by_component(model).items():
        if is_trained and component not in context.sentence.lower():
            continue
        if count and not other and _equals(Fraction(count, right), side):
            return Judged("right", counts=Problem.of(_OF_COMPONENT, component=Problem.of(component)))
    return other or _share_of_named(side, context, model) or NO_CLAIM


_IS_TRAINED = re.compile(r"\blora\b|adapter|\btrain(?:s|ed|able)\b|fine-?tun|适配器|可训练|微调", re.I)


def _is_of_rest(context: Context) -> bool:
    """Whether a share has the label of the rest, which may be any parts: others 1 %."""
    return any(map(_REST.fullmatch, context.names[:1])) and not _NAMES_REST.match(context.after)


_REST = re.compile(
    r"\W*(?:and |the |all |其)?(?:others?|rest|remaining|remainder|(?:everything|total|all) else|misc"
    r"|其他|其它|其余|剩余)"
    r"(?: parts?| components?| parameters?|部分|参数)?\W*",
    re.I,
)
_NAMES_REST = re.compile(r"\W*(?:is|are|in|belongs?|of|goes|为|是|在)\b", re.I)
# Results of a model, which are not shares of its parameters: an accuracy of 0.78.
_OF_RESULTS = re.compile(
    r"\b(?:accuracy|acc|auc|f1|precision|recall|loss|perplexity|scores?|bleu|rouge|pearson|spearman|mcc|dropout"
    r"|probability|temperature|learning rate|lr|momentum|decay)\b|准确率|精确率|召回率|损失|概率|学习率",
    re.I,
)


def _share_of_named(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge the share of a named part in the model or in one layer; return None if no part fits."""
    scopes = {
        "all": model.num_parameters(),
        "one": count_of_part("layers", model, "one"),
    }
    for part in all_parts(model):
        called = part.part in PARTS and part.heads == "all" and part.part not in WHOLE_OR_BODY
        whole = scopes.get(part.layers)
        if not called or not whole or not _equals(Fraction(part.right, whole), side):
            continue
        if any(re.search(PARTS[part.part][1], name, re.I) for name in context.names[:3]):
            message = _OF_COMPONENT if part.layers == "all" else _OF_LAYER
            return Judged("right", counts=Problem.of(message, component=part_in_words(part, model)))
    return None


# A share of a part, not of the model: 33% of the attention.
_OF_PART = re.compile(
    r"\s*of (?:the |its |each |a |every |all )*(?:\w+ )?(?:layer|block|encoder|attention|ffn|mlp|embed|feed)", re.I
)
# Words around a share that refer to the model's parameters.
_OF_PARAMETERS = re.compile(
    r"\bshare (?:of|is)|\bfraction of|\bproportion of|percent(?:age)? of|\baccount|\bmakes? up|\bconsists? of"
    r"|% of|占|比例"
    r"|\bcontribut|\bbelongs? to|\b(?:holds?|contains?|carr(?:y|ies))\b|of (?:the |all |its |total "
    r"|model )*(?:param|weights|model)|参数量?[里中]"
    r"|\bshare\b.{0,30}\bembed|param.{0,40}(?:%|per ?cent) of (?:them|these|those)\b|参数.{0,20}其中",
    re.I,
)
# Words for shares of something other than parameters.
OF_OTHER_THINGS = re.compile(
    r"flop|\bmacs?\b|comput(?:e|ation)\b|\btime\b|latency|speed|faster|slower|throughput|\bmemory|\bpeak|activation"
    r"|accura|\bscore|\bglue\b|\bf1\b|perform|\bloss\b|perplex|dropout|\bmask|probab|\bdata|corpus|energy"
    r"|\bspars|prun"
    r"|utili[sz]|\bof (?:the |all )?(?:tokens|words|heads|steps|examples|sentences|inputs?)\b|cache"
    r"|learning rate|warm|trainable|lora"
    r"|计算量|运算|时间|延迟|速度|加速|显存|内存|激活|准确|精度|性能|效果|得分|掩码|概率|数据|语料|剪枝|稀疏"
    r"|微调|训练|冻结|利用率",
    re.I,
)
_AROUND_SHARE = re.compile(
    rf"\b(?:[\w-]{{0,12}}(?:bert|electra|gpt-?2)(?:[-_ ](?:{SIZE_NAMES}))?(?:'s|’s)?)(?![\w-])"
    r"|\b(?:sits?|lives?|lies?|belongs?|goes|go|and|while|a|network|share|fraction|proportion|percentage|percent"
    r"|of|the"
    r"|its?|in|is|which|what|how much|how many|are|about|roughly|around|only|just|so|thus|hence|for|up|another"
    r"|other|remaining|rest|even|mere|tiny|huge"
    r"|accounts?|makes?|make|take|takes|grows?|rises?|increases?|falls?|drops?|shrinks?|to|now|already|then|hold"
    r"|holds"
    r"|contain|contains|contributes?|consists?|with|has|have|gets?|uses?|us|this|that|which|being|parameters?|params"
    r"|weights?|total|all|model|them|these|those|alone|together|overall|but|versus|vs|than|more|less|nearly|almost|approximately|some"
    r"|share's|whole|entire|full|main|part|parts|budget|count)\b"
    r"|占比|占|的|其中|则|而|只|仅|共|就|有|在|了|到|(?:模型)?总?参数(?:总?量)?|全部|整个|模型|比例|占比|约|为|是"
    r"|[上升增加降下减少提高]{2}[到至]|[^\w\s-]",
    re.I,
)
_EMBEDDINGS = ("embeddings", "word embeddings", "embeddings without LayerNorm")
# The parts with shares that are judged, each with all parts that have the same name in texts.
_COMPONENTS = {
    "embeddings": _EMBEDDINGS,
    "word embeddings": _EMBEDDINGS,
    "position embeddings": ("position embeddings",),
    "token type embeddings": ("token type embeddings",),
    "layers": ("layers", "layers without cross-attention and distances"),
    "attention": ("attention", "attention with LayerNorm", "matrices of the attention"),
    "feed-forward": ("feed-forward", "feed-forward with LayerNorm", "matrices of the feed-forward network"),
    "all LayerNorms": ("all LayerNorms", "LayerNorms of the layers", "LayerNorm of the attention"),
    "pooler": ("pooler", "weight of the pooler"),
}
_NEAR = 4  # a number within a quarter of the right share is meant to be that share
_FAR_SHARE = Fraction(1, 50)  # a share this close to a right one is imprecise, not wrong
_OF_NETWORK = (
    r"(?: ?-?(?:networks?|sub-?layers?|layers?|blocks?|modules?|stacks?|matrices|mechanism|parts?)"
    r"| ?(?:子?层|部分|模块|网络))?"
)
# Names of parts beside a share, in texts that only list parts of the model.
_CALLED = {
    "word embeddings": r"(?:token|word(?:piece)?|vocab(?:ulary)?|lookup|input)(?:[- ]?embeddings?)?(?: (?:table"
    r"|matrix|layer))?"
    r"|embedding (?:table|matrix)|词(?:表|向量|嵌入)(?:矩阵|表|层)?|token ?(?:嵌入|embedding)",
    "position embeddings": r"position(?:al|s)?(?:[- ]?embeddings?)?(?: (?:table|matrix))?|位置(?:嵌入|编码|向量)",
    "embeddings": r"embeddings?(?: (?:layers?|tables|matrices|block))?|嵌入层?|embedding ?层",
    "layers": r"(?:transformer|encoder|decoder|backbone)" + _OF_NETWORK + r"|(?:transformer )?(?:blocks?|layers)"
    r"|(?:[0-9]+|twelve|six|twenty-four)[ -](?:transformer |encoder )?(?:layers|blocks)|编码器(?:层|部分)?"
    r"|(?:[0-9]+ ?个?层)? ?transformer ?(?:层|块|编码器)?",
    "attention": r"(?:multi-?head(?:ed)? )?(?:self-?)?attention" + _OF_NETWORK + r"|(?:多头)?(?:自)?注意力(?:层"
    r"|机制|部分|模块|子层)?",
    "feed-forward": r"(?:position-?wise )?(?:feed-?forward|ffns?|mlps?)" + _OF_NETWORK + r"|(?:ffn|mlp) ?(?:层"
    r"|部分|网络)?|前馈(?:神经)?(?:网络)?(?:层|部分|子层)?",
    "all LayerNorms": r"(?:all )?(?:layer ?-?)?norm(?:alization)?s?(?: layers?)?|层归一化",
    "pooler": r"pooler(?: layer)?|pooling layer|池化层?",
}  # fmt: skip


def _labels(names: Sequence[str]) -> Iterator[str]:
    """The parts that the words beside a share mean, the nearest first."""
    for name in names:
        name = _NUMBER_ALONE.sub(" ", _IN_BRACKETS.sub(" ", without_models(name)))
        label = " ".join(_AROUND_SHARE.sub(" ", name).split())
        if _LOOKUP.fullmatch(label):
            yield "word embeddings"
        yield from (part for part, pattern in _CALLED.items() if re.fullmatch(pattern, label, re.I))
        yield from (part for part in meant_alone(label) if part in _COMPONENTS)


_IN_BRACKETS = re.compile(r"[(（][^)）]{0,60}(?:[)）]|$)|^\W*[a-z]\)")
_NUMBER_ALONE = re.compile(r"(?<![\w-])[0-9][0-9.,]*(?![\w-])")
# An answer without words; its question names the part: Which share of the parameters are embeddings?
_IS_ANSWER = re.compile(r"\W*(?:solution|answer|ans|result|a|解|答|答案|解答|结果)?\W*", re.I)
# Other names of the word embeddings.
_LOOKUP = re.compile(r"(?:vocabulary|vocab|lookup|embedding)(?: (?:table|matrix))?|词表|词向量表?", re.I)


def _other_share(side: ChainSide, context: Context, model: Model, among_shares: bool) -> Judged | None:
    """Judge a component's share; return None unless it is wrong by every way of counting."""
    words = " ".join((*context.names[:2], context.header, context.before, context.sentence))
    if _IS_ANSWER.fullmatch(context.before):
        words = " ".join((*context.names, words))
    if not side.text.strip().rstrip("$").endswith("%"):
        return None
    sentence = " ".join(context.sentence.split())
    beside = (
        [name for name in context.names[:3] if _IN_BRACKETS.sub("", name).strip() in sentence]
        if sentence
        else context.names[:1]
    )
    if _IS_ANSWER.fullmatch(context.before):
        beside = list(context.names)
    meant = list(_labels(beside))[:1]
    near_words = " ".join((*context.names[:1], context.header, re.split("[,;.，；。]", context.after)[0]))
    if not meant or context.supposes or _OF_PART.match(context.after) or OF_OTHER_THINGS.search(near_words):
        return None
    scope = context.scope(model.config.num_hidden_layers) if meant[0] == "layers" else ""
    counts = [part.right for name in _COMPONENTS[meant[0]] for part in scoped(name, model, scope)]
    shares = [Fraction(count, whole) for count in counts for whole in _wholes(model, context.text) if whole]
    main = count_of_part(meant[0], model, scope)
    in_layer = count_of_part(meant[0], model, "one")
    is_of_layer = context.scope(model.config.num_hidden_layers) == "one" and meant[0] in ("attention", "feed-forward")
    layer = count_of_part("layers", model, "one")
    right = Fraction(in_layer, layer) if is_of_layer and layer else Fraction(main, model.num_parameters())
    far = side.reach * 4 if "." in side.text else min(_FAR_SHARE, side.value / 4, max(right / 4, side.reach))
    is_near = abs(right - side.value) <= roundness(side)
    of_parameters = (among_shares or _OF_PARAMETERS.search(words)) and not OF_OTHER_THINGS.search(words)
    is_of_parameters = of_parameters or abs(right - side.value) * _NEAR <= right
    if (
        not main
        or is_near
        or not is_of_parameters
        or any(abs(share - side.value) <= max(side.reach, far) for share in shares)
    ):
        return None
    message = N_("The share of this component is {share} %: {component}.")
    reason = Problem.of(message, share=_percent(right, side), component=Problem.of(meant[0]))
    return Judged("wrong", right, None, (reason,))


def _percent(share: Fraction, side: ChainSide) -> str:
    """A share in percent, with as many decimals as a written number, but at least one, or two below 1 %."""
    places = max(1, len(side.text.strip(" %$\\").partition(".")[2]))
    return fixed(100 * share, places if 100 * share >= 1 else max(places, 2))


def roundness(side: ChainSide) -> Fraction:
    """How far a percentage may be from the right share: up to 0.05 for multiples of ten percent, otherwise 0."""
    is_round = "." not in side.text and side.value and (10 * side.value).denominator == 1
    return min(_HALF_OF_TENTH, side.value / 4) if is_round else Fraction(0)


_HALF_OF_TENTH = Fraction(1, 20)
# Words in texts that may count the decoder separately from the embeddings.
_UNTIED = re.compile(r"untied|not tied|decoder|lm_?head|not shar|output layer|不共享|不绑定|解码|输出层", re.I)
# The largest total, relative to the model's parameters, that a share may refer to if the text mentions no untied
# decoder.
_LARGEST = Fraction(21, 20)


def _wholes(model: Model, text: str) -> list[int]:
    """The totals that a share may refer to: each class with each counting convention, and the layers."""
    most = model.num_parameters() * (2 if not text or _UNTIED.search(text) else _LARGEST)
    wholes = [count.total for count in every_count(model.config, known_counts) if count.total <= most]
    return wholes + [part.right for part in scoped("layers", model)]


def judge_share_of(
    count: Fraction, side: ChainSide, model: Model, text: str, *, of_model: bool = False
) -> Judged | None:
    """Judge a count's share of all parameters; return None if it is a share of something else.

    ``text`` is the whole text; ``of_model`` is True if nearby shares are certainly shares of the model.
    """
    right = count / model.num_parameters()
    counts = Problem.of(N_("the previous number's share"))
    if _equals(right, side):
        return Judged("right", counts=counts)
    layer = count_of_part("layers", model, "one")
    if count < layer and _equals(count / layer, side):
        return Judged("right", counts=Problem.of(_OF_A_LAYER))
    roughly = max(side.reach, min(_ROUGHLY, side.value / 10))
    wholes = [whole for whole in _wholes(model, text) if not of_model or whole * 2 > model.num_parameters()]
    wholes = [whole for whole in wholes if not of_model or abs(whole - model.num_parameters()) * 50 < whole]
    if right >= 1 or any(abs(count / whole - side.value) <= roughly for whole in wholes):
        return None
    message = N_("The previous number's share is {share} %.")
    reason = Problem.of(message, share=_percent(right, side))
    return Judged("wrong", right, counts, (reason,))


_ROUGHLY = Fraction(1, 200)


def judge_share_of_wrong(count: Fraction, right: Fraction, side: ChainSide, model: Model, *, of_model: bool) -> Judged:
    """Judge a share of the model that follows a wrong count; ``right`` is the right value of that count.

    ``of_model`` is True if the words say that it is a share of the model.
    """
    share = right / model.num_parameters()
    counts = Problem.of(N_("the previous number's share"))
    if _equals(share, side):
        return Judged("right", counts=counts)
    written = count / model.num_parameters()
    is_other = of_model and (side.value * _FAR < min(share, written) or side.value > _FAR * max(share, written))
    if share >= 1 or not (_equals(written, side) or is_other):
        return UNKNOWN
    message = N_("The previous number is wrong: with the correct number, {count}, the share is {share} %.")
    reason = Problem.of(message, count=in_words(right), share=_percent(share, side))
    return Judged("wrong", share, counts, (reason,))


_FAR = Fraction(3, 2)  # the factor beyond which a percentage is far from both possible shares


def is_share(judged: Judged) -> bool:
    """Whether a verdict says that a number is a right share of the parameters."""
    return judged.verdict == "right" and judged.counts is not None and judged.counts.message in _SHARES


_SHARES = (_OF_COMPONENT, N_("the previous number's share"))


_MORE = "fewer|less|smaller|lighter|more|larger|bigger"
_NOUNS = "(?:parameters|params|weights|size|parameter count)"
# Words after a percentage that name another model: 61% of the parameters of BERT; 40% smaller than BERT-base
_BESIDE = re.compile(
    rf"\W{{0,3}}(?:of|as (?:large|big|many \w+) as) (?:(?:the|its) )?(?:(?:{_NOUNS}|that) (?:of|in) )?(?:the )?"
    rf"(?=[\w*`])|\W{{0,3}}(?P<more>{_MORE}) (?:{_NOUNS} )?than (?:the )?",
    re.I,
)
# Words after a percentage without another model: 40% fewer parameters; 40% the size; 40% smaller, 60% faster
_ALONE = re.compile(
    rf"\W{{0,2}}(?:(?P<more>fewer|less|smaller) ?{_NOUNS}|(?:of )?the size(?! of)"
    r"|(?P<smaller>smaller)(?=\s?(?:[,.;)]|and\b|while\b|but\b|yet\b|$)))(?=\W|$)",
    re.I,
)
_NAME = r"(?P<other>[A-Za-z][\w.+-]{2,30}(?: (?:base|large|small|tiny|mini|medium|xl))?)"
_BEFORE = (
    re.compile(
        rf"(?:相比之?下?|相较|比|较|相对)(?:于|起)?\s?{_NAME}\s?[^\d,，。；]{{0,10}}?"
        r"(?P<more>减少|缩小|降低|压缩|减小|小|少|轻|增加|增大|多|大)了?(?:大?约|近|将近|大概|差不多)?\s?$"
    ),
    re.compile(
        rf"(?:将|把)\S{{0,4}}?\s?{_NAME}\s?(?:模型)?的?\s?(?:总?参数(?:总?量|数量?|规模)?|大小|体积|规模|尺寸)[^\d,，。；]{{0,6}}?"
        r"(?P<more>减少|缩小|降低|压缩|减小)了?(?:大?约|近|将近|大概)?\s?$"
    ),
    re.compile(
        rf"(?:是|为|有|占|相当于|到|约)\s?{_NAME}\s?(?:的|总|模型|参数量?){{1,4}}(?:大?约|近|仅|只有|[^\d,，。；]{{0,8}}[,，]约)?\s?$"
    ),
)
TIMES = re.compile(r"\s?(?:x|×|times|-?fold)(?![\w])|\s?倍", re.I)
RATIO_COLUMN = re.compile(r"\bratio|\bfactor\b|倍|比值", re.I)
FORMER = re.compile(
    r"(?:前者|后者|它|其|[两二]者)\S{0,4}$|(?:that is|that's|which is|i\.e\.|a factor of|ratio of?)(?: about"
    r"| roughly)?\W{0,2}$",
    re.I,
)
_TIMES_OF = re.compile(
    r"\s?(?:x|×|times|-?fold) (?:as (?:large|big|many \w+) as |(?:the )?(?:size|parameters"
    r"|number of parameters) of |larger than |bigger than |that of "
    r"|(?P<fewer>(?:fewer|less|smaller)(?: parameters| params)?) than )"
    r"(?:the )?",
    re.I,
)
_TIMES_BEFORE = re.compile(rf"(?:是|为|有|相当于|约)\s?{_NAME}\s?(?:的|总|参数量?){{1,4}}(?:大?约|近)?\s?$")


class ComparedModels(NamedTuple):
    """The other model of a comparison, as words that begin with its name, and a comparative such as "fewer"."""

    other: str
    comparative: str = ""
    is_bare: bool = False  # whether the comparative is only "smaller", which may refer to another model


def compared_in(before: str, after: str) -> ComparedModels | None:
    """The comparison around a percentage; None if there is none. ``other`` is empty if no words name another model.

    ``before`` and ``after`` are the text before and after the percentage.
    """
    if alone := _ALONE.match(after):
        return ComparedModels("", alone["more"] or alone["smaller"] or "", is_bare=bool(alone["smaller"]))
    if beside := _BESIDE.match(after):
        return ComparedModels(after[beside.end() :], beside["more"] or "")
    for pattern in _BEFORE:
        if named := pattern.search(before):
            return ComparedModels(named["other"], named.groupdict().get("more") or "")
    return None


def compared_before(before: str) -> str:
    """The words after "than" or "compared to" that begin with a model's name: better than BERT-large with 40% fewer ...

    ``before`` is the text before a percentage. The result is empty if the text compares with no model.
    """
    compared = _COMPARED_BEFORE.search(before)
    return compared["other"] if compared else ""


_COMPARED_BEFORE = re.compile(
    r"(?:\bthan|compared (?:to|with)|\bversus|\bvs\.?) (?:the )?(?P<other>[A-Z][^.;。；]{2,120})$"
)


def compared_times(before: str, after: str) -> ComparedModels | None:
    """The comparison around a ratio, such as "times the parameters of"; None if there is none.

    ``before`` and ``after`` are the text before and after the ratio.
    """
    if beside := _TIMES_OF.match(after):
        return ComparedModels(after[beside.end() :], beside["fewer"] or "")
    named = _TIMES_BEFORE.search(before)
    return ComparedModels(named["other"]) if named else None


# BERT-base, the model that texts compare DistilBERT with.
TEACHER, _STUDENT = model_of(DEFAULT_PRESET), PRESETS["distilbert-base-uncased"].config


def is_distilled(model: Model) -> bool:
    """Whether a model is DistilBERT, which texts compare with BERT-base without saying so."""
    return model.config == _STUDENT


def judge_ratio(side: ChainSide, comparative: str, model: Model, other: Model) -> Judged | None:
    """Judge a percentage that compares two models' parameters; return None if the percentage is roughly right.

    With a comparative such as "fewer", the percentage is the difference.
    """
    ratio = Fraction(model.num_parameters(), other.num_parameters())
    right = ratio if not comparative else ratio - 1 if _IS_MORE.fullmatch(comparative) else 1 - ratio
    counts = Problem.of(_IS_BESIDE, first=name_of(model), second=name_of(other))
    if _equals(right, side):
        return Judged("right", counts=counts)
    rough = min(_ROUGH_RATIO, _ROUGH_PUBLISHED * right)
    if right <= 0 or abs(right - side.value) <= max(side.reach, rough, roundness(side)):
        return None
    message = N_("{first} has {share} % of the parameters of {second}.")
    reason = Problem.of(message, first=name_of(model), second=name_of(other), share=fixed(100 * ratio, 1))
    return Judged("wrong", right, counts, (reason,))


_IS_BESIDE = N_("the number of parameters of {first}, relative to {second}")
_IS_MORE = re.compile("more|larger|bigger|[多增大].*", re.I)
_ROUGH_RATIO, _ROUGH_PUBLISHED = Fraction(3, 100), Fraction(3, 50)  # published numbers have few digits


def judge_times(side: ChainSide, model: Model, other: Model) -> Judged | None:
    """Judge the ratio of ``other``'s parameters to ``model``'s; return None if it is roughly right."""
    ratio = Fraction(other.num_parameters(), model.num_parameters())
    counts = Problem.of(_IS_BESIDE, first=name_of(other), second=name_of(model))
    return _ratio_is(ratio, side, counts)


def judge_quotient(first: Fraction, second: Fraction, side: ChainSide) -> Judged | None:
    """Judge the ratio of the larger to the smaller of the two previous numbers; return None if it is roughly right."""
    larger, smaller = max(first, second), min(first, second)
    return _ratio_is(larger / smaller, side, Problem.of(N_("the ratio of the two previous numbers")))


def judge_share_beside(before: str, after: str, side: ChainSide) -> Judged | None:
    """Judge a percentage beside the two numbers that it compares; return None if there are no such numbers.

    ``before`` and ``after`` are the text before and after the percentage.

    >>> from bertcalc.proofreading.mentions.calculations import find
    >>> [share] = find("(2.7%)", {})
    >>> print(judge_share_beside("294,912 / 109,482,240 (", ")", share.best).reasons[0])
    294,912 of 109,482,240 is 0.27 %.
    """
    beside = _TWO_BEFORE.search(before) or _TWO_AFTER.match(after)
    if beside is None:
        return _judge_rounded_share(before, after, side)
    part, whole = (int(beside[group].replace(",", "")) for group in ("part", "whole"))
    if not 0 < part < whole:
        return None
    right, counts = Fraction(part, whole), Problem.of(N_("the ratio of the two numbers next to it"))
    reason = Problem.of(N_("{part} of {whole} is {share} %."), part=part, whole=whole, share=_percent(right, side))
    return compared(right, side.value, counts, reason, 2 * side.reach)  # rounded or truncated


def _judge_rounded_share(before: str, after: str, side: ChainSide) -> Judged | None:
    """Judge a percentage of a rounded number: 38.6M (31% of 124M); return None for others."""
    part, whole = _PART_BEFORE.search(before), _WHOLE_AFTER.match(after)
    beside = _PART_OF_WHOLE.search(before)
    if not beside and not (part and whole):
        return None
    written = beside.groups() if beside else (part and part["part"], whole and whole["whole"])
    try:
        first, second = (typed(amount or "") for amount in written)
    except InputError:
        return None
    if not 0 < first.value < second.value:
        return None
    right = first.value / second.value
    rough = sum(((amount.high - amount.value) / amount.value for amount in (first, second)), Fraction(0))
    reason = Problem.of(
        N_("{part} of {whole} is {share} %."),
        part=in_words(first.value),
        whole=in_words(second.value),
        share=_percent(right, side),
    )
    counts = Problem.of(N_("the ratio of the two numbers next to it"))
    return compared(right, side.value, counts, reason, 2 * side.reach + right * rough)


_AMOUNT = r"[0-9][0-9,]{0,15}(?:\.[0-9]{1,3})?\s?(?:[KMB万亿]|million|billion)"
_PART_BEFORE = re.compile(rf"(?<![\w.,/*+-])(?P<part>{_AMOUNT})(?: param(?:eter)?s| 参数)?\s?[(（]\s?[~≈约]?\s?$")
_WHOLE_AFTER = re.compile(rf"\s?of (?:the |about |[~≈]\s?)?(?P<whole>{_AMOUNT})(?![\w-])")
_PART_OF_WHOLE = re.compile(
    rf"(?<![\w.,/*+-])({_AMOUNT})\s?(?:个?参数)?\s?[(（,，]\s?(?:约|仅|只)?占(?:总?参数量?|全部|总量)?的?\s?({_AMOUNT})\s?的大?约?\s?$"
)
_LONG = r"[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{5,15}"
_TWO_BEFORE = re.compile(
    rf"(?<![\w.,/*+-])(?P<part>{_LONG})\s?(?:/|out of|of)\s?(?P<whole>{_LONG})"
    r"(?: (?:total )?param(?:eter)?s)?\s?[(（=≈,]\s?[~≈]?$"
)
_TWO_AFTER = re.compile(
    rf"[^\n]{{0,80}}trainable params:\s?(?P<part>{_LONG})\W{{1,6}}all params:\s?(?P<whole>{_LONG})"
    r"(?!\W{1,6}trainable)"
)


def judge_relative(count: ChainSide, whole: ChainSide, side: ChainSide) -> Judged | None:
    """Judge the ratio of a count to the first count in its table column; return None if it is roughly right."""
    right = count.value / whole.value
    counts = Problem.of(N_("the share of the first row"))
    reach = side.reach + right * (count.reach / count.value + whole.reach / whole.value)
    reason = Problem.of(N_("This is {share} % of the first row."), share=fixed(100 * right, 1))
    return compared(right, side.value, counts, reason, reach, _ROUGH_PUBLISHED * right)


def _ratio_is(ratio: Fraction, side: ChainSide, counts: Problem) -> Judged | None:
    decimals = len(side.text.strip().rstrip("xX×倍 ").partition(".")[2])
    reason = Problem.of(N_("The ratio is {ratio}."), ratio=fixed(ratio, max(decimals, 2)))
    judged = compared(ratio, side.value, counts, reason, Fraction(1, 2 * 10**decimals), ratio * _ROUGH_TIMES)
    return None if judged and judged.verdict == "wrong" and is_far(side.value, ratio, _FARTHEST) else judged


_ROUGH_TIMES, _FARTHEST = Fraction(1, 20), 4
