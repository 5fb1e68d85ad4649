"""A simulated PyTorch without data: tensors with a shape and a size in bytes, operations, autograd, a backward pass.

It records when memory is allocated and released. An operation releases its temporary arguments when it returns
(simulated_tensor.py), so an expression copied from transformers holds its intermediate values exactly as long as the
original. A named value in transformers is a variable of a frame (frames.py). Tensors that a backward rule creates live
until the rule returns, like the variables of PyTorch's C++ functions.

Every rule follows the source of PyTorch 2.13. Tests compare each allocation and release with PyTorch's.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from heapq import heappop, heappush
from math import prod
from typing import Any, Literal

from bertcalc.memory.simulator.frames import Frame, frame, operation
from bertcalc.memory.simulator.simulated_tensor import (
    Gradients,
    Memory,
    Node,
    Region,
    Rule,
    SimulatedTensor,
    Storage,
    Tensors,
)
from bertcalc.memory.timeline import Area
from bertcalc.model.modules import Shape

BOOL, INT32, INT64, FLOAT32, HALF = 1, 4, 8, 4, 2  # bytes of an element
_LEAF = 1 << 62  # among the ready nodes, PyTorch runs leaves first, then the node created last


class _EnoughError(Exception):
    """Stops a recomputation when the backward pass has everything that it needs."""


Keep = Literal["nothing", "input", "output"]
# Elementwise functions: the tensor that they save, and the number of tensors that the backward pass creates. Each of
# these tensors is computed from the previous one; all are alive until the last one exists. With 0, the gradient is
# passed on unchanged.
FUNCTIONS: dict[str, tuple[Keep, int]] = {
    "add": ("nothing", 0),
    "mul": ("nothing", 1),
    "neg": ("nothing", 1),
    "erf": ("input", 5),
    "expm1": ("output", 2),
    "gelu": ("input", 1),
    "pow": ("input", 3),
    "relu": ("output", 1),
    "rsqrt": ("output", 3),
    "sigmoid": ("output", 1),
    "softmax": ("output", 1),
    "softplus": ("input", 1),
    "sqrt": ("output", 2),
    "tanh": ("output", 1),
}

# Functions that autocast runs in float32 on CUDA (aten/src/ATen/autocast_mode.h), besides softmax, norms and losses.
IN_FLOAT32 = frozenset(("expm1", "pow", "rsqrt", "softplus"))


class Autocast:
    """torch.autocast on CUDA.

    ``on`` says whether it is active. ``copies`` are the 16-bit copies of trained parameters, keyed by node.

    Matrix products and convolutions run in 16 bits; softmax, norms, losses and some functions run in float32. Other
    operations run in the widest dtype of their arguments.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.on = False
        self.copies: dict[Node, SimulatedTensor] = {}

    def __enter__(self) -> None:
        self.on = True

    def __exit__(self, *_raised: object) -> None:
        self.on = False
        for copy in self.copies.values():
            copy.disown()
        self.copies.clear()


class Tape:
    """PyTorch's operations on simulated tensors, recorded for the backward pass.

    ``grad`` says whether autograd is on; ``autocast`` is None without autocast.
    """

    def __init__(self, memory: Memory, *, grad: bool, autocast: Autocast | None = None) -> None:
        self.memory = memory
        self.grad = grad
        self.autocast = autocast
        self.region: Region | None = None  # the checkpointed region that runs for the first time
        self._again: Region | None = None  # the checkpointed region that is being recomputed
        self._made = 0

    # Creating tensors.

    def new(self, shape: Shape, item: int = 4, area: Area = "temporaries") -> SimulatedTensor:
        """A contiguous tensor with its own storage, with ``item`` bytes per element."""
        return SimulatedTensor(Storage(self.memory, prod(shape) * item, area), shape, contiguous_strides(shape), item)

    def made(self, shape: Shape, item: int, *of: SimulatedTensor) -> SimulatedTensor:
        """A new tensor without a grad_fn, computed from other tensors, which are alive until it exists."""
        made = self.new(shape, item)
        for tensor in of:
            tensor.drop()
        return made

    def leaf(self, name: str, shape: Shape, item: int = 4, *, trained: bool = True) -> SimulatedTensor:
        """A parameter, trained or frozen."""
        tensor = self.new(shape, item, "weights")
        if trained:
            tensor.set_node(self._leaf(name))
        return tensor

    def _leaf(self, where: str) -> Node:
        self._made += 1
        return Node(self.memory, _LEAF + self._made, where)

    def require_gradient(self, x: SimulatedTensor, where: str) -> None:
        """Simulate requires_grad_(): make a tensor without a grad_fn a leaf, which its node keeps alive."""
        if x.node is None and self.grad:
            leaf = self._leaf(where)
            x.set_node(leaf)
            leaf.kept = (x.detached().own(),)

    def transposed_parameter(self, x: SimulatedTensor, where: str) -> SimulatedTensor:
        """Simulate torch.nn.Parameter(x.T): make a leaf with a gradient that lives as long as the graph."""
        tensor = self.transpose(x.detached(), 0, 1)
        if self.grad:
            tensor.set_node(self._leaf(where))
        return tensor

    def like(self, tensor: SimulatedTensor, *of: SimulatedTensor) -> SimulatedTensor:
        """A new tensor with the shape of ``tensor``, computed from it and from other tensors."""
        return self.made(tensor.shape, tensor.item, tensor, *of)

    def _new_like(self, tensor: SimulatedTensor) -> SimulatedTensor:
        """A new tensor with the shape of ``tensor``; unlike ``like``, this does not release ``tensor``."""
        return self.new(tensor.shape, tensor.item)

    def record(
        self, inputs: Tensors, made: SimulatedTensor, kept: Tensors = (), rule: Rule | None = None
    ) -> SimulatedTensor:
        """Add an operation with one output to the autograd graph, and return the output.

        ``kept`` are the tensors that the operation saves, and ``rule`` is its backward rule. Without a rule, the
        backward pass creates a new gradient for each input that needs one.
        """
        self.record_all(inputs, (made,), kept, rule)
        return made

    def record_all(self, inputs: Tensors, made: Tensors, kept: Tensors, rule: Rule | None) -> None:
        """Add an operation with several outputs to the autograd graph; ``record`` describes the arguments."""
        taken = (*inputs, *kept)
        for tensor in taken:
            if tensor.owners < 0:
                raise tensor.released()
        if self.grad:
            for tensor in inputs:
                if tensor.node:
                    self._add_node(inputs, made, kept, rule)
                    break
        for tensor in taken:
            if not tensor.owners and tensor not in made:
                tensor.drop()

    def _add_node(self, inputs: Tensors, made: Tensors, kept: Tensors, rule: Rule | None) -> None:
        self._made += 1
        node = Node(self.memory, self._made, self.memory.where)
        node.connect(inputs)
        if kept and self.region:
            node.region = self.region
            self.region.owners += 1
            self.region.nodes.append(node)
        else:
            node.kept = self._kept(kept)
        node.rule = rule or self._new_gradients(inputs)
        node.outputs = len(made)
        for output, tensor in enumerate(made):
            tensor.set_node(node, output)
        if kept and self._again:
            self._fill(self._again, kept)

    def _new_gradients(self, inputs: Tensors) -> Rule:
        needed = [(tensor.shape, tensor.item) if tensor.node else None for tensor in inputs]
        return lambda *_grad_and_kept: [self.new(*size) if size else None for size in needed]

    def _kept(self, tensors: Tensors) -> tuple[SimulatedTensor, ...]:
        for tensor in tensors:
            if tensor.storage.area == "temporaries":
                tensor.storage.move("kept activations")
        return tuple(tensor.detached().own() for tensor in tensors)

    def hold(self, made: SimulatedTensor, tensors: Tensors) -> None:
        """Retain tensors of the operation of ``made``: they are never recomputed, and never released by backward."""
        assert made.node
        made.node.held = self._kept(tensors)

    def _fill(self, region: Region, kept: Tensors) -> None:
        """Give the next node of a region its saved tensors; after the last one, stop the recomputation."""
        node = region.nodes[region.filled]
        if node.alive:
            node.kept = self._kept(kept)
        region.filled += 1
        if region.filled == len(region.nodes):
            raise _EnoughError

    def _factors(self, x: SimulatedTensor, y: SimulatedTensor) -> tuple[bool, bool, list[SimulatedTensor]]:
        """Return whether each factor of a product needs a gradient, and the factors to save.

        The gradient of a factor needs the other factor. An operation calls this before it allocates its output, because
        a recomputation may stop at this point.
        """
        of_x, of_y = x.node is not None, y.node is not None
        kept = [*((y,) if of_x else ()), *((x,) if of_y else ())]
        if kept and self._again and self._again.filled + 1 == len(self._again.nodes):
            self._fill(self._again, kept)
        return of_x, of_y, kept

    # Views.

    def _view(
        self, x: SimulatedTensor, shape: Shape, strides: Shape, rule: Rule | None = None, *, is_view: bool = True
    ) -> SimulatedTensor:
        return self.record((x,), SimulatedTensor(x.storage, shape, strides, x.item, is_view=is_view), (), rule)

    def view(self, x: SimulatedTensor, shape: Shape, *, is_view: bool = True) -> SimulatedTensor:
        strides = view_strides(x.shape, x.strides, shape)
        assert strides is not None
        return self._reshaped(x, shape, strides, is_view=is_view)

    def _reshaped(self, x: SimulatedTensor, shape: Shape, strides: Shape, *, is_view: bool) -> SimulatedTensor:
        before = x.shape
        return self._view(x, shape, strides, lambda grad: (self.reshape(grad, before),), is_view=is_view)

    def unsafe_view(self, x: SimulatedTensor, shape: Shape) -> SimulatedTensor:
        """A view that PyTorch does not track as one (_unsafe_view)."""
        return self.view(x, shape, is_view=x.is_view)

    def transpose(self, x: SimulatedTensor, first: int, second: int) -> SimulatedTensor:
        order = list(range(len(x.shape)))
        order[first], order[second] = order[second], order[first]
        return self.permute(x, order)

    def permute(self, x: SimulatedTensor, order: Sequence[int]) -> SimulatedTensor:
        shape, strides = (tuple(sides[axis] for axis in order) for sides in (x.shape, x.strides))
        back = [order.index(axis) for axis in range(len(order))]
        return self._view(x, shape, strides, lambda grad: (self.permute(grad, back),))

    def unsqueeze(self, x: SimulatedTensor, axis: int) -> SimulatedTensor:
        """A view with one more axis of size 1."""
        shape, strides = ((*sides[:axis], 1, *sides[axis:]) for sides in (x.shape, x.strides))
        return self._view(x, shape, strides, lambda grad: (self.squeeze(grad, axis),))

    def squeeze(self, x: SimulatedTensor, axis: int = -1) -> SimulatedTensor:
        """A view without an axis of size 1."""
        axis %= len(x.shape)
        shape = x.shape

        def rule(grad: SimulatedTensor) -> Gradients:
            strides = (*grad.strides[:axis], 1, *grad.strides[axis:])
            return (SimulatedTensor(grad.storage, shape, strides, grad.item, is_view=True),)

        return self._view(x, *_without(x, axis), rule)

    def expand(self, x: SimulatedTensor, shape: Shape) -> SimulatedTensor:
        """A view with axes of size 1 repeated; the gradient is summed over them."""
        strides = tuple(0 if b != a else stride for a, b, stride in zip(x.shape, shape, x.strides, strict=True))
        return self._view(x, shape, strides, _passed)

    def same(self, x: SimulatedTensor) -> SimulatedTensor:
        """A view of the whole tensor with the same shape."""
        return self.expand(x, x.shape)

    def narrow(self, x: SimulatedTensor, shape: Shape) -> SimulatedTensor:
        """A view of a part of a tensor; its gradient is padded with zeros to the whole shape."""
        return self._view(x, shape, x.strides)

    def select(self, x: SimulatedTensor) -> SimulatedTensor:
        return self._view(x, *_without(x, 1))

    def unbind(self, x: SimulatedTensor, axis: int) -> list[SimulatedTensor]:
        """The slices along an axis, without that axis."""
        return self._cut(x, x.shape[axis], *_without(x, axis))

    def split(self, x: SimulatedTensor, parts: int, axis: int = -1) -> list[SimulatedTensor]:
        """Views of equal parts along an axis, by default the last one."""
        shape = list(x.shape)
        shape[axis] = x.shape[axis] // parts
        return self._cut(x, parts, tuple(shape), x.strides)

    def _cut(self, x: SimulatedTensor, parts: int, part: Shape, strides: Shape) -> list[SimulatedTensor]:
        """Views of parts of a tensor; their gradients are joined, with zeros for parts without a gradient."""
        shape, item = x.shape, x.item

        def rule(*grads: SimulatedTensor | None) -> Gradients:
            for grad in grads:
                if grad is None:
                    self.new(part, item)  # zeros for a part without a gradient
            return (self.new(shape, item),)

        pieces = [SimulatedTensor(x.storage, part, strides, item, is_view=True) for _part in range(parts)]
        self.record_all((x,), pieces, (), rule)
        return pieces

    def reshape(self, x: SimulatedTensor, shape: Shape) -> SimulatedTensor:
        """A view if the strides allow one, else a copy."""
        strides = view_strides(x.shape, x.strides, shape)
        if strides is not None:
            return self._reshaped(x, shape, strides, is_view=True)
        return self.unsafe_view(self.clone(x), shape)

    # Copies.

    def clone(self, x: SimulatedTensor) -> SimulatedTensor:
        """A contiguous copy."""
        return self.record((x,), self._new_like(x), (), _passed)

    def contiguous(self, x: SimulatedTensor) -> SimulatedTensor:
        """The tensor itself if it is contiguous, else a copy."""
        return x if is_contiguous(x) else self.clone(x)

    def to(self, x: SimulatedTensor, item: int) -> SimulatedTensor:
        """A cast to elements of ``item`` bytes; ``_run`` casts the gradient back."""
        return x if x.item == item else self.record((x,), self._in_bytes(x, item), (), _passed)

    def cast_in_place(self, x: SimulatedTensor, item: int) -> None:
        """Cast a tensor in place, as ``x.data = x.data.to(dtype)`` does."""
        cast = self.new(x.shape, item, x.storage.area)
        x.set_storage(cast.storage)
        x.item = item
        cast.drop()

    def lower(self, *tensors: SimulatedTensor) -> Iterator[SimulatedTensor]:
        """The arguments of a product, cast to 16 bits under autocast; C++ casts the last argument first."""
        return reversed([self._lowered(tensor) for tensor in reversed(tensors)])

    @property
    def _casting(self) -> Autocast | None:
        return self.autocast if self.autocast and self.autocast.on else None

    def _lowered(self, x: SimulatedTensor) -> SimulatedTensor:
        casting = self._casting
        if casting is None or x.item != FLOAT32:
            return x
        if x.node is None or x.node.rule is not None or x.is_view:
            return self.to(x, HALF)
        copies = casting.copies
        if x.node not in copies:  # a trained parameter is cast once
            copies[x.node] = self.to(x, HALF).own()
        return copies[x.node]

    def raised(self, x: SimulatedTensor) -> SimulatedTensor:
        """Cast the argument of an operation to float32 if autocast is on."""
        return self.to(x, FLOAT32) if self._casting else x

    def cat_with_nothing(self, x: SimulatedTensor) -> SimulatedTensor:
        """The copy that an empty key/value cache makes of its first tokens."""
        return self.record((x,), self._new_like(x), (), lambda grad: (self.same(grad),))

    def cat(self, x: SimulatedTensor, y: SimulatedTensor, axis: int = -1) -> SimulatedTensor:
        """Concatenate along an axis, by default the last one."""
        shapes = x.shape, y.shape
        shape = list(x.shape)
        shape[axis] = x.shape[axis] + y.shape[axis]

        def rule(grad: SimulatedTensor) -> Gradients:
            return [SimulatedTensor(grad.storage, shape, grad.strides, grad.item, is_view=True) for shape in shapes]

        return self.record((x, y), self.new(tuple(shape), x.item), (), rule)

    def repeat(self, x: SimulatedTensor, times: int) -> SimulatedTensor:
        """Repeat a tensor along the first axis; the result is a new tensor even if ``times`` is 1."""
        shape = x.shape
        once = isinstance(times, int) and times == 1
        rule = (lambda grad: (self.reshape(grad, shape),)) if once else None
        return self.record((x,), self.new((times * shape[0], *shape[1:]), x.item), (), rule)

    def index(self, x: SimulatedTensor, indices: Tensors) -> SimulatedTensor:
        """Index the first axes of a tensor with tensors of integers, as ``x[i]`` or ``x[i, j]`` does."""
        return self.record((x,), self.new((*indices[0].shape, *x.shape[len(indices) :]), x.item), indices)

    def gather(self, x: SimulatedTensor, indices: SimulatedTensor) -> SimulatedTensor:
        """The elements at ``indices`` in each row, as torch.gather returns them."""
        return self.record((x,), self.new(indices.shape, x.item), (x, indices))

    # Products.

    @operation
    def linear(
        self, x: SimulatedTensor, weight: SimulatedTensor, bias: SimulatedTensor | None, *, transposed: bool = True
    ) -> SimulatedTensor:
        """A linear layer, x W^T + b. Without ``transposed``, it is x W + b in one call of torch.addmm(b, x, W)."""
        shape = x.shape
        flat = (prod(shape[:-1]), shape[-1])
        if transposed:
            x, weight, *biases = self.lower(x, weight, *((bias,) if bias else ()))
        elif len(shape) > 2:
            x = self.reshape(x, flat)
        if not transposed:
            *biases, x, weight = self.lower(*((bias,) if bias else ()), x, weight)
        bias = biases[0] if biases else None
        if bias and len(x.shape) > 2:  # without a bias, PyTorch makes the two views in the opposite order
            x = self.reshape(x, flat)
        factor = self.transpose(weight, 0, 1) if transposed else weight
        if not bias and len(x.shape) > 2:
            x = self.reshape(x, flat)
        y = self._mm(x, factor, bias, transposed)
        if len(shape) == 2:
            return y
        return (self.view if bias else self.unsafe_view)(y, (*shape[:-1], factor.shape[1]))

    def _mm(
        self, x: SimulatedTensor, weight: SimulatedTensor, bias: SimulatedTensor | None, transposed: bool
    ) -> SimulatedTensor:
        of_x, of_weight, kept = self._factors(x, weight)
        biased = bias is not None  # the rule must not hold the bias: autocast's copy is released after forward
        y = self.new((x.shape[0], weight.shape[1]), x.item)
        shape = x.shape
        in_columns = x.strides == (1, x.shape[0])

        def rule(grad: SimulatedTensor, *kept: SimulatedTensor) -> Gradients:
            grad_x = self.new(shape, grad.item) if of_x else None
            if grad_x and in_columns:  # the gradient of x has the layout of x
                grad_x = self.transpose(grad_x, 0, 1)
            grad_weight = None
            if of_weight and transposed:  # the gradient of the weight has the layout of the weight
                product = self.new((grad.shape[1], kept[-1].shape[1]), grad.item)
                grad_weight = self.transpose(product, 0, 1)
            elif of_weight:
                grad_weight = self.new((kept[-1].shape[1], grad.shape[1]), grad.item)
            return *((grad,) if biased else ()), grad_x, grad_weight

        return self.record((*((bias,) if bias else ()), x, weight), y, kept, rule)

    @frame
    def matmul(self, v: Frame, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """The matrix products of two tensors of shape (batch, heads, rows, columns)."""
        v.x, v.y = self.lower(x, y)
        batch, heads, rows, columns = x.shape
        left = self.reshape(self.same(v.x), (batch * heads, rows, columns))
        right = self.reshape(
            self.expand(v.y, (batch, heads, columns, y.shape[-1])), (batch * heads, columns, y.shape[-1])
        )
        return self.unsafe_view(self.bmm(left, right), (batch, heads, rows, y.shape[-1]))

    @frame
    def product(self, v: Frame, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """The product of the rows of a tensor with a matrix that is a transposed view."""
        v.x, v.y = self.lower(x, y)
        if len(x.shape) == 2:
            return self._mm(v.x, v.y, None, transposed=True)
        flat = self.reshape(v.x, (prod(x.shape[:-1]), x.shape[-1]))
        return self.unsafe_view(self._mm(flat, v.y, None, transposed=True), (*x.shape[:-1], y.shape[1]))

    @operation
    def bmm(self, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """The matrix products of two tensors of shape (batch, rows, columns)."""
        x, y = self.lower(x, y)
        _of_x, _of_y, kept = self._factors(x, y)
        return self.record((x, y), self.new((*x.shape[:2], y.shape[2]), x.item), kept)

    @operation
    def einsum(self, equation: str, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """Simulate torch.einsum of two tensors: a bmm that sums over the only letter that is not in the output."""
        (of_x, of_y), out = equation.partition("->")[0].split(","), equation.partition("->")[2]
        (summed,) = set(of_x) & set(of_y) - set(out)
        letters = out + summed
        x, y = self._with_axes(x, of_x, letters), self._with_axes(y, of_y, letters)
        shape = broadcast(x.shape, y.shape)[:-1]
        last = len(out)
        if x.shape[last] == 1:
            return self.view(self.multiply(x, y), shape)
        shared: list[int] = []
        left: list[int] = []
        right: list[int] = []
        for axis in range(last):
            in_x, in_y = x.shape[axis] != 1, y.shape[axis] != 1
            (shared if in_x and in_y else left if in_x else right).append(axis)
        order = [*shared, *left, last, *right]
        sides = [prod(tensor.shape[axis] for axis in axes) for tensor, axes in ((x, shared), (x, left), (y, right))]
        sizes = [1 if axis == last else (y if axis in right else x).shape[axis] for axis in order]
        rows = self.reshape(self.permute(x, order), (sides[0], sides[1], x.shape[last]))
        columns = self.reshape(self.permute(y, [*shared, last, *right, *left]), (sides[0], y.shape[last], sides[2]))
        product = self.bmm(rows, columns)
        laid_out = self.view(product, tuple(sizes))
        return self.view(self.permute(laid_out, [order.index(axis) for axis in range(last + 1)]), shape)

    def _with_axes(self, x: SimulatedTensor, names: str, wanted: str) -> SimulatedTensor:
        """A view with the axes in the wanted order; a missing axis has size 1."""
        for name in wanted:
            if name not in names:
                names += name
                x = self.unsqueeze(x, len(x.shape))
        return self.permute(x, [names.index(name) for name in wanted])

    @operation
    def flash_attention(
        self, query: SimulatedTensor, key: SimulatedTensor, value: SimulatedTensor, mask: SimulatedTensor | None
    ) -> SimulatedTensor:
        """The attention core in one kernel, which never stores the scores.

        The layout of its output lets a view merge the heads. For the backward pass, the kernel saves its inputs, its
        output and one float32 for each row of scores.
        """

        def laid_out(x: SimulatedTensor) -> SimulatedTensor:
            batch, heads, rows, size = x.shape
            sequence, row, head, entry = contiguous_strides((batch, rows, heads, size))
            made = self._new_like(x)
            made.strides = (sequence, head, row, entry)
            return made

        query, key, value = self.lower(query, key, value)
        output = laid_out(query)
        sums = self.new(query.shape[:3])
        kept = (query, key, value, output, sums, *((mask,) if mask else ()))
        return self.record((query, key, value), output, kept, lambda grad, *kept: tuple(map(laid_out, kept[:3])))

    @operation
    def convolution(self, x: SimulatedTensor, weight: SimulatedTensor, bias: SimulatedTensor | None) -> SimulatedTensor:
        """A convolution over the last axis, which keeps its length."""
        x, weight, *biases = self.lower(x, weight, *((bias,) if bias else ()))
        return self.record(
            (x, weight, *biases), self.new((x.shape[0], weight.shape[0], x.shape[2]), x.item), (x, weight)
        )

    # Elementwise operations.

    @operation
    def function(self, name: str, x: SimulatedTensor) -> SimulatedTensor:
        """Run an elementwise function from FUNCTIONS, selected by its name in PyTorch."""
        cast = self.raised(x) if name in IN_FLOAT32 else x  # the caller holds x until the function returns
        return self.kernel(cast, *FUNCTIONS[name])

    def kernel(self, x: SimulatedTensor, keep: Keep, backward: int = 1) -> SimulatedTensor:
        """Run an elementwise function that saves ``keep`` and creates ``backward`` gradients: see FUNCTIONS."""
        y = self._in_bytes(x, x.item)

        def rule(grad: SimulatedTensor, *_kept: SimulatedTensor) -> Gradients:
            made = [grad, *(self._in_bytes(grad, grad.item) for _time in range(backward))]
            return (made[-1],)

        return self.record((x,), y, {"nothing": (), "input": (x,), "output": (y,)}[keep], rule)

    def shift(self, x: SimulatedTensor) -> SimulatedTensor:
        """Add or subtract a Python number."""
        return self.function("add", x)

    def scale(self, x: SimulatedTensor) -> SimulatedTensor:
        """Multiply or divide by a Python number."""
        return self.function("mul", x)

    @operation
    def softmax(self, x: SimulatedTensor) -> SimulatedTensor:
        """Softmax along the last axis, which autocast runs in float32."""
        return self.wide_softmax(x) if self._casting else self.log_softmax(x)

    @operation
    def wide_softmax(self, x: SimulatedTensor) -> SimulatedTensor:
        """Softmax in float32: CUDA's kernel reads autocast's float16 directly, but bfloat16 is cast to a copy first."""
        if not (self._casting and self._casting.dtype == "float16" and x.item == HALF):
            return self.log_softmax(self.to(x, FLOAT32))
        y, shape = self.new(x.shape, FLOAT32), x.shape
        return self.record((x,), y, (y,), lambda _grad, _y: (self.new(shape, HALF),))

    def log_softmax(self, x: SimulatedTensor) -> SimulatedTensor:
        """Log-softmax in the dtype of the scores, even under autocast; softmax needs the same memory."""
        return self.function("softmax", x)

    def masked(self, x: SimulatedTensor, mask: SimulatedTensor, *, in_place: bool = False) -> SimulatedTensor:
        """Simulate masked_fill; a product with a mask that has no gradient needs the same memory."""
        return self.record((x,), x if in_place else self._new_like(x), (mask,))

    def dropout(self, x: SimulatedTensor, p: float, *, fused: bool = False) -> SimulatedTensor:
        """Dropout: a product with a mask, or with a single 0 if p is 1.

        The mask of a fused kernel has one byte per element.
        """
        if p == 0:
            return x
        if not fused or p == 1:
            return self.multiply(x, self.new((), x.item) if p == 1 else self._new_like(x))
        return self.record((x,), self._new_like(x), (self.new(x.shape, BOOL),))

    def _each(self, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """The output of an elementwise operation of two tensors, with the strides that PyTorch gives it."""
        shape = broadcast(x.shape, y.shape)
        made = self.new(shape, common_item(x, y))
        made.strides = iterated_strides(shape, [x, y])
        return made

    def add(self, x: SimulatedTensor, y: SimulatedTensor, *, in_place: bool = False) -> SimulatedTensor:
        """A sum, which passes its gradient on to both terms."""
        total = x if in_place else self._each(x, y)
        return self.record((x, y), total, (), lambda grad: (grad, grad.detached()))

    def subtract(self, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        needed = y.node is not None
        return self.record((x, y), self._each(x, y), (), lambda grad: (grad, self._new_like(grad) if needed else None))

    def multiply(self, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """The elementwise product: the gradient of each factor needs the other factor."""
        of_x, of_y, kept = self._factors(x, y)

        def rule(grad: SimulatedTensor, *kept: SimulatedTensor) -> Gradients:
            grad_y = self._each(grad, kept[-1]) if of_y else None
            return self._each(grad, kept[0]) if of_x else None, grad_y

        return self.record((x, y), self._each(x, y), kept, rule)

    def divide(self, x: SimulatedTensor, y: SimulatedTensor, *, in_place: bool = False) -> SimulatedTensor:
        """Divide by a tensor that requires no gradient."""
        quotient = x if in_place else self._in_bytes(x, x.item)
        return self.record((x,), quotient, (y,), lambda grad, y: (self._in_bytes(grad, grad.item),))

    def quotient(self, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """Divide by a tensor that may require a gradient."""
        of_x, of_y = x.node is not None, y.node is not None

        def rule(grad: SimulatedTensor, *kept: SimulatedTensor) -> Gradients:
            grad_y = self._of_divisor(grad, *kept) if of_y else None
            return self._each(grad, kept[-1]) if of_x else None, grad_y

        return self.record((x, y), self._each(x, y), (*((x,) if of_y else ()), y), rule)

    @frame
    def _of_divisor(self, v: Frame, grad: SimulatedTensor, x: SimulatedTensor, y: SimulatedTensor) -> SimulatedTensor:
        """The gradient of the divisor (PyTorch's div_tensor_other_grad)."""
        v.once = self._each(x, y)
        v.twice = self._each(v.once, y)
        v.negative = self._in_bytes(grad, grad.item)
        return self._each(v.negative, v.twice)

    @operation
    def changed_in_view(self, base: SimulatedTensor, x: SimulatedTensor, by: SimulatedTensor) -> SimulatedTensor:
        """Fill ``x``, a full view of ``base``, in place, or divide it; ``by`` is the mask or the divisor.

        ``by`` requires no gradient. The backward pass copies the gradient of the base, and overwrites the part that
        belongs to the view: all of it.
        """

        def rule(grad: SimulatedTensor, _by: SimulatedTensor) -> Gradients:
            whole, _part, _filled = (self._new_like(grad) for _time in range(3))
            return (whole,)

        self.record((base,), base, (by,), rule)
        return self.record((base,), x)

    # Norms, means, sums and losses.

    @operation
    def layer_norm(self, x: SimulatedTensor, weight: SimulatedTensor, bias: SimulatedTensor | None) -> SimulatedTensor:
        """LayerNorm; the backward pass needs the mean and 1 / standard deviation of each row."""
        x = self.raised(x)
        y, mean, rstd = self._new_like(x), self.new(x.shape[:-1]), self.new(x.shape[:-1])
        return self.record((x, weight, *((bias,) if bias else ())), y, (x, mean, rstd, weight))

    def mean(self, x: SimulatedTensor, axis: int) -> SimulatedTensor:
        """The mean along an axis, which is kept with size 1."""
        return self.record((x,), self.new((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.item))

    def masked_sum(self, x: SimulatedTensor, mask: SimulatedTensor) -> SimulatedTensor:
        """The sum over the unmasked tokens of each sequence, axis 1."""
        masked, shape = self.masked(x, mask), x.shape
        made = self.new(_without(x, 1)[0], x.item)
        return self.record((masked,), made, (), lambda grad: (self.expand(self.unsqueeze(grad, 1), shape),))

    def sum(self, x: SimulatedTensor) -> SimulatedTensor:
        shape, item = x.shape, FLOAT32 if self._casting else x.item

        def rule(grad: SimulatedTensor) -> Gradients:
            return (SimulatedTensor(grad.storage, shape, (0,) * len(shape), grad.item, is_view=True),)

        return self.record((x,), self.new((), item), (), rule)

    @operation
    def cross_entropy(self, scores: SimulatedTensor, labels: SimulatedTensor) -> SimulatedTensor:
        """The mean of -log softmax at the labels."""
        logs = self.raised(self.log_softmax(scores))
        loss, weight = self.new((), logs.item), self.new((), logs.item)
        return self.record((logs,), loss, (logs, labels, weight))

    @operation
    def binary_cross_entropy(self, scores: SimulatedTensor, labels: SimulatedTensor) -> SimulatedTensor:
        """The mean of -log sigmoid, for labels of 0 and 1."""
        scores = self.raised(scores)

        def rule(grad: SimulatedTensor, scores: SimulatedTensor, labels: SimulatedTensor) -> Gradients:
            sigmoid = self._new_like(scores)
            difference = self._each(sigmoid, labels)
            sigmoid.drop()
            return (self.like(difference),)  # the difference times grad

        return self.record((scores,), self.new((), common_item(scores, labels)), (scores, labels), rule)

    @operation
    def mean_squared_error(self, scores: SimulatedTensor, labels: SimulatedTensor) -> SimulatedTensor:
        """The mean of (score - label)^2.

        PyTorch allocates room for the squares of all sequences and resizes it to a single element with ``resize_``,
        which keeps the storage. The CPU and CUDA share this code (TORCH_META_FUNC(mse_loss) in ATen/native/Loss.cpp);
        only the meta device, which replaces this code, has a storage for one element. A second tensor of squares is
        released when the kernel returns; like any workspace of a kernel, it is not counted.
        """
        scores = self.raised(scores)
        item, shape = common_item(scores, labels), scores.shape
        loss = self.new(shape, item)
        loss.shape = loss.strides = ()
        return self.record((scores,), loss, (scores, labels), lambda grad, *_kept: (self.new(shape, item),))

    # The backward pass.

    def backward(self, loss: SimulatedTensor) -> None:
        """Compute the gradients of all leaves in the order of PyTorch's engine: the node made last runs first."""
        assert loss.node
        grad, self.grad = self.grad, False
        waiting: dict[Node, int] = {}
        seen, stack = {loss.node}, [loss.node]
        while stack:
            for edge in stack.pop().edges:
                if edge:
                    waiting[edge[0]] = waiting.get(edge[0], 0) + 1
                    if edge[0] not in seen:
                        seen.add(edge[0])
                        stack.append(edge[0])
        seen.clear()
        root = self._new_like(loss).own()  # owned by Tensor.backward until it returns
        buffers: dict[Node, list[SimulatedTensor | None]] = {loss.node: [root.own()]}
        ready = [(-loss.node.number, loss.node)]
        while ready:
            node = heappop(ready)[1]
            self.memory.where = node.where
            added: list[SimulatedTensor] = []  # gradients added to others; PyTorch owns them until all are passed on
            for edge, gradient in zip(node.edges, self._run(node, buffers.pop(node)), strict=True):
                if not edge:
                    continue
                after, output = edge
                if gradient:
                    buffer = buffers.setdefault(after, [None] * after.outputs)
                    if before := buffer[output]:
                        added.append(gradient)
                        gradient = self._accumulated(before, gradient).own()
                        before.disown()
                    buffer[output] = gradient
                waiting[after] -= 1
                if not waiting[after] and after in buffers:
                    heappush(ready, (-after.number, after))
            for gradient in added:
                gradient.disown()
        root.disown()
        self.grad = grad

    def _run(self, node: Node, grads: Sequence[SimulatedTensor | None]) -> list[SimulatedTensor | None]:
        """Run the backward rule of a node, and return the gradients of its inputs, which the caller then owns.

        This releases the gradients of its outputs, which the caller owned, and the tensors that the node saved.
        """
        if node.rule is None:
            (gradient,) = grads
            assert gradient
            if node.grad is None:
                self._keep_gradient(node, gradient)
            else:  # the gradient is added in place
                gradient.disown()
            return []
        if node.region and not node.region.ran_again:
            self._run_again(node.region)
            self.memory.where = node.where
        gradients = [gradient and gradient.own() for gradient in node.rule(*grads, *node.kept)]
        if self.memory.temporaries:
            self.memory.release_temporaries()
        if node.written_in_python:
            _disown(grads)
            grads = ()
        if node.region:  # PyTorch releases recomputed tensors right after their use
            node.release_kept()
        for index, gradient in enumerate(gradients):
            if gradient and node.edges[index]:
                gradients[index] = self._fitted(gradient, *node.shapes[index])
            elif gradient:
                gradient.disown()
        node.release_kept()
        node.release_region()
        node.rule = _released
        _disown(grads)
        return gradients

    def _keep_gradient(self, leaf: Node, gradient: SimulatedTensor) -> None:
        """Give a leaf its first gradient, as AccumulateGrad does; the leaf becomes the owner.

        A gradient that is not contiguous is copied. The gradient of an input is also copied if other tensors share its
        storage, unless it is only a part of a joined gradient.
        """
        is_whole = gradient.storage.num_bytes == prod(gradient.shape) * gradient.item
        if not is_contiguous(gradient) or (leaf.kept and is_whole and gradient.storage.holders > 1):
            copy = self._new_like(gradient).own()
            gradient.disown()
            gradient = copy
        gradient.storage.move("gradients")
        leaf.grad = gradient

    def _run_again(self, region: Region) -> None:
        region.ran_again = True
        self.grad, self._again = True, region
        with suppress(_EnoughError), self.autocast or nullcontext():
            region.again()
        self.memory.release_temporaries()
        self.grad, self._again = False, None

    def _fitted(self, gradient: SimulatedTensor, shape: Shape, item: int) -> SimulatedTensor:
        """Sum a gradient over the axes along which the operation broadcast its input, and cast it back.

        The caller owns the result instead of ``gradient``.
        """
        if gradient.shape != shape:
            total = self.new(shape, gradient.item).own()
            total.is_view = len(shape) < len(gradient.shape)
            gradient.disown()
            gradient = total
        if gradient.item != item:
            cast = self._in_bytes(gradient, item).own()
            gradient.disown()
            gradient = cast
        return gradient

    def _in_bytes(self, x: SimulatedTensor, item: int) -> SimulatedTensor:
        copy = self.new(x.shape, item)
        copy.strides = iterated_strides(x.shape, [x])
        return copy

    def _accumulated(self, before: SimulatedTensor, gradient: SimulatedTensor) -> SimulatedTensor:
        """The sum of two gradients, in the storage of the first if no other tensor shares it."""
        if before.storage.holders == 1 and not before.is_view and is_contiguous(before):
            return before
        return self._each(before, gradient)


def _disown(tensors: Sequence[SimulatedTensor | None]) -> None:
    for tensor in tensors:
        if tensor:
            tensor.disown()


def _passed(grad: SimulatedTensor) -> Gradients:
    return (grad,)


def _without(x: SimulatedTensor, axis: int) -> tuple[Shape, Shape]:
    shape, strides = (sides[:axis] + sides[axis + 1 :] for sides in (x.shape, x.strides))
    return shape, strides


def _released(*_kept: object) -> Gradients:
    raise RuntimeError("A second backward pass through the same operations")


def contiguous_strides(shape: Shape) -> Shape:
    """The strides of a contiguous tensor; PyTorch counts an axis of size 0 as 1."""
    strides = [1]
    for side in reversed(shape[1:]):
        strides.append(strides[-1] * (side or 1))
    return tuple(reversed(strides)) if shape else ()


def is_contiguous(tensor: SimulatedTensor) -> bool:
    """Whether a tensor is contiguous; the stride of an axis of size 1 does not matter."""
    if 0 in tensor.shape:
        return True
    expected = 1
    for side, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if side != 1:
            if stride != expected:
                return False
            expected *= side
    return True


def iterated_strides(shape: Shape, tensors: Tensors) -> Shape:
    """The strides of the output of an elementwise operation (TensorIterator's reorder_dimensions).

    The axes are ordered as in the memory of the first tensor, except for axes along which it is broadcast.
    """
    aligned = []
    for tensor in tensors:
        missing = len(shape) - len(tensor.shape)
        sides = zip(shape[missing:], tensor.shape, tensor.strides, strict=True)
        aligned.append([0] * missing + [0 if side == 1 != whole else stride for whole, side, stride in sides])

    def swaps(inner: int, outer: int) -> bool | None:
        """Whether to swap an inner axis with an outer axis; None if no tensor decides that."""
        for strides in aligned:
            if strides[inner] != 0 != strides[outer]:
                if strides[inner] != strides[outer]:
                    return _exceeds(strides[inner], strides[outer])
                if _exceeds(shape[inner], shape[outer]):
                    return True
        return None

    order = list(reversed(range(len(shape))))
    for place in range(1, len(order)):
        for inside in reversed(range(place)):
            swap = swaps(order[inside], order[place])
            if swap:
                order[inside], order[place] = order[place], order[inside]
                place = inside
            elif swap is False:
                break
    output_strides = [0] * len(shape)
    expected = 1
    for axis in order:
        output_strides[axis] = expected
        expected *= shape[axis]
    return tuple(output_strides)


def _exceeds(left: Any, right: Any) -> bool:
    """Whether ``left > right``, for sizes or strides.

    Symbols are greater than 1, and one of two strides is a multiple of the other.
    """
    if isinstance(left, int) and isinstance(right, int):
        return left > right
    return bool((left / right).is_integer)


def common_item(x: SimulatedTensor, y: SimulatedTensor) -> int:
    """The bytes per element after type promotion of two tensors; a scalar does not widen a non-scalar tensor."""
    if bool(x.shape) != bool(y.shape):
        return x.item if x.shape else y.item
    return max(x.item, y.item)


def broadcast(left: Shape, right: Shape) -> Shape:
    """The shape that two shapes are broadcast to."""
    length = max(len(left), len(right))
    left, right = (1,) * (length - len(left)) + left, (1,) * (length - len(right)) + right
    return tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))


def view_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """The strides of a view with another shape; None if there can be no view (PyTorch's computeStride)."""
    if not shape:
        return (1,) * len(wanted)
    if 0 in shape:
        return contiguous_strides(wanted)
    new_strides = [0] * len(wanted)
    new_axis = len(wanted) - 1
    base = strides[-1]
    elements = taken = 1
    for axis in reversed(range(len(shape))):
        elements *= shape[axis]
        if axis and (shape[axis - 1] == 1 or strides[axis - 1] == elements * base):
            continue
        while new_axis >= 0 and (taken != elements or wanted[new_axis] == 1):
            new_strides[new_axis] = taken * base
            taken *= wanted[new_axis]
            new_axis -= 1
        if taken != elements:
            return None
        if axis:
            base = strides[axis - 1]
            elements = taken = 1
    return tuple(new_strides) if new_axis == -1 else None
