"""Names of sizes in a config.json: shared names, each family's own names, and names in other programs."""

from bertcalc.config import OTHER_NAMES, Config
from bertcalc.config.fields import SIZES
from bertcalc.families import FAMILIES

# Fields that transformers reads under their shared names as well. It reads other fields under a family's own name only.
MAPPED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
_COUNTED = frozenset(SIZES) - {"num_labels"}
SIZE_NAMES = frozenset(
    (*_COUNTED, *OTHER_NAMES, *(family.config.own_name(size) for family in FAMILIES.values() for size in _COUNTED))
)


def names_read(kind: type[Config]) -> frozenset[str]:
    """The keys that transformers reads as fields of a family: the family's own names, and the names in MAPPED."""
    return frozenset(vars(kind.default())) | {name for name in MAPPED if kind.has(name)}
