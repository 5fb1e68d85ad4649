"""Explore many models: compare them, sweep one or two dimensions, and search for models that meet a budget."""
