"""Export a model as a program that rebuilds it, as tables, or as a report."""
