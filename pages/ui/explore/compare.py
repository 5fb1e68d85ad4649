"""The controls, figures, charts and tables of the Compare page."""

from pages.ui.controls import Parameters

PARAMETERS = Parameters()
