"""What the link can say to the page that explains why a number is different."""

from bertcalc.arithmetic import LONGEST
from pages.ui.check.terms import check_terms
from pages.ui.controls import Parameters, at_most

VIEWS = ("total", "terms")
PARAMETERS = Parameters(
    booleans=("others",), choices={"explain": VIEWS}, texts={"number": at_most(LONGEST), "terms": check_terms}
)
