"""Propose sizes for fields that a class needs but has no default for."""

from collections.abc import Iterator
from typing import Any

from bertcalc.discover.search.config_integers import unset_fields

# Typical sizes for fields that are None in the default configuration. The first key that the field's name contains
# applies.
_USUAL = {"vocab": 32_000, "experts_per_tok": 2, "shared_experts": 1, "experts": 8, "budget": 64, "": 16}


def completions(kind: Any) -> Iterator[dict[str, int]]:
    """Yield sizes for the fields that are None in the default configuration of the class ``kind``.

    First come sizes for each field alone, then sizes for all of them. Without a default configuration, there are none.
    """
    try:
        config = kind()
    except Exception:  # transformers raises exceptions of all types
        return
    sizes = {name: _usual(name, config) for name in unset_fields(config)}
    yield from ({name: value} for name, value in sizes.items())
    if len(sizes) > 1:
        yield sizes


def _usual(name: str, config: Any) -> int:
    heads = getattr(config, "num_attention_heads", None) or 16
    if "head_dim" in name:
        return int(getattr(config, "hidden_size", 0) // heads or 64)
    if "heads" in name:
        return int(heads)
    return next(value for word, value in _USUAL.items() if word in name)
