"""The steps of a forward pass and the values between them, as the trace records them."""

from bertcalc.model.trace import Operation, Step, Value

__all__ = ["Operation", "Step", "Value"]
