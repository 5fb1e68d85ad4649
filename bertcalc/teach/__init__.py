"""Counting exercises: drawn from a seed, with free-form answers; wrong answers are explained by miscounts."""
