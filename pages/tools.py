"""Other tools: what their formulas give for the same model, and why that is not the right count, line by line."""

from pages.ui.check.tools import choose_tool, show_counts, show_tool
from pages.ui.sidebar import choice as current_choice
from pages.ui.theme import appearance

choice = current_choice()
show_counts(choice)
show_tool(choose_tool(), choice, appearance())
