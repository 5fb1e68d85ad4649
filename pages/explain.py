"""Why is my number different? A total or single terms, and what explains them."""

from pages.ui.check import explain
from pages.ui.controls import choose_view
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
if choose_view("explain", explain.VIEWS) == "total":
    explain.show_total(choice)
else:
    explain.show_terms(choice)
