"""What a first page needs, made ready while nobody waits for it."""

import gc
from importlib import import_module


def warm_up() -> None:
    """Draw what the first page draws, for nobody, and have the garbage collector leave alone what that brought.

    SymPy, Altair and pandas are half a million objects that stay: looking through them took 250 ms every few seconds
    when many readers were there. What somebody who comes in these seconds has in memory is left alone with it.
    """
    from bertcalc import BertConfig
    from bertcalc.presets import DEFAULT_PRESET
    from pages.ui.charts import proportional_bar, ranked_bars
    from pages.ui.columns import sent
    from pages.ui.formulas import total_formula
    from pages.ui.sidebar import Choice
    from pages.ui.theme import COLORS

    choice = Choice(BertConfig(), "BertModel", True, DEFAULT_PRESET, True)
    model = choice.model()
    for appearance, colors in COLORS.items():
        total_formula(choice, colors, model.num_parameters())
        proportional_bar(appearance)
        ranked_bars(appearance, 9)
    sent({"parameters": [model.num_parameters()]})
    import_module("pages.ui.link")  # it knows all that a link can say, and imports most other modules for that
    gc.collect()
    gc.freeze()
