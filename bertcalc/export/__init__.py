"""Export of a model as a program that rebuilds it, as tables, and as a report."""
