"""A training step or forward pass, simulated allocation by allocation."""
