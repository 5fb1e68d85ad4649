"""Run slow or memory-hungry work in separate processes; caches bounded by memory."""
