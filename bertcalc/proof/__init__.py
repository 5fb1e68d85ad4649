"""The judge: what the real model of transformers and PyTorch says, beside what is counted here.

torch and transformers are imported inside the functions, which a worker's process calls (bertcalc.worker): they take a
second and 275 MB, and every page that does not ask them works without them.
"""
