"""Bytes: what training and inference keep, read from the steps of the forward pass."""
