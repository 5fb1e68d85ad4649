"""The module tree, and what is read from it directly: totals, names, inventory, differences, freezing."""
