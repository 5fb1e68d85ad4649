"""FLOPs, counted from the steps of the forward pass; other counting conventions; training time on real hardware."""
