"""The counts that people give of one configuration, and what a typed number may mean.

>>> from bertcalc import BertConfig
>>> from bertcalc.typed import typed
>>> [known.subject.architecture for known in known_counts(BertConfig()) if typed("109,514,298").means(known.total)]
['BertForMaskedLM', 'BertLMHeadModel']
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import ceil, floor
from typing import Any, NamedTuple

from bertcalc.config import Config, sizes_of
from bertcalc.diagnosis.layer_parts import Counted, own_counts
from bertcalc.diagnosis.miscounts import counted
from bertcalc.families import family_of
from bertcalc.presets import PRESETS
from bertcalc.problem import InputError
from bertcalc.subject import Subject
from bertcalc.text import N_
from bertcalc.tree.nn import Tensor
from bertcalc.typed import Typed

# What a number may be instead of a number of parameters, and what it has to be multiplied by to become one.
READINGS: dict[str, tuple[str, Fraction]] = {
    "parameters": (N_("a number of parameters"), Fraction(1)),
    "float32": (N_("bytes in float32: 4 for each parameter"), Fraction(1, 4)),
    "16-bit": (N_("bytes in 16 bits: 2 for each parameter"), Fraction(1, 2)),
    "8-bit": (N_("bytes in 8 bits: 1 for each parameter"), Fraction(1)),
    "float64": (N_("bytes in float64: 8 for each parameter"), Fraction(1, 8)),
    "bits": (N_("bits in float32: 32 for each parameter"), Fraction(1, 32)),
    "half": (N_("half of a count"), Fraction(2)),
    "moments": (N_("weights and Adam's two moments: 3 numbers for each parameter"), Fraction(1, 3)),
    "training": (N_("weights, gradients and Adam's two moments: 4 numbers for each parameter"), Fraction(1, 4)),
    "moments float32": (N_("bytes of weights and Adam's two moments: 12 for each parameter"), Fraction(1, 12)),
    "training float32": (
        N_("bytes of weights, gradients and Adam's two moments: 16 for each parameter"),
        Fraction(1, 16),
    ),
    "training mixed": (
        N_("bytes in mixed training with Adam, and gradients in float32: 18 for each parameter"),
        Fraction(1, 18),
    ),
    "mebi": (N_("divided by 1,024 · 1,024: M means 1,048,576"), Fraction(2**20, 10**6)),
    "mebi float32": (N_("bytes in float32, divided by 1,024 · 1,024: MB means MiB"), Fraction(2**20, 4 * 10**6)),
    "mebi 16-bit": (N_("bytes in 16 bits, divided by 1,024 · 1,024: MB means MiB"), Fraction(2**20, 2 * 10**6)),
}
TRAINING = tuple(key for key in READINGS if key.startswith(("moments", "training")))
# Among all that these may mean no parts of a model are looked for, and no miscounts.
KNOWN_ONLY = ("half", *TRAINING)
_NUMBERS = ("half", "moments", "training")  # of numbers, not of bytes


class Mix(NamedTuple):
    """Sizes that are taken to be others, those of a published model if it is said, and the right count with its own."""

    preset: str
    fields: tuple[str, ...]
    right: int


class Known(NamedTuple):
    """A count that is right for a model of the configuration, by a convention, or with some sizes of another model."""

    subject: Subject
    parameters: int
    buffers: int = 0  # elements of position_ids, which files of older releases hold beside the parameters
    convention: str = ""  # of CONVENTIONS
    mix: Mix | None = None

    @property
    def total(self) -> int:
        """What is counted by the convention."""
        return self.parameters + self.buffers

    @property
    def right(self) -> int:
        """The right count of the model with its own sizes."""
        return self.mix.right if self.mix else self.parameters

    @property
    def has_decoder(self) -> bool:
        """Whether it can be tied or not."""
        return self.subject.cls.task in ("pretraining", "masked-lm", "causal-lm")


# Counts that are right otherwise than as the number of a class's parameters.
CONVENTIONS = {
    "no embeddings": N_("without embeddings, as num_parameters(exclude_embeddings=True) counts"),
    "pooler": N_("with a pooler, which files and older releases have here"),
    "both buffers": N_("with {count:,} position_ids and token_type_ids, which are buffers"),
    "masks": N_("with the causal masks of the layers, {count:,} elements of buffers in files of older releases"),
    "labels": N_("with {count:,} labels"),
}
_TABLES = ("word", "position", "token type", "task type", "distance", "relative position")
_MOST_LABELS, _MOST_WITHOUT_BIAS = 100, 10


# Published models whose counts people quote, by their names on the Hugging Face Hub; they are no presets.
_UNLISTED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "bert-base-multilingual-uncased": ("bert-base-uncased", {"vocab_size": 105_879}),
    "bge-small-zh-v1.5": ("bert_uncased_L-4_H-512_A-8", {"vocab_size": 21_128}),
    "multilingual-e5-small": ("all-MiniLM-L12-v2", {"vocab_size": 250_037}),
}
PUBLISHED_CONFIGS: Mapping[str, Config] = {
    **{name: preset.config for name, preset in PRESETS.items()},
    **{name: replace(PRESETS[like].config, **sizes) for name, (like, sizes) in _UNLISTED.items()},
}


class HandCount(NamedTuple):
    """A count that somebody published and that is not right: whose it is, of which preset, and the miscounts in it."""

    parameters: int
    said: str
    preset: str
    miscounts: tuple[str, ...]  # of MISCOUNTS, in their order


HAND_COUNTS = (
    HandCount(
        75_641_856,
        N_("an article's hand count for bert-base-chinese, from its config.json"),
        "bert-base-chinese",
        ("layer biases", "pooler", "attention once"),
    ),
)


class Claim(NamedTuple):
    """A rounded number that somebody published for a model and that is not its count."""

    parameters: int
    preset: str
    said: str
    source: str


_GPT2 = N_("OpenAI's first number for it, which its repository later called wrong")
CLAIMS = (
    Claim(117_000_000, "gpt2", N_("OpenAI's first number for it; GPT-1 has as many"), "Radford et al. 2019, Table 2"),
    Claim(345_000_000, "gpt2-medium", _GPT2, "Radford et al. 2019, Table 2"),
    Claim(762_000_000, "gpt2-large", _GPT2, "Radford et al. 2019, Table 2"),
    Claim(139_000_000, "ModernBERT-base", N_("the number of its release"), "huggingface.co/blog/modernbert"),
)


class Reading(NamedTuple):
    """What a typed number may mean, in parameters."""

    key: str  # of READINGS
    low: Fraction
    high: Fraction
    rounded: bool  # zeros at its end are taken as not known: 340M as anything from 335 to 345 million

    @property
    def exact(self) -> int | None:
        """The only number that is meant, if there is one."""
        return int(self.low) if self.low == self.high and self.low.denominator == 1 else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and highest count that may be meant."""
        return ceil(self.low), floor(self.high)

    def means(self, count: int) -> bool:
        """Whether a count may be what was typed."""
        return self.low <= count <= self.high


def known_counts(config: Config) -> Iterator[Known]:
    """Every class of the family, the body also without its pooler; decoders tied and untied; each with its buffers."""
    family = family_of(config)
    for cls in family.classes:
        for tied in (config.tie_word_embeddings, not config.tie_word_embeddings):
            for pooler in (True, False):
                if pooler or cls.pooler_is_optional:
                    subject = Subject(replace(config, tie_word_embeddings=tied), cls.name, pooler)
                    model = subject.model()
                    found = Known(subject, model.num_parameters())
                    if tied == config.tie_word_embeddings or found.has_decoder:
                        yield found
                        if ".attn.bias" in family.buffers:  # GPT-2's masks
                            masks = config.num_hidden_layers * config.max_position_embeddings**2
                            yield found._replace(buffers=masks, convention="masks")
                        elif any("position_ids" in module.buffers for _path, module, _copies in model.modules()):
                            yield found._replace(buffers=config.max_position_embeddings)


def more_counts(config: Config) -> Iterator[Known]:
    """Counts of every class by other conventions: without embeddings, with a pooler it has not, with all buffers.

    They are meant where they are met exactly.
    """
    pooler = family_of(config).base.pooler
    hidden = config.hidden_size
    for found in known_counts(config):
        if found.buffers:
            continue
        tensors = list(found.subject.model().tensors())
        tables = sum(tensor.num_parameters() for tensor in tensors if tensor.place.role in _TABLES)
        yield found._replace(parameters=found.parameters - tables, convention="no embeddings")
        if any(tensor.place.role == "token type" for tensor in tensors):
            yield found._replace(buffers=2 * config.max_position_embeddings, convention="both buffers")
        if pooler and found.subject.cls.task != "base" and not any(_is_pooler(tensor) for tensor in tensors):
            pooled = found._replace(parameters=found.parameters + hidden * hidden + hidden, convention="pooler")
            yield from (pooled, pooled._replace(buffers=config.max_position_embeddings))


@lru_cache(maxsize=8)
def mixes(subject: Subject) -> tuple[Known, ...]:
    """A model with some sizes of a BERT, or of a published model of its family: hidden size and heads together."""
    own, right = subject.config, subject.model().num_parameters()
    found: dict[Config, Known] = {}
    if vars(own).get("embedding_size", own.hidden_size) != own.hidden_size:
        as_wide = subject._replace(config=replace(own, embedding_size=own.hidden_size))  # type: ignore[call-arg]
        mix = Mix("", ("embedding_size",), right)
        found[as_wide.config] = Known(as_wide, as_wide.model().num_parameters(), mix=mix)
    for name, other in sorted(PUBLISHED_CONFIGS.items(), key=lambda item: type(item[1]) is not type(own)):
        if type(other) is type(own) or name in ("bert-base-uncased", "bert-large-uncased"):
            sizes = [
                size for size in sizes_of(type(own)) if getattr(own, size) != getattr(other, size, getattr(own, size))
            ]
            alone = [size for size in sizes if size != "num_attention_heads" or "hidden_size" not in sizes]
            for fields in chain.from_iterable(combinations(alone, count) for count in range(1, len(alone) + 1)):
                heads = ("num_attention_heads",) if "hidden_size" in fields else ()
                try:
                    config = replace(own, **{size: getattr(other, size) for size in (*fields, *heads)})
                except InputError:  # its heads do not divide the hidden size
                    continue
                if config not in found:
                    mixed = subject._replace(config=config)
                    found[config] = Known(mixed, mixed.model().num_parameters(), mix=Mix(name, fields, right))
    return tuple(found.values())


def _is_pooler(tensor: Tensor) -> bool:
    return tensor.place.component == "pooler"


@lru_cache(maxsize=32)
def every_count(config: Config, counts: Callable[[Config], Iterator[Known]]) -> tuple[Known, ...]:
    """What one of these two gives."""
    return tuple(counts(config))


def other_labels(config: Config, count: int) -> Iterator[Known]:
    """The classes that have a count with another number of labels."""
    for name, first, more in _by_labels(config):
        labels, rest = divmod(count - first, more)
        if not rest and 1 <= labels + 2 <= _MOST_LABELS and labels + 2 != config.num_labels:
            if labels + 2 > _MOST_WITHOUT_BIAS and more % config.hidden_size == 0:
                continue  # every multiple of the hidden size would be such a count
            subject = Subject(replace(config, num_labels=labels + 2), name)
            yield Known(subject, count, convention="labels")


@lru_cache(maxsize=32)
def _by_labels(config: Config) -> tuple[tuple[str, int, int], ...]:
    """The classes that depend on the number of labels: with two of them, and what another one adds."""
    found = []
    for cls in family_of(config).classes:
        first, second = (
            Subject(replace(config, num_labels=labels), cls.name).model().num_parameters() for labels in (2, 3)
        )
        if first != second:
            found.append((cls.name, first, second - first))
    return tuple(found)


@lru_cache(maxsize=1)
def published_parts() -> Mapping[int, tuple[str, Counted]]:
    """What the body of every preset has of its own, by its count: parts, modules, tensors; of several the first."""
    found: dict[int, tuple[str, Counted]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        model = Subject(config, family_of(config).base.name).model()
        for counted_part in own_counts(counted(model)):
            found.setdefault(counted_part.right, (name, counted_part))
    return found


@lru_cache(maxsize=1)
def published_counts() -> Mapping[int, tuple[str, Known]]:
    """The known counts of every preset without buffers: of several with the same one, the first."""
    found: dict[int, tuple[str, Known]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        for known in known_counts(config):
            if not known.buffers:
                found.setdefault(known.parameters, (name, known))
    return found


@lru_cache(maxsize=1)
def published_otherwise() -> Mapping[int, tuple[str, Known]]:
    """The counts of every preset by other conventions, and those with buffers: of several with the same the first."""
    found: dict[int, tuple[str, Known]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        for known in (*known_counts(config), *more_counts(config)):
            found.setdefault(known.total, (name, known))
    return found


def readings(number: Typed) -> list[Reading]:
    """What a number may mean, the nearest first: as it is typed, with its last zeros unknown, in other units."""
    found = []
    none = ("bits", *_NUMBERS) if number.unit == "bytes" else ("8-bit", "training")  # which are other ones as well
    keys = [key for key in READINGS if key not in none]
    if number.unit == "bytes":
        keys.sort(key=("parameters", "mebi").__contains__)  # what is said to be bytes is that first
    elif number.unit == "parameters":
        keys = ["parameters", *_NUMBERS, "mebi"]
    for rounded in (False, True):
        reach = _reach(number, rounded)
        if rounded and reach == _reach(number, False):
            continue
        for key in keys:
            factor = READINGS[key][1]
            whole = number.low == number.high
            if key.startswith("mebi") and (whole or rounded) and not 0 < reach * _DIVIDED <= number.value:
                continue  # whole numbers were not divided, unless a few zeros stand for digits that were left out
            precise = whole or (number.unit == "bytes" and reach * _DIVIDED <= number.value)
            if key in ("bits", *KNOWN_ONLY) and (rounded or not precise):
                continue  # nobody rounds these, but bytes a little
            low, high = ((number.value + way * reach) * factor for way in (-1, 1))
            found.append(Reading(key, max(low, Fraction(0)), high, rounded))
    return found


_DIVIDED = 100  # a number that was divided is known to a part of so many, and so are bytes of training


def _reach(number: Typed, rounded: bool) -> Fraction:
    """How far from a number that may be which was meant: half of its last digit, or of its last that is no zero.

    A whole number means itself, unless it ends in three zeros.
    """
    reach = number.high - number.value
    if not rounded or not number.value:
        return reach
    if not reach:
        reach = Fraction(1, 2) if number.value % 1000 == 0 else reach
    place = f"{float(2 * reach):.0e}"  # what one in the last digit is worth: in 90.0M, zeros are typed on purpose
    while reach and int(place[2:]) in (0, 3, 4, 6, 8, 9, 12) and number.value % (20 * reach) == 0:
        reach *= 10
    return reach
