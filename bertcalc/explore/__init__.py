"""Explore many models: compare them, sweep one or two dimensions, and search for those that meet a budget."""
