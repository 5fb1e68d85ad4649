"""The counts that people give of one configuration, and what a typed number may mean.

>>> from bertcalc import BertConfig
>>> from bertcalc.typed import typed
>>> [known.subject.architecture for known in known_counts(BertConfig()) if typed("109,514,298").means(known.total)]
['BertForMaskedLM', 'BertLMHeadModel']
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, product
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

from bertcalc.config import Config, sizes_of
from bertcalc.diagnosis.layer_parts import Counted, own_counts
from bertcalc.diagnosis.miscounts import counted
from bertcalc.diagnosis.which import which
from bertcalc.families import family_of
from bertcalc.presets import PRESETS
from bertcalc.problem import InputError
from bertcalc.subject import Subject
from bertcalc.tree.nn import Tensor
from bertcalc.typed import Typed

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# What a number may be instead of a number of parameters, and what it has to be multiplied by to become one.
READINGS: Mapping[str, tuple[str, Fraction]] = {
    line["key"]: (line["said"], Fraction(line["factor"])) for line in _TABLES["readings"]
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
    buffers: int = 0  # elements beside the parameters: of position_ids, in files of older releases, or of adapters
    convention: str = ""  # of CONVENTIONS
    mix: Mix | None = None
    rank: int = 0  # of the adapters

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
CONVENTIONS: Mapping[str, str] = {line["name"]: line["said"] for line in _TABLES["conventions"]}
# Conventions that lead to many numbers, and prove little.
PROVE_LITTLE = {name for name in CONVENTIONS if name.startswith(("labels", "adapters"))}
# What peft gives an adapter unless it is told otherwise, and as "all-linear"; each with usual ranks.
_ADAPTED = {
    "adapters": (which("query and value, matrix"), (4, 8, 16, 32, 64)),
    "adapters everywhere": (which("attention + feed-forward + pooler + map + transform, matrix"), (8, 16)),
}
_TRAINED = tuple(_TABLES["trained_heads"])
_TABLE_ROLES = ("word", "position", "token type", "task type", "distance", "relative position")
_MOST_LABELS, _MOST_WITHOUT_BIAS = 100, 10


PUBLISHED_CONFIGS: Mapping[str, Config] = {
    **{name: preset.config for name, preset in PRESETS.items()},
    **{
        line["name"]: replace(PRESETS[line["like"]].config, vocab_size=line["vocab_size"])
        for line in _TABLES["unlisted"]
    },
}


class HandCount(NamedTuple):
    """A count that somebody published and that is not right: whose it is, of which preset, and the miscounts in it."""

    parameters: int
    said: str
    preset: str
    miscounts: Sequence[str]  # of MISCOUNTS, in their order


HAND_COUNTS = tuple(HandCount(**line) for line in _TABLES["hand_counts"])


class Claim(NamedTuple):
    """A rounded number that somebody published for a model and that is not its count."""

    parameters: int
    preset: str
    said: str
    source: str

    def is_meant(self, number: Typed) -> bool:
        """Whether a number is this one, to as many digits."""
        zeros = len(f"{self.parameters}") - len(f"{self.parameters}".rstrip("0"))
        return number.means(self.parameters) and number.unit != "bytes" and number.high - number.low <= 10**zeros


CLAIMS = tuple(Claim(**line) for line in _TABLES["claims"])


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
        tables = sum(tensor.num_parameters() for tensor in tensors if tensor.place.role in _TABLE_ROLES)
        yield found._replace(parameters=found.parameters - tables, convention="no embeddings")
        if any(tensor.place.role == "token type" for tensor in tensors):
            yield found._replace(buffers=2 * config.max_position_embeddings, convention="both buffers")
        if pooler and found.subject.cls.task != "base" and not any(_is_pooler(tensor) for tensor in tensors):
            pooled = found._replace(parameters=found.parameters + hidden * hidden + hidden, convention="pooler")
            yield from (pooled, pooled._replace(buffers=config.max_position_embeddings))


def adapted_counts(config: Config) -> Iterator[Known]:
    """Every class with LoRA adapters, as peft adds them: beside its head a copy is counted, if that is trained."""
    for found in every_count(config, known_counts):
        tensors = list(found.subject.model().tensors())
        head = sum(one.num_parameters() for one in tensors if one.name.partition(".")[0].endswith(_TRAINED))
        for name, (concerned, ranks) in _ADAPTED.items() if not found.buffers else ():
            sides = sum(one.copies * sum(one.shape) for one in filter(concerned, tensors))
            for rank, trained in product(ranks, {0, head}):
                adapted = found._replace(buffers=rank * sides + trained, convention=name, rank=rank)
                yield adapted
                if trained or found.subject.cls.task == "base":
                    yield adapted._replace(parameters=0, convention=f"{name} alone")


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
            if key in ("float64", "bits", "half", *TRAINING[1:]) and (rounded or not precise):
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
    if not rounded or not number.value or number.zeros:
        return reach
    if not reach:
        reach = Fraction(1, 2) if number.value % 1000 == 0 else reach
    while reach and number.value % (20 * reach) == 0:
        reach *= 10
    return reach
