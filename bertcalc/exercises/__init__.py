"""Exercises in counting: drawn from a seed, answered as people type, checked with the miscounts of wrong counts."""
