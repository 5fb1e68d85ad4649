"""Explain a number: as a known count, as a count with mistakes, or as the result of another tool."""
