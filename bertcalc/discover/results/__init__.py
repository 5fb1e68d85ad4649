"""What a discovery hands out: formulas, their conditions, and how they are written."""
