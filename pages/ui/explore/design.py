"""The controls, figures, charts and tables of the Design page."""

from pages.ui.controls import Parameters

PARAMETERS = Parameters()
