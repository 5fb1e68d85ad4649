"""Find the part of a model that the words around a number mean, and check whether the number counts it."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter

from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.explain import Explanation, causes, search
from bertcalc.diagnosis.hand_count import LineVerdict
from bertcalc.diagnosis.hand_count import judge as judge_line
from bertcalc.diagnosis.layer_parts import (
    PARTS,
    SPECIFIC,
    WHOLE_MODEL,
    WHOLE_OR_BODY,
    Counted,
    part_counts,
    parts_of,
    table_called,
)
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from bertcalc.diagnosis.part_words import mistakes_in_words
from bertcalc.diagnosis.relatives import SIZE_NAMES
from bertcalc.diagnosis.tensor_filter import is_bias
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import without_models
from bertcalc.proofreading.verdicts import Judged, right_part, wrong_because

_BITS = 9.0


def with_and_without_biases(part: Counted) -> tuple[list[Tensor], ...]:
    """Four lists of a part's tensors: all, without biases, also without the LayerNorms' beta, and only matrices."""
    return (
        list(part.tensors),
        [tensor for tensor in part.tensors if not is_bias(tensor)],
        [tensor for tensor in part.tensors if not tensor.name.endswith(("bias", "bias)"))],
        [tensor for tensor in part.tensors if len(tensor.shape) == 2],
    )


# Words for the number of layers, not for a part.
_NUMBERS = r"(?:all|per|each|every|one|single|a|the|[0-9]+)"
_LAYERS = re.compile(
    rf"\b(?:{_NUMBERS}|in|for|of)\b(?:\s+{_NUMBERS})*\s+(?:transformer |encoder |identical )?(?:layers?|blocks?)\b"
    r"|[0-9]+\s?个?\s?(?:encoder|transformer)?\s?层|[每单一]一?层|所有层|全部层",
    re.I,
)


def meant_by_words(line: TypedLine, context: Context, model: Model) -> LineVerdict | None:
    """Judge a number by the names of parts around it: right if a part has this count, else the likeliest mistake.

    Nearer names take precedence. Return None if no words name a part.
    """
    wrong: LineVerdict | None = None
    scope = context.scope(model.config.num_hidden_layers)
    for name in named_parts(context, model):
        if wrong and name in context.headings and (wrong.explanation or _names_strictly(wrong)):
            break
        verdict = _line_verdict(name, line, model)
        verdict = _of_the_meant(verdict, name, scope, model)
        if verdict.is_right and verdict.counted and verdict.kind != "size":
            return (
                verdict if context.is_of_any_layer and _is_repeated(verdict) else _in_scope(verdict, scope, name, model)
            )
        verdict = _with_norm(_in_scope_of(verdict, scope, model), model)
        if wrong is None or (verdict.explanation and not wrong.explanation and _names_strictly(verdict)):
            wrong = verdict
    return _of_whole_model(wrong, model) if wrong else None


def _of_whole_model(verdict: LineVerdict, model: Model) -> LineVerdict:
    """Explain an unexplained verdict on all layers by the whole model, as for a last row "all (12 layers)"."""
    part, line = verdict.counted, verdict.line
    if verdict.explanation or not part or (part.part, part.layers) != ("layers", "all"):
        return verdict
    whole = next(iter(counts_of((WHOLE_MODEL,), model)), None)
    if not whole or not line.value or line.value <= part.right or line.reach:
        return verdict
    explained = _best(whole, line, model)
    plain = explained and len(explained) == 1 and abs(explained[0].amount) * _SMALL_PART <= whole.right
    return verdict._replace(counted=whole, explanation=explained) if plain else verdict


_SMALL_PART = 100


def _is_repeated(verdict: LineVerdict) -> bool:
    """Whether a verdict is on the count of all layers."""
    return bool(verdict.counted and verdict.counted.part == "layers" and verdict.counted.layers == "all")


def _with_norm(verdict: LineVerdict, model: Model) -> LineVerdict:
    """Explain a wrong count of the embeddings as one that includes their LayerNorm, if that needs fewer mistakes."""
    part, whole = verdict.counted, next(iter(counts_of(("embeddings",), model)), None)
    if not whole or not part or part.part != "embeddings without LayerNorm" or not verdict.explanation:
        return verdict
    explained = _best(whole, verdict.line, model)
    fewer = explained and len(explained) < len(verdict.explanation)
    return verdict._replace(counted=whole, explanation=explained) if fewer else verdict


def _names_strictly(verdict: LineVerdict) -> bool:
    return bool(verdict.counted and verdict.counted.part != WHOLE_MODEL)


def named_parts(context: Context, model: Model) -> list[str]:
    """The words around a number that name parts: particular parts before "layers", "total" and "model".

    A heading that names a particular part comes before "layers" and "total" beside the number.
    """
    names = [_without_layers(name, model) for name in context.names if _names_part(name, model)]
    headings = [_without_layers(name, model) for name in context.headings if _names_part(name, model)]
    particular = [name for name in names if not names_whole_only(name, model)]
    above = headings[:1] if _heading_is_particular(context, model) else []
    return list(dict.fromkeys((*particular, *above, *names, *headings)))


def _heading_is_particular(context: Context, model: Model) -> bool:
    return bool(context.headings) and not names_whole_only(_WEIGHTS.sub(" ", context.headings[0]), model)


_WEIGHTS = re.compile(r"\bweights?\b|\bmatri(?:x|ces)\b|权重|矩阵", re.I)  # words that fit a heading of any part


def _without_layers(name: str, model: Model) -> str:
    """A name without the number of layers, if the rest still names a part: feed forward, all layers."""
    rest = _LAYERS.sub(" ", name)
    return rest if rest != name and _names_part(rest, model) and not names_whole_only(rest, model) else name


WIDE = ("layers", "layers without cross-attention and distances", *WHOLE_OR_BODY)


@lru_cache(maxsize=4096)
def names_whole_only(name: str, model: Model) -> bool:
    """Whether a name means only layers or the whole model, not a particular part."""
    if re.search(r"\w\.(?:weight|bias)\b", name):
        return False
    called = (part for part, (_of, pattern) in PARTS.items() if re.search(pattern, name, re.I))
    return all(part in WIDE for part in called)


# Names that mean a single part, although the patterns of other parts also match them.
_TABLE = r"(?:[ _-]?embeddings?)(?: (?:table|matrix|layer))?"
_TABLE_LABELS = {
    "word embeddings": rf"(?:the )?(?:word|token|input){_TABLE}|词嵌入(?:矩阵|表)?",
    "position embeddings": rf"(?:the )?position(?:al)?{_TABLE}|位置嵌入(?:矩阵|表)?",
    "token type embeddings": rf"(?:the )?(?:segment|token.?type){_TABLE}|句子嵌入",
}
_DENSE = "(?:dense|linear|fully.connected|projection) ?(?:layer)?"
_OF_FFN = "(?: (?:of|in) the (?:feed.?forward|ffn|mlp)(?: (?:network|layer|block|module))?)?"
_PLAIN_LABELS = {
    "attention": r"(?:the )?(?:multi.?head(?:ed)? )?(?:self.?)?(?:attention|attn|mha)(?: (?:layer|block|module))?"
    r"|(?:多头)?(?:自)?注意力(?:层|机制|模块|部分)?",
    "output projection of the attention": r"(?:the )?(?:(?:self.?)?attention.?)?"
    r"(?:out(?:put)?[ _-]proj(?:ection)?)(?: layer)?"
    r"|(?:the )?(?:self.?)?attention(?:'s)? output(?: layer)?|注意力输出层?|(?:注意力的?)?输出投影层?",
    "first matrix of the feed-forward network": rf"(?:the )?(?:up.?proj(?:ection)?|first {_DENSE}){_OF_FFN}"
    r"|第一个?(?:全连接|线性)层",
    "second matrix of the feed-forward network": rf"(?:the )?(?:down.?proj(?:ection)?|second {_DENSE}){_OF_FFN}"
    r"|第二个?(?:全连接|线性)层",
    "query, key and value": r"(?:the )?(?:qkv|query-key-value)(?: (?:projections?|linear layers?|layers?))?"
    r"|qkv ?(?:线性层|投影|三个线性层)",
    "feed-forward": r"(?:the )?(?:position.?wise )?(?:feed.?forward|ffn|mlp)(?: (?:network|layer|block|module))?"
    r"|前馈(?:神经)?(?:网络)?(?:层)?",
}


def _of_the_meant(verdict: LineVerdict, name: str, scope: str, model: Model) -> LineVerdict:
    """Move a verdict to the part that the name means if the verdict is about a different part."""
    alone = _alone(name)
    part = verdict.counted
    if not alone or not part or part.part not in PARTS or part.part == alone[0]:
        return verdict
    if part.part in alone and (verdict.is_right or not verdict.explanation):
        return verdict
    if verdict.is_right and part.part in ("embeddings", "embeddings without LayerNorm"):
        return verdict._replace(explanation=None)
    meant_parts = [
        meant
        for meant in counts_of(alone, model)
        if meant.right and meant.heads == "all" and (not scope or meant.layers == scope)
    ]
    if right := next((meant for meant in meant_parts if verdict.line.means(meant.right)), None):
        # By chance, a part in four layers may have the count of a larger part.
        return verdict._replace(counted=right, explanation=())
    explained = [
        verdict._replace(counted=meant, explanation=explanation)
        for meant in meant_parts
        if (explanation := _best(meant, verdict.line, model))
    ]
    return min(explained, key=lambda other: len(other.explanation or ()), default=verdict)


# Words that mean only one of the two feed-forward matrices.
_MATRIX = {
    "first matrix of the feed-forward network": r"\bup[ -]?proj|\bfirst (?:linear|dense|layer|matrix|projection)"
    r"|\b(?:fc|linear|dense)_?1\b|\b(?:ffn|mlp)[ _-]?in\b|\bc_fc\b|\bintermediate\.dense"
    r"|第一个?(?:全连接|线性|矩阵|dense)",
    "second matrix of the feed-forward network": r"\bdown[ -]?proj|\bsecond (?:linear|dense|layer|matrix|projection)"
    r"|\b(?:fc|linear|dense)_?2\b|\b(?:ffn|mlp)[ _-]?out\b"
    r"|\bmlp\.c_proj|第二个?(?:全连接|线性|矩阵|dense)",
}


def exchanged(part: Counted, context: Context, model: Model) -> Counted | None:
    """The feed-forward matrix that the words mean, if the number counts the other feed-forward matrix; else None."""
    if part.part not in _MATRIX or not context.names:
        return None
    meant = [name for name, pattern in _MATRIX.items() if re.search(pattern, context.names[0], re.I)]
    if len(meant) != 1 or meant[0] == part.part:
        return None
    other = part_in(meant[0], model, part.layers)
    return other if other and other.right != part.right else None


# Words around the name of a part that are not part of the name: "So the feed forward has".
_AROUND_LABEL = re.compile(
    r"(?:[\W_]|\b(?:of|in|and|plus|per|for|alone"
    r"|only|just|has|have|is|are|contains?|with|takes?|needs?|adds?|gives?|parameters?|params"
    r"|accounts?|sums?|amounts?|comes|to|costs?|uses?|holds?|requires?)\b"
    r"|为|是|有|共|约|可训练|参数|数|量|个|的){1,20}$"
    r"|^(?:[\W_]|\([a-z]\)|[a-z]\)|\b(?:so|for|are|is|per|to|of them|only|whereas|how many|does|do"
    r"|and|while|but|plus|then|thus|hence|its|an?|one|each|in|has"
    r"|have|with|所以|因此)\b|[一每]个|的){1,20}",
    re.I,
)
_ALL_NORMS = re.compile(r"\ball (?:the )?layer[ _-]?norms?\b|(?:所有|全部)的?(?:layer ?norm|层归一化)", re.I)


# The owner of a part: the feed-forward part of one layer of BERT-large
_OF_ONE_LAYER = re.compile(
    r" (?:part|block|sub-?layer) (?:of|in) (?:one|each|every|a single|a) (?:\w+ )?layer"
    rf"(?: of (?:the )?[\w-]{{0,12}}(?:bert|gpt)[\w-]{{0,12}}(?: (?:{SIZE_NAMES}))?)?",
    re.I,
)
_QKV = re.compile(r"(?<![a-z])q[\W_]{0,3}k[\W_]{0,3}v(?![a-z])", re.I)
# Words for more than query, key and value, or for each of these matrices alone.
_WITH_OUTPUT = re.compile(
    r"out|proj\w* ?o(?![a-z])|(?<![a-z])v[\W_]{0,3}(?:and )?o(?![a-z])|(?<![a-z])w_?o(?![a-z])"
    r"|\beach|\bof (?:them|these)|dense|输出|每个|各|\+|bias|偏置|norm",
    re.I,
)


@lru_cache(maxsize=4096)
def _alone(name: str) -> tuple[str, ...]:
    """The part that a name clearly means, and the same part with its LayerNorm; empty if the name is ambiguous."""
    if table := table_called(name):
        return (table,)
    label = " ".join(_AROUND_LABEL.sub("", _OF_ONE_LAYER.sub(" ", name.strip())).split())
    if _ALL_NORMS.search(name) and not re.search(r"layers|blocks|encoder|each|per|每|编码|的层|各层", name, re.I):
        return ("all LayerNorms",)
    if _QKV.search(name) and not _WITH_OUTPUT.search(name):
        return ("query, key and value",)
    plain = [part for part, pattern in _PLAIN_LABELS.items() if re.fullmatch(pattern, label, re.I)]
    if plain and (matrix := _one_of_two(name)):
        return (matrix,)
    if plain:
        return tuple(part for part in (plain[0], f"{plain[0]} with LayerNorm") if part in PARTS)
    return tuple(part for part, pattern in SPECIFIC.items() if re.search(pattern, name, re.I))


def _one_of_two(name: str) -> str:
    """The feed-forward matrix that a name such as "FFN in" means; empty if the name means both matrices."""
    return next((part for part, pattern in _IN_AND_OUT.items() if re.fullmatch(pattern, name.strip(), re.I)), "")


_IN_AND_OUT = {
    "first matrix of the feed-forward network": r"(?:ffn|mlp|feed.?forward)[ _-]?(?:in|1|expan\w*)",
    "second matrix of the feed-forward network": r"(?:ffn|mlp|feed.?forward)[ _-]?(?:out|2|contract\w*)",
}


def _in_scope_of(verdict: LineVerdict, scope: str, model: Model) -> LineVerdict:
    """Explain a wrong number as a count of one layer or of all layers, as the words say."""
    part = verdict.counted
    if not part or not scope or part.layers == scope or part.part not in PARTS or part.heads == "one":
        return verdict
    meant = next((other for other in counts_of((part.part,), model) if other.layers == scope), None)
    explained = _best(meant, verdict.line, model) if meant else None
    return verdict._replace(counted=meant, explanation=explained) if explained else verdict


def names_particular_part(context: Context, model: Model) -> bool:
    """Whether the words beside a number, or its heading, name a particular part, not only layers or the model."""
    near = any(not names_whole_only(name, model) for name in context.names)
    return near or _heading_is_particular(context, model)


@lru_cache(maxsize=4096)
def _names_part(name: str, model: Model) -> bool:
    """Whether a name means at least one part of a model."""
    if re.search(r"\w\.(?:weight|bias)\b", name):
        return True
    return any(re.search(pattern, name, re.I) for _of, pattern in PARTS.values())


@lru_cache(maxsize=8192)
def _line_verdict(name: str, line: TypedLine, model: Model) -> LineVerdict:
    tensor = re.search(r"(?:[A-Za-z_][\w*]*\.)+(?:[0-9]+\.)?(?:\w+\.)*(?:weight|bias)\b", name)
    if not tensor and re.fullmatch(r"\W*[A-Za-z]+\W*", name):
        name = f"the {name}"  # so that an ordinary word, such as attention, is not read as the path of a module
    return judge_line(line._replace(name=tensor[0] if tensor else name), model, model.config)


def _in_scope(verdict: LineVerdict, scope: str, name: str, model: Model) -> LineVerdict:
    """Move a verdict to one layer or to all layers if the words say so."""
    part, line = verdict.counted, verdict.line
    if not part or not scope or part.part not in PARTS or part.heads == "one":
        return verdict
    if part.layers == scope or not any(tensor.copies > 1 for tensor in _all_of(part, model).tensors):
        return verdict
    same = [
        other
        for other in all_parts(model)
        if other.layers == scope and line.means(other.right) and other.heads == "all"
    ]
    if any(re.search(PARTS[other.part][1], name, re.I) for other in same if other.part in PARTS):
        return verdict
    if scope == "one" and re.search(
        rf"\b(?:all|total|{model.final_config.num_hidden_layers})\b|[×*]|共|总|所有", name, re.I
    ):
        return verdict
    meant = part_in(part.part, model, scope)
    explained = _best(meant, line, model) if meant else None
    return verdict._replace(counted=meant, explanation=explained) if explained else verdict


@lru_cache(maxsize=32)
def all_parts(model: Model) -> tuple[Counted, ...]:
    """The counts of all parts, modules and tensors of a model."""
    return tuple(part_counts(counted(model), MiscountSizes.of(model.final_config)))


def parts_without_biases(model: Model, low: int, high: int) -> list[Counted]:
    """The parts that have a count from ``low`` to ``high`` without their biases."""
    counts, parts = _without_biases(model)
    first, last = bisect_left(counts, low), bisect_right(counts, high)
    return [part for _place, part in sorted(parts[first:last], key=itemgetter(0))]


@lru_cache(maxsize=32)
def _without_biases(model: Model) -> tuple[list[int], list[tuple[int, Counted]]]:
    """The counts of parts without biases, ascending, and the (original position, part) pairs in the same order."""
    parts = enumerate(
        part._replace(tensors=tuple(tensors))
        for part in counts_of(tuple(PARTS), model)
        for tensors in with_and_without_biases(part)[1:]
        if part.heads == "all"
    )
    ascending = sorted(parts, key=lambda entry: entry[1].right)
    return [part.right for _place, part in ascending], ascending


def _all_of(part: Counted, model: Model) -> Counted:
    """The same part, counted in all layers."""
    return next(iter(counts_of((part.part,), model)), part) if part.part in PARTS else part


def _best(part: Counted, line: TypedLine, model: Model) -> Explanation | None:
    """The likeliest mistakes that lead from the count of a part to the number of a line; None if there are none."""
    sizes = MiscountSizes.of(model.final_config)
    among = search(part.tensors, sizes, _BITS)
    combinations = [
        combination for value in among.near(*line.bounds, _BITS) for combination in among.combinations(value)[:1]
    ]
    return causes(part.tensors, sizes, min(combinations).miscounts) if combinations else None


def times_layers(part: Counted, value: Fraction, model: Model) -> Judged | None:
    """Judge a right one-layer count times the number of layers; return None for other numbers."""
    whole = _all_of(part, model)
    if part.layers != "one" or whole.layers != "all" or whole.right != value:
        return None
    return right_part(whole, model)


def in_all_layers(part: Counted, value: Fraction, model: Model) -> Judged | None:
    """Judge a number as the count of a part in all layers; return None if no mistake explains the number.

    ``part`` is the same part in one layer.
    """
    whole = _all_of(part, model)
    explained = _best(whole, TypedLine("", "", value), model) if whole.layers == "all" != part.layers else None
    return wrong_because(whole, mistakes_in_words(explained, model.config), model) if explained else None


@lru_cache(maxsize=1024)
def count_of_part(name: str, model: Model, layers: str = "") -> int:
    """The parameter count of a part in all layers, or in "one" layer; 0 if the model has no such part."""
    part = part_in(name, model, layers)
    return part.right if part else 0


def part_in(name: str, model: Model, layers: str) -> Counted | None:
    """The part in "all" layers, or in "one" layer; None if the model has no such part."""
    return next(scoped(name, model, layers), None)


def names_part_but_whole(name: str) -> bool:
    """Whether words name a part other than the whole model."""
    return any(
        re.search(pattern, name, re.I)
        for part, (_of, pattern) in PARTS.items()
        if "whole" not in part and "model" not in part
    )


_WITH_NORM = (
    r"(?:,? (?:with|and|including|plus)| ?\+| ?[和与加]) ?(?:the |its )?(?:layer.?norm(?:alization)?|ln|层归一化)"
)
_LABELS_OF_PARTS = {
    **_TABLE_LABELS,
    **_PLAIN_LABELS,
    **{f"{part} with LayerNorm": rf"(?:{_PLAIN_LABELS[part]}){_WITH_NORM}" for part in ("attention", "feed-forward")},
    "pooler": r"(?:the )?pooler(?: layer)?|池化层",
    "embeddings": r"(?:the |all |total )?(?:input )?embeddings?(?: layers?| parameters?)?|嵌入层?|总嵌入",
    "layers": r"(?:the )?(?:transformer )?encoder(?: layers| stack| blocks)?|编码器",
}
# The model that a part belongs to: DistilBERT's encoder.
_OWNER = re.compile(
    rf"\b(?:the )?[\w-]{{0,12}}(?:bert|electra|gpt-?2)(?:[-_ ](?:{SIZE_NAMES}))?"
    r"(?:'s|’s|的)?(?![\w-])"
    r"|^(?:of|in|for) ",
    re.I,
)
_DANGLING = re.compile(r"\s(?:of|in|for)\s*(?=$|\s(?:has|have|is|are)\b)", re.I)
_EACH = re.compile(
    r"(?<!attention )(?:layers|blocks),? (?:each )?(?:of|with|having)$"
    r"|\beach of (?:its|the|these|those) (?:[\w-]+ ){0,2}(?:layers|blocks)(?: (?:has|have|with|about|roughly))*$",
    re.I,
)
_TOTAL = r"(?:(?:sub)?total(?: (?:number of )?param(?:eter)?s)?,? (?:for|of|in) )?"
_ALL_LAYERS = (
    rf"{_TOTAL}(?:the |all )*(?:[0-9]+|all|six|twelve|twenty-four|十二|二十四)[ 个]*"
    r"(?:transformer|encoder|identical)? ?(?:layers|blocks|层|block)(?: (?:in )?total)?"
    r"|[0-9]+ ?个?层 ?(?:transformer|encoder|编码器)|(?:所有|全部)的? ?(?:transformer|encoder|编码器)? ?层"
    r"|(?:the )?(?:transformer|encoder) (?:layers|blocks)"
    r"|(?:the )?(?:whole|entire|full) ?(?:stack|set) of (?:\w+ )?(?:layers|blocks)|整个(?:编码器|encoder|transformer)"
)

_ONE_LAYER = (
    rf"(?:.{{0,40}}[:：] ?)?(?:(?:so|thus|hence|and|then),? )?{_TOTAL}"
    r"(?:(?:(?:in|per|for) )?(?:one|each|every|a single|single|a)|(?:(?:sub)?total(?: param(?:eter)?s)? )?per)"
    r"(?: (?:transformer|encoder|decoder|bert|full))? (?:layer|block)(?: total)?"
    r"(?:,? (?:has|have|contains|holds|takes|with|itself|therefore|about|approximately|roughly|around|a total of)){0,3}"
    r"|(?:transformer|encoder|bert) (?:layer|block)[ #]{1,2}[0-9]{1,2}"
    r"|(?:.{0,20}[:：] ?)?(?:[每一]|单个?|每一?个)(?:transformer|encoder|编码器?|解码器?)? ?(?:层|block|块)"
    r"的?(?:总?参数量?)?(?:合计|小计|总计)?[大约共有为是]{0,3}"
)


_UNDERSCORE = re.compile("(?<=[a-z])_(?=[a-z])", re.I)  # between two words: self_attention_block


_ASIDE = re.compile(r"[,，;；(（](?P<aside>[^,，;；(（]{1,60})$")
# Words in an aside that change what is counted.
_CHANGES = re.compile(
    r"with|and\b|plus|only|alone|exclud|includ|no\b|not\b|than|new|added|trainable|frozen|before|after|[0-9+&×*]|[含和与加不无没新减除前后]",
    re.I,
)


def _without_aside(name: str) -> str:
    """A label without a final aside that changes nothing, such as "first term of the total"."""
    aside = _ASIDE.search(name)
    if not aside or _CHANGES.search(aside["aside"]) or names_part_but_whole(aside["aside"]):
        return name
    return name[: aside.start()]


def meant_alone(name: str) -> list[str]:
    """The part that a label names, as a list; empty if the label also has other words."""
    if _EACH.search(name):
        return ["layers"]
    if matrix := _one_of_two(name):
        return [matrix]
    name = _without_aside(_UNDERSCORE.sub(" ", without_models(_OWNER.sub(" ", name))))
    name = _DANGLING.sub("", name)
    label = " ".join(_AROUND_LABEL.sub("", _LAYERS.sub(" ", name)).split())
    meant = [part for part, pattern in _LABELS_OF_PARTS.items() if re.fullmatch(pattern, label, re.I)]
    if re.fullmatch(_ONE_LAYER, " ".join(name.split()).strip(" :：~≈*-"), re.I):
        return ["layers"]
    whole = re.fullmatch(_ALL_LAYERS, " ".join(_AROUND_LABEL.sub("", name).split()), re.I)
    return meant or (["layers"] if whole else [])


def scoped(name: str, model: Model, layers: str = "") -> Iterator[Counted]:
    """The counts of a part: first in all layers, then in one layer; only one of the two with ``layers``."""
    parts = (part for part in counts_of((name,), model) if part.heads == "all" and part.layers != "others")
    return (part for part in parts if layers in ("", part.layers))


@lru_cache(maxsize=1024)
def counts_of(names: tuple[str, ...], model: Model) -> tuple[Counted, ...]:
    """The parts with these names and their counts; for each part, the count of all layers comes first."""
    return tuple(parts_of(counted(model), MiscountSizes.of(model.final_config), names))
