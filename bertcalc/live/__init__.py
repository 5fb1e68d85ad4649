"""Live numbers: values on a page that the browser recomputes while a slider moves.

Python computes each value from a model together with its formula, and sends the formulas to the browser as a program.
"""
