"""The differences between transformers 4 and 5. Only models with relative positions follow 4; all others follow 5.

BERT's program (families/bert.py) declares the table of distances, and the modules with different names in version 4.
"""
