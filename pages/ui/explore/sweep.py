"""The controls, figures, charts and tables of the Sweep page."""

from pages.ui.controls import Parameters

PARAMETERS = Parameters()
