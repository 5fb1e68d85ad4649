"""Find the values that transformers fills in for a nested configuration when only some of its fields are given.

Voxtral's text_config has a vocab_size of 131,072 by default. Once its hidden_size is given, transformers creates a new
nested configuration from this field and the defaults of its class, with a vocab_size of 32,000.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.search.build import Folded, unless_refused
from bertcalc.discover.search.config_integers import integers, is_config
from bertcalc.discover.search.experiments import Lab


class Filled(NamedTuple):
    """Fields of nested configurations that change if other fields of the same nested configuration are given.

    - ``sizes``: the values that transformers fills in.
    - ``fixed``: conditions that fix all sizes of a nested configuration, if the model changes even when all ``sizes``
      are given.
    - ``reset``: in this case, the nested configuration's other fields that change, as text with their new values; the
      list is empty if transformers refuses.
    """

    sizes: dict[str, int]
    fixed: list[Condition]
    reset: dict[str, list[str]]


def filled_in(lab: Lab, fields: Iterable[str]) -> Filled:
    """Return the fields of nested configurations that change if other fields of the same configuration are given.

    ``fields`` are the sizes in the formulas.
    """
    filled: dict[str, int] = {}
    fixed: list[Condition] = []
    reset: dict[str, list[str]] = {}
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
            reset[above] = _reset(lab, probes, above)
    return Filled(filled, fixed, reset)


def _reset(lab: Lab, fields: Iterable[str], above: str) -> list[str]:
    """Return the fields of a nested configuration that are not sizes and change if one of ``fields`` is given.

    A field is written with its new value, such as "tie_word_embeddings = True".
    """
    before, changes = _plain(lab.recipe.config, above), dict[str, str]()
    for field in fields:
        config = unless_refused(lab.recipe.with_only, {field: lab.sizes[field]})
        after = _plain(config, above)
        changes |= {name: f"{name} = {after[name]}" for name in before.keys() & after if after[name] != before[name]}
    return [changes[name] for name in sorted(changes)]


def _plain(config: Any, above: str) -> dict[str, Any]:
    """Return the fields of a nested configuration that are booleans, strings or floats."""
    inside = getattr(config, above, None)
    fields = vars(inside) if is_config(inside) else {}
    return {
        name: value for name, value in fields.items() if isinstance(value, bool | str | float) and name.isidentifier()
    }


def _after(lab: Lab, fields: Iterable[str]) -> dict[str, int]:
    """Return the configuration's integers if only these fields are given, at their current values; empty if refused."""
    sizes = {field: lab.sizes[field] for field in fields}
    return unless_refused(lambda: integers(lab.recipe.with_only(sizes))) or {}


def _tensors(lab: Lab, fields: Iterable[str]) -> Folded | None:
    """Return the tensors if only these fields are given, at their current values; None if refused."""
    sizes = {field: lab.sizes[field] for field in fields}
    return unless_refused(lambda: lab.measure(lab.recipe.with_only(sizes), lab.until))
