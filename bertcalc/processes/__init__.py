"""Run slow or memory-hungry work in separate processes, and limit caches by memory."""
