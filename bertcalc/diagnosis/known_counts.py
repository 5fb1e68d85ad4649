"""The counts that readers may quote for a configuration, and the meanings of a typed number.

>>> from bertcalc import BertConfig
>>> from bertcalc.text.amounts import typed
>>> [known.model.architecture for known in known_counts(BertConfig()) if typed("109,514,298").means(known.total)]
['BertForMaskedLM', 'BertLMHeadModel']
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import ceil, floor
from typing import NamedTuple

from bertcalc.config import Config, sizes_of
from bertcalc.diagnosis.layer_parts import Counted, part_counts
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from bertcalc.diagnosis.tensor_filter import selector
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.totals import COMPONENTS, totals_by_component
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.arguments import Single, record
from bertcalc.text.problem import InputError
from bertcalc.text.toml_tables import table_beside

_TABLES = table_beside(__file__)
# Maps each meaning of a number to (description, factor that converts the number to parameters).
READINGS: Mapping[str, tuple[str, Fraction]] = {
    line["key"]: (line["description"], Fraction(line["factor"])) for line in _TABLES["readings"]
}
TRAINING = tuple(key for key in READINGS if key.startswith(("moments", "training")))
_GIBI = tuple(key for key in READINGS if key.startswith("gibi"))
# Readings that are compared only with known counts, not with parts of a model or with miscounts.
KNOWN_ONLY = ("half", *TRAINING, *_GIBI)
_NUMBERS = ("half", "moments", "training")  # readings that count elements, not bytes


class Mix(NamedTuple):
    """Wrong sizes in a configuration: their fields, and the right count of the model.

    ``preset`` is the published model that the wrong sizes come from, or "" if they come from none.
    """

    preset: str
    fields: tuple[str, ...]
    right: int


@record
class KnownCount(NamedTuple):
    """A model and its count by a convention. With a ``mix``, some of its sizes are deliberately wrong."""

    model: Model
    parameters: Single
    buffers: Single = 0  # elements besides the parameters, such as position_ids in files of older releases
    convention: str = ""  # a key of CONVENTIONS
    mix: Mix | None = None

    @property
    def total(self) -> int:
        """The count by this convention: the parameters, and any buffers."""
        return self.parameters + self.buffers

    @property
    def right(self) -> int:
        """The right number of parameters; if some sizes are wrong, the number with the right sizes."""
        return self.mix.right if self.mix else self.parameters

    def beyond(self, model: Model) -> dict[str, int]:
        """Return by how much this count exceeds another model's parameter count, for each component and for buffers.

        Differences of 0 are left out. The result is empty if the convention of this count leaves out or adds tensors.

        >>> from bertcalc import BertConfig, build
        >>> bert, masked = (build(BertConfig(), name) for name in ("BertModel", "BertForMaskedLM"))
        >>> KnownCount(masked, masked.num_parameters()).beyond(bert)
        {'pooler': -590592, 'head': 622650}
        """
        totals, model_totals = totals_by_component(self.model), totals_by_component(model)
        if sum(totals.values()) != self.parameters:
            return {}
        parts = {name: totals.get(name, 0) - model_totals.get(name, 0) for name in COMPONENTS} | {
            N_("buffers"): self.buffers
        }
        return {name: difference for name, difference in parts.items() if difference}

    @property
    def has_decoder(self) -> bool:
        """Whether the model has a decoder that can be tied to the word embeddings."""
        return self.model.cls.task in ("pretraining", "masked-lm", "causal-lm")


# Conventions for counts that are right although no class has this number of parameters.
CONVENTIONS: Mapping[str, str] = {line["name"]: line["description"] for line in _TABLES["conventions"]}
# Conventions that give so many different counts that a match proves little.
PROVE_LITTLE = {"labels"}
_MOST_LABELS, _MOST_WITHOUT_BIAS = 100, 10


PUBLISHED_CONFIGS: Mapping[str, Config] = {
    **{name: preset.config for name, preset in PRESETS.items()},
    **{
        line["name"]: replace(PRESETS[line["like"]].config, vocab_size=line["vocab_size"])
        for line in _TABLES["unlisted"]
    },
}


class HandCount(NamedTuple):
    """A published wrong count, with a description of its source, its preset and its miscounts."""

    parameters: int
    description: str
    preset: str
    miscounts: Sequence[str]  # keys of MISCOUNTS, in their order


HAND_COUNTS = tuple(HandCount(**line) for line in _TABLES["hand_counts"])


class Claim(NamedTuple):
    """A published rounded number that differs from the count of its model."""

    parameters: int
    preset: str
    description: str
    source: str

    def is_meant(self, number: Typed) -> bool:
        """Whether a typed number means this published number and has at least as many significant digits."""
        zeros = len(f"{self.parameters}") - len(f"{self.parameters}".rstrip("0"))
        return number.means(self.parameters) and number.unit != "bytes" and number.high - number.low <= 10**zeros


CLAIMS = tuple(Claim(**line) for line in _TABLES["claims"])


class Reading(NamedTuple):
    """A meaning of a typed number, as a range of parameter counts."""

    key: str  # a key of READINGS
    low: Fraction
    high: Fraction
    rounded: bool  # whether trailing zeros are not significant: 340M is anything from 335 to 345 million

    @property
    def exact(self) -> int | None:
        """The count if the range is a single whole number, otherwise None."""
        return int(self.low) if self.low == self.high and self.low.denominator == 1 else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest count in the range."""
        return ceil(self.low), floor(self.high)

    def means(self, count: int) -> bool:
        """Whether a count is in the range."""
        return self.low <= count <= self.high


def known_counts(config: Config) -> Iterator[KnownCount]:
    """Yield the counts of every class of the family: with and without an optional pooler, buffers and tied weights."""
    family = family_of(config)
    for cls in family.classes:
        for tied in (config.tie_word_embeddings, not config.tie_word_embeddings):
            for pooler in (True, False):
                if pooler or cls.pooler_is_optional:
                    model = Model(replace(config, tie_word_embeddings=tied), cls.name, pooler)
                    known_count = KnownCount(model, model.num_parameters())
                    if tied == config.tie_word_embeddings or known_count.has_decoder:
                        yield known_count
                        if config.stores_masks:
                            masks = config.num_hidden_layers * config.max_position_embeddings**2
                            yield known_count._replace(buffers=masks, convention="masks")
                        elif any("position_ids" in module.buffers for _path, module, _copies in model.modules()):
                            yield known_count._replace(buffers=config.max_position_embeddings)


def more_counts(config: Config) -> Iterator[KnownCount]:
    """Yield further counts of every class: without embedding tables, with both buffers, or with an added pooler.

    ``diagnose`` compares a rounded number only with the counts without embedding tables.
    """
    pooler = family_of(config).base.pooler
    hidden = config.hidden_size
    for known_count in every_count(config, known_counts):
        if known_count.buffers:
            continue
        tensors = list(known_count.model.tensors())
        tables = sum(tensor.num_parameters() for tensor in filter(selector("tables"), tensors))
        yield known_count._replace(parameters=known_count.parameters - tables, convention="no embeddings")
        if any(map(selector("token type"), tensors)):
            yield known_count._replace(buffers=2 * config.max_position_embeddings, convention="both buffers")
        if pooler and known_count.model.cls.task != "base" and not any(map(selector("pooler"), tensors)):
            pooled = known_count._replace(
                parameters=known_count.parameters + hidden * hidden + hidden, convention="pooler"
            )
            yield from (pooled, pooled._replace(buffers=config.max_position_embeddings))


@lru_cache(maxsize=8)
def mixes(model: Model) -> tuple[KnownCount, ...]:
    """Return variants of the model with some sizes taken from BERT or from a published model of its family.

    A wrong hidden size comes with the other model's number of heads. If the embedding size differs from the hidden
    size, the first variant makes them equal.
    """
    config, right = model.config, model.num_parameters()
    mixed: dict[Config, KnownCount] = {}
    if vars(config).get("embedding_size", config.hidden_size) != config.hidden_size:
        as_wide = model.changed(config=replace(config, embedding_size=config.hidden_size))  # type: ignore[call-arg]
        mix = Mix("", ("embedding_size",), right)
        mixed[as_wide.config] = KnownCount(as_wide, as_wide.num_parameters(), mix=mix)
    for name, other in sorted(PUBLISHED_CONFIGS.items(), key=lambda item: type(item[1]) is not type(config)):
        if type(other) is type(config) or name in ("bert-base-uncased", "bert-large-uncased"):
            sizes = [
                size
                for size in sizes_of(type(config))
                if getattr(config, size) != getattr(other, size, getattr(config, size))
            ]
            alone = [size for size in sizes if size != "num_attention_heads" or "hidden_size" not in sizes]
            for fields in chain.from_iterable(combinations(alone, count) for count in range(1, len(alone) + 1)):
                heads = ("num_attention_heads",) if "hidden_size" in fields else ()
                try:
                    wrong_config = replace(config, **{size: getattr(other, size) for size in (*fields, *heads)})
                    mixed_model = model.changed(config=wrong_config)
                except InputError:  # the heads do not divide the hidden size, or a change is not possible
                    continue
                if wrong_config not in mixed:
                    mixed[wrong_config] = KnownCount(
                        mixed_model, mixed_model.num_parameters(), mix=Mix(name, fields, right)
                    )
    return tuple(mixed.values())


@lru_cache(maxsize=32)
def every_count(config: Config, counts: Callable[[Config], Iterator[KnownCount]]) -> tuple[KnownCount, ...]:
    """Return all counts that a generator function yields for a configuration; the result is cached."""
    return tuple(counts(config))


def other_labels(config: Config, count: int) -> Iterator[KnownCount]:
    """Yield a known count for each class that has this count with a different number of labels."""
    for name, first, per_label in _by_labels(config):
        labels, rest = divmod(count - first, per_label)
        if not rest and 1 <= labels + 2 <= _MOST_LABELS and labels + 2 != config.num_labels:
            if labels + 2 > _MOST_WITHOUT_BIAS and per_label % config.hidden_size == 0:
                continue  # any count that differs by a multiple of the hidden size would fit
            model = Model(replace(config, num_labels=labels + 2), name)
            yield KnownCount(model, count, convention="labels")


@lru_cache(maxsize=32)
def _by_labels(config: Config) -> tuple[tuple[str, int, int], ...]:
    """Return the classes that depend on the number of labels, as (name, count with two labels, amount per label)."""
    dependent = []
    for cls in family_of(config).classes:
        if "num_labels" in dict(cls.builds_with):
            continue
        first, second = (Model(replace(config, num_labels=labels), cls.name).num_parameters() for labels in (2, 3))
        if first != second:
            dependent.append((cls.name, first, second - first))
    return tuple(dependent)


@lru_cache(maxsize=1)
def published_parts() -> Mapping[int, tuple[str, Counted]]:
    """Map counts to parts, modules and tensors of published base models, as (model's name, part) pairs.

    If several parts have the same count, the first one is kept. Parts that consist only of vectors are left out,
    because small numbers would match some model by chance.
    """
    by_count: dict[int, tuple[str, Counted]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        model = Model(config, family_of(config).base.name)
        for part in part_counts(counted(model), MiscountSizes.of(config)):
            if part.heads == "all" and any(len(tensor.shape) > 1 for tensor in part.tensors):
                by_count.setdefault(part.right, (name, part))
    return by_count


def backbone(model: Model) -> KnownCount:
    """Return the count of a model without its word embeddings. DeBERTa's authors report this count, rounded."""
    tensors = model.tensors()
    count = sum(tensor.num_parameters() for tensor in tensors if not selector("word")(tensor))
    return KnownCount(model, count, convention="backbone")


def backbones(model: Model) -> Iterator[KnownCount]:
    """Yield the counts without word embeddings of a model and its masked language model, as reported for DeBERTa-v3."""
    yield backbone(model)
    for cls in family_of(model.config).classes:
        if cls.task == "masked-lm" and cls.name != model.architecture:
            tied = replace(model.config, tie_word_embeddings=True)
            yield backbone(Model(tied, cls.name))


@lru_cache(maxsize=1)
def published_backbones() -> tuple[tuple[str, KnownCount], ...]:
    """Return the counts of all published base models without their word embeddings."""
    models = ((name, Model(config, family_of(config).base.name)) for name, config in PUBLISHED_CONFIGS.items())
    return tuple((name, backbone(model)) for name, model in models)


@lru_cache(maxsize=1)
def published_counts() -> Mapping[int, tuple[str, KnownCount]]:
    """Map the counts of published models, without buffers, to (name, known count) pairs.

    If several models have the same count, the first one is kept.
    """
    return _published(lambda config: (count for count in known_counts(config) if not count.buffers))


@lru_cache(maxsize=1)
def published_otherwise() -> Mapping[int, tuple[str, KnownCount]]:
    """Map all counts of published models, including buffers and other conventions, to (name, known count) pairs.

    If several models have the same count, the first one is kept.
    """
    return _published(lambda config: chain(known_counts(config), more_counts(config)))


def _published(counts: Callable[[Config], Iterable[KnownCount]]) -> dict[int, tuple[str, KnownCount]]:
    by_total: dict[int, tuple[str, KnownCount]] = {}
    for name, config in PUBLISHED_CONFIGS.items():
        for count in counts(config):
            by_total.setdefault(count.total, (name, count))
    return by_total


def readings(number: Typed) -> list[Reading]:
    """Return the possible meanings of a number, the most literal first.

    Readings in which every digit is significant come first, followed by readings in which trailing zeros are not.
    """
    meanings = []
    # 8-bit and training have the same factors as other readings, so they would only repeat them.
    # A number of bytes is not read as a number of parameters, which at 8 bits has the same value.
    none: tuple[str, ...] = ("8-bit", "4-bit", "training")
    if number.unit == "bytes":
        none = ("bits", "parameters", *_NUMBERS)
    none = none if number.unit == "bytes" and number.value >= 10**8 else (*none, *_GIBI)
    keys = [key for key in READINGS if key not in none]
    if number.unit == "bytes":
        keys.sort(key="mebi".__eq__)  # a number in bytes is rarely a number of parameters
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
                continue  # a whole number is not a quotient, unless its trailing zeros stand for missing digits
            precise = whole or (number.unit == "bytes" and reach * _DIVIDED <= number.value)
            if key in ("float64", "bits", "half", *TRAINING[1:]) and (rounded or not precise):
                continue  # texts do not round these, except for slightly rounded bytes
            low, high = ((number.value + sign * reach) * factor for sign in (-1, 1))
            meanings.append(Reading(key, max(low, Fraction(0)), high, rounded))
    return meanings


_DIVIDED = 100  # a quotient, or bytes of training, must be precise to one part in this many
