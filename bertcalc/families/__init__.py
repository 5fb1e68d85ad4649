"""All model families. To add a family, add its file to this package, and its name to the imports and the list below.

The registry (bertcalc/model/registry.py) looks up families by the names of their classes, presets and configurations.
"""

from bertcalc.families import (
    albert,
    bert,
    camembert,
    deberta,
    deberta_v2,
    distilbert,
    electra,
    ernie,
    eurobert,
    gpt2,
    gte,
    modernbert,
    mpnet,
    nomic_bert,
    roberta,
    xlm_roberta,
)
from bertcalc.model.model import NO_PRESET, build, output_names
from bertcalc.model.registry import (
    CLASSES,
    FAMILIES,
    PRESETS,
    SHARED,
    class_of,
    counterpart,
    family_of,
    preset_named,
    register,
)

__all__ = [
    "CLASSES",
    "FAMILIES",
    "NO_PRESET",
    "PRESETS",
    "SHARED",
    "build",
    "class_of",
    "counterpart",
    "family_of",
    "output_names",
    "preset_named",
    "register",
]

for _module in (
    *(bert, roberta, xlm_roberta, camembert, distilbert, albert, electra, mpnet, ernie),
    *(modernbert, gpt2, deberta, deberta_v2, eurobert, nomic_bert, gte),
):
    register(_module.FAMILY)
