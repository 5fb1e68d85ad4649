"""What lists of tensors contain: names, packed weights, states of optimizers, shared tables, and shapes of batches."""
