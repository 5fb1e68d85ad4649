"""Formulas for as many tensors as possible: a field that resists keeps its given value, and the regime says so."""

from collections.abc import Sequence

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.search.build import Ended
from bertcalc.discover.search.experiments import Lab, Sample
from bertcalc.discover.search.formula_search import Findings, find
from bertcalc.discover.search.validity import Regime, regime

_MOST_HELD = 3
_MOST_LESSONS = 3
_LARGEST = 64  # larger ones are not held: a formula for a single hidden size is of no use


def explain(lab: Lab, within: Sequence[Condition] | None = None) -> tuple[Lab, Findings, Regime]:
    """Return the lab with the fields that have to be held, the formulas, and where they hold.

    ``within`` are the conditions of formulas found before: only sizes that meet them are examined.
    """
    findings = find(lab)
    try:
        for _time in range(_MOST_HELD):
            if not findings.unexplained or (better := _better(lab, findings)) is None:
                break
            lab, findings = better
    except Ended:
        pass  # what was found before remains right
    area = regime(lab, findings, within)
    learned: list[Sample] = []
    try:
        for _time in range(_MOST_LESSONS):
            if findings.unexplained or not area.wrong:
                break
            learned += area.wrong
            again = find(lab, learned)
            if again.unexplained:
                break
            findings, area = again, regime(lab, again, within)
        if area.open and not findings.unexplained:
            area = regime(lab, findings, within, strict=True)
    except Ended:
        pass
    return lab, findings, area


def _better(lab: Lab, findings: Findings) -> tuple[Lab, Findings] | None:
    """Return a lab in which fewer tensors lack a formula, because sizes keep dividing each other or fields are held."""
    suspects = _suspects(lab, findings)
    tight = lab.tight([field for field in suspects if field in lab.loose])
    groups = _holdable(lab, suspects)
    labs = [tight, *(each.without(fields) for fields in groups for each in (lab, tight))]
    for twin in labs:
        found = find(twin)
        if len(found.unexplained) < len(findings.unexplained):
            return twin, found
    return None


def _suspects(lab: Lab, findings: Findings) -> list[str]:
    """The fields that change a tensor without a formula."""
    found: list[str] = []
    for field in lab.free:
        changed = [lab.build({field: value}) for value in lab.choices[field]]
        if any(
            isinstance(each, Sample) and each.tensors[name] != lab.base.tensors[name]
            for each in changed
            for name in findings.unexplained
        ):
            found.append(field)
    return found


def _holdable(lab: Lab, fields: list[str]) -> list[list[str]]:
    """Groups of fields to hold, in order: entries of lists (often positions, not sizes), values of 1, single fields."""
    likely = [field for field in fields if lab.at[field] < _LARGEST]
    singles = sorted(likely, key=lambda field: field not in lab.counts)
    entries = [field for field in likely if field.endswith("]")]
    ones = [field for field in likely if field in entries or lab.at[field] == 1]
    groups = [entries, ones, *([field] for field in singles)]
    return [group for index, group in enumerate(groups) if group and group not in groups[:index]]
