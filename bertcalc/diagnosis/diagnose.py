"""Explain a number: as a known count, as the count of a part of the model, or by miscounts.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.model import Model
>>> from bertcalc.text.amounts import typed
>>> diagnosis = diagnose(KnownCount(Model(BertConfig()), 109_482_240), typed("85,054,464"))
>>> [(part.counted.part, part.counted.layers) for part in diagnosis.parts]
[('layers', 'all')]
>>> diagnosis = diagnose(KnownCount(Model(BertConfig()), 109_482_240), typed("109,454,592"))
>>> [[cause.miscount for cause in candidate.explanation] for candidate in diagnosis.miscounted]
[['qkv biases'], ['feed-forward biases of H']]
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from bertcalc.config import Config, sizes_of, unchecked
from bertcalc.diagnosis.changed_counts import ChangedCount, adapter_counts, own_count, resized_counts
from bertcalc.diagnosis.explain import (
    MOST_BITS,
    MOST_EXPLANATIONS,
    Cause,
    Combination,
    Evidence,
    Explanation,
    Search,
    causes,
    evidence,
    is_chance,
    search,
)
from bertcalc.diagnosis.flop_counts import FlopCount, flops_of, is_rough
from bertcalc.diagnosis.known_counts import (
    CLAIMS,
    HAND_COUNTS,
    KNOWN_ONLY,
    PROVE_LITTLE,
    PUBLISHED_CONFIGS,
    TRAINING,
    Claim,
    HandCount,
    KnownCount,
    Mix,
    Reading,
    backbones,
    every_count,
    known_counts,
    mixes,
    more_counts,
    other_labels,
    published_backbones,
    published_counts,
    published_otherwise,
    published_parts,
    readings,
)
from bertcalc.diagnosis.layer_parts import PARTS, TERMS, WHOLE_MODEL, Counted, part_counts, sums_of_two
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.diagnosis.typos import Slip, mistyped, slips_to
from bertcalc.families import build
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.text.amounts import Typed
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError

# The bits that an explanation costs if it assumes another class or other units. explain.py defines the bits.
_ANOTHER_CLASS = 3.0
_OTHER_UNITS = 3.0
_MOST_ELSEWHERE = 6.0  # under these assumptions, only miscounts of at most this many bits are searched
# The bits of one size from another model, the bits of each further size, and the maximum bits of a miscount that is
# combined with such sizes.
_MIXED, _MORE_MIXED, _VERY_COMMON = 6.0, 0.5, 3.5
# An explanation is shown beside the likeliest one if it is at most _EQUAL bits rarer. If only the likeliest one is a
# single mistake, the limit is _EQUAL_OF_MORE if the other explanation has at most _USUAL_PAIR bits, and _EQUAL / 2 if
# it has more.
_EQUAL, _EQUAL_OF_MORE, _USUAL_PAIR = 3.0, 2.0, 7.0
_MOST_EQUAL, _MOST_COMPARED = 3, 6  # maximum number of explanations shown together, and of their candidates
# Limits for the share of nearby numbers that have an equally simple explanation. Above _CHANCE, an explanation is only
# a hint. Above _CHANCE_OF_A_HINT, it is only a possibility.
_CHANCE = Fraction(1, 40)
_CHANCE_OF_A_HINT = Fraction(1, 8)
_UNRELATED = 3  # an explanation with this many unrelated mistakes or more is only a possibility
# A typing error is likelier than a miscount of more than this many bits.
_SLIP = 5.0
# Maximum bits of miscounts shown beside a known count of the present configuration, or beside a count that proves less.
_BESIDE_COUNT, _BESIDE_MODEL = 4.0, 7.5
_HABIT = 5.5  # a habit of at most this many bits is a hint for a rounded number without a better explanation


class Match(NamedTuple):
    """Known counts with the same total; the number may mean any of them."""

    reading: Reading
    total: int
    known_counts: tuple[KnownCount, ...]


class OwnPart(NamedTuple):
    """A part, module or tensor of the model that the number may count, in one or several layers.

    With ``added``, the number is the sum of both counts.
    """

    reading: Reading
    counted: Counted
    added: Counted | None = None

    @property
    def right(self) -> int:
        """The number of parameters in the part, or in both parts."""
        return self.counted.right + (self.added.right if self.added else 0)


class Miscounted(NamedTuple):
    """Miscounts that lead from the right count of a known model to the number, in one of its readings.

    If the known count has wrong sizes, the first cause names their fields instead of a miscount. The sizes may be
    mistyped or taken from another model.
    """

    reading: Reading
    known_count: KnownCount
    explanation: Explanation
    habit: str = ""  # a key of HABITS, if one habit leads to several of the miscounts
    bits: float = 0.0  # the rarity
    ideas: int = 0  # the number of mistakes; a habit counts as one

    @property
    def total(self) -> int:
        """The count of the known model with all miscounts applied."""
        return self.known_count.right + sum(cause.amount for cause in self.explanation)


class OtherModelMatch(NamedTuple):
    """A published model with a known count or a part that fits the number."""

    reading: Reading
    preset: str
    known_count: KnownCount | None = None
    counted: Counted | None = None

    @property
    def is_whole(self) -> bool:
        """Whether this is the count of a whole model, with its decoder tied or untied as published."""
        as_published = not self.known_count or self.known_count.model.config == PUBLISHED_CONFIGS[self.preset]
        return self.counted is None and as_published


class Diagnosis(NamedTuple):
    """The likely meanings of a number.

    - ``matches``: known counts of the present configuration, for any class of its family. They equal the number or
      round to it.
    - ``parts``: parts of the present model with this count.
    - ``elsewhere``: published models with this count, or with a part that has this count.
    - ``slips``: known counts that may have been mistyped.
    - ``miscounted``: the likeliest explanations by miscounts, about equally likely. ``behind`` are rarer explanations.
      ``possible`` explanations prove little, because several unrelated mistakes can lead to nearly any number.
    - ``evidence``: how many nearby numbers have an equally simple explanation.
    - ``hand``: a published hand count with its miscounts.
    - ``claims``: published numbers that differ from the count of their model.
    - ``flops``: costs of the present model. A number in FLOPs or MACs has only this meaning.
    - ``changed``: models with this count after a usual change, such as an adapter.
    """

    matches: tuple[Match, ...] = ()
    parts: tuple[OwnPart, ...] = ()
    elsewhere: tuple[OtherModelMatch, ...] = ()
    slips: tuple[Slip, ...] = ()
    miscounted: tuple[Miscounted, ...] = ()
    behind: tuple[Miscounted, ...] = ()
    possible: tuple[Miscounted, ...] = ()
    evidence: Evidence | None = None
    hand: tuple[HandCount, Miscounted] | None = None
    claims: tuple[Claim, ...] = ()
    flops: tuple[FlopCount, ...] = ()
    changed: tuple[ChangedCount, ...] = ()

    @property
    def confident(self) -> bool:
        """Whether the first explanation is unlikely to be a coincidence: few nearby numbers have an equally simple one.

        An explanation of a rounded number is never more than a hint if a known count also rounds to the number.
        """
        evidence = self.evidence
        if evidence is None or not self.miscounted or (self.matches and self.miscounted[0].reading.exact is None):
            return False
        return evidence.explained <= _CHANCE * evidence.numbers

    @property
    def usual(self) -> bool:
        """Whether the first explanation is so common that the number is unlikely to be another model's count."""
        return bool(self.miscounted) and self.miscounted[0].bits <= _BESIDE_COUNT

    @property
    def miscounts_first(self) -> bool:
        """Whether to show the explanations before the matches with other models and before typing errors."""
        return self.usual or (bool(self.elsewhere) and not any(count.is_whole for count in self.elsewhere))

    @property
    def known(self) -> bool:
        """Whether the number is a correct or a published count, without any miscount."""
        return bool(self.matches or self.parts or self.elsewhere or self.claims or self.flops or self.changed)

    @property
    def parts_first(self) -> bool:
        """Whether a part is a likelier meaning than the matches.

        This holds if the first part is the whole model, or if all matches use conventions that give many different
        counts.
        """
        conventions = {known_count.convention for match in self.matches for known_count in match.known_counts}
        return bool(self.parts) and (conventions <= PROVE_LITTLE or self.parts[0].counted.part == WHOLE_MODEL)

    @property
    def as_parameters(self) -> bool:
        """Whether the number is a count of parameters, with or without common miscounts."""
        meanings: tuple[Match | OwnPart | OtherModelMatch, ...] = (*self.matches, *self.parts, *self.elsewhere)
        counted = any(count.reading.key == "parameters" for count in meanings)
        return bool(self.hand or self.usual or self.changed or counted)


@checked
def diagnose(present: KnownCount, number: Typed) -> Diagnosis:
    """Explain a number by known counts, or by miscounts if no known count fits.

    ``present`` is the known count of the present model: its right parameter count. Miscounts explain a rounded number
    only if it has enough digits to rule out most other explanations.
    """
    flops = flops_of(present.model, number)
    if number.unit in ("FLOPs", "MACs"):
        return Diagnosis(flops=flops)
    claims = tuple(claim for claim in CLAIMS if claim.is_meant(number))
    diagnosis = _with_changed(_diagnose(present, number), present.model, number)
    if not claims:
        has_better = diagnosis.known or diagnosis.miscounted if is_rough(number) else diagnosis.as_parameters
        return Diagnosis(matches=diagnosis.matches, flops=flops) if flops and not has_better else diagnosis
    if any(PRESETS[claim.preset].config == present.model.config for claim in claims):
        return Diagnosis(matches=diagnosis.matches, claims=claims)
    if diagnosis.matches or diagnosis.parts or diagnosis.usual or diagnosis.changed:
        return diagnosis
    elsewhere = tuple(count for count in diagnosis.elsewhere if count.reading.key == "parameters")
    return diagnosis._replace(claims=claims, elsewhere=elsewhere)


def _with_changed(diagnosis: Diagnosis, model: Model, number: Typed) -> Diagnosis:
    """Add the counts of changed models to the diagnosis of an exact parameter count.

    The number of trained parameters of the present model comes first. Otherwise a match or a sum of parts rules out
    changed models, and a single part is shown beside at most one adapter. Without parts, a usual adapter replaces the
    matches and parts in other units, because it is likelier than a count of bytes. Resized models come last.

    Changed models of other classes have very many counts. If something else explains the number, it is compared only
    with the numbers of parameters that their adapters train.
    """
    if diagnosis.hand or number.unit == "bytes" or number.low != number.high:
        return diagnosis
    exact, parts = int(number.value), [part for part in diagnosis.parts if part.reading.key == "parameters"]
    if changed_count := own_count(model, exact):
        return diagnosis._replace(changed=changed_count, parts=tuple(part for part in parts if not part.added))
    if any(match.reading.key == "parameters" for match in diagnosis.matches):
        return diagnosis
    if any(part.added for part in parts):  # any two parts may have this sum
        return diagnosis._replace(changed=adapter_counts(model, exact, others="nothing"))
    if parts:
        changed = () if model.changes else adapter_counts(model, exact, others="nothing")[:1]
        return diagnosis._replace(changed=changed)
    others = not (diagnosis.known or diagnosis.miscounted or diagnosis.slips)
    if changed := adapter_counts(model, exact, others="all" if others else "trained"):
        return diagnosis._replace(changed=changed, matches=(), parts=())
    return diagnosis._replace(changed=resized_counts(model, exact, others=others))


class _Readings(NamedTuple):
    """The meanings of a number, the most literal first, in three groups; and its hand count, if there is one."""

    every: Sequence[Reading]
    first: Sequence[Reading]  # those in the likeliest unit
    training: Sequence[Reading]
    others: Sequence[Reading]
    rounding: Reading | None  # the first meaning of a rounded number in the likeliest unit
    hand: tuple[HandCount, Miscounted] | None

    @classmethod
    def of(cls, number: Typed) -> "_Readings":
        every = readings(number)
        first = [reading for reading in every if reading.key == every[0].key]
        training = [reading for reading in every if reading.key in TRAINING]
        others = [reading for reading in every if reading not in (*first, *training)]
        rounding = next((reading for reading in first if reading.exact is None), None)
        return cls(every, first, training, others, rounding, _hand_count(every))


def _diagnose(present: KnownCount, number: Typed) -> Diagnosis:
    meanings, explained = _Readings.of(number), Diagnosis()
    for group in (meanings.first, meanings.others):
        if known := _by_known(present, meanings, group, explained):
            return known
        if meanings.rounding is meanings.every[0] and group is meanings.first:
            explained = _miscounted(present, [meanings.rounding])
            if explained.usual:
                break
    return Diagnosis(hand=meanings.hand) if meanings.hand else _by_mistakes(present, meanings, explained)


def _by_known(
    present: KnownCount, meanings: _Readings, group: Sequence[Reading], explained: Diagnosis
) -> Diagnosis | None:
    """Explain a number by known counts, parts, or other models with this count; return None if there are none.

    ``group`` are the meanings to consider. ``explained`` are the mistakes that explain a rounded number.
    """
    is_first, first, rounding = group is meanings.first, meanings.first, meanings.rounding
    matches = tuple(_matches(group, present.model))
    parts = _own_parts(present.model, group) if present.model.changes or not matches else ()
    if matches:  # known counts ignore the model's changes, so keep the count of the whole changed model
        parts = tuple(part for part in parts if part.counted.part == WHOLE_MODEL)
    if is_first and rounding and not parts and _is_vague(matches):
        precise = tuple(_without_embeddings(rounding, present.model))
        if matches and not precise and (instead := tuple(_precisely_elsewhere(rounding))):
            return Diagnosis(elsewhere=instead)
        matches = precise or matches
    if not is_first and (matches or parts or _elsewhere(group)) and (sums := _sums(present.model, first)):
        return Diagnosis(parts=sums, hand=meanings.hand)
    if matches or parts:
        conventions = {known_count.convention for match in matches for known_count in match.known_counts}
        rarest = _BESIDE_MODEL if conventions and conventions <= PROVE_LITTLE else _BESIDE_COUNT
        other = matches and present.total not in {match.total for match in matches}
        if meanings.every[0].exact or (is_first and (other or (matches and "" not in conventions))):
            beside = _beside(present, meanings.every, rarest)
        else:  # many counts fit a rounded number
            beside = explained if explained.miscounted else Diagnosis()
        if meanings.every[0].exact and beside.usual and all(match.reading.rounded for match in matches):
            matches = ()  # its trailing zeros are a coincidence
        rounded = () if is_first else tuple(_rounded(first))
        return beside._replace(matches=matches, parts=parts, elsewhere=rounded, hand=meanings.hand)
    elsewhere = _elsewhere(group) or (None if is_first else _part_elsewhere(first))
    if elsewhere is None:
        return None
    return _beside(present, meanings.every, _BESIDE_MODEL)._replace(elsewhere=(elsewhere,), hand=meanings.hand)


def _by_mistakes(present: KnownCount, meanings: _Readings, explained: Diagnosis) -> Diagnosis:
    """Explain a number that no known count explains, by mistakes, slips, or sums of two parts.

    ``explained`` are the mistakes that explain a rounded number.
    """
    first, rounding = meanings.first, meanings.rounding
    published = tuple(_halved(first, present.model.config)) or tuple(_rounded(first, parts=not explained.miscounted))
    if not explained.usual and (matches := tuple(_matches(meanings.training, present.model))):
        return explained._replace(matches=matches, elsewhere=published)
    exact = next((reading.exact for reading in meanings.every if reading.exact), None)
    if exact is None:
        by_mistakes = explained.miscounted or explained.possible
        return explained._replace(elsewhere=published or (() if by_mistakes else tuple(_rounded(meanings.others))))
    diagnosis = _with_slips(present, exact, _miscounted(present, meanings.every))
    if not (diagnosis.miscounted or diagnosis.slips) and (sums := _sums(present.model, first)):
        return diagnosis._replace(parts=sums)
    if rounding and not (diagnosis.miscounted or diagnosis.slips):
        diagnosis = max(diagnosis, _miscounted(present, [rounding]), key=lambda diagnosis: len(diagnosis.miscounted))
    return diagnosis._replace(elsewhere=published)


def _beside(present: KnownCount, meanings: Sequence[Reading], rarest: float) -> Diagnosis:
    """Return the explanations to show beside a known count, of at most ``rarest`` bits.

    For a habit, the limit is at least ``_HABIT`` bits.
    """
    diagnosis = _miscounted(present, meanings if meanings[0].exact else meanings[:1])
    candidates = [
        candidate for candidate in diagnosis.miscounted if candidate.known_count == present or rarest > _BESIDE_COUNT
    ]
    beside = tuple(
        candidate for candidate in candidates if candidate.bits <= max(rarest, _HABIT if candidate.habit else 0.0)
    )
    return Diagnosis(miscounted=beside, evidence=diagnosis.evidence if beside else None)


def _with_slips(present: KnownCount, number: int, diagnosis: Diagnosis) -> Diagnosis:
    """Add the known counts that may have been mistyped, and demote less likely miscounts to possibilities.

    A known count that differs by one digit is likelier than a rare mistake in another class. If the right count differs
    by one digit, it is likelier than three mistakes.
    """
    slips = tuple(slips_to(present, number))
    if not slips or not diagnosis.miscounted:
        return diagnosis._replace(slips=slips)
    likeliest = diagnosis.miscounted[0]
    beside = tuple(slip for slip in slips if abs(slip.meant - number) == 1 and not slip.preset)
    if likeliest.bits <= _SLIP or (diagnosis.confident and not beside):
        return diagnosis._replace(slips=beside)
    several = likeliest.ideas > 1 and len(likeliest.explanation) >= _UNRELATED
    typing_error = several and any(slip.meant == present.total for slip in slips)
    if likeliest.known_count.model == present.model and not typing_error:
        return diagnosis._replace(slips=slips)
    return diagnosis._replace(
        slips=slips, miscounted=(), behind=(), possible=(*diagnosis.miscounted, *diagnosis.possible)
    )


def _elsewhere(meanings: Sequence[Reading]) -> OtherModelMatch | None:
    """Return a published model with exactly this count; None if there is none."""
    for reading in meanings:
        for table in (published_counts(), published_otherwise()) if reading.exact else ():
            if entry := table.get(reading.exact or 0):
                return OtherModelMatch(reading, entry[0], known_count=entry[1])
    return None


def _part_elsewhere(meanings: Sequence[Reading]) -> OtherModelMatch | None:
    """Return a published model with a part of exactly this count; None if there is none."""
    for reading in meanings:
        if reading.key == "parameters" and (entry := published_parts().get(reading.exact or 0)):
            return OtherModelMatch(reading, entry[0], counted=entry[1])
    return None


def _rounded(meanings: Sequence[Reading], *, parts: bool = True) -> Iterator[OtherModelMatch]:
    """Yield each published model with a count that rounds to the number.

    If there is none and ``parts`` is true, yield the models with a part that rounds to it. Only the first reading that
    fits any model is used.
    """
    for of_models in (True, False)[: 1 + parts]:
        for reading in meanings:
            by_preset: dict[str, OtherModelMatch] = {}
            if reading.exact is None and of_models:
                for count, (preset, known_count) in published_counts().items():
                    match = OtherModelMatch(reading, preset, known_count=known_count)
                    if reading.means(count) and match.is_whole:
                        by_preset.setdefault(preset, match)
            elif reading.exact is None and reading.key == "parameters":
                for count, (preset, part) in published_parts().items():
                    if reading.means(count) and part.part in PARTS:
                        by_preset.setdefault(preset, OtherModelMatch(reading, preset, counted=part))
            if by_preset:
                yield from by_preset.values()
                return


def _precisely_elsewhere(reading: Reading) -> Iterator[OtherModelMatch]:
    """Yield published models with a count that rounds to all digits of the number.

    If there is none, yield the models for which the count without word embeddings does so. A reading in which trailing
    zeros are not significant yields nothing.
    """
    if not reading.rounded:
        yield from list(_rounded([reading], parts=False)) or (
            OtherModelMatch(reading, preset, known_count)
            for preset, known_count in published_backbones()
            if reading.means(known_count.total)
        )


def _halved(meanings: Sequence[Reading], config: Config) -> Iterator[OtherModelMatch]:
    """Yield the published model with the same sizes but twice the layers, if its count rounds to twice the number."""
    doubled = (config.vocab_size, config.hidden_size, config.intermediate_size, 2 * config.num_hidden_layers)
    for reading in meanings:
        if reading.exact or reading.rounded:
            continue
        half = reading._replace(key="half", low=2 * reading.low, high=2 * reading.high)
        for count, (preset, known_count) in published_counts().items():
            other = known_count.model.config
            sizes = (other.vocab_size, other.hidden_size, other.intermediate_size, other.num_hidden_layers)
            if half.means(count) and sizes == doubled and other == PUBLISHED_CONFIGS[preset]:
                yield OtherModelMatch(half, preset, known_count=known_count)
                return


def _own_parts(model: Model, meanings: Sequence[Reading]) -> tuple[OwnPart, ...]:
    """Return the model's parts with this count, in the first reading that fits; () if there are none.

    A rounded number is only read as a number of parameters, or as bytes in float32.
    """
    for reading in meanings:
        usual = reading.exact or reading.key in ("parameters", "float32")
        if not reading.rounded and reading.key not in KNOWN_ONLY and usual:
            low, high = reading.bounds
            parts = [part for count, part in _own_counts(model) if low <= count <= high]
            if reading.key != "parameters":  # users do not ask for the bytes of vectors
                parts = [part for part in parts if any(len(tensor.shape) > 1 for tensor in part.tensors)]
            if parts:
                return tuple(OwnPart(reading, part) for part in parts)
    return ()


def _sums(model: Model, meanings: Sequence[Reading]) -> tuple[OwnPart, ...]:
    """Return pairs of parts that add up to the number and are closest to each other in the model."""
    counts = [count for _right, count in _own_counts(model)]
    exactly = [reading for reading in meanings if reading.exact and reading.key == "parameters"]
    sums = [OwnPart(reading, *parts) for reading in exactly for parts in sums_of_two(counts, reading.exact or 0)]
    # Users tend to add neighboring parts of the model.
    apart = [
        len({tensor.place[:2] for tensor in (*pair.counted.tensors, *(pair.added or pair.counted).tensors)})
        for pair in sums
    ]
    return tuple(pair for pair, places in zip(sums, apart, strict=True) if places == min(apart))


@lru_cache(maxsize=16)
def _own_counts(model: Model) -> tuple[tuple[int, Counted], ...]:
    return tuple((count.right, count) for count in part_counts(_tensors(model), MiscountSizes.of(model.final_config)))


def _hand_count(meanings: Sequence[Reading]) -> tuple[HandCount, Miscounted] | None:
    for hand in HAND_COUNTS:
        if hand.parameters == meanings[0].exact:
            config = PRESETS[hand.preset].config
            model = build(config)
            known_count = KnownCount(model, model.num_parameters())
            explanation = causes(counted(model), MiscountSizes.of(config), hand.miscounts)
            return hand, Miscounted(meanings[0], known_count, explanation)
    return None


@lru_cache(maxsize=64)
def _tensors(model: Model) -> tuple[Tensor, ...]:
    return counted(model)


class _Assumption(NamedTuple):
    """A model and a reading to search for explanations, with the cost of this assumption in bits."""

    reading: Reading
    known_count: KnownCount
    bits: float
    search: Search


def _miscounted(present: KnownCount, meanings: Sequence[Reading]) -> Diagnosis:
    """Return a diagnosis with explanations by miscounts: equally likely, rarer and merely possible explanations."""
    places, candidates = _explained(present, meanings)
    first, exactly = meanings[0], meanings[0].exact
    likely = [
        candidate
        for candidate in candidates
        if not _is_far_fetched(candidate)
        and not is_chance(candidate.total, candidate.known_count.right, candidate.bits)
    ]
    if not likely:
        rarer = (
            [_miscount(places[0], combination) for combination in places[0].search.rarer(exactly)] if exactly else []
        )
        return Diagnosis(possible=tuple(dict.fromkeys(candidates + rarer))[:MOST_EXPLANATIONS])
    best = likely[0]
    near = evidence(
        [(place.search, place.bits) for place in places if place.reading is best.reading],
        *best.reading.bounds,
        best.bits,
        present.model.config.hidden_size,
        _mixed_bits(present.model) if best.reading is first and not _is_rough(first) else (),
    )
    rough = len(meanings) == 1 and _is_rough(first)
    if best.reading.exact is None and near.explained > _CHANCE * near.numbers:
        rough = rough or _is_hint(best)
    if not rough and near.explained > (_CHANCE_OF_A_HINT if best.reading.exact else _CHANCE) * near.numbers:
        return Diagnosis(possible=tuple(candidates[:MOST_EXPLANATIONS]), evidence=near)
    front = likely if rough else [candidate for candidate in likely if _is_equal(candidate, best, present)]
    front = sorted(front[:_MOST_COMPARED], key=lambda candidate: candidate.known_count != present)[:_MOST_EQUAL]
    return Diagnosis(
        miscounted=tuple(front),
        behind=tuple([candidate for candidate in likely if candidate not in front][:MOST_EXPLANATIONS]),
        possible=tuple([candidate for candidate in candidates if candidate not in likely][:MOST_EXPLANATIONS]),
        evidence=near,
    )


def _is_hint(candidate: Miscounted) -> bool:
    """Whether an explanation of a rounded number is common enough to be a hint, although it may be a coincidence."""
    return candidate.bits <= (_HABIT if candidate.habit else _MOST_ELSEWHERE if candidate.ideas > 1 else _BESIDE_COUNT)


def _explained(present: KnownCount, meanings: Sequence[Reading]) -> tuple[list[_Assumption], list[Miscounted]]:
    """Return the searched assumptions, and the explanations under these assumptions, the likeliest first.

    Other classes and wrong sizes are searched only if the model itself has no common explanation.
    """
    first = meanings[0]
    places = [
        _Assumption(
            reading,
            present,
            0.0 if reading is first else _OTHER_UNITS,
            _search(present.model, _rarest(first) if reading is first else _MOST_ELSEWHERE),
        )
        for reading in meanings
        if reading.key not in KNOWN_ONLY and (reading.exact or (reading is first and _rarest(reading)))
    ]
    candidates = list(_candidates(places))
    rough = len(meanings) == 1 and _is_rough(first)
    if _rarest(first) and not (rough and candidates) and _least(candidates) > _ANOTHER_CLASS:
        whole = present.model.changed(add_pooling_layer=True)  # leaving the pooler out is a miscount, not another class
        most = min(_MOST_ELSEWHERE, _rarest(first) - _ANOTHER_CLASS)
        others = [
            _Assumption(first, other, _ANOTHER_CLASS, _search(other.model, most))
            for other in every_count(present.model.config, known_counts)
            if not other.buffers and other.model.changed(add_pooling_layer=True) != whole
        ]
        candidates += _candidates(others)
        places += others
        if _least(candidates) > _MIXED and not _is_rough(first):
            counts, (low, high), rarest = _mixed_bits(present.model), first.bounds, _rarest(first)
            mixed = counts[bisect_left(counts, (low, 0.0)) : bisect_right(counts, (high, rarest))]
            candidates += [
                _mixed(present.model)[count]._replace(reading=first) for count, bits in mixed if bits <= rarest
            ]
    candidates.sort(key=lambda candidate: candidate.bits)
    return places, candidates if first.exact else _without_supersets(candidates)


def _least(candidates: Iterable[Miscounted]) -> float:
    return min([candidate.bits for candidate in candidates], default=MOST_BITS)


@lru_cache(maxsize=8)  # entries take up several megabytes
def _mixed(model: Model) -> Mapping[int, Miscounted]:
    """Map the counts that result from wrong sizes to their likeliest explanations.

    A wrong size is mistyped or taken from another model. A very common mistake may be made in addition.
    """
    likeliest: dict[int, Miscounted] = {}
    common = _common(model)
    mixed = ((_MIXED, known_count, _with_common(known_count, common)) for known_count in mixes(model))
    for least, known_count, amounts in (*mixed, *_mistyped(model, common)):
        assert known_count.mix
        bits = least + _MORE_MIXED * len(known_count.mix.fields[1:])
        fields = ", ".join(known_count.mix.fields)
        mix = Cause(
            f"{fields} of {known_count.mix.preset}" if known_count.mix.preset else fields,
            known_count.parameters - known_count.right,
        )
        for name, amount in amounts.items():
            total, rare = known_count.parameters + amount, bits + MISCOUNTS[name].bits if name else bits
            if (
                (name == "" or amount)
                and rare <= MOST_BITS
                and (total not in likeliest or rare < likeliest[total].bits)
            ):
                with_mistake = (Cause(name, amount),) if name else ()
                likeliest[total] = Miscounted(
                    _COUNTED, known_count, (mix, *with_mistake), bits=rare, ideas=1 + len(with_mistake)
                )
    likeliest.pop(model.num_parameters(), None)
    return likeliest


@lru_cache(maxsize=16)
def _mixed_bits(model: Model) -> list[tuple[int, float]]:
    return sorted((count, candidate.bits) for count, candidate in _mixed(model).items())


def _common(model: Model) -> Mapping[str, frozenset[str]]:
    """Map each very common mistake that affects the model to the names of the tensors that it changes."""
    tensors, sizes = _tensors(model), MiscountSizes.of(model.final_config)
    usual = {name: miscount for name, miscount in MISCOUNTS.items() if miscount.bits <= _VERY_COMMON}
    changed = {
        name: frozenset(tensor.name for tensor in tensors if miscount.make((tensor,), sizes) != (tensor,))
        for name, miscount in usual.items()
    }
    return {name: names for name, names in changed.items() if names}


def _with_common(known_count: KnownCount, common: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Map each very common mistake to the amount that it adds to a count; the key "" means no mistake and maps to 0."""
    tensors, sizes = counted(known_count.model), MiscountSizes.of(known_count.model.final_config)
    amounts = {"": 0}
    for name, names in common.items():
        changed = [tensor for tensor in tensors if tensor.name in names]
        amounts[name] = total(MISCOUNTS[name].make(changed, sizes)) - total(changed)
    return amounts


def _mistyped(model: Model, common: Mapping[str, frozenset[str]]) -> Iterator[tuple[float, KnownCount, dict[str, int]]]:
    """Yield the model with each size mistyped, as (bits, known count, amounts of the very common mistakes) tuples.

    The count and the amounts are polynomials in a size, of degree two at most. So the function counts three sizes and
    extrapolates to the others.
    """
    config, right = model.config, model.num_parameters()
    for field in sizes_of(type(config)):
        size = getattr(config, field)
        if field == "num_attention_heads" or size < _LONG_SIZE:
            continue
        near = [other for offset in (1, 2, 3) if (other := _with_size(model, field, size + offset)) is not None]
        if len(near) < 3:
            continue
        wrong = [KnownCount(other, other.num_parameters(), mix=Mix("", (field,), right)) for other in near]
        counts = [{**_with_common(count, common), _WHOLE: count.parameters} for count in wrong]
        for number in dict.fromkeys(mistyped(size)):
            if (as_typed := _with_size(model, field, number)) is None:
                continue
            step = number - size - 1
            amounts = {}
            for name, first in counts[0].items():
                second, third = counts[1][name], counts[2][name]
                amounts[name] = first + step * (second - first) + step * (step - 1) // 2 * (third - 2 * second + first)
            exchanged = sorted(f"{number}") == sorted(f"{size}") or _runs(number) == _runs(size)
            meant = wrong[0]._replace(model=as_typed, parameters=amounts.pop(_WHOLE))
            yield _EXCHANGED if exchanged else _WRONG_DIGIT, meant, amounts


def _runs(number: int) -> list[str]:
    """Return the digits with runs of equal digits collapsed.

    The result is the same if a user doubles the wrong digit: 122 for 112.
    """
    return [digit for digit, _same in groupby(f"{number}")]


def _with_size(model: Model, field: str, number: int) -> Model | None:
    """Return the model with another size, without validating it; None if the model's changes rule it out."""
    try:
        return model.changed(config=unchecked(model.config, **{field: number}))
    except InputError:
        return None


_WHOLE = "whole"
# The smallest size that may be mistyped; the bits of two exchanged digits, and the bits of a wrong digit.
_LONG_SIZE, _EXCHANGED, _WRONG_DIGIT = 100, 6.5, 9.0
_COUNTED = Reading("parameters", Fraction(0), Fraction(0), rounded=False)


def _search(model: Model, bits: float) -> Search:
    """Return the search over the combinations of a model's miscounts with at most ``bits`` bits."""
    return search(_tensors(model), MiscountSizes.of(model.final_config), bits)


def _candidates(places: Iterable[_Assumption]) -> Iterator[Miscounted]:
    for place in places:
        most = _rarest(place.reading) - place.bits
        for count in place.search.near(*place.reading.bounds, most):
            yield from (
                _miscount(place, combination)
                for combination in place.search.combinations(count)
                if combination.bits <= most
            )


def _rarest(reading: Reading) -> float:
    """Return the maximum number of bits that an explanation may have; 0 rules out any explanation.

    The fewer digits a rounded number has, the fewer bits are allowed.
    """
    if reading.exact or reading.low == reading.high:
        return MOST_BITS if reading.exact else 0.0
    rough = _ROUGH if _is_rough(reading) else 0.0
    return next((bits for part, bits in _OF_DIGITS if part * (reading.high - reading.low) <= reading.low), rough)


# Maximum bits for a rounded number, as (minimum ratio of its value to its uncertainty, bits) pairs. With a ratio below
# 1,000, a number is rough: its explanations are only hints, of at most _ROUGH bits. Below _ROUGHEST, there are none.
_OF_DIGITS = ((10_000, 10.0), (1_000, _MOST_ELSEWHERE))
_ROUGH, _ROUGHEST = 8.0, 25


def _is_rough(reading: Reading) -> bool:
    """Whether a number of parameters has so few digits that its explanations are only hints."""
    part = reading.low / (reading.high - reading.low) if reading.high > reading.low else 0
    return reading.key == "parameters" and not reading.rounded and _ROUGHEST <= part < _OF_DIGITS[-1][0]


def _without_supersets(candidates: Sequence[Miscounted]) -> list[Miscounted]:
    """Drop the explanations of a rounded number that only add mistakes to a likelier one or have the same total.

    Rounding would hide the effect of the added mistakes.
    """
    kept: list[tuple[set[str], Miscounted]] = []
    for candidate in candidates:
        names = {cause.miscount for cause in candidate.explanation}
        if not any((names >= fewer and not candidate.habit) or candidate.total == other.total for fewer, other in kept):
            kept.append((names, candidate))
    return [candidate for _names, candidate in kept]


def _miscount(place: _Assumption, combination: Combination) -> Miscounted:
    model = place.known_count.model
    explanation = causes(_tensors(model), MiscountSizes.of(model.final_config), combination.miscounts)
    return Miscounted(
        place.reading,
        place.known_count,
        explanation,
        combination.habit,
        combination.bits + place.bits,
        combination.ideas,
    )


def _is_equal(candidate: Miscounted, first: Miscounted, present: KnownCount) -> bool:
    """Whether an explanation is about as likely as the first one.

    The limit is stricter if the explanation needs more mistakes or belongs to another class.
    """
    for_more_ideas = _EQUAL_OF_MORE if candidate.bits <= _USUAL_PAIR else _EQUAL / 2
    reach = _EQUAL if candidate.ideas == first.ideas or first.ideas > 1 else for_more_ideas
    reach = reach if candidate.known_count in (first.known_count, present) else 0.0
    return candidate.bits <= first.bits + reach


def _is_far_fetched(candidate: Miscounted) -> bool:
    """Whether an explanation needs three or more unrelated mistakes.

    Three mistakes that each leave out a small part are related: together, they are one way of counting.
    """
    if candidate.ideas < _UNRELATED:
        return False
    left_out = sum(cause.amount < 0 and MISCOUNTS[cause.miscount].bits <= _SMALL for cause in candidate.explanation)
    return candidate.ideas > _UNRELATED or left_out < len(candidate.explanation)


_SMALL = 4.5  # maximum bits of a miscount that leaves out a small part


def told_apart(candidates: Sequence[Miscounted]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the parts that explanations of the same number count differently, as (part, counts) pairs.

    The counts have the order of the explanations.
    """
    counts = []
    for candidate in candidates:
        model = candidate.known_count.model
        tensors, sizes = _tensors(model), MiscountSizes.of(model.final_config)
        for cause in candidate.explanation:
            tensors = MISCOUNTS[cause.miscount].make(tensors, sizes)
        counts.append(tensors)
    rows = [(part, tuple(total(filter(PARTS[part][0], tensors)) for tensors in counts)) for part in TERMS]
    return [(part, amounts) for part, amounts in rows if len(set(amounts)) > 1]


def _matches(meanings: Sequence[Reading], model: Model) -> Iterator[Match]:
    """Yield the known counts that the number may mean, each in the first reading that fits.

    If there are none, yield rarer counts that equal the number exactly.
    """
    by_total = _by_total(model.config, known_counts)
    # A count with small buffers is listed only for an exact number.
    bare = {
        total
        for total, counts in by_total.items()
        if any(not count.buffers or count.convention == "masks" for count in counts)
    }
    seen = set()
    for reading in meanings:
        low, high = reading.bounds
        for count in sorted(by_total):
            if low <= count <= high and count not in seen and (count in bare or reading.exact is not None):
                seen.add(count)
                yield Match(reading, count, by_total[count])
    if seen:
        return
    otherwise = _by_total(model.config, more_counts)
    for reading in meanings:
        if (exact := reading.exact) and (counts := otherwise.get(exact) or tuple(other_labels(model.config, exact))):
            yield Match(reading, exact, counts)
            return


def _is_vague(matches: Sequence[Match]) -> bool:
    """Whether there are no matches, or all of them treat only the first digit of the number as significant."""
    return all(
        match.reading.rounded and match.reading.low + match.reading.high < 20 * (match.reading.high - match.reading.low)
        for match in matches
    )


def _without_embeddings(reading: Reading, model: Model) -> Iterator[Match]:
    """Yield the counts without embeddings that round to the number.

    For a number of at least two digits, these are counts without word embeddings. For a number that is precise to one
    part in 40, counts without any embedding table follow, for every class.
    """
    part = (reading.high - reading.low) / reading.low if reading.low else Fraction(1)
    if reading.key == "parameters" and part <= _TWO_DIGITS:
        yield from (Match(reading, rest.total, (rest,)) for rest in backbones(model) if reading.means(rest.total))
    if part > _CHANCE:
        return
    for number, counts in sorted(_by_total(model.config, more_counts).items()):
        bare = tuple(count for count in counts if count.convention == "no embeddings")
        if bare and reading.means(number):
            yield Match(reading, number, bare)


_TWO_DIGITS = Fraction(1, 10)


@lru_cache(maxsize=16)
def _by_total(config: Config, counts: Callable[[Config], Iterator[KnownCount]]) -> Mapping[int, tuple[KnownCount, ...]]:
    by_total: dict[int, tuple[KnownCount, ...]] = {}
    for known_count in every_count(config, counts):
        by_total[known_count.total] = (*by_total.get(known_count.total, ()), known_count)
    return by_total
