"""The names and sizes of models in a text."""
