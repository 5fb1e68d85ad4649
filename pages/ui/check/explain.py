"""What the link can say to the page that explains why a number is different."""

from pages.ui.check.terms import check_terms
from pages.ui.check.total import check_number
from pages.ui.controls import Parameters

VIEWS = ("total", "terms")
PARAMETERS = Parameters(
    booleans=("others",), choices={"explain": VIEWS}, texts={"number": check_number, "terms": check_terms}
)
