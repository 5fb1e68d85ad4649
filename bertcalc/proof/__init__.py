"""Proofs: compare our counts with the real models of transformers and PyTorch.

Importing torch and transformers takes a second and 275 MB. They are therefore imported inside functions that run in
another process. Pages that do not need the real model work without them.
"""
