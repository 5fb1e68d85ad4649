"""The proofs: compare our counts with the real model of transformers and PyTorch.

torch and transformers take a second and 275 MB to import, so they are imported inside functions that run in another
process (bertcalc.processes.worker). Pages that do not need the real model work without them.
"""
