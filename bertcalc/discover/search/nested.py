"""Find the values that transformers fills in for a nested configuration when only some of its fields are given.

Voxtral's text_config has a vocab_size of 131,072 by default. Once its hidden_size is given, transformers creates a new
nested configuration from that field and the defaults of its class, with a vocab_size of 32,000.
"""

from collections.abc import Iterable

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.search.build import Ended, Folded
from bertcalc.discover.search.config_integers import integers
from bertcalc.discover.search.experiments import Lab


def filled_in(lab: Lab, fields: Iterable[str]) -> tuple[dict[str, int], list[Condition]]:
    """Return the fields of nested configurations that change if others are given, with the values filled in for them.

    If giving all these fields still changes the model, the second result fixes each field of that nested configuration.
    """
    filled: dict[str, int] = {}
    fixed: list[Condition] = []
    nested = [field for field in fields if "." in field]
    for above in dict.fromkeys(field.partition(".")[0] for field in nested):
        inside = [field for field in nested if field.partition(".")[0] == above]
        probes = list({field.rpartition(".")[0]: field for field in inside}.values())
        replaced: dict[str, int] = {}
        for field in probes:
            after = _after(lab, [field])
            replaced |= {name: after[name] for name in inside if after.get(name, lab.sizes[name]) != lab.sizes[name]}
        if all(_tensors(lab, [field, *replaced]) == lab.full_sample.tensors for field in probes):
            filled |= replaced
        else:
            fixed += [Condition("is", field, lab.sizes[field]) for field in inside]
    return filled, fixed


def _after(lab: Lab, fields: Iterable[str]) -> dict[str, int]:
    """The configuration's integers if these fields are given with their current values; empty if refused."""
    try:
        return integers(lab.recipe.with_only({field: lab.sizes[field] for field in fields}))
    except Exception:  # transformers raises exceptions of all types
        return {}


def _tensors(lab: Lab, fields: Iterable[str]) -> Folded | None:
    """The tensors if these fields are given with their current values; None if refused."""
    try:
        return lab.measure(lab.recipe.with_only({field: lab.sizes[field] for field in fields}), lab.until)
    except Ended:
        raise
    except Exception:  # transformers raises exceptions of all types
        return None
