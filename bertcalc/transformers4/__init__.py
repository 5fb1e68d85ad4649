"""The parts of transformers 4 that 5 lacks: only 4 builds models with relative positions; all others follow 5.

BERT's program (families/bert.py) declares the table of distances, and the modules whose names differ in 4.
"""
