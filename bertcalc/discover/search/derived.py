"""Fields that a configuration class derives from others unless they are given, and that change the model if they are.

Llama's num_key_value_heads is num_attention_heads by default, and not in the formula of the default. Once it is given,
it is a size like the others.
"""

from bertcalc.discover.search.build import Ended
from bertcalc.discover.search.config_integers import left_open
from bertcalc.discover.search.experiments import Lab


def derived(lab: Lab, inside: str = "") -> dict[str, list[str]]:
    """Return the derived fields that change the tensors of a class if given, each with the fields that it follows.

    If the class takes a nested configuration of its type's, ``inside`` is its name. Fields with which the class cannot
    be built, or that the time does not suffice for, are left out.
    """
    prefix = f"{inside}." if inside else ""
    recipe, found = lab.recipe, dict[str, list[str]]()
    for field in dict.fromkeys([*left_open(recipe.config), *recipe.leaders]):
        if "[" in field or field in recipe.given:
            continue
        leaders = [prefix + leader for leader in dict.fromkeys(recipe.leaders.get(field, ()))]
        here = recipe.fields.get(field)
        for value in (64, 2) if here is None else (2 * here, here // 2, here + 1):
            try:
                if value in (0, here) or lab.measure(recipe.changed({field: value}), lab.until) == lab.given.tensors:
                    continue
            except Ended:
                return found
            except Exception:  # transformers raises exceptions of all types
                continue
            found[prefix + field] = leaders
            break
    return found
