"""Where formulas end: sizes at which the real class is another, or refuses, and the conditions that tell them apart."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from bertcalc.discover.conditions import Condition, learned
from bertcalc.discover.find import Findings, wrong
from bertcalc.discover.lab import Failure, Lab, Sample, Values

_TURNS = 4
_WILD = 12
_MOST_FIELDS = 16  # of so many fields, each pair is tried


class Regime(NamedTuple):
    """The conditions, how many more configurations agreed, and for which values formulas are wrong all the same."""

    conditions: list[Condition]
    agreed: int
    open: list[tuple[Values, str]]


def regime(lab: Lab, findings: Findings) -> Regime:
    """The conditions under which formulas hold, found by going where they may not."""
    inspector = _Inspector(lab, findings)
    inspector.singles()
    inspector.pairs()
    fixed = _fixed(lab)
    wild: list[Sample] = []
    for turn in range(_TURNS):
        conditions, unexplained = inspector.learn(fixed)
        lab.progress("conditions", turn, _TURNS)
        fresh = inspector.wild([*fixed, *conditions])
        wild += [sample for sample in fresh if isinstance(sample, Sample)]
        if all(inspector.agrees(sample) for sample in fresh):
            break
    conditions, unexplained = inspector.learn(fixed)
    agreed = sum(all(each.holds(sample.values) for each in conditions) for sample in wild if inspector.agrees(sample))
    return Regime([*fixed, *conditions], agreed, unexplained)


def _fixed(lab: Lab) -> list[Condition]:
    links = [
        Condition("share", name, leader, Fraction(above, below)) for name, (leader, above, below) in lab.links.items()
    ]
    return [*(Condition("is", name, lab.here[name]) for name in lab.held), *links]


class _Inspector:
    def __init__(self, lab: Lab, findings: Findings) -> None:
        self.lab, self.findings = lab, findings
        idle = [name for name in lab.idle if lab.here[name] > 0]
        self.names = [name for name in lab.here if name in {*lab.free, *idle}]
        self._judged: dict[int, bool] = {}

    def agrees(self, found: Sample | Failure) -> bool:
        """Whether the class takes the values, and the formulas are right for them."""
        if id(found) not in self._judged:
            self._judged[id(found)] = isinstance(found, Sample) and not wrong(self.findings.kinds, found)
        return self._judged[id(found)]

    def learn(self, fixed: Sequence[Condition]) -> tuple[list[Condition], list[tuple[Values, str]]]:
        """Conditions that tell good from bad, and what is wrong and told apart by none."""
        inside = [found for found in self.lab.known() if all(each.holds(found.values) for each in fixed)]
        good = [found.values for found in inside if self.agrees(found)]
        bad = {id(found.values): found for found in inside if not self.agrees(found)}
        conditions, left = learned([found.values for found in bad.values()], good, self.names, self.lab.at)
        open_ = [bad[id(values)] for values in left]
        return conditions, [
            (found.values, found.reason if isinstance(found, Failure) else "a formula is wrong")
            for found in open_
            if isinstance(found, Sample) or not found.refused
        ]

    def singles(self) -> None:
        """Each size by itself: odd, and very small."""
        at = self.lab.at
        self._all_of([{name: at[name] + 1} for name in self.names])
        for value in (1, 2, 3):
            self._all_of([{name: value} for name in self.names if at[name] > value])

    def pairs(self) -> None:
        """Each size as large as another, and larger than what is larger now."""
        at = self.lab.at
        free = [name for name in self.lab.free if "vocab" not in name][:_MOST_FIELDS]
        for one in free:
            for other in free:
                if at[one] < at[other] and (one in self.lab.counts) == (other in self.lab.counts):
                    self.lab.progress("conditions", free.index(one), len(free))
                    self.lab.build({one: at[other]})
                    self.lab.build({one: 2 * at[other]})

    def wild(self, conditions: Sequence[Condition]) -> list[Sample | Failure]:
        """Configurations of any sizes that the conditions allow."""
        found: list[Sample | Failure] = []
        for _try in range(10 * _WILD):
            values = self._drawn(conditions)
            complete = {**self.lab.here, **self.lab.at, **values}
            if all(each.holds(complete) for each in conditions if each.kind not in ("is", "share")):
                found.append(self.lab.build(values))
            if len(found) == _WILD:
                break
        return found

    def _drawn(self, conditions: Sequence[Condition]) -> Values:
        at, random = self.lab.at, self.lab.random
        values = {name: random.randint(max(1, at[name] // 3), 2 * at[name] + 2) for name in self.names}
        for condition in conditions * 2:
            if condition.kind == "multiple" and condition.field in values:
                by = values.get(condition.other, 1) if isinstance(condition.other, str) else condition.other
                values[condition.field] = max(1, values[condition.field] // by) * by
        return values

    def _all_of(self, changes: list[Values]) -> None:
        """Build changes of several fields at once, and in halves where the formulas do not agree with all."""
        if not changes:
            return
        found = self.lab.build({name: value for change in changes for name, value in change.items()})
        if len(changes) > 1 and not self.agrees(found):
            half = len(changes) // 2
            self._all_of(changes[:half])
            self._all_of(changes[half:])
