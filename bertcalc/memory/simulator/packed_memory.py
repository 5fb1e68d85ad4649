"""Layers with packed weights on simulated tensors, as bitsandbytes 0.50 computes them (nn/modules.py, autograd).

Each function has the operations and variables of the original, in the same order.
"""

from bertcalc.memory.simulator.tape import FLOAT32, Gradients, SimulatedTensor, Tape
from bertcalc.model.modules import PackedWeight


def linear_4bit(
    tape: Tape, x: SimulatedTensor, bias: SimulatedTensor | None, weight: PackedWeight, item: int
) -> SimulatedTensor:
    """Linear4bit.forward; ``item`` is the bytes of an element of the weight before it was packed.

    For a few tokens, bitsandbytes may choose a CUDA kernel that does not unpack the weight in the forward pass.
    """
    before = x.item
    x = tape.to(x, weight.item)
    return tape.to(_product(tape, x, bias, weight, item), before)


def _product(
    tape: Tape, x: SimulatedTensor, bias: SimulatedTensor | None, weight: PackedWeight, item: int
) -> SimulatedTensor:
    """MatMul4Bit: the input is not saved, and the weight is unpacked in each pass."""
    of_x, columns = x.node is not None, weight.shape[1]
    bias_item = bias.item if bias and bias.node else 0  # the rule must not hold the bias
    inputs = (x, bias) if bias else (x,)

    def rule(grad: SimulatedTensor) -> Gradients:
        grad_bias = tape.new(grad.shape[1:], bias_item) if bias_item else None
        grad_x = None
        if of_x:
            unpacked = tape.to(_unpacked(tape, weight, item), grad.item)
            grad_x = tape.new((*grad.shape[:-1], columns), grad.item)
            del unpacked
        return (grad_x, grad_bias)[:count]

    count, grad = len(inputs), tape.grad
    tape.grad = False
    y = _forward(tape, x.detached(), bias.detached() if bias else None, weight)
    tape.grad = grad
    y = tape.record(inputs, y, (), rule)
    if y.node:
        y.node.written_in_python = True
    return y


def _forward(tape: Tape, x: SimulatedTensor, bias: SimulatedTensor | None, weight: PackedWeight) -> SimulatedTensor:
    scales = tape.made((weight.scales,), FLOAT32, tape.new((weight.scales,))) if weight.scales else None
    unpacked = tape.new(weight.shape, weight.item)
    y = tape.linear(x, unpacked, bias)
    del scales, unpacked  # variables of the kernel
    return SimulatedTensor(y.storage, y.shape, y.strides, y.item)


def _unpacked(tape: Tape, weight: PackedWeight, item: int) -> SimulatedTensor:
    """dequantize_4bit."""
    scales = tape.new((weight.scales,)) if weight.scales else None
    unpacked = tape.new(weight.shape, item)
    del scales
    return unpacked
