"""Exercises in counting, and the checking of answers."""
