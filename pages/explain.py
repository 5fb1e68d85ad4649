"""Why is my number different? A total or single terms, and what explains them."""

from pages.ui.check.explain import VIEWS
from pages.ui.check.terms import show_terms
from pages.ui.check.total import show_total
from pages.ui.controls import choose_view
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
if choose_view("explain", VIEWS) == "total":
    show_total(choice)
else:
    show_terms(choice)
