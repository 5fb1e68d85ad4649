"""The steps in which the forward methods of a family, or of a version of transformers, differ from the defaults.

To add overrides for a family, add a module here and an entry in ``OVERRIDES``, and name the entry in
``Family.simulation``.
"""

from bertcalc.memory.family_steps import (
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
from bertcalc.memory.simulator.forward_pass import Overrides
from bertcalc.model.model import Model
from bertcalc.text.arguments import checked
from bertcalc.transformers4.version import version_of

OVERRIDES: dict[str, Overrides] = {
    "": Overrides(),
    "deberta": deberta_step.OVERRIDES,
    "deberta_v2": deberta_v2_step.OVERRIDES,
    "gpt2": gpt2_step.OVERRIDES,
    "modernbert": modernbert_step.OVERRIDES,
    "mpnet": mpnet_step.OVERRIDES,
    "relative": relative_step.OVERRIDES,
    "roberta": roberta_step.OVERRIDES,
}


@checked
def overrides_of(model: Model) -> Overrides:
    """The overrides for a model's forward methods."""
    overrides = OVERRIDES[version_of(model.config).simulation or model.family.simulation]
    if model.changes:
        steps = {**overrides.steps, **prompt_step.STEPS}
        return overrides._replace(steps=steps, adapters=adapter_step.CALLS)
    return overrides
