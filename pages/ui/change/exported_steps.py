"""The steps of a model in its exported files, and the Change page's table of their effects."""

from collections.abc import Sequence

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.export.report import Settings
from bertcalc.memory.plan import Plan
from pages.ui.change.step_words import summary
from pages.ui.memory.run import OPTIMIZER, TRAINING_DTYPE
from pages.ui.shell.controls import assignments
from pages.ui.widgets.export.shown import ShownSteps, note_results, notes, shown_elements


def note_made(steps: Sequence[ChangeStep], changed: ChangedModel) -> None:
    """Record the steps for the files of the model, if there are any."""
    if steps:
        notes().steps = ShownSteps(steps, [*map(summary, steps)], changed)


def note_changes(steps: Sequence[ChangeStep], changed: ChangedModel, plan: Plan) -> None:
    """Record the steps and the page's last table for the files of the model."""
    settings = assignments({TRAINING_DTYPE.name: plan.precision, OPTIMIZER.name: plan.optimizer})
    notes().settings = Settings(settings, plan)
    if steps:
        note_results(shown_elements()[-1].table())
    note_made(steps, changed)
