"""The difference between two models, explained as a sum over the fields that differ; exact for every quantity.

The fields are changed one after another, in the order of FIELDS, with a count after each. So the parts add up, and each
can be checked by changing that field in the sidebar. Another order would give other parts: a layer has more parameters
where there are more hidden units.

>>> from bertcalc.explore.quantities import QUANTITIES
>>> from bertcalc.families.presets import PRESETS
>>> base, large = (Case(Subject(PRESETS[name].config)) for name in ("bert-base-uncased", "bert-large-uncased"))
>>> for part in explain(base, large, QUANTITIES["parameters"]).parts:
...     print(*(str(change) for change in part.changes), f"{part.difference:+,}")
12 more layers +85,054,464
4 more heads +0
256 more hidden units +90,248,960
1,024 more feed-forward units +50,356,224
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bertcalc.config import ConfigError
from bertcalc.explore.models import FIELDS, subject_of, values_of
from bertcalc.explore.quantities import Case, Quantity, parameters, weights
from bertcalc.families import CLASSES
from bertcalc.model.modules import Place, Shape
from bertcalc.model.subject import Subject
from bertcalc.model.totals import summed
from bertcalc.model.trace import Sizes
from bertcalc.text import N_
from bertcalc.text.arguments import checked

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_COUNTED: dict[str, list[str]] = {one["field"]: one["phrases"] for one in _WORDS["counted"]}
# Each further layer, row or unit costs the same, except for hidden units (the cost is quadratic) and heads.
_ALIKE = _COUNTED.keys() - {"hidden_size", "num_attention_heads"}
# Phrases for each switch: turned on, turned off.
_SWITCHED: dict[str, tuple[str, str]] = {
    "add_pooling_layer": (N_("with a pooler"), N_("without a pooler")),
    "tie_word_embeddings": (N_("decoder tied to the word embeddings"), N_("decoder with a table of its own")),
    "is_decoder": (N_("a decoder"), N_("no decoder")),
    "add_cross_attention": (N_("with cross attention"), N_("without cross attention")),
}
_QUERY, _UP = Place("encoder", "attention", "query"), Place("encoder", "feed-forward", "up")
# The matrices whose shapes are shown in a comparison.
_FUSED, _GATED = Place("encoder", "attention", "query, key, value"), Place("encoder", "feed-forward", "up and gate")
_SHOWN = (Place("embeddings", role="word"), Place("embeddings", role="position"), _QUERY, _UP, _FUSED, _GATED)


class FieldChange(NamedTuple):
    """A field that differs, with its value in either model.

    ``sharing``: how often the one layer of a new class runs; negative: the layers that get weights of their own.
    """

    field: str
    before: Any
    after: Any
    sharing: int = 0

    @property
    def counted(self) -> bool:
        """Whether the field is a number of things, as in "12 more layers"."""
        return self.field in _COUNTED

    def sentence(self, *, alone: bool = True) -> tuple[str, dict[str, str]]:
        """An English phrase with placeholders, and their values; ``alone``: no other field changes with this one."""
        field, before, after, sharing = self
        if sharing > 0:
            return N_("one layer, run {count} times"), {"count": f"{sharing:,}"}
        if sharing < 0:
            return N_("{count} layers, each with its own weights"), {"count": f"{-sharing:,}"}
        if field == "type_vocab_size" and not after:
            return N_("without segment types"), {}
        if field in _COUNTED:
            more = after - before
            phrases = _COUNTED[field][2 * (more < 0) :]
            return phrases[abs(more) > 1], {"count": f"{abs(more):,}"}
        if field in _SWITCHED:
            return _SWITCHED[field][not after], {}
        if field == "architecture" and not alone:
            return N_("as {after}"), {"after": after}
        if field == "architecture":
            return N_("{after} instead of {before}"), {"after": after, "before": before}
        return N_("{field} {after} instead of {before}"), {"field": field, "after": f"{after}", "before": f"{before}"}

    def __str__(self) -> str:
        message, values = self.sentence()
        return message.format(**values)


class PartChange(NamedTuple):
    """A component's figure in two models that have no fields in common; an empty ``field`` is the whole model."""

    field: str
    before: int
    after: int
    counted: bool = False

    def sentence(self, *, alone: bool = True) -> tuple[str, dict[str, str]]:
        return _PARTS[self.field], {}


_PARTS = {
    "": N_("another model"),
    "embeddings": N_("embeddings"),
    "encoder": N_("layers"),
    "pooler": N_("other parts"),
    "head": N_("head"),
}


Changes = tuple[FieldChange | PartChange, ...]


class Attribution(NamedTuple):
    """Fields that change together, the figure after the change, and how much it grew.

    If it did not grow because as much was removed as was added, ``moved`` is that amount.
    """

    changes: Changes
    total: int
    difference: int
    moved: int = 0

    def each(self) -> int | None:
        """The difference per added or removed layer, row or unit; None where they do not all cost the same."""
        match self.changes:
            case [FieldChange(field, before, after)] if field in _ALIKE:
                each: int = self.difference // (after - before)
                return each
        return None


class Explanation(NamedTuple):
    """A quantity of two models, and the parts of its difference."""

    before: int
    after: int
    parts: list[Attribution]

    @property
    def difference(self) -> int:
        """The second figure minus the first: the sum of all parts."""
        return self.after - self.before

    @property
    def by_part(self) -> bool:
        """Whether the difference is explained by components instead of fields."""
        return any(isinstance(change, PartChange) for part in self.parts for change in part.changes)

    @property
    def share(self) -> Fraction | None:
        """The difference divided by the first figure; None if that is 0."""
        return Fraction(self.difference, self.before) if self.before else None


@checked
def explain(here: Case, there: Case, quantity: Quantity) -> Explanation:
    """Explain the difference between two models with the same batch and plan."""
    way = list(path(here.subject, there.subject))
    if quantity.unit != "FLOPs":  # which do not depend on whose weights a layer has
        models = pairwise([here.subject, *(subject for _changes, subject in way)])
        way = [(_with_sharing(changes, *pair), pair[1]) for (changes, _after), pair in zip(way, models, strict=True)]
    counts = ((changes, quantity.of(here._replace(subject=one))) for changes, one in way)
    found = attributed(quantity.of(here), counts)
    if quantity.of not in (parameters, weights):
        return found
    each = quantity.of(here) // parameters(here)
    models = pairwise([here.subject, *(subject for _changes, subject in way)])
    return found._replace(
        parts=[
            part if part.difference else part._replace(moved=each * _moved(*pair))
            for part, pair in zip(found.parts, models, strict=True)
        ]
    )


def _with_sharing(changes: tuple[FieldChange, ...], here: Subject, there: Subject) -> tuple[FieldChange, ...]:
    """The changes; that of the class says whether it is one layer that runs many times."""
    before, after = _repeated(here), _repeated(there)
    if (before > 1) == (after > 1):
        return changes
    sharing = after if after > 1 else -there.config.num_hidden_layers
    return tuple(change._replace(sharing=sharing if change.field == "architecture" else 0) for change in changes)


def _repeated(subject: Subject) -> int:
    """How often a layer runs with the same weights: once, except in ALBERT."""
    steps = subject.model().run(Sizes(1, 1))
    return max((step.runs // tensor.copies for step in steps for tensor in step.tensors), default=1)


def _moved(here: Subject, there: Subject) -> int:
    """The parameters at places where the second model has more than the first."""
    before, after = (
        Counter(summed((tensor.place, tensor.num_parameters()) for tensor in subject.model().tensors()))
        for subject in (here, there)
    )
    return (after - before).total()


def attributed(before: int, counts: Iterable[tuple[Changes, int]]) -> Explanation:
    """Explain a difference from the first figure, and each change with the figure after it."""
    parts, total = [], before
    for changes, now in counts:
        parts.append(Attribution(changes, now, now - total))
        total = now
    return Explanation(before, total, parts)


@checked
def path(here: Subject, there: Subject) -> Iterator[tuple[tuple[FieldChange, ...], Subject]]:
    """The steps from one model to another: the changes of each, and the model after it, which can be built.

    A field that cannot change alone (heads that do not divide the old hidden_size) changes with the next field that
    makes a valid model.
    """
    now, target = values_of(here), values_of(there)
    fields = list(FIELDS)
    # The field disappears: first make it as wide as the layers, which changes nothing else.
    if "embedding_size" in now and "embedding_size" not in target:
        target["embedding_size"] = target["hidden_size"]
        fields.remove("embedding_size")
        fields.insert(fields.index("architecture"), "embedding_size")
    waiting: tuple[FieldChange, ...] = ()
    for field in fields:
        if field not in now or field not in target or now[field] == target[field]:
            continue
        change = FieldChange(field, now[field], target[field])
        for together in dict.fromkeys(((*waiting, change), (change,))):
            after = _changed(now, target, together)
            try:
                subject = subject_of(after)
            except ConfigError:
                continue
            yield together, subject
            now, waiting = after, tuple(one for one in waiting if one not in together)
            break
        else:
            waiting += (change,)
    if waiting:
        yield waiting, there


def _changed(now: dict[str, Any], target: dict[str, Any], changes: Sequence[FieldChange]) -> dict[str, Any]:
    """The values after some changes; a new class also brings its family's own fields."""
    after = {**now, **{change.field: change.after for change in changes}}
    if all(change.field != "architecture" for change in changes):
        return after
    after = {**target, **after}
    if "embedding_size" not in now:
        after["embedding_size"] = after["hidden_size"]
    kinds = [CLASSES[values["architecture"]].config for values in (now, target)]
    if not all(kind.has("use_cache") for kind in kinds):
        after["use_cache"] = target["use_cache"]
    return after


@checked
def differing(subjects: Sequence[Subject]) -> list[str]:
    """The fields in which some of the models differ."""
    values = list(map(values_of, subjects))
    return [field for field in FIELDS if any(one.get(field) != values[0].get(field) for one in values)]


@checked
def shapes(subject: Subject) -> dict[str, Shape]:
    """The shapes of a few matrices, by their names without the body's prefix."""
    model = subject.model()
    found = {one.place: one for one in model.tensors() if len(one.shape) == 2}
    return {model.bare(found[place].name): found[place].shape for place in _SHOWN if place in found}


class Pair(NamedTuple):
    """An instructive comparison: its name, its models as a link writes them, the lesson, and the view to show it in."""

    name: str
    models: str
    lesson: str
    view: str = ""


PAIRS = {key: Pair(**{**pair, "models": " ".join(pair["models"])}) for key, pair in _WORDS["pairs"].items()}
WELL_KNOWN: tuple[str, ...] = tuple(_WORDS["pairs"]["well-known"]["models"])
