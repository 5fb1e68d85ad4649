"""What the formulas of other tools give for the same model."""

from pages.ui.controls import Parameters

PARAMETERS = Parameters()
