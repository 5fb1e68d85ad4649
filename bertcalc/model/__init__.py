"""The module tree and everything derived directly from it: totals, names, inventory, differences, freezing."""
