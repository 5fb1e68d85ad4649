"""Explain a number: as a known count, as one with miscounts, or as the result of another tool."""
