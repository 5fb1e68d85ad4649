"""Sweep: what happens along one dimension, and where the models are on a map of two."""

from pages.ui.sidebar import choice
from pages.ui.sweep.growth_view import show_growth
from pages.ui.sweep.map_view import show_map
from pages.ui.sweep.swept import choose
from pages.ui.theme import appearance

swept = choose(choice())
if len(swept.sweep.dimensions) == 1:
    show_growth(swept, appearance())
else:
    show_map(swept, appearance())
