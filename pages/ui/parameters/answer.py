"""The answer to the question of the first page: BERT's count, and how the present model differs from it."""

from functools import cache

from bertcalc.explore.compare import Attribution, Explanation, explain
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.families import class_of, counterpart, family_of
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.names import PART_NAMES
from bertcalc.model.subject import Subject
from bertcalc.model.totals import totals_by_part
from pages.ui.compare.compare_words import signed
from pages.ui.shell.i18n import _, in_a_row, listed
from pages.ui.shell.sidebar import Choice

_FAMILY = family_of(PRESETS[DEFAULT_PRESET].config)
_NAMED = 3  # parts of a difference


def sentence(choice: Choice) -> str:
    """The answer as Markdown: the published counts, and the present model's."""
    own = yours(choice)
    return in_a_row([published(), own and f"**{own}**"])


def published() -> str:
    """A sentence with the counts that the paper's 110M can stand for."""
    message = _(
        "{preset} has {count:,}; the paper's 110M is this number to two significant digits, or {pretraining:,}, the "
        "count with the pre-training heads."
    )
    count, pretraining = (_count(DEFAULT_PRESET, name) for name in (_FAMILY.base.name, _FAMILY.for_task("pretraining")))
    return message.format(preset=DEFAULT_PRESET, count=count, pretraining=pretraining)


def yours(choice: Choice) -> str:
    """Sentences on how the present model differs, with exact numbers; empty for bert-base-uncased itself.

    It is compared with its preset in the same architecture, as under the total; an unchanged preset is compared with
    bert-base-uncased.
    """
    base, start = (_subject(name, choice.architecture) for name in (DEFAULT_PRESET, choice.preset))
    changed = _explained(start, choice.subject)
    if not changed.parts and family_of(start.config) != _FAMILY:
        return _of_another_family(choice, base, start)
    why = Explanation(0, 0, []) if changed.parts else _explained(base, start)
    return in_a_row([_start(choice, why), _changed(changed)])


def _of_another_family(choice: Choice, base: Subject, start: Subject) -> str:
    """Compare a preset of another family by the parts that differ most, since BERT lacks some of its fields."""
    here, there = (totals_by_part(subject.model()) for subject in (base, start))
    found = {part: there.get(part, 0) - here.get(part, 0) for part in {**here, **there}}
    most = sorted(filter(found.get, found), key=lambda part: -abs(found[part]))
    words = listed(f"{_(PART_NAMES[part])} {signed(found[part])}" for part in most[:_NAMED])
    parts = _("{parts} and smaller ones").format(parts=words) if most[_NAMED:] else words
    difference = sum(found.values())
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


def _changed(found: Explanation) -> str:
    """A sentence with the fields that differ from the preset; empty if none does."""
    if not found.parts:
        return ""
    counted = all(change.counted for part in _named(found) for change in part.changes)
    return (_("Yours has {changes}.") if counted else _("Yours: {changes}.")).format(changes=_words(found))


def _words(found: Explanation) -> str:
    """The changes that contribute most to a difference, and the difference itself."""
    counting = [part for part in found.parts if part.difference]
    changes = listed(map(_phrase, _named(found)))
    if not counting:
        return _("{changes}, with the same count").format(changes=changes)
    if len(counting) > 1:
        if counting[_NAMED:]:
            changes = _("{changes} and other changes").format(changes=changes)
        return _("{changes}, {difference} in all").format(changes=changes, difference=signed(found.difference))
    each = counting[0].each()
    if each is None or each == abs(found.difference):
        return _("{changes}, {difference}").format(changes=changes, difference=signed(found.difference))
    return _("{changes}, {each:,} each").format(changes=changes, each=each)


def _named(found: Explanation) -> list[Attribution]:
    """The largest parts of the difference; if the counts are equal, the parts that change something else."""
    parts = [part for part in found.parts if part.difference] or found.parts
    return sorted(parts, key=lambda part: -abs(part.difference))[:_NAMED]


def _phrase(part: Attribution) -> str:
    """The changed fields in words, without a number of heads that only follows another field."""
    changes = [change for change in part.changes if change.field != "num_attention_heads"] or part.changes
    sentences = (change.sentence(alone=len(changes) == 1) for change in changes)
    return listed(_(message).format(**values) for message, values in sentences)


def _explained(here: Subject, there: Subject) -> Explanation:
    return explain(Case(here), Case(there), QUANTITIES["parameters"])


@cache
def _count(preset: str, architecture: str) -> int:
    return _subject(preset, architecture).model().num_parameters()


def _subject(preset: str, architecture: str) -> Subject:
    """A preset in this class, or in its own family's class for the same task."""
    config = PRESETS[preset].config
    return Subject(config, counterpart(architecture, family_of(config)))
