"""Exercises in counting, and the checking of answers."""

from pages.ui.controls import Parameters

PARAMETERS = Parameters()
