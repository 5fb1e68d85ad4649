"""The tree: what modules are, the architecture written with them, and what is read from it directly."""
