"""Proofs: compare our counts with the real models of transformers and PyTorch.

Importing torch and transformers is slow and needs a lot of memory. They are therefore imported inside functions that
run in a separate process. Pages that do not need the real model work without them.
"""
