"""Layers with packed weights on simulated tensors, as bitsandbytes 0.50 computes them on CUDA.

Each function has the operations and variables of the original (nn/modules.py, autograd, backends), in the same order.
"""

from collections.abc import Callable
from math import prod

from bertcalc.memory.simulator.frames import Frame, frame, operation
from bertcalc.memory.simulator.simulated_tensor import Gradients, SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, FLOAT32, HALF, Tape
from bertcalc.model.modules import Packed4Bits, Packed8Bits, PackedWeight, Shape

_INT8, _INT32 = 1, 4  # bytes of an element
_COLUMNS = 4  # cuBLAS multiplies int8 matrices only if their number of columns is a multiple of this


def packed_linear(
    tape: Tape, x: SimulatedTensor, bias: SimulatedTensor | None, weight: PackedWeight, item: int
) -> SimulatedTensor:
    """The output of a linear layer; ``item`` is the number of bytes per element of its weight before packing."""
    if isinstance(weight, Packed8Bits):
        return _linear_8bit(tape, x, bias, weight)
    return _linear_4bit(tape, x, bias, weight, item)


@frame
def _linear_4bit(
    tape: Tape, v: Frame, x: SimulatedTensor, bias: SimulatedTensor | None, weight: Packed4Bits, item: int
) -> SimulatedTensor:
    """Simulate Linear4bit.forward.

    For a few tokens, bitsandbytes may choose a CUDA kernel that does not unpack the weight in the forward pass.
    """
    v.x = tape.to(x, weight.item)
    _cast_bias(tape, bias, v.x)

    def forward() -> SimulatedTensor:
        return _product_4bit(tape, v.x.detached(), bias and bias.detached(), weight)

    def of_input(grad: SimulatedTensor) -> SimulatedTensor:
        unpacked = tape.to(unpacked_weight(tape, weight, item), grad.item)
        return tape.made((*grad.shape[:-1], weight.shape[1]), grad.item, unpacked)

    return tape.to(_function(tape, v.x, bias, forward, of_input), x.item)


def _cast_bias(tape: Tape, bias: SimulatedTensor | None, x: SimulatedTensor) -> None:
    """Cast the bias of a layer to the dtype of the input, in place."""
    if bias and bias.item != x.item:
        tape.cast_in_place(bias, x.item)


@operation
def _function(
    tape: Tape,
    x: SimulatedTensor,
    bias: SimulatedTensor | None,
    forward: Callable[[], SimulatedTensor],
    of_input: Callable[[SimulatedTensor], SimulatedTensor],
) -> SimulatedTensor:
    """A torch.autograd.Function of an input and a bias; ``of_input`` computes the gradient of the input."""
    of_x = x.node is not None
    bias_item = bias.item if bias and bias.node else 0  # read now: the rule must not hold the bias
    inputs = (x, bias) if bias else (x,)

    def rule(grad: SimulatedTensor) -> Gradients:
        grad_bias = tape.new(grad.shape[1:], bias_item) if bias_item else None
        return (of_input(grad) if of_x else None, grad_bias)[:count]

    count, grad = len(inputs), tape.grad
    tape.grad = False
    y = forward()
    tape.grad = grad
    y = tape.record(inputs, y, (), rule)
    if y.node:
        y.node.written_in_python = True
    return y


@frame
def _product_4bit(
    tape: Tape, v: Frame, x: SimulatedTensor, bias: SimulatedTensor | None, weight: Packed4Bits
) -> SimulatedTensor:
    """Simulate the forward method of MatMul4Bit, which unpacks the weight and does not save the input."""
    if weight.scales:
        v.scales = tape.made((weight.scales,), FLOAT32, tape.new((weight.scales,)))
    v.unpacked = tape.new(weight.shape, weight.item)
    v.y = tape.linear(x, v.unpacked, bias)
    return SimulatedTensor(v.y.storage, v.y.shape, v.y.strides, v.y.item)


@frame
def unpacked_weight(tape: Tape, v: Frame, weight: PackedWeight, item: int) -> SimulatedTensor:
    """Simulate dequantize_4bit or int8_vectorwise_dequant; ``packed_linear`` describes ``item``."""
    if isinstance(weight, Packed8Bits):
        return tape.made(weight.shape, FLOAT32, tape.new(weight.shape))
    if weight.scales:
        v.scales = tape.new((weight.scales,))
    return tape.new(weight.shape, item)


@frame
def _linear_8bit(
    tape: Tape, v: Frame, x: SimulatedTensor, bias: SimulatedTensor | None, weight: Packed8Bits
) -> SimulatedTensor:
    """Simulate Linear8bitLt.forward.

    The gradient of the input needs only the weight, but MatMul8bitLt holds the input as long as the graph is alive.
    """
    _cast_bias(tape, bias, x)
    rows, columns = weight.shape
    shape, item = x.shape, x.item
    v.flat = tape.reshape(x.detached(), (prod(shape[:-1]), columns))

    def forward() -> SimulatedTensor:
        return tape.unsafe_view(_product_8bit(tape, v.flat, weight), (*shape[:-1], rows))

    def of_input(grad: SimulatedTensor) -> SimulatedTensor:
        grad = tape.contiguous(grad) if len(shape) > 2 else grad
        unpacked = tape.new(weight.shape, item)
        tape.new((rows, 1), FLOAT32).drop()  # the scales of the rows
        return tape.view(tape.made((prod(shape[:-1]), columns), item, unpacked, grad), shape)

    of_x = x.node is not None
    y = _function(tape, x, bias, forward, of_input)
    if of_x and y.node:
        tape.hold(y, (v.flat,))
    return y


@frame
def _product_8bit(tape: Tape, v: Frame, x: SimulatedTensor, weight: Packed8Bits) -> SimulatedTensor:
    """Simulate the forward method of MatMul8bitLt, for inputs without outliers."""
    v.packed, v.scales = _quantized(tape, x, weight)
    v.product = _multiplied(tape, (x.shape[0], weight.shape[0]), v.packed, weight)
    y = tape.new(v.product.shape, HALF)
    return y if x.item == HALF and _is_float16(tape, weight) else tape.made(y.shape, x.item, y)


@frame
def _quantized(
    tape: Tape, v: Frame, x: SimulatedTensor, weight: Packed8Bits
) -> tuple[SimulatedTensor, SimulatedTensor]:
    """Simulate int8_vectorwise_quant: return the rows in int8, and a scale for each row."""
    if not (x.item == HALF and _is_float16(tape, weight)):
        v.x = tape.new(x.shape, HALF)
    scales, packed = tape.new(x.shape[:1], FLOAT32), tape.new(x.shape, _INT8)
    if weight.finds_outliers:
        v.outliers = tape.made(x.shape, BOOL, tape.new(x.shape, HALF))
        tape.new((), BOOL).drop()  # whether there are outliers
        if x.shape[0] != 1:
            tape.new((), _INT8).drop()  # the 0 that replaces their columns
        del v.outliers
    return packed, scales


def _is_float16(tape: Tape, weight: Packed8Bits) -> bool:
    """Whether tensors of 16 bits are float16, rather than bfloat16."""
    return tape.autocast.dtype == "float16" if tape.autocast else weight.in_float16


@frame
def _multiplied(tape: Tape, v: Frame, shape: Shape, packed: SimulatedTensor, weight: Packed8Bits) -> SimulatedTensor:
    """Simulate int8_linear_matmul: a product in int32, computed in float32 if cuBLAS cannot multiply the matrices."""
    product = tape.new(shape, _INT32)
    if weight.shape[1] % _COLUMNS:
        v.x, v.wide = tape.new(packed.shape, FLOAT32), tape.new(weight.shape, FLOAT32)
        v.result = tape.product(v.x, tape.transpose(v.wide, 0, 1))
        del v.x, v.wide
        v.whole = tape.new(shape, _INT32)
    return product
