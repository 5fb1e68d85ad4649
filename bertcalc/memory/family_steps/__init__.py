"""Overrides of the simulation's defaults for the forward methods of specific families or transformers versions.

To add overrides for a family, add a module here that registers them, and import it below.
"""

from bertcalc.memory.family_steps import (  # noqa: F401  # they register their overrides
    adapter_step,
    deberta_step,
    deberta_v2_step,
    gpt2_step,
    modernbert_step,
    mpnet_step,
    prompt_step,
    relative_step,
    roberta_step,
)
from bertcalc.memory.family_steps.step_registry import overrides_for
from bertcalc.memory.simulator.forward_pass import Overrides
from bertcalc.model.model import Model
from bertcalc.text.arguments import checked


@checked
def overrides_of(model: Model) -> Overrides:
    """The overrides for a model's forward methods."""
    overrides = overrides_for(model.config)
    if model.changes:
        steps = {**overrides.steps, **prompt_step.STEPS}
        return overrides._replace(steps=steps, adapters=adapter_step.CALLS)
    return overrides
