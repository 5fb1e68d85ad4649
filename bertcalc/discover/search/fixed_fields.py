"""Find formulas for as many tensors as possible, by fixing fields that cannot be fitted.

The regime records the fixed fields.
"""

from collections.abc import Sequence

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.results.search_errors import Ended
from bertcalc.discover.search.experiments import Lab, Sample
from bertcalc.discover.search.formula_search import Findings, find
from bertcalc.discover.search.validity import Regime, regime

_MOST_FIXED = 3
_MOST_LESSONS = 3
_LARGEST = 64  # larger values are not fixed, because a formula for a single hidden size would be useless


def explain(lab: Lab, within: Sequence[Condition] | None = None) -> tuple[Lab, Findings, Regime]:
    """Return a lab in which fields are fixed as needed, the formulas, and the conditions under which they hold.

    ``within`` are the conditions of an earlier result; only sizes that meet them are tested.
    """
    findings = find(lab)
    try:
        for _time in range(_MOST_FIXED):
            if not findings.unexplained or (better := _better(lab, findings)) is None:
                break
            lab, findings = better
    except Ended:
        pass  # earlier findings are still right
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
    """Return a lab in which fewer tensors have no formula, and its findings; None if no such lab was found.

    In this lab, some fields are fixed, or change only to divisors and multiples.
    """
    suspects = _suspects(lab, findings)
    tight = lab.keeping_divisors([field for field in suspects if field in lab.loose])
    groups = _fixable(lab, suspects)
    labs = [tight, *(parent.fixing(fields) for fields in groups for parent in (lab, tight))]
    for twin in labs:
        twin_findings = find(twin)
        if len(twin_findings.unexplained) < len(findings.unexplained):
            return twin, twin_findings
    return None


def _suspects(lab: Lab, findings: Findings) -> list[str]:
    suspects: list[str] = []
    for field in lab.free:
        changed = [lab.build({field: value}) for value in lab.choices[field]]
        if any(
            isinstance(sample, Sample) and sample.tensors[name] != lab.base_sample.tensors[name]
            for sample in changed
            for name in findings.unexplained
        ):
            suspects.append(field)
    return suspects


def _fixable(lab: Lab, fields: list[str]) -> list[list[str]]:
    """Return the groups of fields to try to fix, in order.

    The groups are all list entries (often not sizes), these and all fields with the value 1, and each field separately.
    """
    likely = [field for field in fields if lab.base_sizes[field] < _LARGEST]
    singles = sorted(likely, key=lambda field: field not in lab.counts)
    entries = [field for field in likely if field.endswith("]")]
    ones = [field for field in likely if field in entries or lab.base_sizes[field] == 1]
    groups = [entries, ones, *([field] for field in singles)]
    return [group for index, group in enumerate(groups) if group and group not in groups[:index]]
