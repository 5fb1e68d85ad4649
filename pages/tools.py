"""What the formulas of other tools give for the same model."""
