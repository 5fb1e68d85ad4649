"""Change the sizes of a discovered class: the valid stops of a slider, and a user's changes with undo and redo.

Every stop lies in the regime. If a typed value does not, the page shows the problem and keeps the last valid sizes.
Fields that have to follow another field change with it.
"""

import re
from collections.abc import Mapping
from math import lcm
from typing import Any

import sympy

from bertcalc.controls.history import History
from bertcalc.controls.stops import parts_of
from bertcalc.discover.results.components import count
from bertcalc.discover.results.result import Discovered, exact
from bertcalc.text import N_, shorten
from bertcalc.text.digits import scientific
from bertcalc.text.problem import InputError, Problem, wrong

MOST_PARAMETERS = 2**53  # larger integers are not exact in a browser
_NEAR = 600


def refused(discovery: Discovered, sizes: Mapping[str, int]) -> Problem | None:
    """Return the reason why these sizes are invalid; None if they are valid."""
    try:
        return more_than_shown(discovery.count(**discovery.whole(**sizes)))
    except InputError as error:
        return error.problem


def more_than_shown(total: int) -> Problem | None:
    """Return the problem with a number of parameters that is too large to show; None if it can be shown."""
    if total <= MOST_PARAMETERS:
        return None
    message = N_("This model would have {count} parameters: bertcalc shows at most {most}.")
    return Problem.of(message, count=scientific(total) if total > 10**30 else total, most=MOST_PARAMETERS)


def move_field(discovery: Discovered, field: str, value: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes after changing one field, together with the fields that have to follow it."""
    others = {name: size for name, size in sizes.items() if discovery.follows.get(name, ("",))[0] != field}
    return discovery.whole(**{**others, field: value})


def stops(discovery: Discovered, field: str, sizes: Mapping[str, int]) -> list[int]:
    """Return the stops of a field's slider in ascending order, including the field's current value.

    Each stop is valid if only the field and its followers change.
    """
    start, completed = discovery.fields[field], discovery.completed(**sizes)
    unit = lcm(
        *(
            condition.step(completed)
            for condition in discovery.regime
            if condition.kind == "multiple" and condition.field == field
        )
    )
    expressions = {expression for tensors in discovery.tensors for expression in (tensors.copies, *tensors.shape)}
    doubtful = [
        expression
        for expression in expressions
        if is_doubtful(expression) and field in {str(n) for n in expression.free_symbols}
    ]

    def is_possible(value: int) -> bool:
        values = {**discovery.fields, **move_field(discovery, field, value, sizes)}
        if not all(condition.holds(values) for condition in discovery.regime):
            return False
        numbers = [exact(expression, values) for expression in doubtful]
        return all(number.denominator == 1 and number >= 0 for number in numbers)

    possible = [value for value in parts_of(start, unit) if is_possible(value)]
    while (
        possible
        and count(discovery.tensors, discovery.fields | move_field(discovery, field, possible[-1], sizes))
        > MOST_PARAMETERS
    ):
        possible.pop()
    return sorted({*possible, completed[field]})


def is_doubtful(expression: Any) -> bool:
    """Whether an expression can be fractional or negative: it contains a fraction, a quotient or a minus sign."""
    return any(not number.is_Integer or number < 0 for number in expression.atoms(sympy.Rational)) or any(
        power.exp.is_negative for power in expression.atoms(sympy.Pow)
    )


def nearest(discovery: Discovered, field: str, value: int, sizes: Mapping[str, int]) -> list[int]:
    """Return the nearest valid values below and above a value, the nearest first.

    Values that are 600 or more away are left out.
    """

    def is_valid(size: int) -> bool:
        return size > 0 and not discovery.outside(**move_field(discovery, field, size, sizes))

    below, above = range(value - 1, max(0, value - _NEAR), -1), range(value + 1, value + _NEAR)
    first = [next(filter(is_valid, side), 0) for side in (below, above)]
    return sorted(filter(None, first), key=lambda size: abs(size - value))


def ranked(discovery: Discovered) -> list[str]:
    """Return the fields that affect the number of parameters, starting with the largest effect.

    The effect of a field is the change when it is doubled. Fields that follow others are left out.
    """
    total = count(discovery.tensors, discovery.fields)
    used = {name.name for tensor in discovery.tensors for name in tensor.expression.free_symbols}

    def effect(field: str) -> int:
        values = discovery.fields | {field: 2 * discovery.fields[field]}
        try:
            return abs(count(discovery.tensors, values) - total)
        except (ArithmeticError, ValueError):
            return 0

    fields = [field for field in discovery.fields if field in used and field not in discovery.follows]
    return sorted(fields, key=lambda field: -effect(field))


class SizeHistory(History[dict[str, int]]):
    """The sizes that a user has chosen for a class, with undo and redo.

    A step contains only sizes that differ from the sizes of the discovery.
    """

    def __init__(self, discovery: Discovered, sizes: Mapping[str, int]) -> None:
        self.discovery = discovery
        self.ranked = ranked(discovery)
        super().__init__(self._plain(discovery.whole(**sizes)))  # older links lack the fields that follow others

    def written(self) -> dict[str, Any]:
        """Return the steps near the present one, its index among them, and the rejected values, as JSON data.

        The sizes of a step are written as in a link.
        """
        steps, index = self.nearest_steps()
        return {"steps": [*map(write_sizes, steps)], "at": index, "attempt": self.attempt}

    def restore(self, written: object, *, is_linked: bool) -> None:
        """Restore the steps and the attempt from the result of ``written``.

        The data is untrusted, and ignored if it is invalid. With ``is_linked``, it is also ignored if its present sizes
        differ from the sizes in the link.
        """
        match written:
            case {"steps": [*texts], "at": int(index), "attempt": dict(attempt)} if 0 <= index < len(
                texts
            ) <= 2 * self.WRITTEN + 1 and (not is_linked or texts[index] == write_sizes(self.present)):
                try:
                    steps = [read_sizes(f"{text}") for text in texts]
                except InputError:
                    return
                if any(map(self._refuses, steps)):
                    return
                self.steps, self.at = [*map(self._plain, steps)], index
                self.attempt = {
                    field: value
                    for field, value in attempt.items()
                    if type(value) in (int, str)
                    and field in self.discovery.fields
                    and self._moved({field: value}) is None
                }

    def values(self) -> dict[str, int]:
        """Return all sizes at the present step, including unchanged ones."""
        return {**self.discovery.fields, **self.present}

    def move(self, field: str, value: int | str) -> None:
        """Change a field, together with earlier rejected values if this gives a valid model.

        For example, n_embd 1600 is valid only with n_head 25. If there is no such model, keep the sizes and record the
        attempt.
        """
        if field not in self.discovery.fields:
            return
        left = {name: typed for name, typed in self.attempt.items() if name != field}
        for others in (left, {}):
            if (sizes := self._moved({**others, field: value})) is not None:
                self.take(self._plain(sizes))
                self.attempt = {} if others else left
                return
        self.attempt = {**left, field: value}

    def _moved(self, changes: Mapping[str, int | str]) -> Mapping[str, int] | None:
        """Return the present sizes with these changes; None if there is no such model."""
        sizes: Mapping[str, int] = self.present
        for field, value in changes.items():
            if not isinstance(value, int):
                return None
            sizes = move_field(self.discovery, field, value, sizes)
        return None if refused(self.discovery, sizes) else sizes

    def reset(self) -> None:
        self.take({})

    def _refuses(self, sizes: Mapping[str, int]) -> bool:
        return not self.discovery.fields.keys() >= sizes.keys() or refused(self.discovery, sizes) is not None

    def _plain(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {field: value for field, value in sizes.items() if value != self.discovery.fields[field]}


def write_sizes(sizes: Mapping[str, int]) -> str:
    """Write sizes for a link: n_embd-1600~n_layer-48."""
    return "~".join(f"{field}-{value}" for field, value in sizes.items())


def read_sizes(text: str) -> dict[str, int]:
    """Parse the sizes in a link, as ``write_sizes`` writes them. Raises InputError for any other text."""
    sizes: dict[str, int] = {}
    for part in filter(None, text.split("~")):
        match = re.fullmatch(r"([A-Za-z][\w.\[\]]{0,119})-([0-9]{1,15})", part, re.ASCII)
        if match is None:
            raise wrong(N_("{text} is not a size: it must look like n_layer-48."), text=shorten(part))
        sizes[match[1]] = int(match[2])
    return sizes
