"""A training step or forward pass, simulated allocation by allocation.

``simulate`` is the only entry point, and returns a timeline (bertcalc/memory/timeline.py). Families extend it with
``Overrides`` (forward_pass.py). How long a tensor lives follows from its owners (simulated_tensor.py, frames.py), never
from Python's references to it.
"""

from bertcalc.memory.simulator.simulated_step import simulate

__all__ = ["simulate"]
