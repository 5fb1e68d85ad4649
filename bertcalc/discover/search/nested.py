"""What a configuration class fills in for a nested configuration of which some fields are given, and others not.

Voxtral's text_config has a vocab_size of 131,072 by default. Once its hidden_size is given, transformers makes the
nested configuration anew, of that field and the defaults of its own class: a vocab_size of 32,000.
"""

from collections.abc import Iterable

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.search.build import Ended, Folded
from bertcalc.discover.search.config_integers import integers
from bertcalc.discover.search.experiments import Lab


def filled_in(lab: Lab, fields: Iterable[str]) -> tuple[dict[str, int], list[Condition]]:
    """Return the fields of nested configurations that change if others are given, with the values filled in for them.

    Where the model changes even if all these fields are given, the second result holds each field of that nested
    configuration to its value.
    """
    filled: dict[str, int] = {}
    held: list[Condition] = []
    nested = [field for field in fields if "." in field]
    for above in dict.fromkeys(field.partition(".")[0] for field in nested):
        inside = [field for field in nested if field.partition(".")[0] == above]
        probes = list({field.rpartition(".")[0]: field for field in inside}.values())
        replaced: dict[str, int] = {}
        for field in probes:
            after = _after(lab, [field])
            replaced |= {name: after[name] for name in inside if after.get(name, lab.here[name]) != lab.here[name]}
        if all(_tensors(lab, [field, *replaced]) == lab.given.tensors for field in probes):
            filled |= replaced
        else:
            held += [Condition("is", field, lab.here[field]) for field in inside]
    return filled, held


def _after(lab: Lab, fields: Iterable[str]) -> dict[str, int]:
    """The integers of the configuration with these fields given as they are; none if its class refuses that."""
    try:
        return integers(lab.recipe.plainly({field: lab.here[field] for field in fields}))
    except Exception:  # transformers raises exceptions of all types
        return {}


def _tensors(lab: Lab, fields: Iterable[str]) -> Folded | None:
    """The tensors with these fields given as they are; None if the class refuses that."""
    try:
        return lab.measure(lab.recipe.plainly({field: lab.here[field] for field in fields}), lab.until)
    except Ended:
        raise
    except Exception:  # transformers raises exceptions of all types
        return None
