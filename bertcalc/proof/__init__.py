"""Proofs: compare our counts with the real model of transformers and PyTorch.

Importing torch and transformers takes a second and 275 MB, so they are imported inside functions that run in another
process. Pages that do not need the real model work without them.
"""
