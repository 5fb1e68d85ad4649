"""The forward pass: its steps, inputs and outputs, and the walk through them."""
