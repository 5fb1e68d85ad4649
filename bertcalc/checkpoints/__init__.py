"""Read the headers of safetensors files, without the weights, and compare their tensors with a model's."""
