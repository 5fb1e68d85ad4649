"""Small models of every family, for comparing files."""

from dataclasses import asdict
from typing import Any

from bertcalc.api import Model, build
from bertcalc.families import FAMILIES

SIZES: dict[str, Any] = {
    "vocab_size": 120,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "embedding_size": 32,
    "pad_token_id": 0,
}
CLASSES = [(family, cls.name) for family in FAMILIES.values() for cls in family.classes]


def small(architecture: str, **changes: Any) -> Model:
    """Return a small model of a class."""
    [family] = [family for family, name in CLASSES if name == architecture]
    config = family.config(**{name: value for name, value in SIZES.items() if family.config.has(name)}, **changes)
    return build(config, architecture)


def described(model: Model) -> dict[str, Any]:
    """Return the architecture and the configuration of a model, for another process."""
    return {"architecture": model.architecture, "config": asdict(model.config)}
