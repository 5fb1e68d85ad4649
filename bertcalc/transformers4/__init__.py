"""How transformers 4 differs from 5. Only 4 builds models with relative positions; every other model follows 5.

BERT's program (families/bert.py) declares the table of distances, and the modules with other names in transformers 4.
"""
