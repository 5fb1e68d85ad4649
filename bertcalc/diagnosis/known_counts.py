"""The counts that people give for one configuration, and the meanings of a typed number.

>>> from bertcalc import BertConfig
>>> from bertcalc.text.amounts import typed
>>> [known.subject.architecture for known in known_counts(BertConfig()) if typed("109,514,298").means(known.total)]
['BertForMaskedLM', 'BertLMHeadModel']
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, product
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

from bertcalc.config import Config, sizes_of
from bertcalc.diagnosis.layer_parts import Counted, own_counts
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from bertcalc.diagnosis.tensor_filter import which
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.subject import Subject
from bertcalc.text.amounts import Typed
from bertcalc.text.arguments import Single, record
from bertcalc.text.problem import InputError

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# The meanings of a number, and the factor that makes it a number of parameters.
READINGS: Mapping[str, tuple[str, Fraction]] = {
    line["key"]: (line["said"], Fraction(line["factor"])) for line in _TABLES["readings"]
}
TRAINING = tuple(key for key in READINGS if key.startswith(("moments", "training")))
_GIBI = tuple(key for key in READINGS if key.startswith("gibi"))
# These are looked up among the known counts only, not among parts of a model or miscounts.
KNOWN_ONLY = ("half", *TRAINING, *_GIBI)
_NUMBERS = ("half", "moments", "training")  # these are numbers of elements, not of bytes


class Mix(NamedTuple):
    """Sizes with wrong values, from the published model ``preset`` or, for "", from elsewhere; and the right count."""

    preset: str
    fields: tuple[str, ...]
    right: int


@record
class Known(NamedTuple):
    """A model of the configuration, perhaps with some wrong sizes, and its count by a convention."""

    subject: Subject
    parameters: Single
    buffers: Single = 0  # elements beside the parameters: position_ids in files of older releases, or adapters
    convention: str = ""  # a key of CONVENTIONS
    mix: Mix | None = None
    rank: Single = 0  # of the adapters

    @property
    def total(self) -> int:
        """The count by the convention."""
        return self.parameters + self.buffers

    @property
    def right(self) -> int:
        """The right count of the model with its own sizes."""
        return self.mix.right if self.mix else self.parameters

    @property
    def has_decoder(self) -> bool:
        """Whether it has a decoder, which can be tied."""
        return self.subject.cls.task in ("pretraining", "masked-lm", "causal-lm")


# Other conventions by which a count is right than the number of parameters of a class.
CONVENTIONS: Mapping[str, str] = {line["name"]: line["said"] for line in _TABLES["conventions"]}
# Conventions that give so many different counts that they prove little.
PROVE_LITTLE = {name for name in CONVENTIONS if name.startswith(("labels", "adapters"))}
# The targets of peft's LoRA by default, and with "all-linear"; each with usual ranks.
_ADAPTED = {
    "adapters": (which("query and value, matrix"), (4, 8, 16, 32, 64)),
    "adapters everywhere": (which("attention + feed-forward + pooler + map + transform, matrix"), (8, 16)),
}
_TRAINED = tuple(_TABLES["trained_heads"])
_MOST_LABELS, _MOST_WITHOUT_BIAS = 100, 10


PUBLISHED_CONFIGS: Mapping[str, Config] = {
    **{name: preset.config for name, preset in PRESETS.items()},
    **{
        line["name"]: replace(PRESETS[line["like"]].config, vocab_size=line["vocab_size"])
        for line in _TABLES["unlisted"]
    },
}


class HandCount(NamedTuple):
    """A published count that is wrong, with its source, its preset and its miscounts."""

    parameters: int
    said: str
    preset: str
    miscounts: Sequence[str]  # keys of MISCOUNTS, in their order


HAND_COUNTS = tuple(HandCount(**line) for line in _TABLES["hand_counts"])


class Claim(NamedTuple):
    """A published rounded number that is not the count of its model."""

    parameters: int
    preset: str
    said: str
    source: str

    def is_meant(self, number: Typed) -> bool:
        """Whether a number is this one, with at least as many significant digits."""
        zeros = len(f"{self.parameters}") - len(f"{self.parameters}".rstrip("0"))
        return number.means(self.parameters) and number.unit != "bytes" and number.high - number.low <= 10**zeros


CLAIMS = tuple(Claim(**line) for line in _TABLES["claims"])


class Reading(NamedTuple):
    """One meaning of a typed number, as a range of parameters."""

    key: str  # of READINGS
    low: Fraction
    high: Fraction
    rounded: bool  # whether trailing zeros are not significant: 340M is anything from 335 to 345 million

    @property
    def exact(self) -> int | None:
        """The only number in the range, or None."""
        return int(self.low) if self.low == self.high and self.low.denominator == 1 else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest count in the range."""
        return ceil(self.low), floor(self.high)

    def means(self, count: int) -> bool:
        """Whether a count is in the range."""
        return self.low <= count <= self.high


def known_counts(config: Config) -> Iterator[Known]:
    """The counts of every class of the family: with and without optional pooler, tied and untied, also with buffers."""
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
                        if config.stores_masks:
                            masks = config.num_hidden_layers * config.max_position_embeddings**2
                            yield found._replace(buffers=masks, convention="masks")
                        elif any("position_ids" in module.buffers for _path, module, _copies in model.modules()):
                            yield found._replace(buffers=config.max_position_embeddings)


def more_counts(config: Config) -> Iterator[Known]:
    """Counts of every class without embeddings, with a pooler that it lacks, or with all buffers.

    Only an exact number means one of these.
    """
    pooler = family_of(config).base.pooler
    hidden = config.hidden_size
    for found in known_counts(config):
        if found.buffers:
            continue
        tensors = list(found.subject.model().tensors())
        tables = sum(tensor.num_parameters() for tensor in filter(which("tables"), tensors))
        yield found._replace(parameters=found.parameters - tables, convention="no embeddings")
        if any(map(which("token type"), tensors)):
            yield found._replace(buffers=2 * config.max_position_embeddings, convention="both buffers")
        if pooler and found.subject.cls.task != "base" and not any(map(which("pooler"), tensors)):
            pooled = found._replace(parameters=found.parameters + hidden * hidden + hidden, convention="pooler")
            yield from (pooled, pooled._replace(buffers=config.max_position_embeddings))


def adapted_counts(config: Config) -> Iterator[Known]:
    """The counts of every class with peft's LoRA adapters, also with the copy of the head that peft trains."""
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
    """The model with some sizes of BERT or of a published model of its family; heads change with the hidden size."""
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


@lru_cache(maxsize=32)
def every_count(config: Config, counts: Callable[[Config], Iterator[Known]]) -> tuple[Known, ...]:
    """The counts that a generator gives, cached."""
    return tuple(counts(config))


def other_labels(config: Config, count: int) -> Iterator[Known]:
    """The classes that have this count with another number of labels."""
    for name, first, more in _by_labels(config):
        labels, rest = divmod(count - first, more)
        if not rest and 1 <= labels + 2 <= _MOST_LABELS and labels + 2 != config.num_labels:
            if labels + 2 > _MOST_WITHOUT_BIAS and more % config.hidden_size == 0:
                continue  # any count that differs by a multiple of the hidden size would fit
            subject = Subject(replace(config, num_labels=labels + 2), name)
            yield Known(subject, count, convention="labels")


@lru_cache(maxsize=32)
def _by_labels(config: Config) -> tuple[tuple[str, int, int], ...]:
    """The classes that depend on the number of labels: name, count with two labels, and the amount each label adds."""
    found = []
    for cls in family_of(config).classes:
        if "num_labels" in dict(cls.builds_with):
            continue
        first, second = (
            Subject(replace(config, num_labels=labels), cls.name).model().num_parameters() for labels in (2, 3)
        )
        if first != second:
            found.append((cls.name, first, second - first))
    return tuple(found)


@lru_cache(maxsize=1)
def published_parts() -> Mapping[int, tuple[str, Counted]]:
    """The parts, modules and tensors of every preset's body, by count; for equal counts the first.

    Vectors alone are left out: a small number is a vector of some model by chance.
    """
    found: dict[int, tuple[str, Counted]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        model = Subject(config, family_of(config).base.name).model()
        for part in own_counts(counted(model), MiscountSizes.of(config)):
            if part.heads == "all" and any(len(tensor.shape) > 1 for tensor in part.tensors):
                found.setdefault(part.right, (name, part))
    return found


def backbone(subject: Subject) -> Known:
    """The count of a model without its word embeddings, as DeBERTa's authors give it; only rounded numbers mean it."""
    tensors = subject.model().tensors()
    count = sum(tensor.num_parameters() for tensor in tensors if not which("word")(tensor))
    return Known(subject, count, convention="backbone")


def backbones(subject: Subject) -> Iterator[Known]:
    """The backbones of a model and of the masked language model of its family, which DeBERTa-v3's numbers have."""
    yield backbone(subject)
    for cls in family_of(subject.config).classes:
        if cls.task == "masked-lm" and cls.name != subject.architecture:
            tied = replace(subject.config, tie_word_embeddings=True)
            yield backbone(Subject(tied, cls.name))


@lru_cache(maxsize=1)
def published_backbones() -> tuple[tuple[str, Known], ...]:
    """The counts of every preset's body without its word embeddings."""
    subjects = ((name, Subject(config, family_of(config).base.name)) for name, config in PUBLISHED_CONFIGS.items())
    return tuple((name, backbone(subject)) for name, subject in subjects)


@lru_cache(maxsize=1)
def published_counts() -> Mapping[int, tuple[str, Known]]:
    """The known counts of every preset without buffers; for equal counts the first."""
    return _published(lambda config: (known for known in known_counts(config) if not known.buffers))


@lru_cache(maxsize=1)
def published_otherwise() -> Mapping[int, tuple[str, Known]]:
    """The counts of every preset with buffers and by other conventions; for equal counts the first."""
    return _published(lambda config: chain(known_counts(config), more_counts(config)))


def _published(counts: Callable[[Config], Iterable[Known]]) -> dict[int, tuple[str, Known]]:
    found: dict[int, tuple[str, Known]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        for known in counts(config):
            found.setdefault(known.total, (name, known))
    return found


def readings(number: Typed) -> list[Reading]:
    """The meanings of a number, the most literal first: in every unit, then with trailing zeros not significant."""
    found = []
    # 8-bit and training have others' factors.
    none: tuple[str, ...] = ("bits", *_NUMBERS) if number.unit == "bytes" else ("8-bit", "training")
    none = none if number.unit == "bytes" and number.value >= 10**8 else (*none, *_GIBI)
    keys = [key for key in READINGS if key not in none]
    if number.unit == "bytes":
        keys.sort(key=("parameters", "mebi").__contains__)  # a number of bytes is hardly one of parameters
    elif number.unit == "parameters":
        keys = ["parameters", *_NUMBERS, "mebi"]
    for rounded in (False, True):
        reach = number.reach(rounded=rounded)
        if rounded and reach == number.reach(rounded=False):
            continue
        for key in keys:
            factor = READINGS[key][1]
            whole = number.low == number.high
            if key.startswith(("mebi", "gibi")) and (whole or rounded) and not 0 < reach * _DIVIDED <= number.value:
                continue  # a whole number is no quotient, unless its trailing zeros stand for missing digits
            precise = whole or (number.unit == "bytes" and reach * _DIVIDED <= number.value)
            if key in ("float64", "bits", "half", *TRAINING[1:]) and (rounded or not precise):
                continue  # people do not round these, except bytes slightly
            low, high = ((number.value + way * reach) * factor for way in (-1, 1))
            found.append(Reading(key, max(low, Fraction(0)), high, rounded))
    return found


_DIVIDED = 100  # a quotient is precise to one part in so many at least, and so are bytes of training
