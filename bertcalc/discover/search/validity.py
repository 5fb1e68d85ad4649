"""Where formulas end: sizes at which the real class differs or refuses, and the conditions that exclude them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, permutations
from math import isqrt
from random import Random
from typing import NamedTuple

from bertcalc.discover.results.conditions import Condition, bounds, excluded, offered, remedy
from bertcalc.discover.search.build import Ended
from bertcalc.discover.search.draws import beyond, is_depth, met, wide
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
_MOST_FIELDS = 16  # fields of which each pair is tried
_MANY = 40
_MOST_ROUNDS = 4  # of wide draws
_LESSON = 5  # rows of them
_FEW = 3  # one in so many good configurations may be excluded for a condition that says how sizes go together
_HALVES = 5  # times that a bound is moved
_CALLED = 5  # rows where a model is not only built, but also run
_LENGTHS = (100, 333, 1_001, 4_097)  # some models attend to long texts in another way, or cannot without numbers
_LATE = Problem.of(N_("the time was up before it was clear where the formula holds"))
_WRONG = Problem.of(N_("with {changes}, a formula is wrong, and no condition was found that says when"))


class Regime(NamedTuple):
    """The conditions, the number of further configurations that agreed, and what no condition explains."""

    conditions: list[Condition]
    agreed: int
    open: list[Problem]
    wrong: list[Sample]  # configurations that a better formula may explain


def regime(lab: Lab, findings: Findings, within: Sequence[Condition] | None = None, *, strict: bool = False) -> Regime:
    """Find the conditions under which formulas hold, by going where they may not, within the conditions ``within``.

    With ``strict``, a configuration for which a formula is wrong is excluded even by a condition that excludes right
    ones, too; else it is left for a better formula.
    """
    inspector = _Inspector(lab, findings, within, strict)
    try:
        inspector.singles()
        inspector.pairs()
        inspector.wildly()
        if strict or not inspector.wrong:
            inspector.widely()
    except Ended:
        inspector.open.append(_LATE)
    return inspector.regime()


def regime_again(lab: Lab, findings: Findings, known: Sequence[Condition]) -> Regime:
    """Find more conditions of formulas found before, over a wide range of sizes that meet the ``known`` ones."""
    inspector = _Inspector(lab, findings, None, strict=True)
    inspector.conditions = list(dict.fromkeys([*inspector.conditions, *known]))
    try:
        inspector.deep()
        inspector.wildly()
        inspector.widely()
    except Ended:
        inspector.open.append(_LATE)
    return inspector.regime()


def drawn(lab: Lab, names: Sequence[str], conditions: Sequence[Condition]) -> Iterator[Values]:
    """Yield random sizes that meet the conditions: of all fields, or of some over a wide range."""
    at, random = lab.at, lab.random
    conditions = [each for each in conditions if each.kind != "share"]
    complete = {**lab.here, **at}
    for turn in range(_TRIES):
        values = {name: random.randint(max(1, at[name] // 3), 2 * at[name] + 2) for name in names}
        if turn % 2:
            some = random.sample(names, random.randint(1, len(names)))
            values = {name: random.choice(wide(name, at, random)) for name in some}
        changes = met(values, complete, conditions)
        if changes and all(each.holds({**complete, **changes}) for each in conditions):
            yield changes


class _Inspector:
    def __init__(self, lab: Lab, findings: Findings, within: Sequence[Condition] | None, strict: bool) -> None:
        self.lab, self.findings, self.strict = lab, findings, strict
        idle = [name for name in lab.idle if lab.here[name] > 0]
        self.names = [name for name in lab.here if name in {*lab.free, *idle}]
        self.within = None if within is None else [each for each in within if each.kind not in ("is", "share")]
        self.conditions = [Condition("is", name, lab.here[name]) for name in lab.held]
        for name, (leader, above, below) in lab.links.items():
            self.conditions.append(Condition("share", name, leader, Fraction(above, below)))
        self.conditions += self.within or ()
        self.open: list[Problem] = []
        self.wrong: list[Sample] = []
        self._judged: dict[int, bool] = {}
        self._wild: list[Sample] = []

    def inside(self, found: Sample | Failure) -> bool:
        if isinstance(found, Failure) and found.too_large:
            return False
        return all(each.holds(found.values) for each in self.conditions)

    def regime(self) -> Regime:
        return Regime(self.conditions, self.agreed(), self.open, self.wrong)

    def agreed(self) -> int:
        """The number of random configurations that meet the conditions and agreed."""
        return sum(self.inside(sample) and self.agrees(sample) for sample in self._wild)

    def agrees(self, found: Sample | Failure) -> bool:
        """Whether the class takes the values and the formulas are right for them."""
        if id(found) not in self._judged:
            self._judged[id(found)] = isinstance(found, Sample) and not wrong(self.findings.kinds, found)
        return self._judged[id(found)]

    def learn(self) -> None:
        """Find a condition for each bad configuration that meets all others, the least changed first."""
        for _turn in range(_TURNS):
            self.open, self.wrong, before = [], [], len(self.conditions)
            bad = [found for found in self.lab.built.values() if self.inside(found) and not self.agrees(found)]
            for found in sorted(bad, key=self._far)[:_MOST_BAD]:
                if self.inside(found):
                    less = self._less(found)
                    if not self._explain(less) and self.inside(found):
                        self._open(less)
            if not self.open or len(self.conditions) == before:
                break
        self._prune()

    def _prune(self) -> None:
        """Remove conditions that the others imply, as far as anything that was built shows."""
        bad = [found for found in self.lab.built.values() if not self.agrees(found)]
        for condition in [each for each in self.conditions if each.kind not in ("is", "share")]:
            others = [each for each in self.conditions if each != condition]
            if all(
                not all(each.holds(found.values) for each in others)
                for found in bad
                if not condition.holds(found.values)
            ):
                self.conditions = others

    def _open(self, found: Sample | Failure) -> None:
        if isinstance(found, Sample):
            self.wrong.append(found)
        elif found.refused:  # there is no model for which a formula could be wrong
            return
        at, why = self.lab.at, _WRONG if isinstance(found, Sample) else found.reason
        changes = ", ".join(f"{field} {value}" for field, value in found.values.items() if value != at[field])
        self.open.append(Problem.of(why.message, **why.values, changes=changes))

    def _far(self, found: Sample | Failure) -> tuple[int, float]:
        ratios = [value / self.lab.at[name] for name, value in self._changed(found.values).items()]
        return len(ratios), sum(max(ratio, 1 / ratio) if ratio > 0 else 99 for ratio in ratios)

    def _less(self, found: Sample | Failure) -> Sample | Failure:
        """A configuration that is as bad with as few fields changed as possible."""
        size = len(self._changed(found.values))
        while size := size // 2:
            changes = self._changed(found.values)
            names = [*changes]
            for first in range(0, len(names), size):
                part = names[first : first + size]
                if len(part) == len(changes):
                    continue
                less = self.lab.build({name: value for name, value in changes.items() if name not in part})
                if self.inside(less) and not self.agrees(less):
                    found = less
                    changes = self._changed(found.values)
        return found

    def _explain(self, found: Sample | Failure) -> bool:
        """Add a condition that excludes a bad configuration; False if there is none."""
        good = [each.values for each in self.lab.built.values() if self.agrees(each) and self.inside(each)]
        refused = isinstance(found, Failure) and found.refused
        conditions = offered(found.values, good, self.names, self.lab.at)
        if refused and self.within is not None:
            # A forward pass that fails at a size gives no bound: heads of an odd size have no halves to rotate.
            limits = [each for each in conditions if isinstance(each.other, int) and each.kind.startswith("at ")]
            conditions = [each for each in conditions if each not in limits or each.field == LENGTH]
        explained = next((each for each in conditions if self._confirmed(each, found.values)), None)
        if explained is None and not (refused and self.within is not None):
            # A condition may be stricter than necessary: better to refuse right sizes than to give a wrong number.
            explained = self._stricter(found.values, good, only_multiples=not (refused or self.strict))
        self.conditions += [self._nearer(explained, found.values)] if explained else []
        return explained is not None

    def _stricter(self, values: Values, good: Sequence[Values], *, only_multiples: bool) -> Condition | None:
        """The condition that these values do not meet, and that excludes few good ones, but not the given.

        One that says how sizes go together is preferred to a bound on one of them, unless it excludes many good ones.
        """
        known = [self.lab.given.values, self.lab.base.values]
        conditions = offered(values, known, self.names, self.lab.at)
        if only_multiples:
            conditions = [each for each in conditions if each.kind == "multiple"]
            conditions = sorted(conditions, key=lambda each: excluded(each, good))[:_MOST_MORE]
            return next((each for each in conditions if self._confirmed(each, values)), None)
        conditions += [
            each for each in bounds(values, good, list(self._changed(values))) if all(map(each.holds, known))
        ]

        def loss(condition: Condition) -> tuple[bool, int]:
            bound = condition.kind != "multiple" and isinstance(condition.other, int)
            lost = excluded(condition, good)
            return bound or lost > len(good) / _FEW, lost

        return min(conditions, key=loss, default=None)

    def _nearer(self, condition: Condition, values: Values) -> Condition:
        """Move a bound on a field towards the value that it excludes, as far as a few more configurations agree."""
        if condition.kind not in ("at least", "at most") or not isinstance(condition.other, int):
            return condition
        changed, bad = self._changed(values), values[condition.field]
        for _time in range(_HALVES):
            middle = isqrt(bad * condition.other)
            if middle in (bad, condition.other):
                break
            if self.agrees(self.lab.build({**changed, condition.field: middle})):
                condition = condition._replace(other=middle)
            else:
                bad = middle
        return condition

    def _changed(self, values: Values) -> Values:
        return {name: values[name] for name in self.names if values[name] != self.lab.at[name]}

    def _confirmed(self, condition: Condition, values: Values) -> bool:
        """Whether a bad configuration becomes good when one of the condition's two fields changes so that it is met."""
        if isinstance(condition.other, int):
            return True
        changed = self._changed(values)
        for name in (condition.field, str(condition.other)):
            if name not in changed or len(changed) > 1:
                value = remedy(condition, values, name)
                if value is not None:
                    return self.agrees(self.lab.build({**changed, name: value}))
        return False

    def singles(self) -> None:
        """Try changes of each size by itself: odd, very small, and large where it is small or counts something."""
        at = self.lab.at
        self._all_of([{name: at[name] + 1} for name in self.names])
        for value in (1, 2, 3):
            self._all_of([{name: value} for name in self.names if at[name] > value])
        # Nine of Zamba2's layers share blocks, and no more.
        small = [name for name in self.names if at[name] < _MANY and name not in self.lab.fewer]
        self._all_of([{name: at[name] * (_MANY // at[name] + 1)} for name in small])
        if self.within is None:
            self.deep()
        for length in _LENGTHS if LENGTH in self.names else ():
            self._all_of([{LENGTH: length}])

    def deep(self) -> None:
        """Try more layers than are given: where a list of the configuration names some of them, it ends."""
        for name in self.names:
            if name in self.lab.fewer or (is_depth(name) and name in self.lab.counts):
                for value in beyond(name, self.lab.here[name], self.lab.at[name]):
                    self._all_of([{name: value}])

    def pairs(self) -> None:
        """Try each size as large as, and larger than, each size that is larger now."""
        at = self.lab.at
        free = [name for name in self.lab.free if "vocab" not in name][:_MOST_FIELDS]
        below = [
            (one, other)
            for one, other in permutations(free, 2)
            if at[one] < at[other] and (one in self.lab.counts) == (other in self.lab.counts)
        ]
        for factor in (1, 2):
            left = list(below)
            while left:
                self.lab.progress("conditions", len(below) - len(left), len(below))
                # Pairs that have no field in common are tried together.
                together: dict[str, str] = {}
                for one, other in left:
                    if not {one, other} & {*together, *together.values()}:
                        together[one] = other
                left = [(one, other) for one, other in left if together.get(one) != other]
                self._all_of([{one: factor * at[other]} for one, other in together.items()])

    def wild(self) -> list[Sample | Failure]:
        """Build configurations of random sizes that the conditions allow."""
        found = [self.lab.build(values) for values in islice(drawn(self.lab, self.names, self.conditions), _WILD)]
        self._wild += [each for each in found if isinstance(each, Sample)]
        return found

    def wildly(self) -> None:
        """Try random sizes, and learn from them, until a whole turn agrees."""
        for turn in range(_TURNS):
            self.learn()
            self.lab.progress("conditions", turn, _TURNS)
            if all(map(self.agrees, self.wild())):
                break
        self.learn()

    def widely(self) -> None:
        """Try all sizes over a wide range together until a whole round agrees."""
        at, random = {**self.lab.here, **self.lab.at}, Random(1)
        for _turn in range(_MOST_ROUNDS):
            columns = {name: wide(name, at, random) for name in self.names}
            longest = max(map(len, columns.values()), default=0)
            longest = longest if self.within is None else min(longest, _CALLED)
            found = []
            for row in range(longest):
                changes = {name: column[row % len(column)] for name, column in columns.items() if column}
                some = random.sample([*changes], random.randint(1, len(changes)))
                conditions = [each for each in self.conditions if each.kind != "share"]
                parts = (changes, {name: changes[name] for name in some})
                found += [self.lab.build(met(part, at, conditions)) for part in parts]
                if row % _LESSON == _LESSON - 1:
                    self.learn()
            self._wild += [each for each in found if isinstance(each, Sample)]
            self.learn()
            if self.open or all(self.agrees(each) for each in found):
                break

    def _all_of(self, changes: list[Values]) -> None:
        """Build with all changes at once, and with halves of them if the formulas are wrong."""
        for condition in self.within or ():
            changes = [each for each in changes if condition.holds({**self.lab.here, **self.lab.at, **each})]
        if not changes:
            return
        found = self.lab.build({name: value for change in changes for name, value in change.items()})
        if len(changes) > 1 and not self.agrees(found):
            half = len(changes) // 2
            self._all_of(changes[:half])
            self._all_of(changes[half:])
