"""Lessons, lectures and counting exercises.

Exercises are drawn from a seed and take free-form answers. Miscounts explain wrong answers.
"""
