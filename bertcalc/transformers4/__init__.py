"""What only transformers 4 does: it alone builds models with relative positions. All other models are those of 5.

BERT's program (families/bert.py) declares the table of distances and the modules that have other names in 4.
"""
