"""Experiments with a real class: which fields matter, which sizes it takes, and which tensors it has then."""

from collections.abc import Callable, Mapping, Set
from copy import copy
from math import gcd
from random import Random
from time import thread_time
from typing import Any, NamedTuple

from bertcalc.discover.search.build import Ended, Folded, Refused, not_built
from bertcalc.discover.search.config_integers import Recipe
from bertcalc.discover.search.draws import DEPTH
from bertcalc.text import N_
from bertcalc.text.problem import Problem

Values = dict[str, int]
# Returns the tensors of a configuration's model, or the matrix products of a call of it, until a time is up.
Measure = Callable[[Any, float], Folded]
Progress = Callable[[str, int, int], None]

_RATIOS = ((2, 1), (3, 1), (1, 2), (3, 2), (4, 1), (5, 1), (1, 3), (1, 4), (6, 1), (5, 2))
_SMALL = 24
_LARGE = 64
_DEEP = 8
_NAMED = 2


class Sample(NamedTuple):
    """A configuration that was built: the values of its fields, and its tensors."""

    values: Values
    tensors: Folded


class Failure(NamedTuple):
    """A configuration that transformers refuses, or one with tensors of other names or ranks, and why.

    If it was not refused, the reason lacks the value of ``changes``, the fields with which it happened.
    """

    values: Values
    reason: Problem
    refused: bool = True
    too_large: bool = False  # for the limits here: whether transformers builds it is not known


class Lab:
    """Builds a class again and again, each configuration once.

    ``free`` are the fields that can be changed and matter, ``idle`` those that change no tensor, ``held`` those that
    keep their given value, as no other gives the same names of tensors; ``links`` are fields that have to change with
    another one.
    """

    def __init__(self, recipe: Recipe, measure: Measure, *, until: float, progress: Progress) -> None:
        self.recipe, self.measure, self.until, self.progress = recipe, measure, until, progress
        self.random = Random(0)
        self.here = {name: value for name, value in recipe.fields.items() if name not in recipe.follows}
        self.free: list[str] = []
        self.idle: list[str] = []
        self.held: list[str] = []
        self.links: dict[str, tuple[str, int, int]] = {}  # field -> the field that it follows, and their ratio
        self.counts: set[str] = set()  # fields that say how many tensors there are
        self.loose: set[str] = set()  # fields that may have any value, as far as is known
        self.choices: dict[str, list[int]] = {}
        self.fewer: list[str] = []  # fields that are less than given, so that building is fast
        self.built: dict[tuple[tuple[str, int], ...], Sample | Failure] = {}  # all that was tried, by what was changed
        self.at = dict(self.here)  # the values that fields are changed from: as given, but with fewer layers
        base = self.build({})
        if isinstance(base, Failure):
            raise Refused(base.reason)
        self.base = self.given = base
        self._shrink()

    def without(self, fields: list[str]) -> "Lab":
        """Return a lab in which these fields stay as given."""
        twin = copy(self)
        twin.free = [name for name in self.free if name not in fields]
        twin.held = [*self.held, *(field for field in fields if field not in self.held)]
        twin.at = {**self.at, **{field: self.here[field] for field in fields}}
        twin.fewer = [name for name in self.fewer if name not in fields]
        found = twin.build({})
        twin.base = found if isinstance(found, Sample) else self.given
        return twin

    def build(self, changes: Mapping[str, int]) -> Sample | Failure:
        """Build a configuration with these values; linked fields follow. Raises Ended when the time is up."""
        if thread_time() > self.until:
            raise Ended
        changes = {name: self.at[name] for name in self.fewer} | {**changes}
        changes = {name: value for name, value in changes.items() if self.here[name] != value}
        key = tuple(sorted(changes.items()))
        if key not in self.built:
            self.built[key] = self._build(changes)
        return self.built[key]

    def _build(self, changes: dict[str, int]) -> Sample | Failure:
        numbers = self.here | changes
        try:
            numbers = self.here | self._linked(changes)
            built = self.measure(self.config(changes), self.until)
        except Refused as error:
            return Failure(numbers, error.problem, too_large=error.is_limit)
        if hasattr(self, "base") and _ranks(built) != _ranks(self.base.tensors):
            return Failure(numbers, _difference(self.base.tensors, built), refused=False)
        return Sample(numbers, built)

    def config(self, changes: Mapping[str, int]) -> Any:
        """The configuration, or call, with some fields changed; linked fields follow. Raises Refused."""
        values = self._linked(changes)
        try:
            return self.recipe.changed(values)
        except Exception as error:  # transformers raises exceptions of all types
            raise not_built(error, line=-1) from None

    def _linked(self, changes: Mapping[str, int]) -> Values:
        values = dict(changes)
        for name, (leader, above, below) in self.links.items():
            if leader in changes and name not in changes:
                if changes[leader] * above % below:
                    message = N_("{name} follows {leader}, and would be no whole number.")
                    raise Refused.because(message, name=name, leader=leader)
                values[name] = changes[leader] * above // below
        return values

    def _shrink(self) -> None:
        """Take fewer layers where that leaves all kinds of tensors: 12 layers are built sooner than 61."""
        for field, value in self.here.items():
            if value < _DEEP or not DEPTH.search(field):
                continue
            for fewer in (max(3, value // 8), value // 4, value // 2):
                self.at[field] = fewer
                self.fewer.append(field)
                found = self.build({})
                if isinstance(found, Sample) and _kinds(found.tensors) == _kinds(self.base.tensors):
                    self.base = found
                    break
                self.fewer.remove(field)
                self.at[field] = value

    def look(self) -> None:
        """Sort the fields by what changing each one alone does."""
        doubtful: list[str] = []
        for done, field in enumerate(self.here):
            self.progress(field, done, len(self.here))
            if self.at[field] <= 0:  # no size but a mark: it is held if it matters
                (self.idle if self._is_base(self.build({field: 4})) else self.held).append(field)
            elif not self._look_at(field):
                doubtful.append(field)
        for field in doubtful:
            if field not in self.links:
                self._look_for_a_partner(field)
        self._look_at_the_idle()
        self.free = [name for name in self.here if name in self.free]
        for field in self.free:
            self._widen(field)

    def _is_base(self, found: Sample | Failure) -> bool:
        return isinstance(found, Sample) and found.tensors == self.base.tensors

    def _look_at(self, field: str) -> bool:
        """Sort a field by what other values do; False if no other value works alone."""
        good: list[int] = []
        changes = False
        for value in alternatives(self.at[field]):
            found = self.build({field: value})
            if isinstance(found, Failure):
                continue
            good.append(value)
            if found.tensors != self.base.tensors:
                changes = True
                if _counted(found.tensors) != _counted(self.base.tensors):
                    self.counts.add(field)
            if len(good) == 2:
                break
        if not good:
            return False
        self.choices[field] = good
        (self.free if changes else self.idle).append(field)
        return True

    def _look_for_a_partner(self, field: str) -> None:
        """Look for another field with which this field can change."""
        here = self.at[field]
        self.held.append(field)
        others = [name for name, value in self.at.items() if value > 0 and name != field and name not in self.links]
        others.sort(key=lambda name: (self.at[name] != here, name not in self.held))
        for other in others:
            common = gcd(here, self.at[other])
            self.links[other] = (field, self.at[other] // common, here // common)
            if self._again(field):
                for names in (self.held, self.free, self.idle):
                    if other in names:
                        names.remove(other)
                return
            del self.links[other]

    def _again(self, field: str) -> bool:
        for key in [key for key in self.built if any(name == field for name, _value in key)]:
            del self.built[key]
        if self._look_at(field):
            self.held.remove(field)
            return True
        return False

    def _look_at_the_idle(self) -> None:
        """Free the idle fields that do change tensors, when they are halved or together with others."""
        small = {name: max(1, self.at[name] // 2) for name in self.idle if self.at[name] > 1}
        for name in self._guilty(small):
            found = self.build({name: small[name]})
            if isinstance(found, Sample):
                self.idle.remove(name)
                self.free.append(name)
                self.choices[name] = [small[name]]

    def _guilty(self, changes: Values) -> list[str]:
        """The changes that have an effect, found by halving."""
        if not changes:
            return []
        if self._is_base(self.build(changes)):
            return []
        if len(changes) == 1:
            return list(changes)
        names = list(changes)
        half = len(names) // 2
        return [
            guilty for part in (names[:half], names[half:]) for guilty in self._guilty({n: changes[n] for n in part})
        ]

    def _widen(self, field: str) -> None:
        """Check whether any value works alone; if not, look for more values that do."""
        here = self.at[field]
        if all(isinstance(self.build({field: here + more}), Sample) for more in (1, 7)):
            self.loose.add(field)
            return
        more = [here * above // below for above, below in _RATIOS if here * above % below == 0]
        new = [value for value in more[:8] if value > 0 and value not in (here, *self.choices[field])]
        self.choices[field] += [value for value in new if isinstance(self.build({field: value}), Sample)]

    def tight(self, fields: list[str]) -> "Lab":
        """Return a lab in which these fields keep their divisors or multiples: large ones grow, small ones shrink."""
        twin = copy(self)
        twin.loose = self.loose - set(fields)
        twin.choices = dict(self.choices)
        for field in fields:
            here = self.at[field]
            divisors = [here // by for by in range(2, here + 1) if here % by == 0] if here < _LARGE else []
            values = divisors or [here * factor for factor in range(2, 10)]
            good = [value for value in values if isinstance(self.build({field: value}), Sample)]
            twin.choices[field] = good or self.choices[field]
        return twin

    def draw(self, field: str, fresh: bool) -> int:
        """Another value for a field, which works alone or is likely to."""
        here = self.at[field]
        if field not in self.loose:
            known = [value for value in self.choices[field] if value != self.here[field]] or self.choices[field]
            return self.random.choice(known[2:] if fresh and known[3:] else known[:3])
        if field in self.counts:
            low, high = max(1, here // 4), here + 3
        elif here < _SMALL:
            low, high = 1, 3 * here + 4
        else:
            low, high = here // 2, 3 * here
        while (value := self.random.randint(low, high)) in (here, self.here[field]):
            high += 1
        return value

    def together(self, fields: list[str], *, fresh: bool = False, tries: int = 30) -> Sample | None:
        """A sample in which all of these fields have other values, or None if none was found."""
        for _try in range(tries):
            found = self.build({field: self.draw(field, fresh) for field in fields})
            if isinstance(found, Sample):
                return found
        return None


def alternatives(value: int) -> list[int]:
    """Other values for a field, likely to divide, and be divided by, the same numbers as this value."""
    if value >= _SMALL:
        return [2 * value, 3 * value, value // 2, value + 1, value - 1]
    return [other for other in (2 * value, value // 2, 3 * value, value + 1, value - 1) if other not in (0, value)]


def _counted(built: Folded) -> dict[str, int]:
    return {name: len(shapes) for name, shapes in built.items()}


def _kinds(built: Folded) -> dict[str, int]:
    return {name: len(set(shapes.values())) for name, shapes in built.items()}


def _ranks(built: Folded) -> dict[str, set[int]]:
    return {name: {len(shape) for shape in shapes.values()} for name, shapes in built.items()}


def _difference(base: Folded, built: Folded) -> Problem:
    more, less = (_listed(one.keys() - other.keys()) for one, other in ((built, base), (base, built)))
    if more and less:
        message = N_("with {changes}, the model has {more} and lacks {less}, and no condition was found that says when")
        return Problem.of(message, more=more, less=less)
    if more:
        return Problem.of(
            N_("with {changes}, the model has {more}, and no condition was found that says when"), more=more
        )
    if less:
        message = N_("with {changes}, the model lacks {less}, and no condition was found that says when")
        return Problem.of(message, less=less)
    name = next(name for name, ranks in _ranks(base).items() if ranks != _ranks(built)[name])
    return Problem.of(
        N_("with {changes}, {name} is of another kind, and no condition was found that says when"), name=name
    )


def _listed(names: Set[str]) -> str:
    return ", ".join(sorted(names)[:_NAMED]) + (", ..." if names and len(names) > _NAMED else "")
