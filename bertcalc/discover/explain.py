"""Formulas for as much as can be: where one field defies them, it stays as it is given, and the regime says so."""

from bertcalc.discover.find import Findings, find
from bertcalc.discover.lab import Lab, Sample
from bertcalc.discover.regime import Regime, regime

_MOST_HELD = 3
_LARGEST = 64  # a size is not held: a formula for one hidden size is none
_REASON = "no formula that was tried says how tensors follow it"


def explain(lab: Lab) -> tuple[Findings, Regime]:
    """Formulas, and where they hold."""
    findings = find(lab)
    for _time in range(_MOST_HELD):
        if not findings.unexplained:
            break
        for field in _suspects(lab, findings):
            without = lab.without(field, _REASON)
            better = find(without)
            if len(better.unexplained) < len(findings.unexplained):
                lab, findings = without, better
                break
        else:
            break
    return findings, regime(lab, findings)


def _suspects(lab: Lab, findings: Findings) -> list[str]:
    """Fields that change a tensor that has no formula, the likeliest first."""
    found: list[str] = []
    for field in lab.free:
        changed = lab.build({field: lab.choices[field][0]})
        if isinstance(changed, Sample) and any(
            changed.tensors[name] != lab.base.tensors[name] for name in findings.unexplained
        ):
            found.append(field)
    likely = [field for field in found if lab.at[field] < _LARGEST or field in lab.lists]
    return sorted(likely, key=lambda field: (field not in lab.lists, field not in lab.counts))
