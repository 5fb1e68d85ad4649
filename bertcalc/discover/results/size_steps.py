"""Changing the sizes of a discovered class: where a slider stops, and a person's changes with undo and redo.

Every stop lies in the regime. If a typed value does not, the problem is shown and the last possible sizes stay. Where a
field has to follow another one, a change of that one moves it, too; ``Discovered.count`` takes both.
"""

import re
from collections.abc import Mapping
from math import lcm
from typing import Any

import sympy

from bertcalc.discover.results.components import count
from bertcalc.discover.results.result import Discovered, exact
from bertcalc.text import N_, shorten
from bertcalc.text.digits import scientific
from bertcalc.text.problem import InputError, Problem, wrong

MOST_PARAMETERS = 2**53  # larger integers are not exact in a browser
_PARTS = 16  # a slider moves in sixteenths of the given size
_FARTHEST = 4
_SMALL = 64
_NEAR = 600
_MOST_STEPS = 200
_MOST_WRITTEN = 30  # steps before the present one, and after it, that ``written`` has


def refused(found: Discovered, sizes: Mapping[str, int]) -> Problem | None:
    """Why these sizes are refused; None if they have a count."""
    try:
        return more_than_shown(found.count(**found.whole(**sizes)))
    except InputError as error:
        return error.problem


def more_than_shown(total: int) -> Problem | None:
    """The problem with a model of so many parameters; None if they can be shown."""
    if total <= MOST_PARAMETERS:
        return None
    message = N_("That would be {count} parameters: more than {most} are not shown here.")
    return Problem.of(message, count=scientific(total) if total > 10**30 else total, most=MOST_PARAMETERS)


def moved(found: Discovered, field: str, value: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes with a field at another value, and with the fields that have to follow it."""
    others = {name: size for name, size in sizes.items() if found.follows.get(name, ("",))[0] != field}
    return found.whole(**{**others, field: value})


def stops(found: Discovered, field: str, sizes: Mapping[str, int]) -> list[int]:
    """The values at which the slider of a field stops: each is possible with the other sizes unchanged."""
    start, here = found.fields[field], found.completed(**sizes)
    by = lcm(*(one.step(here) for one in found.regime if one.kind == "multiple" and one.field == field))
    if start < _SMALL:
        wanted = set(range(1, max(_FARTHEST * start, _PARTS) + 1))
    else:
        wanted = {start * part // _PARTS for part in range(1, _FARTHEST * _PARTS + 1)}
        wanted = {max(1, round(value / by)) * by for value in wanted} | {start}
    expressions = {one for tensors in found.tensors for one in (tensors.copies, *tensors.shape)}
    doubtful = [one for one in expressions if _is_doubtful(one) and field in {str(n) for n in one.free_symbols}]

    def is_possible(value: int) -> bool:
        values = {**found.fields, **moved(found, field, value, sizes)}
        if not all(condition.holds(values) for condition in found.regime):
            return False
        numbers = [exact(one, values) for one in doubtful]
        return all(number.denominator == 1 and number >= 0 for number in numbers)

    possible = [value for value in sorted(wanted) if is_possible(value)]
    while possible and count(found.tensors, found.fields | moved(found, field, possible[-1], sizes)) > MOST_PARAMETERS:
        possible.pop()
    return sorted({*possible, here[field]})


def _is_doubtful(expression: Any) -> bool:
    """Whether its value may be fractional or negative at sizes from 1: it has a fraction, or a minus."""
    return any(not number.is_Integer or number < 0 for number in expression.atoms(sympy.Rational)) or any(
        power.exp.is_negative for power in expression.atoms(sympy.Pow)
    )


def nearest(found: Discovered, field: str, value: int, sizes: Mapping[str, int]) -> list[int]:
    """The nearest possible values below and above, if they are near."""
    low = next(
        (one for one in range(value - 1, max(0, value - _NEAR), -1) if _is_possible(found, field, one, sizes)), 0
    )
    high = next((one for one in range(value + 1, value + _NEAR) if _is_possible(found, field, one, sizes)), 0)
    return sorted((one for one in (low, high) if one), key=lambda one: abs(one - value))


def _is_possible(found: Discovered, field: str, value: int, sizes: Mapping[str, int]) -> bool:
    return value > 0 and not found.outside(**moved(found, field, value, sizes))


def ranked(found: Discovered) -> list[str]:
    """The fields that the count depends on, sorted by their effect."""
    total = count(found.tensors, found.fields)
    used = {name.name for one in found.tensors for name in one.expression.free_symbols}

    def effect(field: str) -> int:
        values = found.fields | {field: 2 * found.fields[field]}
        try:
            return abs(count(found.tensors, values) - total)
        except (ArithmeticError, ValueError):
            return 0

    fields = [field for field in found.fields if field in used and field not in found.follows]
    return sorted(fields, key=lambda field: -effect(field))


class Steps:
    """The sizes that a person has chosen for one class, with undo and redo.

    ``kept`` are those of the last step, ``present`` those that are shown, which differ while a slider is held; both
    have only the sizes that differ from the given ones. ``attempt`` is the input that was refused, by its field.
    """

    def __init__(self, found: Discovered, sizes: Mapping[str, int]) -> None:
        self.found = found
        self.ranked = ranked(found)
        self.kept = self.present = self._plain(found.whole(**sizes))  # older links do not have what follows
        self.attempt: dict[str, str | int] = {}
        self.past: list[dict[str, int]] = []
        self.future: list[dict[str, int]] = []

    def written(self) -> dict[str, Any]:
        """The nearest steps and the attempt as values of JSON; sizes are as in a link."""
        past, future = self.past[-_MOST_WRITTEN:], self.future[-_MOST_WRITTEN:]
        steps = {"past": [*map(write, past)], "kept": write(self.kept), "future": [*map(write, future)]}
        return {**steps, "attempt": self.attempt}

    def restore(self, written: object, *, is_linked: bool) -> None:
        """Take the steps and the attempt of ``written``, which may be anything, unless the link says other sizes."""
        match written:
            case {"past": [*past], "kept": str(present), "future": [*future], "attempt": dict(attempt)} if (
                not is_linked or present == write(self.kept)
            ):
                try:
                    [*before, sizes], after = ([*map(read, map(str, some))] for some in ([*past, present], future))
                except InputError:
                    return
                if len(before) + len(after) > 2 * _MOST_WRITTEN or any(map(self._refuses, (*before, sizes, *after))):
                    return
                self.past, self.future = [*map(self._plain, before)], [*map(self._plain, after)]
                self.kept = self.present = self._plain(sizes)
                for field, value in attempt.items():
                    if type(value) in (int, str):
                        self.move(field, value, final=False)

    def values(self) -> dict[str, int]:
        """All sizes that are shown."""
        return {**self.found.fields, **self.present}

    def move(self, field: str, value: int | str, *, final: bool = True) -> None:
        """Give a field another value; if there is no such model, keep the sizes and note the attempt."""
        if field not in self.found.fields:
            return
        self.attempt.pop(field, None)
        sizes = moved(self.found, field, value, self.kept) if isinstance(value, int) else {}
        if not isinstance(value, int) or refused(self.found, sizes):
            self.attempt = {field: value}
            self.present = self.kept
            return
        self.present = self._plain(sizes)
        if final:
            self._step(self.present)

    def reset(self) -> None:
        self._step({})

    def undo(self) -> None:
        """Take one step back; a refused attempt goes first."""
        if self.attempt:
            self.attempt = {}
        elif self.past:
            self.future.append(self.kept)
            self.kept = self.present = self.past.pop()

    def redo(self) -> None:
        """Take one step forward again."""
        if self.future:
            self.past.append(self.kept)
            self.kept = self.present = self.future.pop()

    def _step(self, sizes: dict[str, int]) -> None:
        self.attempt = {}
        if sizes != self.kept:
            self.past = [*self.past, self.kept][-_MOST_STEPS:]
            self.future = []
        self.kept = self.present = sizes

    def _refuses(self, sizes: Mapping[str, int]) -> bool:
        return not self.found.fields.keys() >= sizes.keys() or refused(self.found, sizes) is not None

    def _plain(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {field: value for field, value in sizes.items() if value != self.found.fields[field]}


def write(sizes: Mapping[str, int]) -> str:
    """Sizes as a link has them: n_embd-1600~n_layer-48."""
    return "~".join(f"{field}-{value}" for field, value in sizes.items())


def read(text: str) -> dict[str, int]:
    """Read the sizes in a link. Raises InputError."""
    found: dict[str, int] = {}
    for each in filter(None, text.split("~")):
        match = re.fullmatch(r"([A-Za-z][\w.\[\]]{0,119})-([0-9]{1,15})", each, re.ASCII)
        if match is None:
            raise wrong(N_("{text} is no size: it must look like n_layer-48."), text=shorten(each))
        found[match[1]] = int(match[2])
    return found
