"""Numbers that somebody has: which count they are, or by which slips they differ from it; and exercises."""
