"""The module tree and everything that is read directly from it: totals, names, inventory, differences, freezing."""
