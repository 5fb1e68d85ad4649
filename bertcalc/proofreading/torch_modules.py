"""Judge a number behind a module of PyTorch: nn.Linear(768, 3072)  # 2362368.

>>> from bertcalc.proofreading.calculations import find
>>> from bertcalc.proofreading.contexts import Surroundings
>>> text = "count(nn.Linear(3072, 768))  # 2,362,368"
>>> [entry] = [entry for entry in find(text, {}) if not entry.computes]
>>> print(judge_module(entry, Surroundings(text).of(entry)).reasons[0])
2,360,064 is right for nn.Linear(3072, 768).
"""

import re
from fractions import Fraction

from bertcalc.proofreading.calculations import WrittenNumber
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.verdicts import LEAST, Judged
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_MODULE = re.compile(
    r"nn\.(?P<name>Linear|Embedding|LayerNorm)\(\s?(?P<first>[0-9]{1,7})(?:,\s?(?P<second>[0-9]{1,7}))?"
    r"(?:,\s?bias\s?=\s?(?P<bias>True|False))?\s?\)[\s)#:：=→>-]{0,30}(?:params?|parameters|参数量?)?[\s:：=]{0,5}$"
)


def judge_module(entry: WrittenNumber, context: Context) -> Judged | None:
    """The verdict on the parameters of the module that stands directly before a number; None if there is none."""
    side = entry.best
    module = _MODULE.search(context.before) if not entry.computes and side.value >= LEAST else None
    right = _count(module) if module else 0
    if module is None or not right or side.unit not in (None, "parameters"):
        return None
    called = re.match(r"[^)]{0,60}\)", module[0])
    counts = Problem.of(N_("the parameters of {module}"), module=called[0] if called else "")
    if abs(side.value - right) <= max(side.reach, side.rough):
        return Judged("right", counts=counts)
    reason = Problem.of(N_("{right} is right for {part}."), right=right, part=called[0] if called else "")
    return Judged("wrong", Fraction(right), counts, (reason,))


def _count(module: re.Match[str]) -> int:
    """The parameters of a module; 0 if its sizes do not fit."""
    first, second = int(module["first"]), int(module["second"] or 0)
    if module["name"] == "LayerNorm":
        return 0 if second else 2 * first
    if module["name"] == "Embedding":
        return first * second
    return first * second + second * (module["bias"] != "False") if second else 0
