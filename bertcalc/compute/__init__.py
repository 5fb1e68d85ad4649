"""FLOPs, counted from the steps of the forward pass; counting conventions; training time on real hardware."""
