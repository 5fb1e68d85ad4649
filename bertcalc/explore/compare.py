"""Explain the difference between two models as a sum over the fields that differ; exact for every quantity.

The fields change one after another, in the order of FIELDS. The change steps of the models, such as adapters, change
last, one by one. The model is counted after each change, so the parts add up, and each part can be checked by changing
that field in the sidebar. A different order would give different parts: the more hidden units, the more parameters an
additional layer has.

>>> from bertcalc.explore.quantities import QUANTITIES
>>> from bertcalc.families.presets import PRESETS
>>> base, large = (Case(Model(PRESETS[name].config)) for name in ("bert-base-uncased", "bert-large-uncased"))
>>> for part in explain(base, large, QUANTITIES["parameters"]).parts:
...     print(*(str(change) for change in part.changes), f"{part.difference:+,}")
12 more layers +85,054,464
4 more heads +0
256 more hidden units +90,248,960
1,024 more feed-forward units +50,356,224
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise, zip_longest
from typing import Any, NamedTuple

from bertcalc.change_steps.effects import with_steps
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.explore.model_values import FIELDS, STEPS, model_of, values_of
from bertcalc.explore.quantities import Case, Quantity, parameters, weights
from bertcalc.families import CLASSES
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import Place, Shape
from bertcalc.model.totals import Component, comparable_totals, summed
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.live_numbers import LiveInt, grouped, mirrored, plain
from bertcalc.text.problem import InputError
from bertcalc.text.toml_tables import table_beside

_WORDS = table_beside(__file__)
# Phrases for one more, several more, one fewer, several fewer.
COUNTED_PHRASES: dict[str, list[str]] = {line["field"]: line["phrases"] for line in _WORDS["counted"]}
# Fields for which every additional layer, row or unit costs the same. Hidden units, whose cost is quadratic, and heads
# are not included.
COST_ALIKE = COUNTED_PHRASES.keys() - {"hidden_size", "num_attention_heads"}
# Phrases for each switch: turned on, turned off.
_SWITCHED: dict[str, tuple[str, str]] = {
    "add_pooling_layer": (N_("with a pooler"), N_("without a pooler")),
    "tie_word_embeddings": (N_("decoder tied to the word embeddings"), N_("decoder with its own matrix")),
    "is_decoder": (N_("a decoder"), N_("no decoder")),
    "add_cross_attention": (N_("with cross-attention"), N_("without cross-attention")),
}
_QUERY, _UP = Place("encoder", "attention", "query"), Place("encoder", "feed-forward", "up")
_FUSED, _GATED = Place("encoder", "attention", "query, key, value"), Place("encoder", "feed-forward", "up and gate")
# A comparison shows the shapes of these matrices.
_SHOWN = (Place("embeddings", role="word"), Place("embeddings", role="position"), _QUERY, _UP, _FUSED, _GATED)
Steps = tuple[ChangeStep, ...]


class FieldChange(NamedTuple):
    """A field that differs, with its values in both models.

    ``sharing`` is nonzero only if the class changes to or from a class with a single layer that runs many times
    (ALBERT). It is n if a single layer runs n times after the change, and -n if n layers have their own weights after
    it. For the field "changes", the values are tuples of the replaced steps and their replacements. A tuple is empty if
    a step is only added or removed.
    """

    field: str
    before: Any
    after: Any
    sharing: int = 0

    @property
    def counted(self) -> bool:
        """Whether the field counts something, as in "12 more layers"."""
        return self.field in COUNTED_PHRASES

    def sentence(self, *, alone: bool = True) -> tuple[str, dict[str, str]]:
        """Return an English phrase with placeholders, and the values of the placeholders.

        With ``alone``, no other field changes at the same time.
        """
        field, before, after, sharing = self
        sizes = {"after": after, "before": before}
        if sharing > 0:
            return N_("one layer, run {count} times"), {"count": grouped(sharing)}
        if sharing < 0:
            return N_("{count} layers, each with its own weights"), {"count": f"{-sharing:,}"}
        if field == "type_vocab_size" and not after:
            return N_("without token types"), {}
        if field in COUNTED_PHRASES:
            growth = after - before
            return _counted_phrase(COUNTED_PHRASES[field], growth), {"count": f"{abs(growth):,}"}
        if field in _SWITCHED:
            return _SWITCHED[field][not after], {}
        if field == STEPS:
            return _steps_in_words(before, after)
        if field == "architecture" and not alone:
            return N_("as {after}"), {"after": after}
        if field == "architecture":
            return N_("{after} instead of {before}"), {"after": after, "before": before}
        values = {name: plain(size) if type(size) is LiveInt else f"{size}" for name, size in sizes.items()}
        return N_("{field} {after} instead of {before}"), {"field": field, **values}

    def __str__(self) -> str:
        message, values = self.sentence()
        return message.format(**values)


@mirrored
def counted_words(phrases: tuple[str, ...], before: int, after: int) -> str:
    """Return the phrase for a change of a number; "" for no change.

    ``phrases`` are for one more, several more, one fewer, and several fewer.
    """
    growth = after - before
    return _counted_phrase(phrases, growth).format(count=f"{abs(growth):,}") if growth else ""


def _steps_in_words(before: Sequence[object], after: Sequence[object]) -> tuple[str, dict[str, str]]:
    values = {name: ", ".join(map(str, steps)) for name, steps in (("before", before), ("after", after))}
    if not values["before"]:
        return N_("with {after}"), values
    if not values["after"]:
        return N_("without {before}"), values
    return N_("{after} instead of {before}"), values


def _counted_phrase(phrases: Sequence[str], growth: int) -> str:
    return phrases[2 * (growth < 0) + (abs(growth) > 1)]


class PartChange(NamedTuple):
    """A component's figures in two models without common fields; an empty ``field`` means the whole model."""

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
    """Fields that change together, the figure after the change, and the difference that the change makes.

    If the change removes and adds the same amount, ``moved`` is this amount. If some parts of the model shrink and
    others grow, ``inside`` has a (part, difference) pair for each part, named as in PART_NAMES.
    """

    changes: Changes
    total: int
    difference: int
    moved: int = 0
    inside: tuple[tuple[tuple[Component, str], int], ...] = ()

    @property
    def named(self) -> Changes:
        """The changes to mention: if the class changes, only the class, counts (such as layers) and switches."""
        of_class = [change for change in self.changes if change.field == "architecture" or change.counted]
        switched = [change for change in self.changes if change.field in _SWITCHED]
        return (*of_class, *switched) if any(change.field == "architecture" for change in of_class) else self.changes

    @property
    def has_effect(self) -> bool:
        """Whether the changes affect the figure or could: a number of heads could, a dropout probability cannot."""
        return bool(self.difference or self.moved) or any(
            change.counted or change.field in ("", "architecture", STEPS, *_PARTS) for change in self.changes
        )


class Breakdown(NamedTuple):
    """A quantity of two models, and its difference split into parts."""

    before: int
    after: int
    parts: list[Attribution]

    @property
    def difference(self) -> int:
        """The second figure minus the first: the sum of all parts."""
        return self.after - self.before

    @property
    def fields_without_effect(self) -> list[str]:
        """The fields that differ but do not affect the quantity."""
        return [change.field for part in self.parts if not part.has_effect for change in part.changes]

    @property
    def by_part(self) -> bool:
        """Whether the difference is explained by components instead of fields."""
        return any(isinstance(change, PartChange) for part in self.parts for change in part.changes)

    @property
    def share(self) -> Fraction | None:
        """The difference divided by the first figure; None if the first figure is 0."""
        return Fraction(self.difference, self.before) if self.before else None


@checked
def explain(start: Case, goal: Case, quantity: Quantity) -> Breakdown:
    """Explain the difference of a quantity between two models, both counted with the batch and plan of ``start``.

    Raises InputError if a model does not have the quantity.
    """
    return explain_path(start, list(path(start, goal)), quantity)


def explain_path(start: Case, stages: Sequence[tuple[tuple[FieldChange, ...], Case]], quantity: Quantity) -> Breakdown:
    """Explain the difference of a quantity along a path from ``start`` (see ``path``)."""
    goal = stages[-1][1] if stages else start
    models = [start.model, *(case.model for _changes, case in stages)]
    if quantity.unit != "FLOPs":  # FLOPs do not depend on whether layers share weights
        stages = [
            (_with_sharing(changes, *pair), case)
            for (changes, case), pair in zip(stages, pairwise(models), strict=True)
        ]
    figures = joined_until_known((changes, partial(quantity.of, case)) for changes, case in stages)
    explanation = attributed(quantity.of(start), figures)
    if quantity.of not in (parameters, weights) or start.base or goal.base:
        return explanation
    per_parameter = quantity.of(start) // parameters(start)
    return explanation._replace(
        parts=[
            _with_places(part, *pair, per_parameter)
            for part, pair in zip(explanation.parts, pairwise(models), strict=True)
        ]
    )


def _with_places(part: Attribution, start: Model, goal: Model, per_parameter: int) -> Attribution:
    """Return a part with ``moved`` if its difference is 0, or with ``inside`` if some parts shrink and others grow."""
    if not part.difference:
        return part._replace(moved=per_parameter * _moved(start, goal))
    before, after = comparable_totals(start), comparable_totals(goal)
    grown = [(key, per_parameter * (after.get(key, 0) - before.get(key, 0))) for key in {**before, **after}]
    is_netted = min(growth for _key, growth in grown) < 0 < max(growth for _key, growth in grown)
    return part._replace(inside=tuple((key, growth) for key, growth in grown if growth)) if is_netted else part


def joined_until_known(stages: Iterable[tuple[Changes, Callable[[], int]]]) -> Iterator[tuple[Changes, int]]:
    """Yield (changes, figure after them) pairs; changes without a figure are merged with the next changes.

    For example, a quantized model cannot be trained before it has an adapter. Raises InputError if there is no figure
    after the last change.
    """
    waiting: Changes = ()
    refused: InputError | None = None
    for changes, figure in stages:
        waiting += changes
        try:
            total = figure()
        except InputError as error:
            refused = error
            continue
        yield waiting, total
        waiting, refused = (), None
    if refused:
        raise refused


def _with_sharing(changes: tuple[FieldChange, ...], start: Model, goal: Model) -> tuple[FieldChange, ...]:
    """Set ``sharing`` for a change of class to or from a single layer that runs many times."""
    if all(change.field != "architecture" for change in changes):
        return changes
    before, after = _repeated(start), _repeated(goal)
    if (before > 1) == (after > 1):
        return changes
    sharing = after if after > 1 else -goal.final_config.num_hidden_layers
    return tuple(change._replace(sharing=sharing if change.field == "architecture" else 0) for change in changes)


def _repeated(model: Model) -> int:
    """Return how often a layer runs with the same weights: more than once only in ALBERT."""
    steps = model.changed(model.final_config, changes=()).steps(Batch(1, 1))
    return max((step.runs // tensor.copies for step in steps for tensor in step.tensors), default=1)


def _moved(start: Model, goal: Model) -> int:
    """Return the parameters that the second model gains, summed over the places where it has more than the first."""
    before, after = (
        Counter(summed((tensor.place, tensor.num_parameters()) for tensor in model.tensors()))
        for model in (start, goal)
    )
    return (after - before).total()


def attributed(before: int, counts: Iterable[tuple[Changes, int]]) -> Breakdown:
    """Create a breakdown from the first figure and from (changes, figure after them) pairs."""
    parts, total = [], before
    for changes, figure in counts:
        parts.append(Attribution(changes, figure, figure - total))
        total = figure
    return Breakdown(before, total, parts)


@checked
def path(start: Case, goal: Case) -> Iterator[tuple[tuple[FieldChange, ...], Case]]:
    """Yield the path from one model to another, as (fields that change together, valid model after the change) pairs.

    A field that cannot change alone, such as heads that do not divide the old hidden_size, changes together with the
    next field that gives a valid model. The models keep the change steps of ``start`` until all fields have changed.
    Then the change steps change, one by one.
    """
    current, target = values_of(start.model), values_of(goal.model)
    before, after = start.changed.steps, goal.changed.steps
    fields = list(FIELDS)
    # If embedding_size disappears, first set it to hidden_size, so that the change of class does not change the width
    # of the embeddings.
    if "embedding_size" in current and "embedding_size" not in target:
        target["embedding_size"] = target["hidden_size"]
        fields.remove("embedding_size")
        fields.insert(fields.index("architecture"), "embedding_size")
    waiting: tuple[FieldChange, ...] = ()
    for field in fields:
        if field not in current or field not in target or current[field] == target[field]:
            continue
        change = FieldChange(field, current[field], target[field])
        for together in dict.fromkeys(((*waiting, change), (change,))):
            values = _changed(current, target, together)
            try:
                case = start.of(with_steps(model_of(values), before))
            except InputError:
                continue
            yield together, case
            current, waiting = values, tuple(pending for pending in waiting if pending not in together)
            break
        else:
            waiting += (change,)
    for replaced, replacing, steps in _replaced_steps(before, after):
        waiting += (FieldChange(STEPS, replaced, replacing),)
        if steps == after:
            break
        values = _changed(current, target, [change for change in waiting if change.field != STEPS])
        try:
            case = start.of(with_steps(model_of(values), steps))
        except InputError:
            continue
        yield waiting, case
        current, waiting = values, ()
    if waiting:
        yield waiting, start.of(goal.changed)


def _replaced_steps(before: Steps, after: Steps) -> Iterator[tuple[Steps, Steps, Steps]]:
    """Yield the replacements one by one, as (replaced steps, their replacements, all steps afterwards) triples.

    A new step replaces the old step at the corresponding position. Steps without a counterpart are removed first, from
    the last to the first. Then the other steps are replaced or added.
    """
    matcher = SequenceMatcher(a=[*map(type, before)], b=[*map(type, after)], autojunk=False)
    pairs: list[tuple[Steps, Steps]] = []
    for _tag, *ends in matcher.get_opcodes():
        old, new = before[ends[0] : ends[1]], after[ends[2] : ends[3]]
        pairs += zip_longest(((step,) for step in old), ((step,) for step in new), fillvalue=())
    removed = [at for at, (_old, new) in enumerate(pairs) if not new]
    others = [at for at, (old, new) in enumerate(pairs) if new and old != new]
    present = [old for old, _new in pairs]
    for at in (*reversed(removed), *others):
        present[at] = pairs[at][1]
        yield *pairs[at], tuple(chain.from_iterable(present))


def _changed(current: dict[str, Any], target: dict[str, Any], changes: Sequence[FieldChange]) -> dict[str, Any]:
    """Return the values after the changes. If the class changes, they include fields that only the new family has."""
    after = {**current, **{change.field: change.after for change in changes}}
    if all(change.field != "architecture" for change in changes):
        return after
    after = {**target, **after}
    if "embedding_size" not in current:
        after["embedding_size"] = after["hidden_size"]
    kinds = [CLASSES[values["architecture"]].config for values in (current, target)]
    if not all(kind.has("use_cache") for kind in kinds):
        after["use_cache"] = target["use_cache"]
    return after


@checked
def differing(models: Sequence[Model]) -> list[str]:
    """Return the fields in which the models differ, in the order of FIELDS."""
    values = list(map(values_of, models))
    return [field for field in FIELDS if any(other.get(field) != values[0].get(field) for other in values)]


@checked
def shapes(model: Model) -> dict[str, Shape]:
    """Return the shapes of the matrices that a comparison shows, keyed by name without the body's prefix."""
    by_place = {tensor.place: tensor for tensor in model.tensors() if len(tensor.shape) == 2}
    return {model.without_prefix(by_place[place].name): by_place[place].shape for place in _SHOWN if place in by_place}


class Pair(NamedTuple):
    """An instructive comparison: its name, the models as in a link, the lesson, and the view that shows it."""

    name: str
    models: str
    lesson: str
    view: str = ""


PAIRS = {key: Pair(**{**pair, "models": " ".join(pair["models"])}) for key, pair in _WORDS["pairs"].items()}
WELL_KNOWN: tuple[str, ...] = tuple(_WORDS["pairs"]["well-known"]["models"])
