"""Exercises in counting: drawn from a seed, with free-form answers, whose mistakes are explained by miscounts."""
