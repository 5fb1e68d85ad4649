"""Recognize unusual config.json files: without a model type, for other programs, or for no model at all."""
