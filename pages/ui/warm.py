"""Imports and formulas of the first page, made ready while the server starts."""

import gc
from importlib import import_module


def warm_up() -> None:
    """Fill the caches of the first page, and keep the objects out of garbage collection.

    SymPy, Altair and pandas make half a million objects that stay. With many readers, scanning them took 250 ms every
    few seconds.
    """
    from bertcalc.formula import component_terms
    from bertcalc.track import ChosenModel
    from pages.ui.bars import proportional_bar, ranked_bars, words
    from pages.ui.columns import sent
    from pages.ui.theme import COLORS

    subject = ChosenModel().subject()
    component_terms(subject)
    for appearance in COLORS:
        proportional_bar(appearance, words("parameters", str))
        ranked_bars(appearance, 8, "parameters", words("parameters", str))
    sent({"parameters": [subject.model().num_parameters()]})
    import_module("pages.ui.link")  # it imports most other modules
    gc.collect()
    gc.freeze()
