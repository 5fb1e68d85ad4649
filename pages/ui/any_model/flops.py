"""The FLOPs of a forward pass, where they were discovered, too."""

from collections.abc import Mapping
from typing import Any

from bertcalc.discover.result import Discovered


def show_flops(found: Discovered, values: Mapping[str, int]) -> None:
    """For a batch and a length; nothing where a discovery knows none."""
    known: Any = getattr(found, "flops", None)
    if known is None:
        return
