"""The answer to the question of the first page: BERT's count, and how the present model differs from it."""

from functools import cache

from bertcalc.explore.compare import Attribution, Explanation, explain
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.families import class_of, counterpart, family_of
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.model.names import PART_NAMES
from bertcalc.model.totals import totals_by_part
from pages.ui.compare.compare_words import signed
from pages.ui.shell.i18n import _, in_a_row, listed
from pages.ui.shell.sidebar import Choice

_FAMILY = family_of(PRESETS[DEFAULT_PRESET].config)
_NAMED = 3  # parts of a difference


def sentence(choice: Choice) -> str:
    """The answer as Markdown: the published counts, and the present model's."""
    present = yours(choice)
    return in_a_row([published(), present and f"**{present}**"])


def published() -> str:
    """A sentence with the counts that the paper's 110M can stand for."""
    message = _(
        "{preset} has {count:,}; the paper's 110M is this number to two significant digits, or {pretraining:,}, the "
        "count with the pre-training heads."
    )
    count, pretraining = (_count(DEFAULT_PRESET, name) for name in (_FAMILY.base.name, _FAMILY.for_task("pretraining")))
    return message.format(preset=DEFAULT_PRESET, count=count, pretraining=pretraining)


def yours(choice: Choice) -> str:
    """Describe how the present model differs, with exact numbers; empty for bert-base-uncased itself.

    It is compared with its preset in the same architecture, as under the total; an unchanged preset is compared with
    bert-base-uncased.
    """
    base, start = (_model(name, choice.architecture) for name in (DEFAULT_PRESET, choice.preset))
    changed = _explained(start, choice.model)
    if not changed.parts and family_of(start.config) != _FAMILY:
        return _of_another_family(choice, base, start)
    why = Explanation(0, 0, []) if changed.parts else _explained(base, start)
    return in_a_row([_start(choice, why), _changed(changed)])


def _of_another_family(choice: Choice, base: Model, start: Model) -> str:
    """Compare a preset of another family by the parts that differ most, since BERT lacks some of its fields."""
    base_totals, start_totals = (totals_by_part(model) for model in (base, start))
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
    return message.format(name=name, count=count, difference=abs(difference), base=DEFAULT_PRESET, parts=parts)


def _start(choice: Choice, why: Explanation) -> str:
    """A sentence with the preset's count in this architecture; empty for bert-base-uncased as BertModel."""
    preset, architecture = choice.preset, choice.architecture
    count, name = _count(preset, architecture), _named_preset(choice)
    if preset == DEFAULT_PRESET:
        message = "" if class_of(architecture).task == "base" else _("As {architecture} it has {count:,}.")
        return message.format(architecture=architecture, count=count)
    if why.parts:
        return _("{name} has {count:,}: {changes}.").format(name=name, count=count, changes=_words(why))
    return _("{name} has {count:,}.").format(name=name, count=count)


def _named_preset(choice: Choice) -> str:
    """The preset's name, with the class unless that is the base model."""
    preset, architecture = choice.preset, choice.architecture
    if class_of(architecture).task == "base":
        return preset
    return _("{preset} as {architecture}").format(preset=preset, architecture=architecture)


def _changed(explanation: Explanation) -> str:
    """A sentence with the fields that differ from the preset; empty if none does."""
    if not explanation.parts:
        return ""
    counted = all(change.counted for part in _named(explanation) for change in part.changes)
    return (_("Yours has {changes}.") if counted else _("Yours: {changes}.")).format(changes=_words(explanation))


def _words(explanation: Explanation) -> str:
    """The changes that contribute most to a difference, and the difference itself."""
    counting = [part for part in explanation.parts if part.difference]
    changes = listed(map(_phrase, _named(explanation)))
    if not counting:
        return _("{changes}, with the same count").format(changes=changes)
    if len(counting) > 1:
        if counting[_NAMED:]:
            changes = _("{changes} and other changes").format(changes=changes)
        return _("{changes}, {difference} in all").format(changes=changes, difference=signed(explanation.difference))
    amount = counting[0].each()
    if amount is None or amount == abs(explanation.difference):
        return _("{changes}, {difference}").format(changes=changes, difference=signed(explanation.difference))
    return _("{changes}, {each:,} each").format(changes=changes, each=amount)


def _named(explanation: Explanation) -> list[Attribution]:
    """The largest parts of the difference; if the counts are equal, the parts that change something else."""
    parts = [part for part in explanation.parts if part.difference] or explanation.parts
    return sorted(parts, key=lambda part: -abs(part.difference))[:_NAMED]


def _phrase(part: Attribution) -> str:
    """The changed fields in words, without a number of heads that only follows another field."""
    changes = [change for change in part.changes if change.field != "num_attention_heads"] or part.changes
    sentences = (change.sentence(alone=len(changes) == 1) for change in changes)
    return listed(_(message).format(**values) for message, values in sentences)


def _explained(before: Model, after: Model) -> Explanation:
    return explain(Case(before), Case(after), QUANTITIES["parameters"])


@cache
def _count(preset: str, architecture: str) -> int:
    return _model(preset, architecture).num_parameters()


def _model(preset: str, architecture: str) -> Model:
    """A preset in this class, or in its own family's class for the same task."""
    config = PRESETS[preset].config
    return Model(config, counterpart(architecture, family_of(config)))
