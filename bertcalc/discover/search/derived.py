"""Find fields that a configuration derives from others by default, and that change the model if they are given.

Llama's num_key_value_heads, for example, equals num_attention_heads by default and is therefore not in the formula.
Once it is given, it is an independent size.
"""

from bertcalc.discover.results.search_errors import Ended
from bertcalc.discover.search.build import Folded, unless_refused
from bertcalc.discover.search.config_integers import unset_fields
from bertcalc.discover.search.experiments import Lab


def derived_fields(lab: Lab, inside: str = "") -> dict[str, list[str]]:
    """Return the derived fields that change the tensors of a class if they are given, mapped to the fields they follow.

    If the class is built from a nested configuration, ``inside`` is the name of that configuration. Fields with which
    the class cannot be built, and fields that are not tested before the time limit, are left out.
    """
    prefix = f"{inside}." if inside else ""
    recipe, derived_fields = lab.recipe, dict[str, list[str]]()
    for field in dict.fromkeys([*unset_fields(recipe.config), *recipe.leaders]):
        if "[" in field or field in recipe.arguments:
            continue
        leaders = [prefix + leader for leader in dict.fromkeys(recipe.leaders.get(field, ()))]
        size = recipe.fields.get(field)
        for value in (64, 2) if size is None else (2 * size, size // 2, size + 1):
            try:
                tensors = None if value in (0, size) else unless_refused(_tensors, lab, {field: value})
            except Ended:
                return derived_fields
            if tensors not in (None, lab.full_sample.tensors):
                derived_fields[prefix + field] = leaders
                break
    return derived_fields


def _tensors(lab: Lab, changes: dict[str, int]) -> Folded:
    return lab.measure(lab.recipe.changed(changes), lab.until)
