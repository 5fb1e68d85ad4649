"""The proofs: the real model of transformers and PyTorch beside our counts.

torch and transformers take a second and 275 MB to import: so functions import them, and run in another process
(bertcalc.worker). Pages that do not ask the real model work without them.
"""
