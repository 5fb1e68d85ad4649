"""Read what people have: printed models, listings, summaries, files, numbers and texts."""
