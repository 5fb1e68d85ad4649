"""The steps in which the forward methods of a family, or of transformers 4, allocate otherwise than the simulator.

A new family whose steps differ has a module here, its entry in ``OVERRIDES``, and the name of the entry in
``Family.simulation``.
"""

from bertcalc.memory.family_steps import (
    deberta_step,
    deberta_v2_step,
    gpt2_step,
    modernbert_step,
    mpnet_step,
    relative_step,
    roberta_step,
)
from bertcalc.memory.simulator.overrides import Own
from bertcalc.model.family import Model
from bertcalc.text.arguments import checked
from bertcalc.transformers4.version import version_of

OVERRIDES: dict[str, Own] = {
    "": Own(),
    "deberta": deberta_step.OWN,
    "deberta_v2": deberta_v2_step.OWN,
    "gpt2": gpt2_step.OWN,
    "modernbert": modernbert_step.OWN,
    "mpnet": mpnet_step.OWN,
    "relative": relative_step.OWN,
    "roberta": roberta_step.OWN,
}


@checked
def overrides_of(model: Model) -> Own:
    """What the forward methods of this model do differently."""
    return OVERRIDES[version_of(model.config).simulation or model.family.simulation]
