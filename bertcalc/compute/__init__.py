"""FLOPs, read from the steps of the forward pass; how others count them, and how long training takes."""
