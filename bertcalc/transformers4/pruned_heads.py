"""The key pruned_heads of a config.json: the attention heads that transformers 4 removes when it builds the model.

>>> heads_by_layer({"pruned_heads": {"0": [1, 2], "11": []}})
{0: [1, 2]}
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertcalc.config.fields import is_int
from bertcalc.text import N_
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import Problem

KEY = "pruned_heads"


def heads_by_layer(content: Mapping[str, Any]) -> dict[int, list[int]]:
    """Map layer numbers to the heads that a file removes there; empty if it removes none or the value is malformed."""
    pruned = content.get(KEY)
    by_layer = pruned.items() if isinstance(pruned, Mapping) else ()
    return {
        int(layer): heads
        for layer, heads in by_layer
        if isinstance(heads, list) and heads and all(map(is_int, heads)) and re.fullmatch("[0-9]{1,4}", layer)
    }


def refused(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if a file removes heads, because its other fields describe the model with all heads."""
    if heads := heads_by_layer(content):
        message = N_(
            "pruned_heads {value}: transformers 4 removes {count} heads from the layers, but transformers 5 ignores "
            "the key. The Bring anything page (bertcalc.read) counts a file with this key; the Prune heads step on "
            "the Change page removes heads."
        )
        value, count = content[KEY], sum(map(len, heads.values()))
        yield Problem.of(message, KEY, value, value=quoted(value), count=count)


def note(heads: Mapping[int, Sequence[int]], count: int) -> Problem:
    """Return the remark on a count without the removed ``heads``; ``count`` is the number of parameters with them."""
    message = N_(
        "pruned_heads: {heads} heads are removed, as transformers 4 does. transformers 5 ignores the key and builds "
        "{count} parameters."
    )
    return Problem.of(message, heads=sum(map(len, heads.values())), count=count)
