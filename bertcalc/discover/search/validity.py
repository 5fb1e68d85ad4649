"""Find the conditions under which formulas hold: search for sizes that the class refuses or treats differently."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, permutations
from math import isqrt
from random import Random
from typing import NamedTuple

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.results.search_errors import Ended
from bertcalc.discover.search.condition_candidates import FEW, bounds, candidates, count_excluded, remedies
from bertcalc.discover.search.draws import adjusted, is_depth, values_beyond, wide_values
from bertcalc.discover.search.experiments import Failure, Lab, Sample, Values
from bertcalc.discover.search.flop_search import LENGTH
from bertcalc.discover.search.formula_search import Findings, wrong
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_TURNS = 4
_WILD = 12
_TRIES = 120
_MOST_BAD = 40
_MOST_MORE = 8
_MOST_FIELDS = 16  # maximum number of fields for which all pairs are tried
_MANY = 40
_MOST_ROUNDS = 4  # maximum number of rounds of draws over a wide range
_LESSON = 5  # rows of draws before the conditions are updated
_FEW = 3  # a condition on several sizes may exclude one in this many good configurations
_HALVES = 5  # maximum number of bisection steps for a bound
_ODD = (1, 3, 5, 7, 9, 15)  # a size is tried at these multiples of the number that must divide it
_CALLED = 5  # maximum number of rows of draws if models are run as well as built, which is slower
_LENGTHS = (100, 333, 1_001, 4_097)  # models may treat long inputs differently, or fail with them on the meta device
_LATE = Problem.of(N_("the time limit was reached before it was clear where the formula holds"))
_WRONG = Problem.of(N_("with {changes}, a formula is wrong; no rule was found for when this happens"))


class Regime(NamedTuple):
    """The conditions, the number of further configurations that agreed, and the failures without a condition."""

    conditions: list[Condition]
    agreed: int
    open: list[Problem]
    wrong: list[Sample]  # configurations that a better formula may explain


def regime(lab: Lab, findings: Findings, within: Sequence[Condition] | None = None, *, strict: bool = False) -> Regime:
    """Find the conditions under which formulas hold, by testing sizes at which they may fail.

    Only sizes that meet the conditions in ``within`` are tested. A condition against a wrong configuration should not
    exclude good configurations. If there is no such condition, the configuration is left for a better formula. With
    ``strict``, it is instead excluded by a condition that also excludes good configurations.
    """
    inspector = _Inspector(lab, findings, within, strict)
    try:
        inspector.try_singles()
        inspector.try_pairs()
        inspector.try_random()
        inspector.try_tiny()
        inspector.try_odd_multiples()
        if strict or not inspector.wrong:
            inspector.try_wide()
    except Ended:
        inspector.open.append(_LATE)
    return inspector.regime()


def regime_again(lab: Lab, findings: Findings, conditions: Sequence[Condition]) -> Regime:
    """Find further conditions for earlier formulas, over a wide range of sizes that meet the earlier ``conditions``."""
    inspector = _Inspector(lab, findings, None, strict=True)
    inspector.conditions = list(dict.fromkeys([*inspector.conditions, *conditions]))
    try:
        inspector.try_small()
        inspector.try_deeper()
        inspector.try_random()
        inspector.try_tiny()
        inspector.try_odd_multiples()
        inspector.try_wide()
    except Ended:
        inspector.open.append(_LATE)
    return inspector.regime()


def draw_sizes(lab: Lab, names: Sequence[str], conditions: Sequence[Condition]) -> Iterator[Values]:
    """Yield random sizes that meet the conditions: in turn for all fields ``names``, and for some over a wide range."""
    base, random = lab.base_sizes, lab.random
    conditions = [condition for condition in conditions if condition.kind != "share"]
    complete = {**lab.sizes, **base}
    for turn in range(_TRIES):
        values = {name: random.randint(max(1, base[name] // 3), 2 * base[name] + 2) for name in names}
        if turn % 2:
            subset = random.sample(names, random.randint(1, len(names)))
            values = {name: random.choice(wide_values(name, base, random)) for name in subset}
        changes = adjusted(values, complete, conditions)
        if changes and all(condition.holds({**complete, **changes}) for condition in conditions):
            yield changes


class _Inspector:
    """Tests formulas at further sizes, and collects the conditions under which they hold."""

    def __init__(self, lab: Lab, findings: Findings, within: Sequence[Condition] | None, strict: bool) -> None:
        self.lab, self.findings, self.strict = lab, findings, strict
        idle = [name for name in lab.idle if lab.sizes[name] > 0]
        self.names = [name for name in lab.sizes if name in {*lab.free, *idle}]
        self.within = (
            None if within is None else [condition for condition in within if condition.kind not in ("is", "share")]
        )
        self.conditions = [Condition("is", name, lab.sizes[name]) for name in lab.fixed]
        for name, (leader, above, below) in lab.links.items():
            self.conditions.append(Condition("share", name, leader, Fraction(above, below)))
        self.conditions += self.within or ()
        self.open: list[Problem] = []
        self.wrong: list[Sample] = []
        self._judged: dict[int, bool] = {}
        self._wild: list[Sample] = []

    def inside(self, sample: Sample | Failure) -> bool:
        if isinstance(sample, Failure) and sample.too_large:
            return False
        return self._meets(sample.values)

    def regime(self) -> Regime:
        return Regime(self.conditions, self.agreed(), self.open, self.wrong)

    def agreed(self) -> int:
        """Return the number of random configurations that meet the conditions and agree with the formulas."""
        return sum(self.inside(sample) and self.agrees(sample) for sample in self._wild)

    def agrees(self, sample: Sample | Failure) -> bool:
        if id(sample) not in self._judged:
            self._judged[id(sample)] = isinstance(sample, Sample) and not wrong(self.findings.kinds, sample)
        return self._judged[id(sample)]

    def learn(self) -> None:
        """Add a condition against each bad configuration that is still allowed, the least changed one first."""
        for _turn in range(_TURNS):
            self.open, self.wrong, before = [], [], len(self.conditions)
            bad = [sample for sample in self.lab.built.values() if self.inside(sample) and not self.agrees(sample)]
            for sample in sorted(bad, key=self._distance)[:_MOST_BAD]:
                if self.inside(sample):
                    reduced = self._reduced(sample)
                    if not self._explain(reduced) and self.inside(sample):
                        self._record(reduced)
            if not self.open or len(self.conditions) == before:
                break
        self._prune()

    def _prune(self) -> None:
        """Remove redundant conditions: without them, the other conditions exclude the same bad configurations."""
        bad = [sample for sample in self.lab.built.values() if not self.agrees(sample)]
        for condition in [condition for condition in self.conditions if condition.kind not in ("is", "share")]:
            others = [other for other in self.conditions if other != condition]
            if all(
                not all(other.holds(sample.values) for other in others)
                for sample in bad
                if not condition.holds(sample.values)
            ):
                self.conditions = others

    def _record(self, sample: Sample | Failure) -> None:
        if isinstance(sample, Sample):
            self.wrong.append(sample)
        elif sample.refused:  # there is no model, so no formula can be wrong
            return
        base, why = self.lab.base_sizes, _WRONG if isinstance(sample, Sample) else sample.reason
        changes = ", ".join(f"{field} {value}" for field, value in sample.values.items() if value != base[field])
        self.open.append(Problem.of(why.message, **why.values, changes=changes))

    def _distance(self, sample: Sample | Failure) -> tuple[int, float]:
        ratios = [value / self.lab.base_sizes[name] for name, value in self._changed(sample.values).items()]
        return len(ratios), sum(max(ratio, 1 / ratio) if ratio > 0 else 99 for ratio in ratios)

    def _reduced(self, sample: Sample | Failure) -> Sample | Failure:
        size = len(self._changed(sample.values))
        while size := size // 2:
            changes = self._changed(sample.values)
            names = [*changes]
            for first in range(0, len(names), size):
                part = names[first : first + size]
                if len(part) == len(changes):
                    continue
                reduced = self.lab.build({name: value for name, value in changes.items() if name not in part})
                if self.inside(reduced) and not self.agrees(reduced):
                    sample = reduced
                    changes = self._changed(sample.values)
        return sample

    def _explain(self, sample: Sample | Failure) -> bool:
        """Add a condition that excludes a bad configuration; return False if there is none."""
        good = [other.values for other in self.lab.built.values() if self.agrees(other) and self.inside(other)]
        refused = isinstance(sample, Failure) and sample.refused
        conditions = candidates(sample.values, good, self.names, self.lab.base_sizes)
        if refused and self.within is not None:
            # If a forward pass fails at one size, this implies no bound. For example, heads of odd size cannot be split
            # for rotary position embeddings.
            limits = [
                condition
                for condition in conditions
                if isinstance(condition.other, int) and condition.kind.startswith("at ")
            ]
            conditions = [condition for condition in conditions if condition not in limits or condition.field == LENGTH]
        confirmed = (condition for condition in conditions if self._confirmed(condition, sample.values))
        explained = next((condition for condition in confirmed if not self._is_chance(condition, sample.values)), None)
        if explained is None and not (refused and self.within is not None):
            # A condition may be stricter than necessary: refusing good sizes is better than giving a wrong number.
            explained = self._stricter(sample.values, good, only_multiples=not (refused or self.strict))
        self.conditions += [self._tightened(explained, sample.values)] if explained else []
        return explained is not None

    def _stricter(self, values: Values, good: Sequence[Values], *, only_multiples: bool) -> Condition | None:
        """Return a condition that excludes these values and few good configurations, but not the given sizes.

        A condition on several sizes is preferred to a bound on one size if it excludes few good configurations. Returns
        None if there is no condition.
        """
        originals = [self.lab.full_sample.values, self.lab.base_sample.values]
        conditions = candidates(values, originals, self.names, self.lab.base_sizes)
        conditions = [condition for condition in conditions if not self._is_chance(condition, values)]
        if only_multiples:
            conditions = [condition for condition in conditions if condition.kind == "multiple"]
            conditions = sorted(conditions, key=lambda condition: count_excluded(condition, good))[:_MOST_MORE]
            return next((condition for condition in conditions if self._confirmed(condition, values)), None)
        conditions += [
            condition
            for condition in bounds(values, good, list(self._changed(values)))
            if all(map(condition.holds, originals))
        ]

        def loss(condition: Condition) -> tuple[bool, int]:
            bound = condition.kind != "multiple" and isinstance(condition.other, int)
            lost = count_excluded(condition, good)
            return bound or lost > len(good) / _FEW, lost

        return min(conditions, key=loss, default=None)

    def _tightened(self, condition: Condition, values: Values) -> Condition:
        """Move a bound towards the value that it excludes, by bisection with further configurations."""
        if condition.kind not in ("at least", "at most") or not isinstance(condition.other, int):
            return condition
        changed, bad = self._changed(values), values[condition.field]
        for _time in range(_HALVES):
            middle = isqrt(bad * condition.other) + 1  # between both values, or the larger one if they are adjacent
            if middle in (bad, condition.other):
                break
            if self.agrees(self.lab.build({**changed, condition.field: middle})):
                condition = condition._replace(other=middle)
            else:
                bad = middle
        return condition

    def _changed(self, values: Values) -> Values:
        return {name: values[name] for name in self.names if values[name] != self.lab.base_sizes[name]}

    def _confirmed(self, condition: Condition, values: Values) -> bool:
        """Whether a bad configuration becomes good if one field is changed so that the condition is met.

        The nearest value that breaks no other condition is tried. For example, if ELECTRA's hidden_size must differ
        from an embedding_size of 256, the value 257 is skipped, because it is not a multiple of the heads.
        """
        if isinstance(condition.other, int):
            return True
        if condition.kind == "differs" and not self._fails_where_equal(condition, values):
            return False
        changed = self._changed(values)
        for name in (condition.field, str(condition.other)):
            if name not in changed or len(changed) > 1:
                tries = remedies(condition, values, name)
                allowed = [value for value in tries if self._meets({**values, name: value})]
                if tries:
                    return self.agrees(self.lab.build({**changed, name: (allowed or tries)[0]}))
        return False

    def _is_chance(self, condition: Condition, values: Values) -> bool:
        """Whether a condition on two sizes is a coincidence: a bad configuration stays bad when the condition is met.

        For example, TIPSv2 refuses a hidden_size of 3, which is less than the number of layers. But it also refuses
        this size with a single layer, so the number of layers is not the reason.
        """
        if isinstance(condition.other, int) or condition.kind in ("multiple", "is", "share"):
            return False
        if condition.kind == "differs" and not self._fails_where_equal(condition, values):
            return True
        changed = self._changed(values)
        for name in (condition.field, condition.other):
            tries = remedies(condition, values, name)
            allowed = [value for value in tries if value and self._meets({**values, name: value})]
            if allowed and not self.agrees(self.lab.build({**changed, name: allowed[0]})):
                return True
        return False

    def _fails_where_equal(self, condition: Condition, values: Values) -> bool:
        """Whether a configuration with two equal fields stays bad if both fields are set to another common value."""
        pair = (condition.field, str(condition.other))
        largest = max(values[name] for name in pair)
        equal = [dict.fromkeys(pair, times * largest) for times in (2, 3)]
        allowed = [sizes for sizes in equal if self._meets({**values, **sizes})]
        return not self.agrees(self.lab.build({**self._changed(values), **(allowed or equal)[0]}))

    def _meets(self, values: Values) -> bool:
        return all(condition.holds(values) for condition in self.conditions)

    def try_singles(self) -> None:
        """Change each size alone, to odd and very small values, and to large values for small sizes and counts."""
        base = self.lab.base_sizes
        self._build_all([{name: base[name] + 1} for name in self.names])
        for value in (1, 2, 3):
            self._build_all([{name: value} for name in self.names if base[name] > value])
        # Try large values of small sizes: in Zamba2, for example, at most nine layers share blocks.
        small = [name for name in self.names if base[name] < _MANY and name not in self.lab.fewer]
        self._build_all([{name: base[name] * (_MANY // base[name] + 1)} for name in small])
        if self.within is None:
            self.try_small()
            self.try_deeper()
        for length in _LENGTHS if LENGTH in self.names else ():
            self._build_all([{LENGTH: length}])

    def try_small(self) -> None:
        """Try every value of each small field. A formula can be wrong at a single value and right on both sides of it.

        For example, Evolla adds a layer after every 32 // n layers: n layers for n up to 6 and for n = 8, but 8 layers
        for n = 7.
        """
        base = self.lab.base_sizes
        small = [name for name in self.names if self.lab.sizes[name] <= FEW]
        for value in range(1, 2 * FEW + 3):
            within = [name for name in small if value <= 2 * self.lab.sizes[name] + 2]
            self._build_all([{name: value} for name in within if value != base[name]])

    def try_deeper(self) -> None:
        """Try more layers than given, because lists with one entry per layer in the configuration may be too short."""
        for name in self.names:
            if name in self.lab.fewer or (is_depth(name) and name in self.lab.counts):
                for value in values_beyond(name, self.lab.sizes[name], self.lab.base_sizes[name]):
                    self._build_all([{name: value}])

    def try_pairs(self) -> None:
        """For each pair of sizes, raise the smaller size to the larger size, and to twice the larger size."""
        base = self.lab.base_sizes
        free = [name for name in self.lab.free if "vocab" not in name][:_MOST_FIELDS]
        below = [
            (smaller, larger)
            for smaller, larger in permutations(free, 2)
            if base[smaller] < base[larger] and (smaller in self.lab.counts) == (larger in self.lab.counts)
        ]
        for factor in (1, 2):
            left = list(below)
            while left:
                self.lab.progress("conditions", len(below) - len(left), len(below))
                # Pairs without a common field are tried together, to save time.
                together: dict[str, str] = {}
                for smaller, larger in left:
                    if not {smaller, larger} & {*together, *together.values()}:
                        together[smaller] = larger
                left = [(smaller, larger) for smaller, larger in left if together.get(smaller) != larger]
                self._build_all([{smaller: factor * base[larger]} for smaller, larger in together.items()])

    def build_random(self) -> list[Sample | Failure]:
        samples = [
            self.lab.build(values) for values in islice(draw_sizes(self.lab, self.names, self.conditions), _WILD)
        ]
        self._wild += [sample for sample in samples if isinstance(sample, Sample)]
        return samples

    def try_random(self) -> None:
        """Try random sizes and learn from failures, until all sizes in a turn agree."""
        for turn in range(_TURNS):
            self.learn()
            self.lab.progress("conditions", turn, _TURNS)
            if all(map(self.agrees, self.build_random())):
                break
        self.learn()

    def try_tiny(self) -> None:
        """Try the smallest sizes together with a divisor of 1, because they are not multiples of their usual divisor.

        For example, TIPSv2 divides by hidden_size // 2 - 1, so it refuses 2 and 3 with any number of heads.
        """
        if self.within is not None:
            return
        for condition in list(self.conditions):
            divisor = condition.other
            if condition.kind == "multiple" and {condition.field, divisor} <= {*self.names}:
                for value in (1, 2, 3):
                    self.lab.build({condition.field: value, str(divisor): 1})
        self.learn()

    def try_odd_multiples(self) -> None:
        """Try odd multiples of the numbers that must divide a size, because a class may halve or quarter the quotient.

        For example, OLMo Hybrid's heads have int(0.75 * hidden_size / num_attention_heads) keys: with 3,840 / 128, they
        have 22 and not 22.5.
        """
        values = {**self.lab.sizes, **self.lab.base_sizes}
        for condition in list(self.conditions) if self.within is None else ():
            divisor, step = str(condition.other), condition.step
            if condition.kind == "multiple" and {condition.field, divisor} <= {*self.names}:
                for odd in _ODD:
                    self.lab.build({condition.field: odd * step(values)})
                    divided = Fraction(values[condition.field], odd) / condition.factor
                    if divided.denominator == 1:
                        self.lab.build({divisor: int(divided)})
        self.learn()

    def try_wide(self) -> None:
        """Try sizes of all fields over a wide range, until all sizes in a round agree."""
        base, random = {**self.lab.sizes, **self.lab.base_sizes}, Random(1)
        for _turn in range(_MOST_ROUNDS):
            columns = {name: wide_values(name, base, random) for name in self.names}
            longest = max(map(len, columns.values()), default=0)
            longest = longest if self.within is None else min(longest, _CALLED)
            samples = []
            for row in range(longest):
                changes = {name: column[row % len(column)] for name, column in columns.items() if column}
                subset = random.sample([*changes], random.randint(1, len(changes)))
                conditions = [condition for condition in self.conditions if condition.kind != "share"]
                parts = (changes, {name: changes[name] for name in subset})
                samples += [self.lab.build(adjusted(part, base, conditions)) for part in parts]
                if row % _LESSON == _LESSON - 1:
                    self.learn()
            self._wild += [sample for sample in samples if isinstance(sample, Sample)]
            self.learn()
            if self.open or all(self.agrees(sample) for sample in samples):
                break

    def _build_all(self, changes: list[Values]) -> None:
        """Build with all changes together; if the class refuses them or a formula is wrong, bisect the changes."""
        for condition in self.within or ():
            changes = [
                change for change in changes if condition.holds({**self.lab.sizes, **self.lab.base_sizes, **change})
            ]
        if not changes:
            return
        sample = self.lab.build({name: value for change in changes for name, value in change.items()})
        if len(changes) > 1 and not self.agrees(sample):
            half = len(changes) // 2
            self._build_all(changes[:half])
            self._build_all(changes[half:])
