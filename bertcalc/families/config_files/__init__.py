"""Files that people have instead of a plain config.json: of other programs, without a model type, or of no model."""
