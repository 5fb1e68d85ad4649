"""Exercises worked out, with letters and with numbers."""
