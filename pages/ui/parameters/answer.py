"""The answer to the first page's question: BERT's parameter count, and how the session's model differs from BERT."""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sympy import Integer

from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.compare import COST_ALIKE, COUNTED_PHRASES, Attribution, FieldChange, counted_words, explain
from bertcalc.explore.model_values import FIELDS, values_of
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.families import class_of, family_of
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.live.live_formulas import live_size, node_of_formula
from bertcalc.model.formula import SYMBOLS, symbolic_model
from bertcalc.model.model import Model
from bertcalc.model.names import PART_NAMES
from bertcalc.model.totals import comparable_totals
from bertcalc.text.digits import signed_count
from bertcalc.text.live_numbers import evaluated, fill, is_live, joined, live, mirrored
from pages.ui.compare.compare_words import signed
from pages.ui.shell.i18n import _, in_a_row, listed, space
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.bars import preset_in_class

_FAMILY = family_of(PRESETS[DEFAULT_PRESET].config)
_NAMED = 3  # maximum number of parts of a difference that a sentence names
_SIZES = [field for field in FIELDS if field in SLIDERS]


class SentencePart(NamedTuple):
    """A change to a model: its phrases, the field's values, and the change's effect on the parameter count.

    The four phrases are for one more, several more, one fewer and several fewer; a single phrase replaces all of them.
    ``alike`` says whether each unit, such as a layer or a row, makes the same difference. ``counted`` says whether the
    field is a count, such as the number of layers.
    """

    phrases: tuple[str, ...]
    before: int
    after: int
    difference: int
    alike: bool = False
    counted: bool = True

    @property
    def phrase(self) -> str:
        first, *others = self.phrases
        return counted_words(self.phrases, self.before, self.after) if others else first


@mirrored
def difference_sentence(parts: tuple[SentencePart, ...], messages: tuple[str, ...]) -> str:
    """A sentence with the changes that have the largest effect, and the total difference; empty if nothing changes.

    ``messages`` contains a sentence for counted changes, a sentence for other changes, and the texts of ``_messages``.
    """
    has, otherwise, same, more, in_all, whole, each, comma = messages
    changed = [part for part in parts if part.before != part.after]
    if not changed:
        return ""
    counting = [part for part in changed if part.difference]
    named = sorted(counting or changed, key=lambda part: -abs(part.difference))[:_NAMED]
    changes = comma.join(part.phrase for part in named)
    difference = signed_count(sum(part.difference for part in changed))
    if not counting:
        words = same.format(changes=changes)
    elif counting[1:]:
        words = in_all.format(
            changes=more.format(changes=changes) if counting[_NAMED:] else changes, difference=difference
        )
    else:
        [part] = counting
        amount = part.difference // (part.after - part.before) if part.alike else 0
        if amount and amount != abs(part.difference):
            words = each.format(changes=changes, each=amount)
        else:
            words = whole.format(changes=changes, difference=difference)
    return (has if all(part.counted for part in named) else otherwise).format(changes=words)


def sentence(choice: Choice) -> str:
    """The answer as Markdown: BERT's published counts, followed by the count of the session's model if it differs."""
    present = yours(choice)
    return in_a_row([published(), fill("**{present}**", present=present) if present or is_live(present) else ""])


def published() -> str:
    """A sentence with the exact counts that the paper's "110M" can refer to."""
    message = _(
        "{preset} has {count:,} parameters ({bare:,} without pooler). The paper's 110M rounds this, or "
        "{pretraining:,} with pre-training heads."
    )
    count, pretraining = (_count(DEFAULT_PRESET, name) for name in (_FAMILY.base.name, _FAMILY.for_task("pretraining")))
    bare = _count(DEFAULT_PRESET, _FAMILY.base.name, add_pooling_layer=False)
    return message.format(preset=DEFAULT_PRESET, count=count, bare=bare, pretraining=pretraining)


def yours(choice: Choice) -> str:
    """Sentences on how the session's model differs from bert-base-uncased, with exact counts; empty if it does not.

    One sentence compares the preset with bert-base-uncased, the other compares the model with its preset. Both use the
    architecture of the model.
    """
    base, start = (preset_in_class(name, choice.architecture) for name in (DEFAULT_PRESET, choice.preset))
    parts = _parts(start, choice.model)
    if family_of(start.config) != _FAMILY and not any(part.before != part.after for part in parts):
        return _of_another_family(choice, base, start)
    same_family = family_of(start.config) == _FAMILY
    return joined(space(), (_start(choice, _parts(base, start) if same_family else ()), _changed(parts)))


def _of_another_family(choice: Choice, base: Model, start: Model) -> str:
    """A sentence that compares a preset of another family with BERT.

    Their fields differ, so the sentence names the parts with the largest differences.
    """
    base_totals, start_totals = (comparable_totals(model) for model in (base, start))
    changes = {part: start_totals.get(part, 0) - base_totals.get(part, 0) for part in {**base_totals, **start_totals}}
    most = sorted(filter(changes.get, changes), key=lambda part: -abs(changes[part]))
    words = listed(f"{_(PART_NAMES[part])} {signed(changes[part])}" for part in most[:_NAMED])
    parts = _("{parts} and smaller ones").format(parts=words) if most[_NAMED:] else words
    difference = sum(changes.values())
    if not difference:
        message = _("{name} has {count:,}, as many as {base}.")
    elif difference > 0:
        message = _("{name} has {count:,}, {difference:,} more than {base}: {parts}.")
    else:
        message = _("{name} has {count:,}, {difference:,} fewer than {base}: {parts}.")
    count, name = _count(choice.preset, choice.architecture), _named_preset(choice)
    named = DEFAULT_PRESET
    if base.cls.task != "base":
        words = _("{preset} as {architecture} ({count:,})")
        named = words.format(preset=named, architecture=base.architecture, count=base.num_parameters())
    return message.format(name=name, count=count, difference=abs(difference), base=named, parts=parts)


def _start(choice: Choice, why: tuple[SentencePart, ...]) -> str:
    """A sentence with the preset's parameter count in this architecture; empty for bert-base-uncased as BertModel."""
    preset, architecture = choice.preset, choice.architecture
    count, name = _count(preset, architecture), _named_preset(choice)
    if preset == DEFAULT_PRESET:
        message = "" if class_of(architecture).task == "base" else _("As {architecture}, it has {count:,}.")
        return message.format(architecture=architecture, count=count)
    if changes := difference_sentence(why, ("{changes}", "{changes}", *_messages())):
        if class_of(architecture).task != "base":  # the differences are from BERT in this class
            message = _("As {architecture}, {base} has {of_base:,}, and {preset} has {count:,}: {changes}.")
            of_base = _count(DEFAULT_PRESET, architecture)
            names = {"architecture": architecture, "base": DEFAULT_PRESET, "preset": preset}
            return message.format(**names, of_base=of_base, count=count, changes=changes)
        return _("{name} has {count:,}: {changes}.").format(name=name, count=count, changes=changes)
    return _("{name} has {count:,}.").format(name=name, count=count)


def _named_preset(choice: Choice) -> str:
    """The preset's name, followed by the architecture unless it is the base model."""
    preset, architecture = choice.preset, choice.architecture
    if class_of(architecture).task == "base":
        return preset
    return _("{preset} as {architecture}").format(preset=preset, architecture=architecture)


def _changed(parts: tuple[SentencePart, ...]) -> str:
    """A sentence with the fields that differ from the preset; empty if all fields are equal."""
    return difference_sentence(parts, (_("Yours has {changes}."), _("Yours: {changes}."), *_messages()))


def _messages() -> tuple[str, ...]:
    return (
        _("{changes}, with the same count"),
        _("{changes} and other changes"),
        _("{changes}, {difference} in all"),
        _("{changes}, {difference}"),
        _("{changes}, {each:,} each"),
        _(", "),
    )


def _parts(start: Model, goal: Model) -> tuple[SentencePart, ...]:
    """The changes from one model to another. They are live if the models differ only in sizes with a slider."""
    before, after = values_of(start), values_of(goal)
    differing = {field for field in FIELDS if before.get(field) != after.get(field)}
    if differing <= {*_SIZES} and symbolic_model(start) is symbolic_model(goal):
        return tuple(_live_parts(start, goal))
    explanation = explain(Case(start), Case(goal), QUANTITIES["parameters"])
    return tuple(map(_part, explanation.parts))


def _live_parts(start: Model, goal: Model) -> Iterator[SentencePart]:
    """Yield a change for each slider, with its effect if the sliders are moved one by one in the order of FIELDS."""
    config, sizes = start.config, goal.config.shared()
    totals = [start.num_parameters()]
    fields = [field for field in _SIZES if config.has(field)]
    for at, field in enumerate(fields):
        node = _with_sizes(symbolic_model(goal), tuple((other, getattr(config, other)) for other in fields[at + 1 :]))
        totals.append(live(int(evaluated(node, sizes)), node))
        phrases = tuple(map(_, COUNTED_PHRASES[field]))
        before, after = getattr(config, field), live_size(field, sizes[field])
        yield SentencePart(phrases, before, after, totals[-1] - totals[-2], alike=field in COST_ALIKE)


@lru_cache(maxsize=512)
def _with_sizes(model: Model, sizes: tuple[tuple[str, int], ...]) -> Any:
    """The live node of a symbolic model's parameter count, with numbers substituted for the fields in ``sizes``."""
    formula: Any = model.num_parameters()
    return node_of_formula(formula.xreplace({SYMBOLS[field]: Integer(size) for field, size in sizes}))


def _part(part: Attribution) -> SentencePart:
    """Convert a part to a SentencePart that is not live. It names the number of heads only if nothing else changes."""
    changes = [change for change in part.changes if change.field != "num_attention_heads"] or part.changes
    sentences = (change.sentence(alone=len(changes) == 1) for change in changes)
    phrase = listed(_(message).format(**values) for message, values in sentences)
    counted = all(change.counted for change in part.changes)
    match part.changes:
        case [FieldChange(field, before, after)] if field in COST_ALIKE:
            return SentencePart((phrase,), before, after, part.difference, alike=True, counted=counted)
    return SentencePart((phrase,), 0, 1, part.difference, counted=counted)


@cache
def _count(preset: str, architecture: str, add_pooling_layer: bool = True) -> int:
    model = preset_in_class(preset, architecture)
    return (model if add_pooling_layer else model.changed(add_pooling_layer=False)).num_parameters()
