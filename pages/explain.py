"""Why is my number different? A total or single terms, and what explains them."""

from pages.ui.diagnosis.terms_view import show_terms
from pages.ui.diagnosis.total import VIEW, show_total
from pages.ui.sidebar import choice as current_choice

subject = current_choice().subject
if VIEW.show() == "total":
    show_total(subject)
else:
    show_terms(subject)
