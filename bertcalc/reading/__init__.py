"""Recognize and read pasted texts: printed models, listings, summaries, files, numbers and articles."""
