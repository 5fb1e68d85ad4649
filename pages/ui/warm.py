"""What a first page needs, made ready while nobody waits for it."""

import gc
from importlib import import_module


def warm_up() -> None:
    """Draw what the first page draws, for nobody, and have the garbage collector leave alone what that brought.

    SymPy, Altair and pandas are half a million objects that stay: looking through them took 250 ms every few seconds
    when many readers were there. What somebody who comes in these seconds has in memory is left alone with it.
    """
    from bertcalc.families import family_of
    from bertcalc.formula import component_terms
    from bertcalc.presets import DEFAULT_PRESET, PRESETS
    from pages.ui.bars import proportional_bar, ranked_bars, words
    from pages.ui.columns import sent
    from pages.ui.sidebar import Choice
    from pages.ui.theme import COLORS

    config = PRESETS[DEFAULT_PRESET].config
    choice = Choice(config, family_of(config).base.name, True, DEFAULT_PRESET)
    model = choice.model()
    component_terms(choice.config, choice.architecture, **choice.options)
    for appearance in COLORS:
        proportional_bar(appearance, words("parameters", str))
        ranked_bars(appearance, 8, "parameters", words("parameters", str))
    sent({"parameters": [model.num_parameters()]})
    import_module("pages.ui.link")  # it knows all that a link can say, and imports most other modules for that
    gc.collect()
    gc.freeze()
