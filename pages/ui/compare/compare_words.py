"""Texts of the Compare page: names of models, changes, values and differences."""

from collections.abc import Sequence
from typing import Any

from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.config import LETTERS
from bertcalc.explore.compare import Breakdown
from bertcalc.explore.model_values import STEPS
from bertcalc.model_ref import PRESENT, ModelRef
from bertcalc.text import distinct, written
from bertcalc.text.digits import signed_count
from bertcalc.text.live_numbers import LiveInt, fill, grouped
from pages.ui.change.step_words import brief
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.numbers import times

_MOST_CHANGES = 5  # in the name of a model
_ENOUGH = 8  # characters of changes that stand alone, without the base


def names_of(items: Sequence[ModelRef], steps: Sequence[ChangeStep] = ()) -> list[str]:
    """A distinct name for each model.

    ``steps`` are the steps of the current model. They are part of its name unless its reference specifies other steps.
    """
    items = [
        item.with_steps(steps) if steps and isinstance(item, ModelRef) and item.has_steps_of_present else item
        for item in items
    ]
    same_base = len(items) > 1 and len({item.base for item in items}) == 1
    return distinct([_name(item, same_base) for item in items])


def in_caption(name: str, item: ModelRef, model: str) -> str:
    """A model's name in an exported file.

    Files show no sidebar, so the names of the current model and its variants contain ``model``, a description of it.
    """
    present = _("current model")
    if item.base != PRESENT:
        return name
    return name.replace(present, model) if present in name else listed([model, name])


def _name(item: ModelRef, same_base: bool) -> str:
    """The base of a model followed by its first changes.

    The base is omitted if all models have the same base and the text of the changes is long enough to stand alone.
    """
    ordered = sorted(item.changes, key=lambda change: change[0] != "architecture")
    changes = listed(change_words(field, value) for field, value in ordered[:_MOST_CHANGES])
    if item.changes[_MOST_CHANGES:]:
        changes = listed([changes, "..."])
    if same_base and len(changes) > _ENOUGH:
        return changes
    if item.is_discovered:
        base = _("{cls} of a config.json").format(cls=item.cls) if item.config else item.cls
    else:
        base = _("current model") if item.base == PRESENT else item.base
    return listed([base, changes]) if changes else base


def change_words(field: str, value: Any) -> str:
    """A change as a short text, such as "L 24"; the text is live if the value is live."""
    if field == "architecture":
        return str(value)
    if field == STEPS:
        return steps_text(value)
    return fill("{letter} {value:,}", letter=LETTERS[field], value=value) if field in LETTERS else f"{field} {value}"


def steps_text(steps: Sequence[ChangeStep]) -> str:
    """A short description of the steps, for example for the name of a model; "without steps" if there are none."""
    return listed(map(brief, steps)) if steps else _("without steps")


def value_text(value: object) -> str:
    """The value of a field as text, which is live if the value is live."""
    return grouped(value) if isinstance(value, LiveInt) else written(value)


def signed(difference: int) -> str:
    """A difference with its sign; no difference is "0"."""
    return signed_count(difference, "0")


def relative(explanation: Breakdown) -> str:
    """The second figure as a multiple of the first: × 3.06; empty if the first figure is 0."""
    return times(explanation.after, explanation.before) if explanation.before else ""
