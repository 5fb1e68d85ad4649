"""The forward pass of the tree: its steps, what goes in and comes out, and the walk through them."""
