"""Find the model that a text is about, from the models and the sizes in the text.

>>> subject = read("BERT-base with vocab_size = 21128: ...")
>>> subject.preset, subject.model.config.vocab_size, subject.assumed
('bert-base-uncased', 21128, False)
>>> read("The embeddings have 23 million parameters.").assumed
True
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter

from bertcalc.config import Config
from bertcalc.diagnosis.known_counts import CLAIMS, every_count, known_counts
from bertcalc.diagnosis.relatives import RELATIVES, SIZE_NAMES
from bertcalc.families import build, family_of
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.described_models import (
    described_by,
    fit,
    is_chosen_depth,
    is_described,
    long_numbers,
    model_of,
    preset_with,
    resized,
    rounded_amounts,
    sizes_of,
    with_sizes,
)
from bertcalc.proofreading.lora_claims import is_about_lora
from bertcalc.proofreading.mentions.model_names import (
    SENTENCE,
    VERSION,
    Mention,
    compared_until,
    line_of,
    mentions_in,
    mentions_of_classes,
    model_name_pattern,
)
from bertcalc.proofreading.mentions.written_sizes import (
    PLAUSIBLE,
    StatedSize,
    assigned_sizes,
    literals,
    places_of_sizes,
    size_groups,
    stated_sizes,
)
from bertcalc.proofreading.named_parts import count_of_part
from bertcalc.proofreading.size_slips import is_of_other_model, is_rounded_vocabulary, without_slips
from bertcalc.proofreading.subject import BERT_ALONE, ONLY_SIZE, SIZE_WORD, Subject

# A model named only by a size that no model in bertcalc has: a 7B model; 7B 参数的模型.
_BILLIONS = re.compile(
    r"(?<![0-9.,])[0-9]{1,3}(?:\.[0-9])?\s?B(?![A-Za-z])"
    r"(?:[ -]param\w*)?(?: \w+)? ?(?:models?|LLMs?|大?模型|参数(?:的|量的)?模型|级)"
    r"|(?:model|模型)[^。.\n]{0,20}?(?<![0-9.,])[0-9]{1,3}(?:\.[0-9])?\s?B(?:[ -]param|\s?参数)"
    r"|\b(?:an?|for|of) [0-9]{1,3}(?:\.[0-9])?B (?:with|in|at|on|needs|takes|has|uses|and [0-9.]{1,4}B)\b",
    re.I,
)
_BERT = re.compile(r"(?<![A-Za-z])bert(?![A-Za-z])", re.I)
# BERT, unless a size or kind follows, as in another model's name: BERT-large.
_BERT_NAMED = re.compile(
    r"(?<![A-Za-z])bert(?![A-Za-z]|[ -]?(?:large|tiny|mini|small|medium|chinese|multilingual))", re.I
)
_BERTS = {name: entry.config for name, entry in PRESETS.items() if family_of(entry.config).name == "bert"}


def read(text: str, model: Model | None = None) -> Subject:
    """Find the model that a text without markup is about, and all models and sizes in the text.

    If ``model`` is not None, the text is about that model.
    """
    text = _without_warnings(text)
    by_name = tuple(mentions_in(text))
    mentions = tuple(sorted((*by_name, *mentions_of_classes(text))))
    sizes = assigned_sizes(text)
    if model is not None:
        preset = preset_with(model.config) or "the given model"
        stated = {**stated_sizes(text), **_facts(text, mentions)}
        return Subject(model, preset, False, mentions, sizes, sizes, stated=stated)
    named = Counter(mention.preset for mention in mentions if mention.preset)
    if not named and _is_of_others(text, mentions):
        return Subject(None, "", False, mentions, sizes, sizes)
    subject = _most_named(text, mentions, named)
    described = _described(text, mentions, named, subject.preset)
    mentions = tuple(sorted((*_renamed(text, mentions, described), *described, *_plain_bert(text, named))))
    subject = _best_fitting(text, mentions, subject, is_named=bool(named)) or subject
    is_named = any(mention.preset == subject.preset for mention in by_name)
    if not is_named and (preset := _of_total(text, subject)):
        subject = Subject(model_of(preset), preset, False)
    starts, continued = _sentences(text)
    return replace(
        subject,
        mentions=mentions,
        bert=bool(_BERT_NAMED.search(text)),
        sentences=starts,
        continued=continued,
        clauses=[match.end() for match in _CLAUSE.finditer(text)],
        topics=_topics_by_numbers(text, mentions, subject),
        stated={**stated_sizes(text), **_facts(text, mentions)},
    )


def _best_fitting(text: str, mentions: Collection[Mention], subject: Subject, *, is_named: bool) -> Subject | None:
    """The model that fits the text's numbers clearly better than ``subject``; None if there is none.

    ``is_named`` is True if the text names a model.
    """
    numbers = long_numbers(text)
    candidates = dict.fromkeys(mention.preset for mention in mentions if mention.preset and not mention.is_supposed)
    is_of_lora = is_named and is_about_lora(text)
    if subject.preset not in RELATIVES and not is_of_lora and subject.fit(numbers) + _CLEARLY_MORE <= len(numbers):
        candidates |= dict.fromkeys(_USUAL)
    best = max(candidates, key=lambda name: fit(model_of(name), numbers), default="")
    is_other = best != subject.preset or subject.model is not None
    if not best or not is_other or fit(model_of(best), numbers) < subject.fit(numbers) + _CLEARLY_MORE:
        return None
    sizes = sizes_of(best)
    assumed = is_described(best) and not is_named and not re.search("bert", text, re.I)
    return Subject(model_of(best), best, assumed, (), sizes, sizes)


def _of_total(text: str, subject: Subject) -> str:
    """The BERT preset that a text identifies by a total, not by its name; empty if there is none.

    The total of any model class, or of the embeddings, identifies a model: 102,267,648 is bert-base-chinese. The result
    is also empty if a total fits ``subject``, or if the text names models but no BERT.
    """
    totals = {number for number in long_numbers(text) if number >= _LEAST_TOTAL}
    is_bert = subject.assumed or re.search("bert", text, re.I)
    if not totals or not is_bert or subject.model is None or totals & _with_vocabulary(subject.model.config):
        return ""
    return next((name for name, config in _BERTS.items() if totals & _with_vocabulary(config)), "")


_LEAST_TOTAL = 10**7


@lru_cache(maxsize=64)
def _with_vocabulary(config: Config) -> frozenset[int]:
    """The counts that depend on the vocabulary: the total of each class, and the embeddings with and without LayerNorm.

    >>> 16_622_592 in _with_vocabulary(PRESETS["bert-base-chinese"].config)
    True
    """
    model = build(config)
    names = ("embeddings", "embeddings without LayerNorm", "word embeddings")
    tables = (count_of_part(name, model) for name in names)
    return frozenset((*tables, *(count.total for count in every_count(config, known_counts))))


def _without_warnings(text: str) -> str:
    """Replace transformers' standard warnings by spaces, because their class names do not name the text's model."""
    return _WARNING.sub(lambda match: " " * len(match[0]), text)


_WARNING = re.compile(
    r"\((?:e\.g\. )?initializing an? \w{1,60} model from an? \w{1,60} model\)"
    r"|You're using an? \w{1,60}TokenizerFast tokenizer",
)
# A class of another model, in a text that names no BERT. AutoModel may be any model, and a class that the text itself
# defines is the text's model.
_OTHER_CLASS = re.compile(
    r"(?<!class )\b(?!(?:TF|Flax)?AutoModel)[A-Z][A-Za-z0-9]{1,40}"
    r"For(?:SequenceClassification|TokenClassification|QuestionAnswering|MultipleChoice|MaskedLM"
    r"|CausalLM|ConditionalGeneration|PreTraining|ImageClassification)\b"
)


def _is_of_others(text: str, mentions: Sequence[Mention]) -> bool:
    """Whether a text, or its title, names only models that bertcalc does not support."""
    title = text[: len(text) - len(text.lstrip())].count("\n")  # the first line that is not empty
    of_title = text.split("\n")[title]
    if any(mention.line == title for mention in mentions) and not re.search("bert", of_title, re.I):
        return True
    is_of_others = mentions or _BILLIONS.search(text) or _OTHER_CLASS.search(text)
    return bool(is_of_others) and not re.search("bert", text, re.I)


# The likely models of a text if it names no model, or if its numbers do not fit the named model.
_USUAL = (
    "bert-base-uncased",
    "gpt2",
    "distilbert-base-uncased",
    "roberta-base",
    "bert-large-uncased",
    "albert-base-v2",
)
_CLEARLY_MORE = 2  # additional fitting numbers that another model needs to replace the model named most often


def _most_named(text: str, mentions: tuple[Mention, ...], named: Counter[str]) -> Subject:
    """The model that a text names most often, or else the BERT that fits the text best, with the text's sizes."""
    preset = named.most_common(1)[0][0] if named else ""
    own_text = _without_others(text, mentions, preset)
    sizes = assigned_sizes(own_text)
    if preset in RELATIVES:
        sizes = without_slips(sizes, RELATIVES[preset].config)
        model = None if _has_other_groups(text, RELATIVES[preset].config) else model_of(preset)
        return Subject(model, preset, False, (), sizes, sizes)
    sizes = {**_numbers_of(text, mentions, preset), **sizes}
    base = preset or _fitting(sizes, text)
    if preset or _BERT.search(text):
        sizes = without_slips(sizes, PRESETS[base].config)
    if preset and _is_rounded(sizes, PRESETS[preset].config) and not _VOCABULARY_OF_CODE.search(text):
        sizes.pop("vocab_size")
    if preset and _only_truncates(sizes, PRESETS[preset].config, own_text):
        sizes.pop("max_position_embeddings")
    written = dict(sizes)
    is_resized = preset and sizes.keys() - {"num_hidden_layers"}
    total_of_sizes = resized(model_of(preset), tuple(sizes.items())).num_parameters() if is_resized else 0
    if preset and _gives_total(text, preset) and not literals(text)[total_of_sizes]:
        # The text is about the published model, whatever sizes it states. The exception is a vocabulary size that it
        # uses to count the word embeddings.
        sizes = {"vocab_size": sizes["vocab_size"]} if _counts_table(text, sizes, PRESETS[preset].config) else {}
    kept = _without_conflicts(sizes, base, own_text)
    if _keeps_feed_forward(kept, base, text):
        kept["intermediate_size"] = PRESETS[base].config.intermediate_size
    config = with_sizes(PRESETS[base].config, kept)
    assumed = not (preset or re.search("bert", text, re.I) or _is_like_bert(config, text))
    return Subject(build(config), base, assumed, (), sizes, written)


def _keeps_feed_forward(sizes: Mapping[str, int], preset: str, text: str) -> bool:
    """Whether a text's counts keep the published intermediate_size although they change the hidden size.

    A configuration class does the same. If this is False, intermediate_size scales with the hidden size.
    """
    if "hidden_size" not in sizes or "intermediate_size" in sizes:
        return False
    published, changed = model_of(preset), tuple(sizes.items())
    kept = resized(published, (*changed, ("intermediate_size", published.config.intermediate_size)))
    counts = literals(text)
    return bool(counts[kept.num_parameters()]) and not counts[resized(published, changed).num_parameters()]


def _has_other_groups(text: str, config: Config) -> bool:
    """Whether a text states a different number of key-value heads than a configuration, and so means another model."""
    stated = {int(match[1]) for match in _KEY_VALUE_HEADS.finditer(text)}
    groups = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    return bool(stated) and groups not in stated


_KEY_VALUE_HEADS = re.compile(r"(?:num|n)_(?:key_value|kv)_heads['\"]?\s?[:=]{1,2}\s?(?:Some\()?([0-9]{1,3})")


def _counts_table(text: str, sizes: Mapping[str, int], config: Config) -> bool:
    """Whether a text counts the word embeddings with its stated vocabulary size, such as 50,304 for GPT-2."""
    width = getattr(config, "embedding_size", config.hidden_size)
    return "vocab_size" in sizes and sizes["vocab_size"] * width in long_numbers(text)


def _described(text: str, mentions: tuple[Mention, ...], named: Collection[str], main: str) -> list[Mention]:
    """The passages that describe a model by its sizes, as mentions of that model."""
    topics = _topics(text, mentions)
    assigned = assigned_sizes(text)
    shared = {field: assigned[field] for field in ("vocab_size", "max_position_embeddings") if field in assigned}
    by_line: dict[int, list[Mention]] = {}
    for mention in mentions:
        by_line.setdefault(mention.line, []).append(mention)
    facts, is_about_bert = _facts(text, mentions), re.search("bert", text, re.I)
    described = []
    start = 0
    for number, line in enumerate(text.split("\n")):
        for group in size_groups(line) if "|" not in line else ():
            on_line = by_line.get(number, [])
            before = bisect_left(on_line, start + group.end, key=attrgetter("start"))
            base = next((on_line[place] for place in reversed(range(before)) if not on_line[place].until), None)
            preset = base.preset if base else (topics[number] or "")
            if preset in RELATIVES:
                continue  # the sizes of a published model are known
            is_of_main = main in PRESETS and not (named and is_about_bert)
            preset = preset if preset in PRESETS else (main if is_of_main else DEFAULT_PRESET)
            if preset not in named:
                group.sizes.update({field: size for field, size in shared.items() if field not in group.sizes})
            for fact in facts.values():
                if start + group.start <= fact.start < start + group.end:
                    group.sizes.pop(fact.field, None)
            beside = line[max(0, group.start - _LONGEST_NAME) : group.start]
            unlisted = _UNLISTED.search(beside) or _LABEL.fullmatch(line[: group.start])
            spelling = base.spelling if base and base.spelling else (unlisted["name"] if unlisted else "")
            alone = bool(base and base.spelling and group.sizes.keys() == {"vocab_size"})
            if not spelling and preset in named and _is_rounded(group.sizes, PRESETS[preset].config):
                del group.sizes["vocab_size"]
            is_listed = not spelling or model_name_pattern().fullmatch(spelling)
            if is_listed and (preset in named or _BERT.search(text)):
                group = group._replace(sizes=without_slips(group.sizes, PRESETS[preset].config))
            if _keeps_feed_forward(group.sizes, preset, text):
                group.sizes["intermediate_size"] = PRESETS[preset].config.intermediate_size
            if name := described_by(group, line, preset, alone=alone):
                place = start + group.end
                described.append(Mention(place, name, number, is_supposed=group.is_supposed, spelling=spelling))
        start += len(line) + 1
    return described


_LABEL = re.compile(r"\W{0,6}(?P<name>[A-Za-z][\w.-]{0,20}(?: [\w.-]{1,12})?)\W{0,4}[:：(（]\W{0,4}")
_LONGEST_NAME = 120  # maximum number of characters of an unlisted name and the words after it
# An unlisted name before the sizes of its model: gbert-large (24 layers, ...
_UNLISTED = re.compile(
    r"(?P<name>(?=[\w.-]{0,30}(?:bert|lm|gpt|electra))[A-Za-z][\w.-]{2,40})[`*'\"]{0,3}\s?"
    r"(?:[(（:：,，]|has|is an?|uses|with|的配置[:：为是]?)?\s?(?:has|with|an?|the)?\s?$",
    re.I,
)


def _renamed(text: str, mentions: Collection[Mention], described: Collection[Mention]) -> Iterator[Mention]:
    """The mentions, with every name that the text gives to a described model resolved to that model.

    Further occurrences of such names become mentions as well.
    """
    names = {mention.spelling.lower(): mention.preset for mention in described if mention.spelling}
    for mention in mentions:
        yield mention._replace(preset=names.get(mention.spelling.lower(), mention.preset))
    longer = {name for name in names if len(name) > _LONGEST_LABEL}
    for name in longer - {mention.spelling.lower() for mention in mentions}:
        for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.I):
            yield Mention(match.start(), names[name], line_of(match), compared_until(match))


_LONGEST_LABEL = 3  # a name of at most three characters may be a letter of a formula
_BERT_WITH_NUMBER = re.compile(
    r"(?<![A-Za-z-])BERT(?:'s)?"
    r"(?=[ :：=的(（]{0,2}(?:(?:has|have|had|uses|with|at) |(?:模型)?(?:大?约?有|拥有|包含|是|为) ?)?"
    r"(?:(?:about|around|roughly|approximately|some|over|nearly|almost) |[~≈] ?|大?约 ?)?[0-9])"
)


def _plain_bert(text: str, named: Counter[str]) -> Iterator[Mention]:
    """Yield a mention of BERT-base wherever a text about another family states a number for "BERT" without a size.

    ``named`` counts how often the text names each preset.
    """
    most = next((preset for preset, _count in named.most_common() if preset in PRESETS), "")
    if most and most not in _BERTS:
        for match in _BERT_WITH_NUMBER.finditer(text):
            yield Mention(match.start(), DEFAULT_PRESET, line_of(match))


def _topics_by_numbers(text: str, mentions: Collection[Mention], subject: Subject) -> list[str | None]:
    """The preset of each line, by the headings above it or the numbers in its paragraph; None if neither shows one."""
    topics = _topics(text, mentions)
    options = [mention for mention in mentions if mention.preset and not mention.is_supposed]
    lines = text.split("\n")
    naming = {mention.line for mention in options if not is_described(mention.preset)}
    names = dict.fromkeys(option.preset for option in options)
    latest = ""  # the latest model that the section describes so far
    for paragraph in _paragraphs(lines):
        if any(_HEADING.match(lines[number]) for number in paragraph):
            latest = ""
        inside = [option.preset for option in options if option.line in paragraph and is_described(option.preset)]
        latest = inside[-1] if inside else latest
        usual = topics[paragraph[-1]] or subject.preset
        numbers = long_numbers("\n".join(lines[number] for number in paragraph if number not in naming))
        if not numbers or usual.startswith(ONLY_SIZE):
            continue
        fits = {name: fit(model_of(name), numbers) for name in names}
        fits[usual] = subject.fit(numbers) if usual == subject.preset else fit(model_of(usual), numbers)
        best = max(fits, key=lambda name: (fits[name], name == latest))
        if fits[best] >= fits[usual] + (1 if best == latest else _CLEARLY_MORE):
            for number in paragraph:
                topics[number] = best
    return topics


def _paragraphs(lines: Sequence[str]) -> Iterator[range]:
    """The line numbers of each paragraph."""
    start = 0
    for number, line in enumerate((*lines, "")):
        if not line.strip():
            if number > start:
                yield range(start, number)
            start = number + 1


# Text between the name of a model and the number of its layers.
_HAS = (
    r"['\"`*_]{0,4}\s?(?:[(（,，:：|]|has|with|having|uses|stacks|consists of|comprises|contains|有|是|为|包含|使用)?"
    r"\s?(?:[0-9]{1,4} ?(?:attention )?(?:heads|个头),? ?(?:and |with )?)?"
)
_COUNTED = {
    "num_hidden_layers": r"(?P<num_hidden_layers>[0-9]{1,3})(?:[ -](?:hidden|encoder|transformer|identical)){0,2}"
    r"(?:[ -](?:layers?|blocks?)\b|\s?个?(?:编码器|encoder)?层)",
    "num_attention_heads": r"(?P<num_attention_heads>[0-9]{1,3})(?:[ -](?:attention|self-attention))?"
    r"(?:[ -]heads\b|\s?个(?:注意力)?头)",
}
_ANYWHERE = {name: re.compile(rf"(?<![0-9.,第前后每]){pattern}", re.I) for name, pattern in _COUNTED.items()}
_LAYERS_BEHIND_NAME = re.compile(_HAS + _COUNTED["num_hidden_layers"], re.I)


def _numbers_of(text: str, mentions: tuple[Mention, ...], preset: str) -> dict[str, int]:
    """Read the number of layers directly after the name of a text's model: BERT-base (24 layers).

    If the text names no model, read the numbers of layers and heads anywhere, if they are the same everywhere.
    """
    if preset:
        facts = _facts(text, mentions)
        behind = _behind_names(text, (mention for mention in mentions if mention.preset == preset))
        matches = {
            "num_hidden_layers": [match for _m, match in behind if match.start("num_hidden_layers") not in facts]
        }
    else:
        matches = {size: list(pattern.finditer(text)) for size, pattern in _ANYWHERE.items()}
    numbers = {size: {int(match[size]) for match in all_matches} for size, all_matches in matches.items()}
    return {
        size: min(values)
        for size, values in numbers.items()
        if len(values) == 1 and PLAUSIBLE[size][0] < min(values) <= PLAUSIBLE[size][1]
    }


def _behind_names(text: str, mentions: Iterable[Mention]) -> Iterator[tuple[Mention, re.Match[str]]]:
    """The mentions directly followed by a number of layers, as (mention, match of the number) pairs."""
    for mention in mentions:
        name = model_name_pattern().match(text, mention.start)
        if name and (match := _LAYERS_BEHIND_NAME.match(text, name.end())):
            yield mention, match


@lru_cache(maxsize=1)
def _facts(text: str, mentions: tuple[Mention, ...]) -> dict[int, StatedSize]:
    """Wrong numbers of layers and heads for published models, keyed by position: GPT-2 Large (16 layers)."""
    facts = {}
    lines = text.split("\n")
    starts = sorted({mention.start for mention in mentions})
    on_line = Counter(line for line, _preset in {(mention.line, mention.preset) for mention in mentions})
    for mention in mentions:
        name = model_name_pattern().match(text, mention.start)
        if name is None or mention.preset not in (*PRESETS, *RELATIVES) or not SIZE_WORD.search(name[0].lower()):
            continue
        following = bisect_left(starts, mention.start + 1)
        rest = _SENTENCE_OF_FACT.match(text, name.end(), starts[following] if starts[following:] else len(text))
        is_alone = on_line[mention.line] == 1
        if (
            rest
            and (_IS_FACT.match(rest[0]) or (is_alone and _IS_LABEL.match(rest[0])))
            and not is_of_other_model(lines[mention.line])
        ):
            config = model_of(mention.preset).config
            for place in places_of_sizes(rest[0]):
                start = rest.start() + place.number
                least = _LEAST_FACTS.get(place.field)
                is_wrong = least and least <= place.size != getattr(config, place.field)
                is_near = is_alone or start - name.end() <= _NEAR_NAME
                is_of_layers = place.field == "num_hidden_layers"
                if is_wrong and is_near and not (is_of_layers and is_chosen_depth(text, mention.preset, place.size)):
                    facts[start] = StatedSize(start, place.field, place.size, is_fact=True)
    return facts


_LEAST_FACTS = {
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
}  # fewer may be output heads, such as the heads for masked words and next sentences
_NEAR_NAME = 25  # maximum number of characters from a model's name to its size
_SENTENCE_OF_FACT = re.compile(r"(?:[^\n.。;；]|[.](?![\s]|$)){1,200}")
_IS_FACT = re.compile(r"['\"`*_]{0,4}\s?(?:[(（|]|has|uses|contains|consists of|comprises|有|是|为|包含|使用)")


_IS_LABEL = re.compile(r"['\"`*_]{0,4}\s?[:：]")  # ignored if the line has several names: A vs. B: 24 layers


def _gives_total(text: str, preset: str) -> bool:
    """Whether a text states the number of parameters of a published model: exactly, rounded, or as published."""
    right = model_of(preset).num_parameters()
    if literals(text)[right]:
        return True
    amounts = rounded_amounts(text)
    config = PRESETS[preset].config
    totals = [count.total for count in every_count(config, known_counts)]
    published = [claim for claim in CLAIMS if PRESETS[claim.preset].config == config]
    return any(
        any(map(amount.means, totals)) or any(claim.is_meant(amount) for claim in published) for amount in amounts
    )


_CLAUSE = re.compile(r"[。！？；;，]|[.!?,](?![0-9])|\n|\b(?:while|whereas)\b|而")


def _sentences(text: str) -> tuple[list[int], set[int]]:
    """The start of each sentence except the first, and the indices of sentences that continue the previous subject."""
    ends = list(SENTENCE.finditer(text))
    return [end.end() for end in ends], {number for number, end in enumerate(ends, 1) if end["goes_on"]}


_HEADING = re.compile(r"\s{0,3}(#{1,6})\s")
_LONGEST_TOPIC = 60

_SIZE_IN_HEADING = re.compile(
    rf"(?:^\s{{0,3}}(?:#{{1,6}}\s)?|[(（])(?P<size>{SIZE_NAMES})(?: model)?"
    r"(?:[)）][?？:：]?\s*$|\s?[?？:：]\s*$|(?<=[a-z])\s*$)",
    re.I,
)


def _topics(text: str, mentions: Collection[Mention]) -> list[str | None]:
    """The preset of each line: the model in the nearest heading above it that names only one; None without a heading.

    A short line may also be a heading.
    """
    named: dict[int, set[str]] = {}
    for mention in mentions:
        named.setdefault(mention.line, set()).add(mention.preset)
    topics: list[str | None] = []
    stack: list[tuple[int, str | None]] = []
    for number, line in enumerate(text.split("\n")):
        if level := _level(line, number in named or bool(_SIZE_IN_HEADING.search(line))):
            stack = [entry for entry in stack if entry[0] < level]
            size = _SIZE_IN_HEADING.search(line)
            topic = {ONLY_SIZE + size["size"].lower()} if size else set()
            presets = named.get(number, topic)
            stack.append((level, next(iter(presets)) if len(presets) == 1 else None))
        above = next((preset for _level, preset in reversed(stack) if preset is not None), None)
        for_size = _FOR_SIZE.match(line)
        topics.append(ONLY_SIZE + for_size["size"].lower() if for_size else above)
    return topics


_FOR_SIZE = re.compile(
    rf"\W{{0,4}}(?:for|in) (?:the )?(?P<size>{SIZE_NAMES})(?: model| version| variant)?\b(?!-)", re.I
)


def _level(line: str, names_model: bool) -> int:
    """The level of a heading; 7 for a short line that names a model and no number; 0 for other lines."""
    if heading := _HEADING.match(line):
        return len(heading[1])
    if not names_model or len(line) > _LONGEST_TOPIC or _NO_HEADING.search(line):
        return 0
    rest = model_name_pattern().sub("", VERSION.sub("", line))
    return 0 if re.search(r"[0-9]{2}|[.。,，;；=]\s?\S", rest) else _SHORT_LINE


_SHORT_LINE = 7
_NO_HEADING = re.compile(
    r"\||[.。]\s*$|[0-9]\s?(?:[%MGk万亿]|million)(?![A-Za-z])"
    r"|[(（][^()（）]{1,40}\b(?:has|had|uses?|used)\b[^()（）]{1,40}[)）]",  # 6 layers (BERT has 12)
    re.I,
)


def _without_others(text: str, mentions: Sequence[Mention], preset: str) -> str:
    """Remove the passages about other models from a text, because their sizes belong to those models.

    A passage is about the last model that its sentence names, or else about the previous sentence's model.
    """
    kept: list[str] = []
    is_own, index = True, 0
    starts = [0, *_sentences(text)[0], *(mention.start for mention in mentions), len(text)]
    is_bert = not preset or preset in _BERTS
    for start, end in pairwise(sorted({*starts, *(match.end() for match in re.finditer("\n", text))})):
        named = set()
        while index < len(mentions) and mentions[index].start < end:
            named.add(mentions[index].preset)
            index += 1
        if text[start - 1 : start] in ("", "\n"):
            is_own = True
        is_own = preset in named if named else is_own and (is_bert or not BERT_ALONE.search(text[start:end]))
        kept += [text[start:end]] if is_own else []
    return "".join(kept)


def _fitting(sizes: Mapping[str, int], text: str) -> str:
    """The BERT preset that agrees best with a text's sizes, or gpt2 for its field names or vocabulary without BERT."""
    numbers = literals(text)
    names_bert = re.search("bert", text, re.I)
    if not names_bert and (_GPT2_FIELDS.search(text) or numbers[PRESETS["gpt2"].config.vocab_size]):
        return "gpt2"

    def agreement(name: str) -> tuple[int, int]:
        config = _BERTS[name]
        fields = ("hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size")
        weights = {"hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 2, "vocab_size": 1}
        assigned = sum(weights[field] for field in fields if sizes.get(field) == getattr(config, field))
        if "hidden_size" not in sizes and not numbers[config.hidden_size]:
            assigned = 0  # six layers alone do not identify a model
        occurring = numbers[config.hidden_size] and numbers[config.intermediate_size]
        return assigned, int(name == "bert-large-uncased" and bool(occurring) and not numbers[768])

    best = max(map(agreement, _BERTS))
    fitting = next(name for name in _BERTS if agreement(name) == best)
    return fitting if best > agreement(DEFAULT_PRESET) else DEFAULT_PRESET


_GPT2_FIELDS = re.compile(r"\bn_embd\b")


def _without_conflicts(sizes: Mapping[str, int], base: str, text: str) -> dict[str, int]:
    """The sizes, plus another preset's vocabulary size if the text contains it but not the vocabulary size of ``base``.

    The text must contain only one such size, and must not name ``base``.
    """
    config, kept = PRESETS[base].config, dict(sizes)
    numbers = literals(text)
    is_named = re.search(re.escape(base), text, re.I)  # by its full name, such as bert-base-cased
    if "vocab_size" not in kept and not numbers[config.vocab_size] and not is_named:
        same = [entry.config.vocab_size for entry in PRESETS.values() if family_of(entry.config) is family_of(config)]
        others = [size for size in dict.fromkeys(same) if numbers[size]]
        if len(others) == 1 and others[0] not in (32768,):
            kept["vocab_size"] = others[0]
    return kept


def _is_rounded(sizes: Mapping[str, int], config: Config) -> bool:
    """Whether the stated vocabulary size is a configuration's size rounded to thousands: 30,000 for 30,522."""
    return is_rounded_vocabulary(sizes.get("vocab_size", 0), config.vocab_size)


# A vocabulary size that code sets, and so does not round: RobertaConfig(vocab_size=52_000)
_VOCABULARY_OF_CODE = re.compile(r"Config\([^()]{0,400}?\bvocab_size\s{0,3}=\s{0,3}[0-9]")


def _only_truncates(sizes: Mapping[str, int], config: Config, text: str) -> bool:
    """Whether a stated maximum length only truncates the inputs of a published model: fine-tuning with max_len=128."""
    stated = sizes.get("max_position_embeddings", config.max_position_embeddings)
    table = stated * config.hidden_size
    is_counted = re.search(rf"(?<![0-9]){stated}\s?[*×x·]|[*×x·]\s?{stated}(?![0-9])|{table:,}|{table}", text)
    return stated < config.max_position_embeddings and bool(_TRAINS.search(text)) and not is_counted


# A maximum length among training settings.
_TRAINS = re.compile(
    r"max_(?:seq_)?len(?:gth)?\b[^\n]{0,80}\b(?:lora|dropout|epochs?|warmup|adamw?)\b"
    r"|\b(?:bs|batch[_ ]size|epochs?|warmup|adamw|lr|learning[_ ]rate)\b[^\n]{0,80}\bmax_(?:seq_)?len(?:gth)?\b",
    re.I,
)


def _is_like_bert(config: Config, text: str) -> bool:
    """Whether a text that names no model contains the vocabulary size and the hidden size of a BERT model."""
    numbers = literals(text)
    published = any(config.vocab_size == bert.vocab_size for bert in _BERTS.values())
    return published and bool(numbers[config.vocab_size] and numbers[config.hidden_size])
