"""Live numbers of a page: computed from a model together with their formulas, and sent to a browser as a program."""
