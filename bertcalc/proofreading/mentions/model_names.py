"""Find the models that a text names: presets, their relatives, models that bertcalc does not count, and model classes.

>>> [(mention.preset, mention.line) for mention in mentions_in("BERT-base is smaller\\nthan ALBERT-xxlarge.")]
[('bert-base-uncased', 0), ('albert-xxlarge-v2', 1)]
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from bertcalc.diagnosis.relatives import RELATIVES, SIZE_NAMES, SPELLINGS
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS

# Names that texts use for presets, in addition to the presets' own names.
_ALIASES = {
    "bert base": "bert-base-uncased",
    "bertbase": "bert-base-uncased",
    "bert large": "bert-large-uncased",
    "bertlarge": "bert-large-uncased",
    "bert tiny": "bert_uncased_L-2_H-128_A-2",
    "bert mini": "bert_uncased_L-4_H-256_A-4",
    "bert small": "bert_uncased_L-4_H-512_A-8",
    "bert medium": "bert_uncased_L-8_H-512_A-8",
    "bert chinese": "bert-base-chinese",
    "bert wwm": "bert-base-chinese",
    "bert wwm ext": "bert-base-chinese",
    "roberta wwm": "bert-base-chinese",
    "roberta wwm ext": "bert-base-chinese",
    "roberta wwm ext large": "bert-large-chinese",
    # The names of Google's README.
    "bert base, uncased": "bert-base-uncased",
    "bert base, cased": "bert-base-cased",
    "bert large, uncased": "bert-large-uncased",
    "bert large, cased": "bert-large-cased",
    "bert base, multilingual cased": "bert-base-multilingual-cased",
    "bert base, chinese": "bert-base-chinese",
    "chinese bert": "bert-base-chinese",
    "chinese bert base": "bert-base-chinese",
    "中文 bert": "bert-base-chinese",
    "中文 bert base": "bert-base-chinese",
    "chinese roberta wwm ext": "bert-base-chinese",
    "chinese roberta wwm ext large": "bert-large-chinese",
    "mbert": "bert-base-multilingual-cased",
    "multilingual bert": "bert-base-multilingual-cased",
    "roberta": "roberta-base",
    "distilbert": "distilbert-base-uncased",
    "distilbert base": "distilbert-base-uncased",
    "albert": "albert-base-v2",
    "albert xl": "albert-xlarge-v2",
    "albert xxl": "albert-xxlarge-v2",
    "xlm r": "xlm-roberta-base",
    "xlm r base": "xlm-roberta-base",
    "xlm r large": "xlm-roberta-large",
    "xlm roberta": "xlm-roberta-base",
    "electra small": "electra-small-discriminator",
    "electra base": "electra-base-discriminator",
    "electra large": "electra-large-discriminator",
    "distilgpt 2": "distilgpt2",
    "gpt 2": "gpt2",
    "gpt 2 small": "gpt2",
    "gpt2 small": "gpt2",
    "gpt 2 medium": "gpt2-medium",
    "gpt 2 large": "gpt2-large",
    "gpt 2 xl": "gpt2-xl",
    "gpt 2 extra large": "gpt2-xl",
    "gpt 2 345m": "gpt2-medium",
    "gpt 2 355m": "gpt2-medium",
    "gpt 2 774m": "gpt2-large",
    "gpt 2 1.5b": "gpt2-xl",
    "modernbert": "ModernBERT-base",
    "camembert": "camembert-base",
    "deberta": "deberta-base",
    "deberta v3": "deberta-v3-base",
    "mdeberta": "mdeberta-v3-base",
    "nomic embed": "nomic-embed-text-v1.5",
}


_FOREIGN = (
    r"(?:code)?llama|mistral|mixtral|qwen|qwq|chatglm|glm|baichuan|gemma|gemini|palm|bloomz?|falcon|vicuna|alpaca"
    r"|gpt[ _-]?3(?:\.5)?|gpt[ _-]?4o?|gpt[ _-]?j|gpt[ _-]?neox?|neox|(?:flan[ -])?t5|mt5|bart|deepseek|resnet"
    r"|internlm|mamba|xlnet|chinchilla|pythia|olmo|minicpm|smollm|starcoder|whisper|vit|elmo|nezha|longformer|big ?bird"
    r"|mobilebert|squeezebert|convbert|layoutlm(?:v[23])?|visualbert|vilbert|reformer|gpt[ _-]?1"
    r"|(?:phi|yi|opt)(?=[ -]?[0-9])"
)


# The version and size after one of these names: Qwen2.5-7B, Llama 3.2 1B. A number without a unit is not a size: Gemma
# 27 layers.
_VERSIONS = (
    r"(?:-?v?[0-9](?:\.[0-9]{1,2})?(?![0-9])(?!\.[0-9]))?(?:[ _-](?:[0-9](?:\.[0-9])? )?[0-9.]{1,5}[mb](?![a-z]))?"
)


_PIECES = re.compile(r"[\s_$\\{}(（-]+")
_BETWEEN_PIECES = r"(?:[\s_$\\{}-]{0,3}|\s?[(（](?=[a-z]{4,6}[)）]))"  # BERT-base, BERT(base)


def _spelled(name: str) -> str:
    return _PIECES.sub(" ", name.lower()).strip()


@lru_cache(maxsize=1)
def preset_by_name() -> Mapping[str, str]:
    """The presets, keyed by the spellings of their names, including spellings without words that texts often omit."""
    names: dict[str, str] = {}
    for preset in PRESETS:
        spelled = _spelled(preset)
        names.setdefault(spelled, preset)
        names.setdefault(re.sub(r" (?:uncased|discriminator|v[0-9.]+)$", "", spelled), preset)
    return {**names, **_ALIASES, **SPELLINGS}


@lru_cache(maxsize=1)
def model_name_pattern() -> re.Pattern[str]:
    """The pattern for names of models, with a group for each kind: a preset, a foreign model, or BERT alone."""
    names = sorted(
        (re.escape(name).replace(r"\ ", _BETWEEN_PIECES) for name in preset_by_name()), key=len, reverse=True
    )
    return re.compile(
        rf"(?<![A-Za-z0-9])(?:(?P<preset>{'|'.join(names)})|(?P<foreign>(?:{_FOREIGN}){_VERSIONS})|(?P<bert>bert))(?![A-Za-z0-9])",
        re.I,
    )


@lru_cache(maxsize=64)
def family_name(preset: str) -> str:
    """The part of a preset's name before its size or case: bert for bert-base-uncased."""
    return re.split(rf" ?\b(?:{SIZE_NAMES}|uncased|cased)\b", _spelled(preset))[0]


# A word formed like a model's name: TinyBERT6, BERT-PKD, CodeBERTa-small, KoGPT.
_MODEL_WORD = re.compile(
    r"(?<![\w-])(?!transformers?\b)(?:[A-Za-z]{1,14}-?)?(?:BERT|former|GPT|LM)(?:[a-z]{1,8}|[A-Z])?[0-9]{0,2}"
    r"(?:-(?!(?:like|style|based|family|type|sized)\b)[A-Za-z0-9]{1,12}){0,3}(?![\w-])"
)
_PART_OF_MODEL = re.compile("(?:MLM|NLM|LM|CLM|LLM|VLM|.*LM-?head.*|.*transformer.*|berts|bertmodel|gpts)", re.I)


def ends_with_unlisted_model(text: str) -> bool:
    """Whether the last model that a text names is neither a preset nor listed here.

    >>> ends_with_unlisted_model("BERT-base has 110M parameters, while TinyBERT6 has only")
    True
    >>> ends_with_unlisted_model("While TinyBERT6 is small, BERT-base has")
    False
    """
    word = next(reversed([*_MODEL_WORD.finditer(text)]), None)
    last = next(reversed([*model_name_pattern().finditer(text)]), None)
    if last and _OTHER_VARIANT.match(text, last.end()):
        return True
    if word is None or _PART_OF_MODEL.fullmatch(word[0]):
        return False
    if last and last["preset"] and last.start() <= word.start():
        return last.end() < word.start()
    return last is None or (last.start() < word.end() and not (last["bert"] and last.span() == word.span()))


# Words that make a preset's name another model's: bert-base-multilingual-uncased, bert-base-german-cased.
_OTHER_VARIANT = re.compile(
    r"-(?!base\b|large\b|small\b|finetuned|ft\b)(?:[a-z]{2,20}-(?:un)?cased|[a-z]{4,20})\b", re.I
)


def names_model(text: str) -> bool:
    """Whether words contain the name of a model."""
    return bool(model_name_pattern().search(text))


def without_models(text: str) -> str:
    """A text without the names of models.

    >>> without_models("of XLM-R base is vocabulary")
    'of   is vocabulary'
    """
    return model_name_pattern().sub(" ", text)


def models_named(text: str) -> set[str]:
    """The presets that a text names.

    >>> sorted(models_named("GPT-2 has more tokens than BERT-base, and than BERT-base-uncased."))
    ['bert-base-uncased', 'gpt2']
    """
    return {mention.preset for mention in _every_mention(text) if mention.preset}


def first_named(text: str) -> str:
    """The preset that a text names at its beginning, possibly after "the" or "its"; empty if it names none there.

    >>> first_named("the BERT-base model"), first_named("all models")
    ('bert-base-uncased', '')
    """
    mention = model_name_pattern().match(re.sub(r"^(?:the|its|that of) ", "", text.strip(" *`"), flags=re.I))
    return preset_at(mention) if mention else ""


def is_model_name(text: str) -> bool:
    """Whether a label is only the name of a model that bertcalc counts."""
    match = model_name_pattern().fullmatch(text.strip())
    return bool(match and match["preset"])


class Mention(NamedTuple):
    """A name of a model in a text; ``preset`` is empty for a model that bertcalc does not count."""

    start: int
    preset: str
    line: int
    until: int = 0  # the end of a clause that only compares another model with this model: as in BERT-base, ...
    is_supposed: bool = False  # whether the model is hypothetical: with half the layers, it would have ...
    spelling: str = ""  # its name in the text if that differs from the preset's: bert-base-german-cased


SENTENCE = re.compile(
    r"(?:[。！？；;]|[.!?]\s|\n)(?P<goes_on>\s{0,3}(?:(?:Its?|This|These|They|The model)\b|它们?|其|该))?"
)


def mentions_in(text: str) -> Iterator[Mention]:
    """The models that a text names; "Llama" alone means the only Llama that the text names with a size."""
    mentions = _every_mention(text)
    relatives = {mention.preset for mention in mentions if mention.preset in RELATIVES}
    if not relatives and any(not mention.preset for mention in mentions):
        relatives = _with_sizes_of(text)
    for mention in mentions:
        bare = _WITHOUT_SIZE.match(text, mention.start)
        meant = [name for name in relatives if bare and name.startswith(bare[0].lower())]
        yield mention._replace(preset=meant[0]) if not mention.preset and len(meant) == 1 else mention
    yield from _of_siblings(text, mentions)


def _with_sizes_of(text: str) -> set[str]:
    """The relatives for which a text states all sizes: 4,096, 11,008, 32 layers and 32,000 tokens for Llama-7B."""
    stated = {int(number.replace(",", "")) for number in _INTEGER.findall(text)}
    return {
        name
        for name, relative in RELATIVES.items()
        for config in [relative.config]
        if {config.hidden_size, config.intermediate_size, config.num_hidden_layers, config.vocab_size} <= stated
    }


_INTEGER = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3}){1,9}(?![0-9])|(?<![0-9.,])[0-9]{2,6}(?![0-9])")
_WITHOUT_SIZE = re.compile(r"[a-z]++(?![ _-]?(?:[0-9](?:\.[0-9])?[ _-])?[0-9.]{1,5}[mb](?![a-z]))", re.I)


# Another size of a model on the same line: XLM-R base ... The large version has 560M.
_SIBLING = re.compile(
    rf"\b(?:the|its) (?P<size>{SIZE_NAMES})[ -](?:version|variant|one|sibling|model)\b"
    r"|(?P<chinese>tiny|mini|small|medium|base|large|xl)\s?(?:版本?|版模型)",
    re.I,
)


def _of_siblings(text: str, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions that consist only of another size of a model on the same line: the large version."""
    starts = [mention.start for mention in mentions]
    for match in _SIBLING.finditer(text):
        first = bisect_right(starts, text.rfind("\n", 0, match.start()))
        before = mentions[first : bisect_right(starts, match.start())]
        size = re.sub("x-l", "xl", (match["size"] or match["chinese"]).lower())
        presets = (
            preset_by_name().get(f"{family_name(mention.preset)} {size}") for mention in before if mention.preset
        )
        if preset := next(filter(None, presets), None):
            yield Mention(match.start(), preset, before[0].line)


VERSION = re.compile(r"(?<![A-Za-z0-9_.-])[0-9.]{1,6}(?![0-9.]|\s?M)|(?<=-)[0-9.]{1,6}(?=b)", re.I)


def without_sizes(text: str) -> str:
    """Replace the digits in model names by x, without changing the length of the text: Mistral xB."""
    return model_name_pattern().sub(lambda match: VERSION.sub(lambda size: "x" * len(size[0]), match[0]), text)


@lru_cache(maxsize=2)
def _every_mention(text: str) -> tuple[Mention, ...]:
    return tuple(
        Mention(match.start(), preset_at(match), line_of(match), compared_until(match), spelling=_spelling(match))
        for match in model_name_pattern().finditer(text)
        if not match["bert"] and not _PAPER.match(text, match.end()) and not _STYLE.match(text, match.end())
    )


_STYLE = re.compile(r"[- ](?:style|inspired)\b|\s?(?:风格|变体)", re.I)  # another model that resembles the named one
_PAPER = re.compile(r"\s?(?:paper|authors)\b|\s?(?:的)?(?:论文|作者)", re.I)  # a paper may also describe other models


def line_of(match: re.Match[str]) -> int:
    """The number of the line on which a match begins."""
    return bisect_left(_line_breaks(match.string), match.start())


@lru_cache(maxsize=2)
def _line_breaks(text: str) -> list[int]:
    return [match.start() for match in re.finditer("\n", text)]


_COMPARED = re.compile(
    r"(?:\b(?:while|whereas|but|as (?:in|for|with)|like|than|unlike|compared (?:to|with)|versus|vs\.?|same as|that of"
    r"|(?:smaller|faster|lighter|distilled|compressed) (?:version|variant) of)"
    r"(?: (?:in|a|the|that of|those of)){0,2}|而|和|与|跟|比|像)[\s*`(（]*$",
    re.I,
)


COMPARED_WITH = re.compile(r"\b(?:than|compared (?:to|with)|unlike|as in)\b[^,，;；]*")


_CLAUSE_ENDS = re.compile(r"[,，;；。\n]|\.\s|$")


def compared_until(mention: re.Match[str]) -> int:
    """The end of the clause, if it only compares another model with this mention's model; 0 for other mentions."""
    compared = _COMPARED.search(mention.string[max(0, mention.start() - 30) : mention.start()])
    if not compared:
        return 0
    ends = SENTENCE if compared[0].startswith(("as", "like", "same")) else _CLAUSE_ENDS
    end = ends.search(mention.string, mention.end())
    return end.start() if end else len(mention.string)


def _spelling(mention: re.Match[str]) -> str:
    """The whole name of an unlisted model that begins with a listed name; empty for listed models."""
    rest = _GOES_ON_WITH.match(mention.string, mention.end())
    return mention[0] + rest[0] if rest else ""


_GOES_ON_WITH = re.compile(r"-[A-Za-z][\w.-]{2,40}(?<![.-])")


def preset_at(mention: re.Match[str]) -> str:
    """The preset that a match names; empty for a model that bertcalc does not count."""
    return preset_by_name()[_respelled(mention["preset"])] if mention["preset"] else ""


def mentions_of_classes(text: str) -> Iterator[Mention]:
    """The mentions of model classes, such as BertForMaskedLM, each with a preset of the class's family.

    This is the preset that the same line names, else the preset that the text names most often, else the first preset.
    """
    mentions = [mention for mention in _every_mention(text) if mention.preset in PRESETS]
    often = Counter(mention.preset for mention in mentions).most_common()
    presets = {_class_prefix(preset): preset for preset, _count in reversed(often)}
    beside = {(mention.line, _class_prefix(mention.preset)): mention.preset for mention in mentions}
    for match in _classes().finditer(text):
        line = line_of(match)
        likeliest = presets.get(match[1], _by_class()[match[1]])
        yield Mention(match.start(), beside.get((line, match[1]), likeliest), line)


@lru_cache(maxsize=64)
def _class_prefix(preset: str) -> str:
    """The prefix of a preset's class names: Bert."""
    return type(PRESETS[preset].config).__name__.removesuffix("Config")


@lru_cache(maxsize=1)
def _by_class() -> Mapping[str, str]:
    """The first preset of each family, keyed by the prefix of its class names, the longest prefix first."""
    presets: dict[str, str] = {}
    for name in (DEFAULT_PRESET, *PRESETS):
        presets.setdefault(_class_prefix(name), name)
    return {name: presets[name] for name in sorted(presets, key=len, reverse=True)}


_MODULES = "Model|LMHead|Block|MLP|Layer|Attention|SelfAttention|Embeddings?|Encoder|Intermediate|Pooler"


@lru_cache(maxsize=1)
def _classes() -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:TF)?({'|'.join(_by_class())})(?:For[A-Z][A-Za-z]|(?:{_MODULES})(?![a-z]))")


def _respelled(text: str) -> str:
    """The listed spelling of a name: gpt-2, gpt2 and gpt 2 are the same name."""
    spelled = _spelled(text)
    if spelled in preset_by_name():
        return spelled
    joined = spelled.replace(" ", "")
    return next(name for name in preset_by_name() if name.replace(" ", "") == joined)
