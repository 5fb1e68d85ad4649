"""Unusual config.json files: without a model type, of other programs, of no model; remarks on their keys."""
