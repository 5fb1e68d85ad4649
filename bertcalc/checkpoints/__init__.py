"""Checkpoints: the headers of safetensors files, read without the weights, and their tensors beside those counted."""
