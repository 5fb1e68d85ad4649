"""The peak of a step in letters: the very simulation of peak.py, run on SymPy symbols instead of sizes.

What comes and goes, and in which order, does not depend on how large a model is: only on which sizes are 1, and on the
number of layers. So one run gives the bytes of every moment as a formula, for all sizes: integers and columns alike.
The moments that can be the largest for some sizes are kept, about a dozen of a thousand.

>>> from bertcalc import BertConfig
>>> peak_bytes(Subject(BertConfig(), "BertForMaskedLM"), Plan(), 123, 128)
21303645672
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from bertcalc.config import unchecked
from bertcalc.formula import CALL_SYMBOLS, SYMBOLS, Formula, write
from bertcalc.memory.peak import alive, inference_changes, training_changes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.saved import largest
from bertcalc.memory.tape import AREAS, Area, Change, Phase
from bertcalc.subject import Subject
from bertcalc.tree.nn import split_layer

_HEAD_SIZE = sympy.Symbol("d", integer=True, positive=True)
_LAYERS = SYMBOLS["num_hidden_layers"]
_SYMBOLS: dict[str, Any] = {
    **SYMBOLS,
    "attention_head_size": _HEAD_SIZE,
    "batch_size": CALL_SYMBOLS["batch_size"],
    "sequence_length": CALL_SYMBOLS["sequence_length"],
}
_NAMES = tuple(_SYMBOLS)
_ALONE = 4  # with more layers than that, those in the middle are all alike

Monomial = tuple[int, ...]  # the power of each of _NAMES
Terms = Mapping[Monomial, int]


class Moment(NamedTuple):
    """A moment of a step, with the bytes of each area as a sum of products of sizes."""

    phase: Phase
    where: str
    areas: Mapping[Area, Terms]
    at: int  # its place among the changes of the symbolic run

    def num_bytes(self, sizes: Mapping[str, Any]) -> int:
        """All bytes that are alive, for sizes as ``sizes_of`` gives them."""
        return sum(self.area_bytes(sizes).values())

    def area_bytes(self, sizes: Mapping[str, Any]) -> dict[Area, int]:
        """The bytes of each area."""
        return {area: _value(terms, sizes) for area, terms in self.areas.items()}

    def formulas(self) -> dict[Area, Formula]:
        """The bytes of each area in letters."""
        return {area: write(_expression(terms)) for area, terms in self.areas.items() if terms}


def peak_bytes(subject: Subject, how: Plan | Inference, batch_size: int, sequence_length: int) -> int:
    """The most bytes that are alive at once, in a training step or a forward pass: numbers or columns."""
    sizes = sizes_of(subject, batch_size, sequence_length)
    found = moments(subject, how, batch_size, sequence_length)
    return largest(moment.num_bytes(sizes) for moment in found)


def peak_moment(subject: Subject, how: Plan | Inference, batch_size: int, sequence_length: int) -> Moment:
    """The first moment at which most is alive."""
    sizes = sizes_of(subject, batch_size, sequence_length)
    found = moments(subject, how, batch_size, sequence_length)
    return max(found, key=lambda moment: moment.num_bytes(sizes))


def sizes_of(subject: Subject, batch_size: int, sequence_length: int) -> dict[str, Any]:
    """The numbers for the letters of a moment."""
    config = subject.config
    return {name: getattr(config, name) for name in _NAMES[:-2]} | {
        "batch_size": batch_size,
        "sequence_length": sequence_length,
    }


def moments(subject: Subject, how: Plan | Inference, batch_size: int, sequence_length: int) -> tuple[Moment, ...]:
    """The moments that can be the peak of a model of this structure, in the order in which they come.

    Columns are taken for sizes greater than 1 and for more than four layers.

    Raises NotImplementedError and ValueError as peak.py does.
    """
    return _moments(*_symbolic(subject, how, batch_size, sequence_length))


def alive_then(
    subject: Subject, how: Plan | Inference, batch_size: int, sequence_length: int, moment: Moment
) -> list[tuple[Change, Formula]]:
    """What is alive at a moment, with the formula of each: layers that are alike are not repeated."""
    changes = _changes(*_symbolic(subject, how, batch_size, sequence_length)[:4])
    return [(change, write(_expression(_terms(change.num_bytes)))) for change in alive(changes[: moment.at + 1])]


class _Fold(NamedTuple):
    """Layers that are left out: ``more`` of them, after the one with a number."""

    layer: int
    more: Any


def _symbolic(
    subject: Subject, how: Plan | Inference, batch_size: int, sequence_length: int
) -> tuple[Subject, Plan | Inference, Any, Any, tuple[_Fold, ...]]:
    """A model and its batch in letters, with the sizes that are 1, and few layers; and what that leaves out."""
    config = subject.config
    fields = set(SYMBOLS) - {"hidden_size", "num_hidden_layers"}
    if subject.cls.task == "question-answering":
        fields.remove("num_labels")  # which has to be 2
    sizes = sizes_of(subject, batch_size, sequence_length)
    letters = {name: _one_or(size, _SYMBOLS[name]) for name, size in sizes.items()}
    changes = {name: letters[name] for name in fields}
    changes["hidden_size"] = letters["num_attention_heads"] * letters["attention_head_size"]
    frozen = how.freezing.layers if isinstance(how, Plan) else 0
    folds = []
    layers = 0
    for count, letter in ((frozen, frozen), (config.num_hidden_layers - frozen, _LAYERS - frozen)):
        many = not isinstance(count, int) or count > _ALONE
        if many:
            folds.append(_Fold(layers + 1, letter - _ALONE))
        layers += _ALONE if many else count
        if isinstance(how, Plan) and letter is frozen:
            how = how._replace(freezing=replace(how.freezing, layers=layers))
    changes["num_hidden_layers"] = layers
    symbolic = subject._replace(config=unchecked(config, **changes))
    return symbolic, how, letters["batch_size"], letters["sequence_length"], tuple(folds)


def _one_or(size: Any, letter: Any) -> Any:
    return 1 if isinstance(size, int) and size == 1 else letter


@lru_cache(maxsize=64)
def _changes(subject: Subject, how: Plan | Inference, batch: Any, length: Any) -> list[Change]:
    model = subject.model()
    if isinstance(how, Inference):
        return inference_changes(model, batch, length, dtype=how.dtype, attention=how.attention)
    return training_changes(model, batch, length, how)


@lru_cache(maxsize=1024)
def _moments(
    subject: Subject, how: Plan | Inference, batch: Any, length: Any, folds: tuple[_Fold, ...]
) -> tuple[Moment, ...]:
    found: list[tuple[Terms, Moment]] = []
    for moment in _tops(_changes(subject, how, batch, length), folds):
        live: Counter[Monomial] = Counter()
        for terms in moment.areas.values():
            live.update(terms)
        if not any(_covers(other, live) for other, _moment in found):
            found = [one for one in found if not _covers(live, one[0])]
            found.append((live, moment))
    return tuple(moment for _live, moment in found)


def _covers(more: Terms, less: Terms) -> bool:
    """Whether one sum is at least the other for all sizes: no coefficient is smaller."""
    return all(more.get(one, 0) >= less.get(one, 0) for one in {**more, **less})


def _tops(changes: Sequence[Change], folds: Sequence[_Fold]) -> Iterator[Moment]:
    """Each moment after which something goes.

    The layers that are left out are put in where they would come: what one of them brings, as often as there are. From
    one of them to the next the bytes rise or fall evenly, so the most is at the first or at the last of them.
    """
    areas: dict[Area, Counter[Monomial]] = {area: Counter() for area in AREAS}
    left_out = _left_out(changes, folds)
    alive: set[int] = set()
    rose = False
    for at, change in enumerate(changes):
        goes = change.storage in alive and not change.moved_from
        if rose and goes:
            yield _moment(changes, at - 1, areas)
            rose = False
        for one, more in left_out.get(at, ()):
            _apply(areas, one, more)
        _apply(areas, change, 1)
        if goes:
            alive.remove(change.storage)
        elif not change.moved_from:
            alive.add(change.storage)
            rose = change.phase != "before"
    if rose:
        yield _moment(changes, len(changes) - 1, areas)


def _left_out(changes: Sequence[Change], folds: Sequence[_Fold]) -> Mapping[int, list[tuple[Change, Any]]]:
    """What the layers that are left out bring: before which change it comes, and how often.

    In each phase that is what happens from the first change of one layer to the first of the next, forward or backward.
    """
    layers = [split_layer(change.where)[0].rpartition(".")[2] for change in changes]
    firsts: dict[tuple[Phase, str], int] = {}
    for at, (change, layer) in enumerate(zip(changes, layers, strict=True)):
        firsts.setdefault((change.phase, layer), at)
    found: dict[int, list[tuple[Change, Any]]] = {}
    for fold in folds:
        one, after = str(fold.layer), str(fold.layer + 1)
        before = [change for change, layer in zip(changes, layers, strict=True) if layer == one]
        found.setdefault(0, []).extend((change, fold.more) for change in before if change.phase == "before")
        for phase in ("forward", "backward", "optimizer"):
            if (phase, one) in firsts and (phase, after) in firsts:
                start, end = sorted((firsts[phase, one], firsts[phase, after]))
                found.setdefault(end, []).extend((change, fold.more) for change in changes[start:end])
    return found


def _apply(areas: Mapping[Area, Counter[Monomial]], change: Change, times: Any) -> None:
    terms = _terms(change.num_bytes * times)
    for monomial, count in terms.items():
        areas[change.area][monomial] += count
        if change.moved_from:
            areas[change.moved_from][monomial] -= count


def _moment(changes: Sequence[Change], at: int, areas: Mapping[Area, Counter[Monomial]]) -> Moment:
    found = {area: {one: count for one, count in terms.items() if count} for area, terms in areas.items()}
    return Moment(changes[at].phase, changes[at].where, found, at)


@lru_cache(maxsize=65536)
def _terms(expression: Any) -> Terms:
    """A polynomial of our letters, term by term."""
    return {powers: int(count) for powers, count in sympy.Poly(expression, *_SYMBOLS.values()).terms()}


def _value(terms: Terms, sizes: Mapping[str, Any]) -> int:
    total = 0
    for powers, count in terms.items():
        product = count
        for name, power in zip(_NAMES, powers, strict=True):
            for _time in range(power):
                product = product * sizes[name]
        total = total + product
    return total


def _expression(terms: Terms) -> Any:
    """A sum in letters, in which the size of a head is H / A."""
    polynomial = sympy.Poly.from_dict(dict(terms), *_SYMBOLS.values()).as_expr()
    return sympy.expand(polynomial.subs(_HEAD_SIZE, SYMBOLS["hidden_size"] / SYMBOLS["num_attention_heads"]))
