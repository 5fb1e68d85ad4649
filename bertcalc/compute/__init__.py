"""FLOPs of the steps of a forward pass, counting conventions, and training time on real hardware."""
