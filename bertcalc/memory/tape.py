"""A PyTorch without numbers: tensors that have a shape and bytes, operations that say what autograd keeps, a backward.

It is run to see what is alive when. A storage is released when the last simulated tensor that holds it goes, at the
very moment at which CPython would let go of the real one: the simulation leaves that to CPython's own counting of
references. So an expression written here as transformers writes it holds its intermediate values exactly as long.

Every rule was read off PyTorch 2.13, and tests compare it with the real one, release by release.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from math import prod
from typing import Any, Literal, NamedTuple, get_args
from weakref import ref

from bertcalc.tree.nn import Shape

Area = Literal["weights", "buffers and batch", "gradients", "optimizer states", "kept activations", "temporaries"]
AREAS: tuple[Area, ...] = get_args(Area)
Phase = Literal["before", "forward", "loss", "backward", "optimizer"]


class Change(NamedTuple):
    """Bytes that come to an area or go from it; or move from another area, so that no more are alive than before."""

    phase: Phase
    where: str  # the step of the forward pass that it is for, the loss, or the tensor that is learned
    area: Area
    num_bytes: int
    storage: int  # its number, by which its release is found
    moved_from: Area | None = None


class Memory:
    """What is alive, and everything that came and went."""

    def __init__(self) -> None:
        self.phase: Phase = "before"
        self.where = ""
        self.changes: list[Change] = []
        self.storages = 0
        self.closed = False  # what happens from then on is not written down

    def change(self, area: Area, num_bytes: int, storage: int, moved_from: Area | None = None) -> None:
        if not self.closed:
            self.changes.append(Change(self.phase, self.where, area, num_bytes, storage, moved_from))


class Storage:
    """Bytes that one or more tensors are views of; ``holders`` counts them."""

    __slots__ = ("area", "holders", "memory", "num_bytes", "number")

    def __init__(self, memory: Memory, num_bytes: int, area: Area) -> None:
        self.memory = memory
        self.num_bytes = num_bytes
        self.area = area
        self.holders = 0
        memory.storages += 1
        self.number = memory.storages
        memory.change(area, num_bytes, self.number)

    def move(self, area: Area) -> None:
        """From now on it counts to another area."""
        if area != self.area:
            self.memory.change(area, self.num_bytes, self.number, self.area)
            self.area = area

    def __del__(self) -> None:
        self.memory.change(self.area, -self.num_bytes, self.number)


class Tensor:
    """A view of a storage.

    ``node`` is what made it, if a gradient flows back through that; ``output`` says which of the node's outputs it is.
    ``is_view`` says whether PyTorch takes it for a view, which holds on to the tensor that it is a view of.
    """

    __slots__ = ("is_view", "item", "node", "output", "shape", "storage", "strides")

    def __init__(self, storage: Storage, shape: Shape, strides: Shape, item: int, *, is_view: bool = False) -> None:
        self.storage = storage
        self.shape = shape
        self.strides = strides
        self.item = item
        self.is_view = is_view
        self.node: Node | None = None
        self.output = 0
        storage.holders += 1

    def __del__(self) -> None:
        self.storage.holders -= 1

    def detached(self) -> "Tensor":
        """The same without its history, as autograd keeps it."""
        return Tensor(self.storage, self.shape, self.strides, self.item, is_view=self.is_view)


Gradients = Sequence[Tensor | None]
Rule = Callable[..., Gradients]  # of the gradients of the outputs, and what was kept


class Node:
    """How a gradient flows back through an operation; or where it is added up, for a leaf."""

    __slots__ = ("__weakref__", "edges", "grad", "kept", "number", "outputs", "region", "rule", "shapes", "where")

    def __init__(self, number: int, where: str) -> None:
        self.number = number
        self.where = where
        self.edges: list[tuple[Node, int] | None] = []
        self.shapes: list[tuple[Shape, int]] = []  # of the inputs, with the bytes of an element
        self.kept: tuple[Tensor, ...] = ()
        self.rule: Rule | None = None  # None for a leaf
        self.outputs = 1
        self.grad: Tensor | None = None  # of a leaf
        self.region: Region | None = None  # that brings back what is to be kept


class Region:
    """Operations that keep nothing: the backward pass runs them ``again``, as far as it needs to.

    PyTorch's torch.utils.checkpoint with use_reentrant=False. It is held by the operations that would have kept
    something, and what it takes is held by ``again``.
    """

    def __init__(self, again: Callable[[], None]) -> None:
        self.again = again
        self.ran_again = False
        self.nodes: list[ref[Node]] = []
        self.filled = 0


class _EnoughError(Exception):
    """Everything is there that the backward pass needs."""


Keep = Literal["nothing", "input", "output"]
# Functions of each number: what they keep, and how many tensors the backward pass makes, each of the one before; all of
# them are there until the last one is. With 0 the gradient goes on as it is.
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

_LEAF = 1 << 62  # PyTorch runs what is ready and was made last; leaves before all others


class Tape:
    """Operations under the names of PyTorch's own. ``grad`` says whether autograd is on."""

    def __init__(self, memory: Memory, *, grad: bool) -> None:
        self.memory = memory
        self.grad = grad
        self.region: Region | None = None  # that runs for the first time
        self._again: Region | None = None  # that runs again
        self._made = 0

    # Making tensors.

    def new(self, shape: Shape, item: int = 4, area: Area = "temporaries") -> Tensor:
        """A tensor with memory of its own."""
        return Tensor(Storage(self.memory, prod(shape) * item, area), shape, contiguous_strides(shape), item)

    def made(self, shape: Shape, item: int, *_of: Tensor) -> Tensor:
        """A new tensor, for which no gradient is needed, of others that are alive until it is there."""
        return self.new(shape, item)

    def leaf(self, name: str, shape: Shape, item: int = 4, *, trained: bool = True) -> Tensor:
        """What a model learns, or once learned."""
        tensor = self.new(shape, item, "weights")
        if trained:
            self._made += 1
            tensor.node = Node(_LEAF + self._made, name)
        return tensor

    def like(self, tensor: Tensor, *_of: Tensor) -> Tensor:
        """A new tensor of the same shape, of that and others."""
        return self.new(tensor.shape, tensor.item)

    def record(
        self, given: Sequence[Tensor], made: Tensor, kept: Sequence[Tensor] = (), rule: Rule | None = None
    ) -> Tensor:
        """Write down how gradients flow from what an operation made to what it was given, and what that needs.

        Without a rule, the backward pass makes a new gradient for each tensor that needs one.
        """
        self.record_all(given, (made,), kept, rule)
        return made

    def record_all(
        self, given: Sequence[Tensor], made: Sequence[Tensor], kept: Sequence[Tensor] = (), rule: Rule | None = None
    ) -> None:
        """The same of an operation that makes several tensors."""
        if not self.grad or all(tensor.node is None for tensor in given):
            return
        self._made += 1
        node = Node(self._made, self.memory.where)
        node.edges = [(tensor.node, tensor.output) if tensor.node else None for tensor in given]
        node.shapes = [(tensor.shape, tensor.item) for tensor in given]
        if kept and self.region:
            node.region = self.region
            self.region.nodes.append(ref(node))
        else:
            node.kept = self._kept(kept)
        node.rule = rule or self._new_gradients(given)
        node.outputs = len(made)
        for output, tensor in enumerate(made):
            tensor.node = node
            tensor.output = output
        if kept and self._again:
            self._fill(self._again, kept)

    def _new_gradients(self, given: Sequence[Tensor]) -> Rule:
        needed = [(tensor.shape, tensor.item) if tensor.node else None for tensor in given]
        return lambda *_grad_and_kept: [self.new(*size) if size else None for size in needed]

    def _kept(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for tensor in tensors:
            if tensor.storage.area == "temporaries":
                tensor.storage.move("kept activations")
        return tuple(tensor.detached() for tensor in tensors)

    def _fill(self, region: Region, kept: Sequence[Tensor]) -> None:
        """Give the next operation of a region what it needs; after the last one, that is enough."""
        if node := region.nodes[region.filled]():
            node.kept = self._kept(kept)
        region.filled += 1
        if region.filled == len(region.nodes):
            raise _EnoughError

    def _factors(self, x: Tensor, y: Tensor) -> tuple[bool, bool, list[Tensor]]:
        """Which factors of a product need a gradient, and what is kept for that: of each the other one.

        Asked by an operation before it runs: running again may stop in front of it.
        """
        of_x, of_y = x.node is not None, y.node is not None
        kept = [*((y,) if of_x else ()), *((x,) if of_y else ())]
        if kept and self._again and self._again.filled + 1 == len(self._again.nodes):
            self._fill(self._again, kept)
        return of_x, of_y, kept

    # Views.

    def _view(
        self, x: Tensor, shape: Shape, strides: Shape, rule: Rule | None = None, *, is_view: bool = True
    ) -> Tensor:
        return self.record((x,), Tensor(x.storage, shape, strides, x.item, is_view=is_view), (), rule)

    def view(self, x: Tensor, shape: Shape, *, is_view: bool = True) -> Tensor:
        strides = view_strides(x.shape, x.strides, shape)
        assert strides is not None
        before = x.shape
        return self._view(x, shape, strides, lambda grad: (self.reshape(grad, before),), is_view=is_view)

    def unsafe_view(self, x: Tensor, shape: Shape) -> Tensor:
        """A view that PyTorch does not take for one."""
        return self.view(x, shape, is_view=x.is_view)

    def transpose(self, x: Tensor, one: int, other: int) -> Tensor:
        order = list(range(len(x.shape)))
        order[one], order[other] = order[other], order[one]
        return self.permute(x, order)

    def permute(self, x: Tensor, order: Sequence[int]) -> Tensor:
        shape, strides = (tuple(sides[axis] for axis in order) for sides in (x.shape, x.strides))
        back = [order.index(axis) for axis in range(len(order))]
        return self._view(x, shape, strides, lambda grad: (self.permute(grad, back),))

    def unsqueeze(self, x: Tensor, axis: int) -> Tensor:
        """With one more axis of one."""
        shape, strides = ((*sides[:axis], 1, *sides[axis:]) for sides in (x.shape, x.strides))
        return self._view(x, shape, strides, lambda grad: (self.squeeze(grad, axis),))

    def squeeze(self, x: Tensor, axis: int = -1) -> Tensor:
        """Without an axis of one."""
        axis %= len(x.shape)
        shape = x.shape

        def rule(grad: Tensor) -> Gradients:
            at = (*grad.strides[:axis], 1, *grad.strides[axis:])
            return (Tensor(grad.storage, shape, at, grad.item, is_view=True),)

        return self._view(x, *_without(x, axis), rule)

    def expand(self, x: Tensor, shape: Shape) -> Tensor:
        """Axes of one repeated, without a copy; the gradient is summed over them."""
        strides = tuple(0 if b != a else stride for a, b, stride in zip(x.shape, shape, x.strides, strict=True))
        return self._view(x, shape, strides, _passed)

    def same(self, x: Tensor) -> Tensor:
        """A view that changes nothing."""
        return self.expand(x, x.shape)

    def narrow(self, x: Tensor, shape: Shape) -> Tensor:
        """A part of a tensor, whose gradient is a whole one with zeros around."""
        return self._view(x, shape, x.strides)

    def select(self, x: Tensor) -> Tensor:
        return self._view(x, *_without(x, 1))

    def unbind(self, x: Tensor, axis: int) -> list[Tensor]:
        """Each part along an axis, without that."""
        return self._cut(x, x.shape[axis], *_without(x, axis))

    def split(self, x: Tensor, parts: int) -> list[Tensor]:
        """The last axis in equal parts."""
        return self._cut(x, parts, (*x.shape[:-1], x.shape[-1] // parts), x.strides)

    def _cut(self, x: Tensor, parts: int, part: Shape, strides: Shape) -> list[Tensor]:
        """Parts of a tensor, whose gradient is a whole one: zeros where they have none."""
        shape, item = x.shape, x.item

        def rule(*grads: Tensor | None) -> Gradients:
            zeros = [self.new(part, item) for grad in grads if grad is None]
            whole = self.new(shape, item)
            del zeros
            return (whole,)

        found = [Tensor(x.storage, part, strides, item, is_view=True) for _part in range(parts)]
        self.record_all((x,), found, (), rule)
        return found

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        """A view where there can be one, else a copy."""
        if view_strides(x.shape, x.strides, shape) is not None:
            return self.view(x, shape)
        return self.unsafe_view(self.clone(x), shape)

    # Copies.

    def clone(self, x: Tensor) -> Tensor:
        """A copy, laid out in order."""
        return self.record((x,), self.like(x), (), _passed)

    def contiguous(self, x: Tensor) -> Tensor:
        """The tensor itself if it is laid out in order, else a copy."""
        return x if is_contiguous(x) else self.clone(x)

    def to(self, x: Tensor, item: int) -> Tensor:
        """In elements of some bytes; the gradient comes back in those that it is for: see _run."""
        return x if x.item == item else self.record((x,), self._in_bytes(x, item), (), _passed)

    def cat_with_nothing(self, x: Tensor) -> Tensor:
        """What a cache without tokens makes of the first ones: a copy."""
        return self.record((x,), self.like(x), (), lambda grad: (self.same(grad),))

    def cat(self, x: Tensor, y: Tensor) -> Tensor:
        """Side by side, along the last axis."""
        shapes = x.shape, y.shape

        def rule(grad: Tensor) -> Gradients:
            return [Tensor(grad.storage, shape, grad.strides, grad.item, is_view=True) for shape in shapes]

        return self.record((x, y), self.new((*x.shape[:-1], x.shape[-1] + y.shape[-1]), x.item), (), rule)

    def repeat(self, x: Tensor, times: int) -> Tensor:
        """So many copies along the first axis, even if it is one."""
        shape = x.shape
        once = isinstance(times, int) and times == 1
        rule = (lambda grad: (self.reshape(grad, shape),)) if once else None
        return self.record((x,), self.new((times * shape[0], *shape[1:]), x.item), (), rule)

    def index(self, x: Tensor, at: Sequence[Tensor]) -> Tensor:
        """Rows of a tensor, by numbers for its first axes."""
        return self.record((x,), self.new((*at[0].shape, *x.shape[len(at) :]), x.item), at)

    def gather(self, x: Tensor, at: Tensor) -> Tensor:
        """Of each row the numbers that are asked for."""
        return self.record((x,), self.new(at.shape, x.item), (x, at))

    # Products.

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None, *, transposed: bool = True) -> Tensor:
        """x W^T + b; not ``transposed``, x W + b."""
        shape = x.shape
        flat = (prod(shape[:-1]), shape[-1])
        if bias and len(shape) > 2:  # a product without a sum is another function of PyTorch, which begins at the end
            x = self.reshape(x, flat)
        factor = self.transpose(weight, 0, 1) if transposed else weight
        if not bias and len(shape) > 2:
            x = self.reshape(x, flat)
        y = self._mm(x, factor, bias, transposed)
        if len(shape) == 2:
            return y
        return (self.view if bias else self.unsafe_view)(y, (*shape[:-1], factor.shape[1]))

    def _mm(self, x: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool) -> Tensor:
        of_x, of_weight, kept = self._factors(x, weight)
        y = self.new((x.shape[0], weight.shape[1]), x.item)

        def rule(grad: Tensor, *kept: Tensor) -> Gradients:
            grad_x = self.new((grad.shape[0], kept[0].shape[0]), grad.item) if of_x else None
            grad_weight = None
            if of_weight and transposed:  # its gradient is laid out as it is
                product = self.new((grad.shape[1], kept[-1].shape[1]), grad.item)
                grad_weight = self.transpose(product, 0, 1)
            elif of_weight:
                grad_weight = self.new((kept[-1].shape[1], grad.shape[1]), grad.item)
            return *((grad,) if bias else ()), grad_x, grad_weight

        return self.record((*((bias,) if bias else ()), x, weight), y, kept, rule)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """The products of two stacks of matrices (batch, heads, rows, columns)."""
        batch, heads, rows, columns = x.shape
        left = self.reshape(self.same(x), (batch * heads, rows, columns))
        right = self.reshape(
            self.expand(y, (batch, heads, columns, y.shape[-1])), (batch * heads, columns, y.shape[-1])
        )
        return self.unsafe_view(self.bmm(left, right), (batch, heads, rows, y.shape[-1]))

    def bmm(self, x: Tensor, y: Tensor) -> Tensor:
        """The products of two stacks of matrices (number, rows, columns)."""
        _of_x, _of_y, kept = self._factors(x, y)
        return self.record((x, y), self.new((*x.shape[:2], y.shape[2]), x.item), kept)

    def einsum(self, equation: str, x: Tensor, y: Tensor) -> Tensor:
        """Products summed over the one letter that is not in what comes out, as torch.einsum does it: with a bmm."""
        (of_x, of_y), out = equation.partition("->")[0].split(","), equation.partition("->")[2]
        (summed,) = set(of_x) & set(of_y) - set(out)
        letters = out + summed
        x, y = self._with_axes(x, of_x, letters), self._with_axes(y, of_y, letters)
        shape = broadcast(x.shape, y.shape)[:-1]
        last = len(out)
        if x.shape[last] == 1:
            return self.view(self.multiply(x, y), shape)
        both: list[int] = []
        left: list[int] = []
        right: list[int] = []
        for axis in range(last):
            one, other = x.shape[axis] != 1, y.shape[axis] != 1
            (both if one and other else left if one else right).append(axis)
        order = [*both, *left, last, *right]
        sides = [prod(tensor.shape[axis] for axis in axes) for tensor, axes in ((x, both), (x, left), (y, right))]
        sizes = [1 if axis == last else (y if axis in right else x).shape[axis] for axis in order]
        rows = self.reshape(self.permute(x, order), (sides[0], sides[1], x.shape[last]))
        columns = self.reshape(self.permute(y, [*both, last, *right, *left]), (sides[0], y.shape[last], sides[2]))
        product = self.bmm(rows, columns)
        del rows, columns
        laid_out = self.view(product, tuple(sizes))
        return self.view(self.permute(laid_out, [order.index(axis) for axis in range(last + 1)]), shape)

    def _with_axes(self, x: Tensor, names: str, wanted: str) -> Tensor:
        """With axes of one for those that are missing, in another order."""
        for name in wanted:
            if name not in names:
                names += name
                x = self.unsqueeze(x, len(x.shape))
        return self.permute(x, [names.index(name) for name in wanted])

    def flash_attention(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The attention core in one kernel, whose output is laid out as the heads are merged; no squares are made.

        For the backward pass it keeps one float32 for each row of scores, and all that it takes and gives.
        """

        def laid_out(x: Tensor) -> Tensor:
            batch, heads, rows, size = x.shape
            one, row, head, number = contiguous_strides((batch, rows, heads, size))
            return Tensor(self.like(x).storage, x.shape, (one, head, row, number), x.item)

        output = laid_out(query)
        sums = self.new(query.shape[:3])
        kept = (query, key, value, output, sums, *((mask,) if mask else ()))
        return self.record((query, key, value), output, kept, lambda grad, *kept: tuple(map(laid_out, kept[:3])))

    def convolution(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Over the last axis, which stays as long as it is."""
        return self.record((x, weight, bias), self.like(x), (x, weight))

    # Number by number.

    def function(self, name: str, x: Tensor) -> Tensor:
        """A function of each number that is in FUNCTIONS, by its name in PyTorch."""
        return self.kernel(x, *FUNCTIONS[name])

    def kernel(self, x: Tensor, keep: Keep, backward: int = 1) -> Tensor:
        """A function of each number: what it keeps, and how many tensors its backward pass makes: see FUNCTIONS."""
        y = self.like(x)

        def rule(grad: Tensor, *_kept: Tensor) -> Gradients:
            made = [grad, *(self.like(grad) for _time in range(backward))]
            return (made[-1],)

        return self.record((x,), y, {"nothing": (), "input": (x,), "output": (y,)}[keep], rule)

    def shift(self, x: Tensor) -> Tensor:
        """Plus or minus a Python number."""
        return self.function("add", x)

    def scale(self, x: Tensor) -> Tensor:
        """Times a Python number, or divided by one."""
        return self.function("mul", x)

    def softmax(self, x: Tensor) -> Tensor:
        """Along the last axis; its logarithm takes the same memory."""
        return self.function("softmax", x)

    def masked(self, x: Tensor, mask: Tensor, *, in_place: bool = False) -> Tensor:
        """Another number where the mask says so, which no gradient goes through: a product with it takes the same."""
        return self.record((x,), x if in_place else self.like(x), (mask,))

    def dropout(self, x: Tensor, p: float, *, fused: bool = False) -> Tensor:
        """A product with a mask; all or nothing, it is none. A fused kernel has a mask of one byte for each number."""
        if p == 0:
            return x
        if not fused or p == 1:
            return self.multiply(x, self.new((), x.item) if p == 1 else self.like(x))
        return self.record((x,), self.like(x), (self.new(x.shape, 1),))

    def _each(self, x: Tensor, y: Tensor) -> Tensor:
        """What is made of two tensors number by number, laid out as they are."""
        shape = broadcast(x.shape, y.shape)
        made = self.new(shape, common_item(x, y))
        made.strides = iterated_strides(shape, [x, y])
        return made

    def add(self, x: Tensor, y: Tensor, *, in_place: bool = False) -> Tensor:
        """A sum: both terms get the gradient of it."""
        total = x if in_place else self._each(x, y)
        return self.record((x, y), total, (), lambda grad: (grad, grad.detached()))

    def subtract(self, x: Tensor, y: Tensor) -> Tensor:
        difference = self.new(broadcast(x.shape, y.shape), common_item(x, y))
        needed = y.node is not None
        return self.record((x, y), difference, (), lambda grad: (grad, self.like(grad) if needed else None))

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """A product number by number: the gradient of each factor needs the other one."""
        of_x, of_y, kept = self._factors(x, y)

        def rule(grad: Tensor, *kept: Tensor) -> Gradients:
            grad_y = self._each(grad, kept[-1]) if of_y else None
            return self._each(grad, kept[0]) if of_x else None, grad_y

        return self.record((x, y), self._each(x, y), kept, rule)

    def divide(self, x: Tensor, y: Tensor, *, in_place: bool = False) -> Tensor:
        """By a tensor that nothing is learned from."""
        quotient = x if in_place else self._in_bytes(x, x.item)
        return self.record((x,), quotient, (y,), lambda grad, y: (self._in_bytes(grad, grad.item),))

    def quotient(self, x: Tensor, y: Tensor) -> Tensor:
        """By a tensor that a gradient can flow to."""
        of_x, of_y = x.node is not None, y.node is not None

        def rule(grad: Tensor, *kept: Tensor) -> Gradients:
            grad_y = self._of_divisor(grad, *kept) if of_y else None
            return self._each(grad, kept[-1]) if of_x else None, grad_y

        return self.record((x, y), self._each(x, y), (*((x,) if of_y else ()), y), rule)

    def _of_divisor(self, grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
        once = self._each(x, y)
        twice = self._each(once, y)
        negative = self._in_bytes(grad, grad.item)
        found = self._each(negative, twice)
        del once, twice, negative  # C++ has them until the end
        return found

    def changed_in_view(self, base: Tensor, x: Tensor, by: Tensor) -> Tensor:
        """A view of all numbers of another tensor, filled or divided in place by one that nothing is learned from.

        A part of a gradient is set, which is as large as the whole.
        """

        def rule(grad: Tensor, _by: Tensor) -> Gradients:
            whole = self.like(grad)
            part = self.like(grad)
            filled = self.like(part)
            del part, filled
            return (whole,)

        self.record((base,), base, (by,), rule)
        return self.record((base,), x)

    # Rows.

    def layer_norm(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """With mean and 1 / standard deviation of each row, which the backward pass needs."""
        y, mean, rstd = self.like(x), self.new(x.shape[:-1]), self.new(x.shape[:-1])
        return self.record((x, weight, *((bias,) if bias else ())), y, (x, mean, rstd, weight))

    def mean(self, x: Tensor, axis: int) -> Tensor:
        """Along an axis, which is one from then on."""
        return self.record((x,), self.new((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.item))

    def sum_along(self, x: Tensor, axis: int) -> Tensor:
        """Along an axis, which is gone from then on."""
        made, shape = self.new(_without(x, axis)[0], x.item), x.shape
        return self.record((x,), made, (), lambda grad: (self.expand(self.unsqueeze(grad, axis), shape),))

    def sum(self, x: Tensor) -> Tensor:
        shape = x.shape

        def rule(grad: Tensor) -> Gradients:
            return (Tensor(grad.storage, shape, (0,) * len(shape), grad.item, is_view=True),)

        return self.record((x,), self.new((), x.item), (), rule)

    def cross_entropy(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The mean of -log softmax at the labels."""
        logs = self.softmax(scores)
        loss, weight = self.new((), logs.item), self.new((), logs.item)
        return self.record((logs,), loss, (logs, labels, weight))

    def binary_cross_entropy(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The mean of -log sigmoid, for labels of 0 and 1."""

        def rule(grad: Tensor, scores: Tensor, labels: Tensor) -> Gradients:
            return (self.like(self.like(self.like(scores))),)

        return self.record((scores,), self.new((), scores.item), (scores, labels), rule)

    def mean_squared_error(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The mean of (score - label)^2."""
        item = common_item(scores, labels)
        loss, shape = self.new((), item), scores.shape
        return self.record((scores,), loss, (scores, labels), lambda grad, *_kept: (self.new(shape, item),))

    # Backward.

    def backward(self, loss: Tensor) -> None:
        """Send a gradient back to every leaf, as PyTorch's engine does: what was made last goes first."""
        assert loss.node
        grad, self.grad = self.grad, False
        waiting: dict[Node, int] = {}
        seen, found = {loss.node}, [loss.node]
        while found:
            for edge in found.pop().edges:
                if edge:
                    waiting[edge[0]] = waiting.get(edge[0], 0) + 1
                    if edge[0] not in seen:
                        seen.add(edge[0])
                        found.append(edge[0])
        seen.clear()
        root = self.like(loss)  # held by Tensor.backward until it returns
        buffers: dict[Node, list[Tensor | None]] = {loss.node: [root]}
        ready = [(-loss.node.number, loss.node)]
        while ready:
            node = heappop(ready)[1]
            self.memory.where = node.where
            gradients = self._run(node, buffers.pop(node))
            for edge in node.edges:
                gradient = gradients.pop(0)
                if edge:
                    after, output = edge
                    if gradient is not None:
                        buffer = buffers.setdefault(after, [None] * after.outputs)
                        buffer[output] = self._accumulated(buffer[output], gradient)
                        del buffer
                    waiting[after] -= 1
                    if not waiting[after] and after in buffers:
                        heappush(ready, (-after.number, after))
                del gradient  # variables of ours that PyTorch's engine does not have
        self.grad = grad

    def _run(self, node: Node, given: list[Tensor | None]) -> list[Tensor | None]:
        """The gradients of what an operation was given; what was kept for them is let go of."""
        if node.rule is None:
            (gradient,) = given
            assert gradient
            if node.grad is None:
                gradient.storage.move("gradients")
                node.grad = gradient
            return []  # one that was there is added to
        if node.region and not node.region.ran_again:
            self._run_again(node.region)
            self.memory.where = node.where
        gradients = list(node.rule(*given, *node.kept))
        if node.region:  # what came back goes as soon as it was used
            node.kept = ()
        for at, (shape, item) in enumerate(node.shapes):
            if not node.edges[at]:
                gradients[at] = None
            gradients[at] = self._summed(gradients[at], shape)
            gradients[at] = self._cast(gradients[at], item)
        node.kept, node.rule, node.region = (), _released, None
        return gradients

    def _run_again(self, region: Region) -> None:
        region.ran_again = True
        self.grad, self._again = True, region
        with suppress(_EnoughError):
            region.again()
        self.grad, self._again = False, None

    def _summed(self, gradient: Tensor | None, shape: Shape) -> Tensor | None:
        """Summed over the axes along which the operation repeated what it was given."""
        if gradient is None or gradient.shape == shape:
            return gradient
        total = self.new(shape, gradient.item)
        total.is_view = len(shape) < len(gradient.shape)
        return total

    def _cast(self, gradient: Tensor | None, item: int) -> Tensor | None:
        if gradient is None or gradient.item == item:
            return gradient
        return self._in_bytes(gradient, item)

    def _in_bytes(self, x: Tensor, item: int) -> Tensor:
        copy = self.new(x.shape, item)
        copy.strides = iterated_strides(x.shape, [x])
        return copy

    def _accumulated(self, before: Tensor | None, gradient: Tensor) -> Tensor:
        """The sum of two gradients, in the memory of the first if nothing else holds that."""
        if before is None:
            return gradient
        if before.storage.holders == 1 and not before.is_view and is_contiguous(before):
            return before
        return self._each(before, gradient)


def _passed(grad: Tensor) -> Gradients:
    """The gradient as it is."""
    return (grad,)


def _without(x: Tensor, axis: int) -> tuple[Shape, Shape]:
    """Shape and strides without an axis."""
    shape, strides = (sides[:axis] + sides[axis + 1 :] for sides in (x.shape, x.strides))
    return shape, strides


def _released(*_kept: object) -> Gradients:
    raise RuntimeError("A second backward pass through the same operations")


def contiguous_strides(shape: Shape) -> Shape:
    """The strides of numbers in order: PyTorch counts an axis of nothing as one."""
    strides = [1]
    for side in reversed(shape[1:]):
        strides.append(strides[-1] * (side or 1))
    return tuple(reversed(strides)) if shape else ()


def is_contiguous(tensor: Tensor) -> bool:
    """Whether the numbers are in order; the stride of an axis of one does not matter."""
    if 0 in tensor.shape:
        return True
    expected = 1
    for side, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if side != 1:
            if stride != expected:
                return False
            expected *= side
    return True


def iterated_strides(shape: Shape, tensors: Sequence[Tensor]) -> Shape:
    """The strides of what is made of tensors number by number (TensorIterator's reorder_dimensions).

    Its axes lie in the order that the first tensor has in memory, as far as that does not repeat its numbers.
    """
    aligned = []
    for tensor in tensors:
        missing = len(shape) - len(tensor.shape)
        sides = zip(shape[missing:], tensor.shape, tensor.strides, strict=True)
        aligned.append([0] * missing + [0 if side == 1 != whole else stride for whole, side, stride in sides])

    def swaps(one: int, other: int) -> bool | None:
        """Whether an axis that is further inside is to be further outside; None if nothing says so."""
        for strides in aligned:
            if strides[one] != 0 != strides[other]:
                if strides[one] != strides[other]:
                    return _is_more(strides[one], strides[other])
                if _is_more(shape[one], shape[other]):
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
    found = [0] * len(shape)
    expected = 1
    for axis in order:
        found[axis] = expected
        expected *= shape[axis]
    return tuple(found)


def _is_more(one: Any, other: Any) -> bool:
    """Of two sizes or strides: letters stand for more than 1, and of two strides in letters one is a multiple."""
    if isinstance(one, int) and isinstance(other, int):
        return one > other
    return bool((one / other).is_integer)


def common_item(x: Tensor, y: Tensor) -> int:
    """The bytes of an element of what two tensors give: a tensor without axes does not count beside one with them."""
    if bool(x.shape) != bool(y.shape):
        return x.item if x.shape else y.item
    return max(x.item, y.item)


def broadcast(one: Shape, other: Shape) -> Shape:
    """The shape of what two tensors are together."""
    length = max(len(one), len(other))
    one, other = (1,) * (length - len(one)) + one, (1,) * (length - len(other)) + other
    return tuple(b if a == 1 else a for a, b in zip(one, other, strict=True))


def view_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """The strides of a view of another shape; None where there is none (PyTorch's computeStride)."""
    if not shape:
        return (1,) * len(wanted)
    if 0 in shape:
        return contiguous_strides(wanted)
    found = [0] * len(wanted)
    at = len(wanted) - 1
    base = strides[-1]
    elements = taken = 1
    for axis in reversed(range(len(shape))):
        elements *= shape[axis]
        if axis and (shape[axis - 1] == 1 or strides[axis - 1] == elements * base):
            continue
        while at >= 0 and (taken != elements or wanted[at] == 1):
            found[at] = taken * base
            taken *= wanted[at]
            at -= 1
        if taken != elements:
            return None
        if axis:
            base = strides[axis - 1]
            elements = taken = 1
    return tuple(found) if at == -1 else None
