"""Bytes of models in memory and on disk: quantization formats, and the files that libraries write."""
