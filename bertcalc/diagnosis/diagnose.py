"""Explain a number: as a known count, as the count of a part of the model, or by miscounts.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.subject import Subject
>>> from bertcalc.text.amounts import typed
>>> found = diagnose(Known(Subject(BertConfig()), 109_482_240), typed("85,054,464"))
>>> [(own.counted.part, own.counted.layers) for own in found.own]
[('layers', 'all')]
>>> found = diagnose(Known(Subject(BertConfig()), 109_482_240), typed("109,454,592"))
>>> [[cause.miscount for cause in one.explanation] for one in found.miscounted]
[['qkv biases'], ['feed-forward biases of H']]
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from bertcalc.config import Config, sizes_of, unchecked
from bertcalc.diagnosis.explain import (
    MOST_BITS,
    MOST_FOUND,
    Cause,
    Evidence,
    Explanation,
    Search,
    Way,
    causes,
    evidence,
    search,
)
from bertcalc.diagnosis.flop_counts import FlopCount, flops_of
from bertcalc.diagnosis.known_counts import (
    CLAIMS,
    HAND_COUNTS,
    KNOWN_ONLY,
    PROVE_LITTLE,
    PUBLISHED_CONFIGS,
    TRAINING,
    Claim,
    HandCount,
    Known,
    Mix,
    Reading,
    adapted_counts,
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
from bertcalc.diagnosis.layer_parts import PARTS, TERMS, Counted, own_counts, sums_of_two
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.diagnosis.typos import Slip, mistyped, slips_to
from bertcalc.families import build
from bertcalc.families.presets import PRESETS
from bertcalc.model.modules import Tensor
from bertcalc.model.subject import Subject
from bertcalc.text.amounts import Typed
from bertcalc.text.arguments import checked

# Rarity is measured in bits, as in explain.py. Bits for the assumption of another class, and of other units.
_ANOTHER_CLASS = 3.0
_OTHER_UNITS = 3.0
_MOST_THERE = 6.0  # the most bits of the miscounts that are looked for there
# Bits for a size taken from another published model, and for each further one; the most bits of miscounts beside them.
_MIXED, _MORE_MIXED, _VERY_COMMON = 6.0, 0.5, 3.5
# How many bits rarer than the likeliest an explanation may be to stand beside it; the second, if it takes more mistakes
# than that, of at most the third number of bits.
_EQUAL, _EQUAL_OF_MORE, _USUAL_PAIR = 3.0, 2.0, 7.0
_MOST_EQUAL, _MOST_COMPARED = 3, 6  # explanations that stand beside each other, and those they are chosen from
# The share of nearby numbers with as simple an explanation: above the first an explanation is a hint only,
_CHANCE = Fraction(1, 40)
# above the second a possibility only.
_CHANCE_OF_A_HINT = Fraction(1, 8)
_UNRELATED = 3  # from this many unrelated mistakes on, an explanation is a possibility only
# A typing error is likelier than a miscount of more bits.
_SLIP = 5.0
# The most bits of miscounts that stand beside a known count: of the present configuration, and of another model.
_BESIDE_COUNT, _BESIDE_MODEL = 4.0, 7.5
_HABIT = 5.5  # a habit of no more bits is at least a hint, where a rounded number has no better explanation


class Match(NamedTuple):
    """Known models that share one count, which the number may mean."""

    reading: Reading
    total: int
    models: tuple[Known, ...]


class OwnPart(NamedTuple):
    """A part, module or tensor of the model, in one layer or in several, with the number's count of parameters.

    With ``added`` it is the sum of both counts.
    """

    reading: Reading
    counted: Counted
    added: Counted | None = None

    @property
    def right(self) -> int:
        """The number of parameters."""
        return self.counted.right + (self.added.right if self.added else 0)


class Miscounted(NamedTuple):
    """Miscounts that turn the count of a known model into the number, in one of the number's readings.

    If sizes are taken from another model, that is the first cause.
    """

    reading: Reading
    model: Known
    explanation: Explanation
    habit: str = ""  # the key in HABITS of the habit that makes several of them
    bits: float = 0.0  # the rarity
    ideas: int = 0  # the number of mistakes; a habit is one

    @property
    def total(self) -> int:
        """The count with the miscounts."""
        return self.model.right + sum(cause.amount for cause in self.explanation)


class Elsewhere(NamedTuple):
    """A known count or a part of another published model that has the number's count."""

    reading: Reading
    preset: str
    known: Known | None = None
    counted: Counted | None = None


class Diagnosis(NamedTuple):
    """Everything that a number may mean, the likeliest first.

    ``matches`` and ``own`` are exact counts of the present model, ``elsewhere`` those of published models.
    ``miscounted`` are the likeliest explanations, about equally likely; ``behind`` are rarer ones; ``possible`` take
    several unrelated mistakes, which lead to any number sooner or later. ``hand`` is a published hand count with its
    miscounts, ``claims`` are published numbers that are not the count of their model. ``flops`` are costs of the
    present model; a number of FLOPs or MACs has no other meaning.
    """

    matches: tuple[Match, ...] = ()
    own: tuple[OwnPart, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    slips: tuple[Slip, ...] = ()
    miscounted: tuple[Miscounted, ...] = ()
    behind: tuple[Miscounted, ...] = ()
    possible: tuple[Miscounted, ...] = ()
    evidence: Evidence | None = None
    hand: tuple[HandCount, Miscounted] | None = None
    claims: tuple[Claim, ...] = ()
    flops: tuple[FlopCount, ...] = ()

    @property
    def confident(self) -> bool:
        """Whether so few nearby numbers have as simple an explanation that it is hardly chance.

        An explanation of a rounded number is a hint only if a known count rounds to it as well.
        """
        found = self.evidence
        if found is None or not self.miscounted or (self.matches and self.miscounted[0].reading.exact is None):
            return False
        return found.explained <= _CHANCE * found.numbers

    @property
    def usual(self) -> bool:
        """Whether the first explanation is so common that another model's count is hardly meant."""
        return bool(self.miscounted) and self.miscounted[0].bits <= _BESIDE_COUNT

    @property
    def known(self) -> bool:
        """Whether the number is a right or a published count, without any miscount."""
        return bool(self.matches or self.own or self.elsewhere or self.claims or self.flops)

    @property
    def own_first(self) -> bool:
        """Whether a part is likelier meant than the matches, which are of conventions that give many counts."""
        conventions = {model.convention for match in self.matches for model in match.models}
        return bool(self.own) and conventions <= PROVE_LITTLE

    @property
    def as_parameters(self) -> bool:
        """Whether the number is a count of parameters, or comes from one by common miscounts."""
        meanings: tuple[Match | OwnPart | Elsewhere, ...] = (*self.matches, *self.own, *self.elsewhere)
        return bool(self.hand or self.usual or any(count.reading.key == "parameters" for count in meanings))


@checked
def diagnose(model: Known, number: Typed) -> Diagnosis:
    """Look a number up among the known counts, then among the counts with miscounts.

    A rounded number is explained by miscounts only if it has enough digits to exclude most others.
    """
    flops = flops_of(model.subject, number)
    if number.unit in ("FLOPs", "MACs"):
        return Diagnosis(flops=flops)
    claims = tuple(claim for claim in CLAIMS if claim.is_meant(number))
    found = _diagnose(model, number)
    if not claims:
        return Diagnosis(flops=flops) if flops and not found.as_parameters else found
    if any(PRESETS[claim.preset].config == model.subject.config for claim in claims):
        return Diagnosis(matches=found.matches, claims=claims)
    if found.matches or found.own or found.usual:
        return found
    elsewhere = tuple(one for one in found.elsewhere if one.reading.key == "parameters")
    return found._replace(claims=claims, elsewhere=elsewhere)


def _diagnose(model: Known, number: Typed) -> Diagnosis:
    meanings = readings(number)
    hand = _hand_count(meanings)
    first = [reading for reading in meanings if reading.key == meanings[0].key]
    training = [reading for reading in meanings if reading.key in TRAINING]
    others = [reading for reading in meanings if reading not in (*first, *training)]
    rounding = next((reading for reading in first if reading.exact is None), None)
    explained = Diagnosis()
    for some in (first, others):
        matches = tuple(_matches(some, model.subject))
        own = () if matches else _own(model, some)
        matches = matches or _adapted(some, model.subject)
        if some is first and rounding and not own and _is_vague(matches):
            precise = tuple(_without_embeddings(rounding, model.subject))
            if matches and not precise and (instead := tuple(_precisely_elsewhere(rounding))):
                return Diagnosis(elsewhere=instead)
            matches = precise or matches
        if some is others and (matches or own or _elsewhere(others)) and (sums := _sums(model, first)):
            return Diagnosis(own=sums, hand=hand)
        if matches or own:
            conventions = {one.convention for match in matches for one in match.models}
            rarest = _BESIDE_MODEL if conventions and conventions <= PROVE_LITTLE else _BESIDE_COUNT
            other = matches and model.total not in {match.total for match in matches}
            if meanings[0].exact or (some is first and (other or (matches and "" not in conventions))):
                beside = _beside(model, meanings, rarest)
            else:  # a rounded number: many counts fit
                beside = explained if explained.miscounted else Diagnosis()
            if meanings[0].exact and beside.usual and all(match.reading.rounded for match in matches):
                matches = ()  # the zeros at its end are chance
            rounded = () if some is first else tuple(_rounded(first))
            return beside._replace(matches=matches, own=own, elsewhere=rounded, hand=hand)
        if (elsewhere := _elsewhere(some)) or (some is others and (elsewhere := _part_elsewhere(first))):
            return _beside(model, meanings, _BESIDE_MODEL)._replace(elsewhere=(elsewhere,), hand=hand)
        if rounding is meanings[0] and some is first:
            explained = _miscounted(model, [rounding])
            if explained.usual:
                break
    if hand:
        return Diagnosis(hand=hand)
    here = tuple(_halved(first, model.subject.config)) or tuple(_rounded(first, parts=not explained.miscounted))
    if not explained.usual and (matches := tuple(_matches(training, model.subject))):
        return explained._replace(matches=matches, elsewhere=here)
    exact = next((reading.exact for reading in meanings if reading.exact), None)
    if exact is None:
        by_mistakes = explained.miscounted or explained.possible
        return explained._replace(elsewhere=here or (() if by_mistakes else tuple(_rounded(others))))
    found = _with_slips(model, exact, _miscounted(model, meanings))
    if not (found.miscounted or found.slips) and (sums := _sums(model, first)):
        return found._replace(own=sums)
    if not (found.miscounted or found.slips) and (matches := _adapted(first, model.subject, others=True)):
        return Diagnosis(matches=matches)
    if rounding and not (found.miscounted or found.slips):
        found = max(found, _miscounted(model, [rounding]), key=lambda one: len(one.miscounted))
    return found._replace(elsewhere=here)


def _beside(model: Known, meanings: Sequence[Reading], rarest: float) -> Diagnosis:
    """Explanations by miscounts to show beside a known count: none of more than ``rarest`` bits, except for a habit."""
    found = _miscounted(model, meanings if meanings[0].exact else meanings[:1])
    some = [one for one in found.miscounted if one.model == model or rarest > _BESIDE_COUNT]
    here = tuple(one for one in some if one.bits <= max(rarest, _HABIT if one.habit else 0.0))
    return Diagnosis(miscounted=here, evidence=found.evidence if here else None)


def _with_slips(model: Known, number: int, found: Diagnosis) -> Diagnosis:
    """Add the known counts that may have been mistyped, and keep the miscounts only where they are as likely.

    A known count one digit away is likelier than a rare mistake in another class, and the right count one digit away
    is likelier than three mistakes.
    """
    slips = tuple(slips_to(model, number))
    if not slips or not found.miscounted:
        return found._replace(slips=slips)
    likeliest = found.miscounted[0]
    beside = tuple(slip for slip in slips if abs(slip.meant - number) == 1 and not slip.preset)
    if likeliest.bits <= _SLIP or (found.confident and not beside):
        return found._replace(slips=beside)
    several = likeliest.ideas > 1 and len(likeliest.explanation) >= _UNRELATED
    typing_error = several and any(slip.meant == model.total for slip in slips)
    if likeliest.model.subject == model.subject and not typing_error:
        return found._replace(slips=slips)
    return found._replace(slips=slips, miscounted=(), behind=(), possible=(*found.miscounted, *found.possible))


def _elsewhere(meanings: Sequence[Reading]) -> Elsewhere | None:
    """The count of another published model that is exactly this number."""
    for reading in meanings:
        for table in (published_counts(), published_otherwise()) if reading.exact else ():
            if found := table.get(reading.exact or 0):
                return Elsewhere(reading, found[0], known=found[1])
    return None


def _part_elsewhere(meanings: Sequence[Reading]) -> Elsewhere | None:
    """The part of another published model that has exactly this count."""
    for reading in meanings:
        if reading.key == "parameters" and (found := published_parts().get(reading.exact or 0)):
            return Elsewhere(reading, found[0], counted=found[1])
    return None


def _rounded(meanings: Sequence[Reading], *, parts: bool = True) -> Iterator[Elsewhere]:
    """The published models with a count that rounds to the number, or else with such a part; each once.

    Only the first reading that has any is used.
    """
    for of_models in (True, False)[: 1 + parts]:
        for reading in meanings:
            found: dict[str, Elsewhere] = {}
            if reading.exact is None and of_models:
                for count, (preset, known) in published_counts().items():
                    if reading.means(count) and known.subject.config == PUBLISHED_CONFIGS[preset]:  # not untied
                        found.setdefault(preset, Elsewhere(reading, preset, known=known))
            elif reading.exact is None and reading.key == "parameters":
                for count, (preset, part) in published_parts().items():
                    if reading.means(count) and part.part in PARTS:
                        found.setdefault(preset, Elsewhere(reading, preset, counted=part))
            if found:
                yield from found.values()
                return


def _precisely_elsewhere(reading: Reading) -> Iterator[Elsewhere]:
    """The published models with a count, or a count without tables, that rounds to all digits of the number."""
    if not reading.rounded:
        yield from list(_rounded([reading], parts=False)) or (
            Elsewhere(reading, preset, known) for preset, known in published_backbones() if reading.means(known.total)
        )


def _halved(meanings: Sequence[Reading], config: Config) -> Iterator[Elsewhere]:
    """A published model with the same sizes and twice the layers, if the number is half of its rounded count."""
    doubled = (config.vocab_size, config.hidden_size, config.intermediate_size, 2 * config.num_hidden_layers)
    for reading in meanings:
        half = reading._replace(key="half", low=2 * reading.low, high=2 * reading.high)
        for count, (preset, known) in published_counts().items() if not (reading.exact or reading.rounded) else ():
            other = known.subject.config
            sizes = (other.vocab_size, other.hidden_size, other.intermediate_size, other.num_hidden_layers)
            if half.means(count) and sizes == doubled and other == PUBLISHED_CONFIGS[preset]:
                yield Elsewhere(half, preset, known=known)
                return


def _own(model: Known, meanings: Sequence[Reading]) -> tuple[OwnPart, ...]:
    """The parts of the model with this count, in the first reading that fits; in other units only exact numbers."""
    for reading in meanings:
        if not reading.rounded and reading.key not in KNOWN_ONLY and (reading.exact or reading.key == "parameters"):
            low, high = reading.bounds
            found = [one for count, one in _own_counts(model.subject) if low <= count <= high]
            if reading.key != "parameters":  # nobody asks for the bytes of vectors
                found = [one for one in found if any(len(tensor.shape) > 1 for tensor in one.tensors)]
            if found:
                return tuple(OwnPart(reading, one) for one in found)
    return ()


def _sums(model: Known, meanings: Sequence[Reading]) -> tuple[OwnPart, ...]:
    """The number as the sum of two parts of the model that people would add."""
    counts = [count for _right, count in _own_counts(model.subject)]
    exactly = [reading for reading in meanings if reading.exact and reading.key == "parameters"]
    sums = [OwnPart(reading, *parts) for reading in exactly for parts in sums_of_two(counts, reading.exact or 0)]
    # People rather add what stands side by side in the model.
    apart = [
        len({tensor.place[:2] for tensor in (*one.counted.tensors, *(one.added or one.counted).tensors)})
        for one in sums
    ]
    return tuple(one for one, places in zip(sums, apart, strict=True) if places == min(apart))


@lru_cache(maxsize=16)
def _own_counts(subject: Subject) -> tuple[tuple[int, Counted], ...]:
    return tuple((count.right, count) for count in own_counts(_tensors(subject), MiscountSizes.of(subject.config)))


def _hand_count(meanings: Sequence[Reading]) -> tuple[HandCount, Miscounted] | None:
    for hand in HAND_COUNTS:
        if hand.parameters == meanings[0].exact:
            config = PRESETS[hand.preset].config
            model = build(config)
            known = Known(Subject(config, model.kind), model.num_parameters())
            explanation = causes(counted(model), MiscountSizes.of(config), hand.miscounts)
            return hand, Miscounted(meanings[0], known, explanation)
    return None


@lru_cache(maxsize=64)
def _tensors(subject: Subject) -> tuple[Tensor, ...]:
    return counted(subject.model())


class _Assumption(NamedTuple):
    """A model and a reading in which explanations are searched, with the bits that this assumption costs."""

    reading: Reading
    model: Known
    bits: float
    search: Search


def _miscounted(model: Known, meanings: Sequence[Reading]) -> Diagnosis:
    """The explanations of a number by miscounts: equally likely ones, rarer ones, and possibilities."""
    places, found = _explained(model, meanings)
    first, exactly = meanings[0], meanings[0].exact
    likely = [one for one in found if not _is_far_fetched(one)]
    if not likely:
        rarer = [_miscount(places[0], way) for way in places[0].search.rarer(exactly)] if exactly else []
        return Diagnosis(possible=tuple(dict.fromkeys(found + rarer))[:MOST_FOUND])
    best = likely[0]
    near = evidence(
        [(place.search, place.bits) for place in places if place.reading is best.reading],
        *best.reading.bounds,
        best.bits,
        model.subject.config.hidden_size,
        _mixed_bits(model.subject) if best.reading is first else (),
    )
    rough = len(meanings) == 1 and _is_rough(first)
    if best.reading.exact is None and near.explained > _CHANCE * near.numbers:
        rough = rough or _is_hint(best)
    if not rough and near.explained > (_CHANCE_OF_A_HINT if best.reading.exact else _CHANCE) * near.numbers:
        return Diagnosis(possible=tuple(found[:MOST_FOUND]), evidence=near)
    front = likely if rough else [one for one in likely if _is_equal(one, best, model)]
    front = sorted(front[:_MOST_COMPARED], key=lambda one: one.model != model)[:_MOST_EQUAL]
    return Diagnosis(
        miscounted=tuple(front),
        behind=tuple([one for one in likely if one not in front][:MOST_FOUND]),
        possible=tuple([one for one in found if one not in likely][:MOST_FOUND]),
        evidence=near,
    )


def _is_hint(found: Miscounted) -> bool:
    """Whether an explanation of a rounded number is common enough to be a hint, even if it may be chance."""
    return found.bits <= (_HABIT if found.habit else _MOST_THERE if found.ideas > 1 else _BESIDE_COUNT)


def _explained(model: Known, meanings: Sequence[Reading]) -> tuple[list[_Assumption], list[Miscounted]]:
    """The places where explanations of a number are searched, and the explanations, the likeliest first.

    Other classes and other models' sizes are searched only if the model itself gives no common explanation.
    """
    first = meanings[0]
    places = [
        _Assumption(reading, model, 0.0 if reading is first else _OTHER_UNITS, _search(model.subject, reading is first))
        for reading in meanings
        if reading.key not in KNOWN_ONLY and (reading.exact or (reading is first and _rarest(reading)))
    ]
    found = list(_found(places))
    rough = len(meanings) == 1 and _is_rough(first)
    if _rarest(first) and not (rough and found) and _least(found) > _ANOTHER_CLASS:
        whole = model.subject._replace(add_pooling_layer=True)  # leaving the pooler out is a miscount
        others = [
            _Assumption(first, other, _ANOTHER_CLASS, _search(other.subject, False))
            for other in every_count(model.subject.config, known_counts)
            if not other.buffers and other.subject._replace(add_pooling_layer=True) != whole
        ]
        found += _found(others)
        places += others
        if _least(found) > _MIXED:
            counts, (low, high), rarest = _mixed_bits(model.subject), first.bounds, _rarest(first)
            mixed = counts[bisect_left(counts, (low, 0.0)) : bisect_right(counts, (high, rarest))]
            found += [_mixed(model.subject)[one]._replace(reading=first) for one, bits in mixed if bits <= rarest]
    found.sort(key=lambda one: one.bits)
    return places, found if first.exact else _told_apart_in(found)


def _least(found: Iterable[Miscounted]) -> float:
    return min([one.bits for one in found], default=MOST_BITS)


@lru_cache(maxsize=16)
def _mixed(subject: Subject) -> Mapping[int, Miscounted]:
    """Counts with sizes taken from elsewhere or mistyped, each also with one very common mistake.

    For each count the likeliest explanation.
    """
    found: dict[int, Miscounted] = {}
    common = _common(subject)
    mixed = ((_MIXED, known, _with_common(known, common)) for known in mixes(subject))
    for least, known, amounts in (*mixed, *_mistyped(subject, common)):
        assert known.mix
        bits = least + _MORE_MIXED * len(known.mix.fields[1:])
        fields = ", ".join(known.mix.fields)
        mix = Cause(f"{fields} of {known.mix.preset}" if known.mix.preset else fields, known.parameters - known.right)
        for name, amount in amounts.items():
            total, rare = known.parameters + amount, bits + MISCOUNTS[name].bits if name else bits
            if (name == "" or amount) and rare <= MOST_BITS and (total not in found or rare < found[total].bits):
                more = (Cause(name, amount),) if name else ()
                found[total] = Miscounted(_COUNTED, known, (mix, *more), bits=rare, ideas=1 + len(more))
    found.pop(subject.model().num_parameters(), None)
    return found


@lru_cache(maxsize=16)
def _mixed_bits(subject: Subject) -> list[tuple[int, float]]:
    return sorted((count, one.bits) for count, one in _mixed(subject).items())


def _common(subject: Subject) -> Mapping[str, frozenset[str]]:
    """The very common mistakes that change the model, each with the names of the tensors it changes."""
    tensors, sizes = _tensors(subject), MiscountSizes.of(subject.config)
    usual = {name: one for name, one in MISCOUNTS.items() if one.bits <= _VERY_COMMON}
    changed = {
        name: frozenset(one.name for one in tensors if miscount.make((one,), sizes) != (one,))
        for name, miscount in usual.items()
    }
    return {name: names for name, names in changed.items() if names}


def _with_common(known: Known, common: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """The amount that each very common mistake adds to a count; under "" 0, for no mistake."""
    tensors, sizes = counted(known.subject.model()), MiscountSizes.of(known.subject.config)
    found = {"": 0}
    for name, names in common.items():
        some = [tensor for tensor in tensors if tensor.name in names]
        found[name] = total(MISCOUNTS[name].make(some, sizes)) - total(some)
    return found


def _mistyped(subject: Subject, common: Mapping[str, frozenset[str]]) -> Iterator[tuple[float, Known, dict[str, int]]]:
    """The model with each size mistyped: bits, model, and the amounts of the very common mistakes.

    The count and the amounts are polynomials in a size, of degree two at most: three sizes are counted, the others
    interpolated.
    """
    config, right = subject.config, subject.model().num_parameters()
    for field in sizes_of(type(config)):
        own = getattr(config, field)
        if field == "num_attention_heads" or own < _LONG_SIZE:
            continue
        near = [_with_size(subject, field, own + more) for more in (1, 2, 3)]
        known = [Known(other, other.model().num_parameters(), mix=Mix("", (field,), right)) for other in near]
        counts = [{**_with_common(one, common), _WHOLE: one.parameters} for one in known]
        for number in dict.fromkeys(mistyped(own)):
            step = number - own - 1
            amounts = {}
            for name, first in counts[0].items():
                second, third = counts[1][name], counts[2][name]
                amounts[name] = first + step * (second - first) + step * (step - 1) // 2 * (third - 2 * second + first)
            exchanged = sorted(f"{number}") == sorted(f"{own}") or _runs(number) == _runs(own)
            meant = known[0]._replace(subject=_with_size(subject, field, number), parameters=amounts.pop(_WHOLE))
            yield _EXCHANGED if exchanged else _WRONG_DIGIT, meant, amounts


def _runs(number: int) -> list[str]:
    """The digits of a number with repetitions dropped: doubling the wrong digit (122 for 112) leaves these alike."""
    return [digit for digit, _same in groupby(f"{number}")]


def _with_size(subject: Subject, field: str, number: int) -> Subject:
    """The model with another size, which is not checked."""
    return subject._replace(config=unchecked(subject.config, **{field: number}))


_WHOLE = "whole"
# The smallest size that may be mistyped; bits for two exchanged digits, and for a wrong one.
_LONG_SIZE, _EXCHANGED, _WRONG_DIGIT = 100, 6.5, 9.0
_COUNTED = Reading("parameters", Fraction(0), Fraction(0), rounded=False)


def _search(subject: Subject, whole: bool) -> Search:
    """The search among a model's miscounts: all of them, or only common ones."""
    bits = MOST_BITS if whole else _MOST_THERE
    return search(_tensors(subject), MiscountSizes.of(subject.config), bits)


def _found(places: Iterable[_Assumption]) -> Iterator[Miscounted]:
    for place in places:
        most = _rarest(place.reading) - place.bits
        for count in place.search.near(*place.reading.bounds, most):
            yield from (_miscount(place, way) for way in place.search.ways(count) if way.bits <= most)


def _rarest(reading: Reading) -> float:
    """The most bits an explanation may have: fewer, the fewer digits a rounded number has, down to 0 for none."""
    if reading.exact or reading.low == reading.high:
        return MOST_BITS if reading.exact else 0.0
    rough = _ROUGH if _is_rough(reading) else 0.0
    return next((bits for part, bits in _OF_DIGITS if part * (reading.high - reading.low) <= reading.low), rough)


# The most bits for a rounded number whose value is this many times its uncertainty. Below 1,000 times it is rough: its
# explanations are hints of _ROUGH bits at most; below _ROUGHEST times it has none.
_OF_DIGITS = ((10_000, 10.0), (1_000, _MOST_THERE))
_ROUGH, _ROUGHEST = 8.0, 25


def _is_rough(reading: Reading) -> bool:
    """Whether a number of parameters has so few digits that its explanations are only hints."""
    part = reading.low / (reading.high - reading.low) if reading.high > reading.low else 0
    return reading.key == "parameters" and not reading.rounded and _ROUGHEST <= part < _OF_DIGITS[-1][0]


def _told_apart_in(found: Sequence[Miscounted]) -> list[Miscounted]:
    """The explanations of a rounded number without those that only add mistakes to a likelier one.

    The rounding would hide what they add.
    """
    kept: list[tuple[set[str], Miscounted]] = []
    for one in found:
        names = {cause.miscount for cause in one.explanation}
        if not any((names >= fewer and not one.habit) or one.total == other.total for fewer, other in kept):
            kept.append((names, one))
    return [one for _names, one in kept]


def _miscount(place: _Assumption, way: Way) -> Miscounted:
    subject = place.model.subject
    explanation = causes(_tensors(subject), MiscountSizes.of(subject.config), way.miscounts)
    return Miscounted(place.reading, place.model, explanation, way.habit, way.bits + place.bits, way.ideas)


def _is_equal(found: Miscounted, first: Miscounted, model: Known) -> bool:
    """Whether an explanation is about as likely as the first; stricter for more mistakes or another class."""
    more = _EQUAL_OF_MORE if found.bits <= _USUAL_PAIR else _EQUAL / 2
    reach = _EQUAL if found.ideas == first.ideas or first.ideas > 1 else more
    reach = reach if found.model in (first.model, model) else 0.0
    return found.bits <= first.bits + reach


def _is_far_fetched(found: Miscounted) -> bool:
    """Whether an explanation takes several unrelated mistakes.

    Three that only leave out small parts are related: together they are one way of counting.
    """
    if found.ideas < _UNRELATED:
        return False
    left_out = sum(cause.amount < 0 and MISCOUNTS[cause.miscount].bits <= _SMALL for cause in found.explanation)
    return found.ideas > _UNRELATED or left_out < len(found.explanation)


_SMALL = 4.5  # the most bits of a miscount that leaves out a small part


def told_apart(some: Sequence[Miscounted]) -> list[tuple[str, tuple[int, ...]]]:
    """The parts whose counts differ between several explanations of one number, with these counts."""
    counts = []
    for one in some:
        subject = one.model.subject
        tensors, sizes = _tensors(subject), MiscountSizes.of(subject.config)
        for cause in one.explanation:
            tensors = MISCOUNTS[cause.miscount].make(tensors, sizes)
        counts.append(tensors)
    rows = [(part, tuple(total(filter(PARTS[part][0], tensors)) for tensors in counts)) for part in TERMS]
    return [(part, amounts) for part, amounts in rows if len(set(amounts)) > 1]


def _matches(meanings: Sequence[Reading], subject: Subject) -> Iterator[Match]:
    """The known counts that the number may mean, each with the first reading it fits."""
    by_total = _by_total(subject.config, known_counts)
    # A count with buffers is listed only for an exact number, unless the buffers are large.
    bare = {
        total
        for total, models in by_total.items()
        if any(not one.buffers or one.convention == "masks" for one in models)
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
    otherwise = _by_total(subject.config, more_counts)
    for reading in meanings:
        if (exact := reading.exact) and (models := otherwise.get(exact) or tuple(other_labels(subject.config, exact))):
            yield Match(reading, exact, models)
            return


def _adapted(meanings: Sequence[Reading], subject: Subject, *, others: bool = False) -> tuple[Match, ...]:
    """The model's count with adapters that fits exactly; with ``others`` that of any class, which proves little."""
    for reading in meanings:
        models = _by_total(subject.config, adapted_counts).get(reading.exact or 0, ())
        if here := tuple(one for one in models if others or one.subject == subject):
            return (Match(reading, here[0].total, here),)
    return ()


def _is_vague(matches: Sequence[Match]) -> bool:
    """Whether all matches, if any, take only the first digit of the number as significant."""
    return all(
        match.reading.rounded and match.reading.low + match.reading.high < 20 * (match.reading.high - match.reading.low)
        for match in matches
    )


def _without_embeddings(reading: Reading, subject: Subject) -> Iterator[Match]:
    """The counts without embeddings that round to the number.

    That is without the word embeddings in the present model, if the number has two digits at least. If it is precise
    to one part in 40, it is without all tables in every class as well.
    """
    part = (reading.high - reading.low) / reading.low if reading.low else Fraction(1)
    if reading.key == "parameters" and part <= _TWO_DIGITS:
        yield from (Match(reading, rest.total, (rest,)) for rest in backbones(subject) if reading.means(rest.total))
    if part > _CHANCE:
        return
    for count, models in sorted(_by_total(subject.config, more_counts).items()):
        here = tuple(one for one in models if one.convention == "no embeddings")
        if here and reading.means(count):
            yield Match(reading, count, here)


_TWO_DIGITS = Fraction(1, 10)


@lru_cache(maxsize=16)
def _by_total(config: Config, counts: Callable[[Config], Iterator[Known]]) -> Mapping[int, tuple[Known, ...]]:
    found: dict[int, tuple[Known, ...]] = {}
    for model in every_count(config, counts):
        found[model.total] = (*found.get(model.total, ()), model)
    return found
