"""Find what a text mentions: numbers and calculations, models and their sizes, and programs."""
