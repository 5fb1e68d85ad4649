"""Memory of training and inference in bytes, derived from the steps of the forward pass."""
