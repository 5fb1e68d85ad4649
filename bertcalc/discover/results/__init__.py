"""The results of a discovery: formulas, their conditions, and how they are written."""
