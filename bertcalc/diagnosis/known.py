"""The counts that people give of one configuration, and what a typed number may mean.

>>> from bertcalc import BertConfig
>>> from bertcalc.typed import typed
>>> [known.subject.architecture for known in known_counts(BertConfig()) if typed("109,514,298").means(known.total)]
['BertForMaskedLM', 'BertLMHeadModel']
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.families import family_of
from bertcalc.presets import PRESETS
from bertcalc.subject import Subject
from bertcalc.text import N_
from bertcalc.typed import Typed

# What a number may be instead of a number of parameters, and what it has to be multiplied by to become one.
READINGS: dict[str, tuple[str, Fraction]] = {
    "parameters": (N_("a number of parameters"), Fraction(1)),
    "float32": (N_("bytes in float32: 4 for each parameter"), Fraction(1, 4)),
    "16-bit": (N_("bytes in 16 bits: 2 for each parameter"), Fraction(1, 2)),
    "mebi": (N_("divided by 1,024 · 1,024: M means 1,048,576"), Fraction(2**20, 10**6)),
    "mebi float32": (N_("bytes in float32, divided by 1,024 · 1,024: MB means MiB"), Fraction(2**20, 4 * 10**6)),
    "mebi 16-bit": (N_("bytes in 16 bits, divided by 1,024 · 1,024: MB means MiB"), Fraction(2**20, 2 * 10**6)),
}


class Known(NamedTuple):
    """A count that is right for a model of the configuration, by a convention."""

    subject: Subject
    parameters: int
    buffers: int = 0  # elements of position_ids, which files of older releases hold beside the parameters

    @property
    def total(self) -> int:
        """What is counted by the convention."""
        return self.parameters + self.buffers

    @property
    def has_decoder(self) -> bool:
        """Whether it can be tied or not."""
        return any(tensor.place.role == "decoder bias" for tensor in self.subject.model().tensors())


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

    def means(self, count: int) -> bool:
        """Whether a count may be what was typed."""
        return self.low <= count <= self.high


def known_counts(config: Config) -> Iterator[Known]:
    """Every class of the family, the body also without its pooler; decoders tied and untied; each with its buffers."""
    for cls in family_of(config).classes:
        for tied in (config.tie_word_embeddings, not config.tie_word_embeddings):
            for pooler in (True, False):
                if pooler or cls.pooler_is_optional:
                    subject = Subject(replace(config, tie_word_embeddings=tied), cls.name, pooler)
                    found = Known(subject, subject.model().num_parameters())
                    if tied == config.tie_word_embeddings or found.has_decoder:
                        yield found
                        yield found._replace(buffers=config.max_position_embeddings)


@lru_cache(maxsize=1)
def published_counts() -> Mapping[int, tuple[str, Known]]:
    """The known counts of every preset without buffers: of several with the same one, the first."""
    found: dict[int, tuple[str, Known]] = {}
    for name, preset in PRESETS.items():
        for known in known_counts(preset.config):
            if not known.buffers:
                found.setdefault(known.parameters, (name, known))
    return found


def readings(number: Typed) -> list[Reading]:
    """What a number may mean, the nearest first: as it is typed, with its last zeros unknown, in other units."""
    found = []
    for rounded in (False, True):
        reach = _reach(number, rounded)
        if rounded and reach == _reach(number, False):
            continue
        for key, (_said, factor) in READINGS.items():
            if key.startswith("mebi") and number.low == number.high:
                continue  # a whole number was not divided
            low, high = ((number.value + way * reach) * factor for way in (-1, 1))
            found.append(Reading(key, max(low, Fraction(0)), high, rounded))
    return found


def _reach(number: Typed, rounded: bool) -> Fraction:
    """How far from a number that may be which was meant: half of its last digit, or of its last that is no zero.

    A whole number means itself, unless it ends in three zeros.
    """
    reach = number.high - number.value
    if not rounded or not number.value:
        return reach
    if not reach:
        reach = Fraction(1, 2) if number.value % 1000 == 0 else reach
    while reach and number.value % (20 * reach) == 0:
        reach *= 10
    return reach
