"""Experiments with a real class: which fields matter, which sizes are valid, and which tensors result."""

from collections.abc import Callable, Mapping, Set
from copy import copy
from math import gcd
from random import Random
from time import thread_time
from typing import Any, NamedTuple

from bertcalc.discover.results.request import Progress
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.search.build import Folded, not_built
from bertcalc.discover.search.config_integers import Recipe
from bertcalc.discover.search.draws import DEPTH
from bertcalc.text import N_
from bertcalc.text.problem import Problem

Values = dict[str, int]
# Returns the folded tensors of a configuration's model, or the matrix products of a forward pass. The second argument
# is the time limit.
Measure = Callable[[Any, float], Folded]

_RATIOS = ((2, 1), (3, 1), (1, 2), (3, 2), (4, 1), (5, 1), (1, 3), (1, 4), (6, 1), (5, 2))
_SMALL = 24
_LARGE = 64
_DEEP = 8
_NAMED = 2


class Sample(NamedTuple):
    """A built configuration: its field values and its tensors."""

    values: Values
    tensors: Folded


class Failure(NamedTuple):
    """A configuration that cannot be used, with the reason.

    Either the class refuses it, or its tensors have other names or ranks (``refused`` is False). In the second case,
    the caller adds the fields that caused the difference to the reason, as ``changes``.
    """

    values: Values
    reason: Problem
    refused: bool = True
    too_large: bool = False  # too large for our limits; transformers may be able to build it


class Lab:
    """Builds a class at many sizes; each configuration is built only once.

    The fields of the configuration are sorted into groups:

    - ``free``: other values are valid and change a tensor.
    - ``idle``: other values are valid but change no tensor.
    - ``fixed``: keep their given values, because other values are refused or give different tensor names.
    - ``links``: have to change together with another field.
    """

    def __init__(self, recipe: Recipe, measure: Measure, *, until: float, progress: Progress) -> None:
        self.recipe, self.measure, self.until, self.progress = recipe, measure, until, progress
        self.random = Random(0)
        self.sizes = {name: value for name, value in recipe.fields.items() if name not in recipe.follows}
        self.free: list[str] = []
        self.idle: list[str] = []
        self.fixed: list[str] = []
        self.links: dict[str, tuple[str, int, int]] = {}  # field -> (leader, numerator, denominator of the ratio)
        self.counts: set[str] = set()  # fields that determine how many tensors there are
        self.loose: set[str] = set()  # fields for which every value seems to be valid
        self.choices: dict[str, list[int]] = {}
        self.fewer: list[str] = []  # fields with smaller values than given, so that building is fast
        self.built: dict[tuple[tuple[str, int], ...], Sample | Failure] = {}  # all attempts, keyed by changed fields
        self.base_sizes = dict(self.sizes)  # the values before changes: as given, but with fewer layers
        base = self.build({})
        if isinstance(base, Failure):
            raise Refused(base.reason)
        self.base_sample = self.full_sample = base
        self._shrink()

    def fixing(self, fields: list[str]) -> "Lab":
        """Return a copy of the lab in which these fields keep their given values."""
        twin = copy(self)
        twin.free = [name for name in self.free if name not in fields]
        twin.fixed = [*self.fixed, *(field for field in fields if field not in self.fixed)]
        twin.base_sizes = {**self.base_sizes, **{field: self.sizes[field] for field in fields}}
        twin.fewer = [name for name in self.fewer if name not in fields]
        sample = twin.build({})
        twin.base_sample = sample if isinstance(sample, Sample) else self.full_sample
        return twin

    def build(self, changes: Mapping[str, int]) -> Sample | Failure:
        """Build a configuration with these values; linked fields follow.

        Returns a Failure if the class refuses the values. Raises Ended when the time limit is reached.
        """
        if thread_time() > self.until:
            raise Ended
        changes = {name: self.base_sizes[name] for name in self.fewer} | {**changes}
        changes = {name: value for name, value in changes.items() if self.sizes[name] != value}
        key = tuple(sorted(changes.items()))
        if key not in self.built:
            self.built[key] = self._build(changes)
        return self.built[key]

    def _build(self, changes: dict[str, int]) -> Sample | Failure:
        numbers = self.sizes | changes
        try:
            numbers = self.sizes | self._linked(changes)
            built = self.measure(self.config(changes), self.until)
        except Refused as error:
            return Failure(numbers, error.problem, too_large=error.is_limit)
        if hasattr(self, "base_sample") and _ranks(built) != _ranks(self.base_sample.tensors):
            return Failure(numbers, _difference(self.base_sample.tensors, built), refused=False)
        return Sample(numbers, built)

    def config(self, changes: Mapping[str, int]) -> Any:
        """Return the configuration, or the call of a forward pass, with some fields changed; linked fields follow.

        Raises Refused.
        """
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
                    message = N_("{name} follows {leader} and would not be a whole number.")
                    raise Refused.because(message, name=name, leader=leader)
                values[name] = changes[leader] * above // below
        return values

    def _shrink(self) -> None:
        """Use fewer layers, so that building is faster, if all kinds of tensors remain."""
        for field, value in self.sizes.items():
            if value < _DEEP or not DEPTH.search(field):
                continue
            for fewer in (max(3, value // 8), value // 4, value // 2):
                self.base_sizes[field] = fewer
                self.fewer.append(field)
                sample = self.build({})
                if isinstance(sample, Sample) and _kinds(sample.tensors) == _kinds(self.base_sample.tensors):
                    self.base_sample = sample
                    break
                self.fewer.remove(field)
                self.base_sizes[field] = value

    def sort_fields(self) -> None:
        """Sort the fields into groups by the effect of changing each field alone."""
        doubtful: list[str] = []
        for done, field in enumerate(self.sizes):
            self.progress(field, done, len(self.sizes))
            if self.base_sizes[field] <= 0:  # a flag, not a size: fixed if it has an effect
                (self.idle if self._is_base(self.build({field: 4})) else self.fixed).append(field)
            elif not self._classify(field):
                doubtful.append(field)
        for field in doubtful:
            if field not in self.links:
                self._find_partner(field)
        self._recheck_idle()
        self.free = [name for name in self.sizes if name in self.free]
        for field in self.free:
            self._widen(field)

    def _is_base(self, sample: Sample | Failure) -> bool:
        return isinstance(sample, Sample) and sample.tensors == self.base_sample.tensors

    def _classify(self, field: str) -> bool:
        """Add a field to a group by the effect of other values; return False if no other value is valid on its own."""
        good: list[int] = []
        changes = False
        for value in alternatives(self.base_sizes[field]):
            sample = self.build({field: value})
            if isinstance(sample, Failure):
                continue
            good.append(value)
            if sample.tensors != self.base_sample.tensors:
                changes = True
                if _counted(sample.tensors) != _counted(self.base_sample.tensors):
                    self.counts.add(field)
            if len(good) == 2:
                break
        if not good:
            return False
        self.choices[field] = good
        (self.free if changes else self.idle).append(field)
        return True

    def _find_partner(self, field: str) -> None:
        size = self.base_sizes[field]
        self.fixed.append(field)
        others = [
            name for name, value in self.base_sizes.items() if value > 0 and name != field and name not in self.links
        ]
        others.sort(key=lambda name: (self.base_sizes[name] != size, name not in self.fixed))
        for other in others:
            common = gcd(size, self.base_sizes[other])
            self.links[other] = (field, self.base_sizes[other] // common, size // common)
            if self._retry(field):
                for names in (self.fixed, self.free, self.idle):
                    if other in names:
                        names.remove(other)
                return
            del self.links[other]

    def _retry(self, field: str) -> bool:
        for key in [key for key in self.built if any(name == field for name, _value in key)]:
            del self.built[key]
        if self._classify(field):
            self.fixed.remove(field)
            return True
        return False

    def _recheck_idle(self) -> None:
        """Move idle fields that change tensors when they are halved, alone or together, to the free fields."""
        small = {name: max(1, self.base_sizes[name] // 2) for name in self.idle if self.base_sizes[name] > 1}
        for name in self._guilty(small):
            sample = self.build({name: small[name]})
            if isinstance(sample, Sample):
                self.idle.remove(name)
                self.free.append(name)
                self.choices[name] = [small[name]]

    def _guilty(self, changes: Values) -> list[str]:
        """Find the changes that have an effect, by bisection."""
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
        """Check whether any value of a field seems to be valid on its own; if not, search for more valid values."""
        size = self.base_sizes[field]
        if all(isinstance(self.build({field: size + step}), Sample) for step in (1, 7)):
            self.loose.add(field)
            return
        scaled = [size * above // below for above, below in _RATIOS if size * above % below == 0]
        new = [value for value in scaled[:8] if value > 0 and value not in (size, *self.choices[field])]
        self.choices[field] += [value for value in new if isinstance(self.build({field: value}), Sample)]

    def keeping_divisors(self, fields: list[str]) -> "Lab":
        """Return a copy of the lab in which these fields change only to multiples or divisors.

        Large values change to multiples, and small values to divisors.
        """
        twin = copy(self)
        twin.loose = self.loose - set(fields)
        twin.choices = dict(self.choices)
        for field in fields:
            size = self.base_sizes[field]
            divisors = [size // by for by in range(2, size + 1) if size % by == 0] if size < _LARGE else []
            values = divisors or [size * factor for factor in range(2, 10)]
            good = [value for value in values if isinstance(self.build({field: value}), Sample)]
            twin.choices[field] = good or self.choices[field]
        return twin

    def draw(self, field: str, fresh: bool) -> int:
        """Draw another value for a field that is valid, or likely to be valid, if no other field changes.

        For a field with few valid values, ``fresh`` avoids the values that are used for fitting if there are others.
        """
        size = self.base_sizes[field]
        if field not in self.loose:
            options = [value for value in self.choices[field] if value != self.sizes[field]] or self.choices[field]
            return self.random.choice(options[2:] if fresh and options[3:] else options[:3])
        if field in self.counts:
            low, high = max(1, size // 4), size + 3
        elif size < _SMALL:
            low, high = 1, 3 * size + 4
        else:
            low, high = size // 2, 3 * size
        while (value := self.random.randint(low, high)) in (size, self.sizes[field]):
            high += 1
        return value

    def together(self, fields: list[str], *, fresh: bool = False, tries: int = 30) -> Sample | None:
        """Build a sample in which all of these fields have other values; return None if no draw works.

        ``fresh`` is passed to ``draw``, and ``tries`` is the maximum number of draws.
        """
        for _try in range(tries):
            sample = self.build({field: self.draw(field, fresh) for field in fields})
            if isinstance(sample, Sample):
                return sample
        return None


def alternatives(value: int) -> list[int]:
    """Return other values for a field: double, triple and half of its value, and both neighbors."""
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
    added, missing = (_listed(left.keys() - right.keys()) for left, right in ((built, base), (base, built)))
    if added and missing:
        message = N_("with {changes}, the model has {more} and lacks {less}; no rule was found for when this happens")
        return Problem.of(message, more=added, less=missing)
    if added:
        return Problem.of(
            N_("with {changes}, the model has {more}; no rule was found for when this happens"), more=added
        )
    if missing:
        message = N_("with {changes}, the model lacks {less}; no rule was found for when this happens")
        return Problem.of(message, less=missing)
    name = next(name for name, ranks in _ranks(base).items() if ranks != _ranks(built)[name])
    return Problem.of(
        N_("with {changes}, {name} has a different rank; no rule was found for when this happens"), name=name
    )


def _listed(names: Set[str]) -> str:
    return ", ".join(sorted(names)[:_NAMED]) + (", ..." if names and len(names) > _NAMED else "")
