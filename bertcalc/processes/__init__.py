"""Slow or memory-hungry work in a process of its own; caches bounded by memory."""
