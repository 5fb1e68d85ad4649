"""Models with the same structure, so that the same formulas hold for them."""

import random

from bertcalc.controls.stops import SLIDERS, moved, stops
from bertcalc.families import CLASSES, build
from bertcalc.families.presets import PRESETS
from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model


def alike_models(rng: random.Random) -> tuple[Model, Model]:
    """Return a random model and a model with the same structure, a few slider moves away."""
    while True:
        family = rng.choice(list({family.name: family for family in CLASSES.values()}.values()))
        preset = rng.choice(list(family.presets))
        architecture = rng.choice([cls.name for cls in family.classes])
        config = PRESETS[preset].config
        first = build(config, architecture)
        for field in rng.sample(list(SLIDERS), 3):
            config = moved(config, field, rng.choice(stops(config, field)))
        second = build(config, architecture)
        if symbolic_model(first) is symbolic_model(second):
            return first, second


def sizes_of(model: Model, **call: int) -> dict[str, int]:
    """Return the sizes of a model and of a call, as the browser receives them."""
    return {field: value for field, value in model.config.shared().items() if type(value) is int} | call
