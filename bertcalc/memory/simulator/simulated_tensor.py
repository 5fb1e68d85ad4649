"""Simulated tensors, their storages and the autograd graph, with explicit owners instead of reference counts.

The result of an operation is a temporary, which has no owner. The operation that takes it releases it on return, as
Python releases the intermediate values of an expression. Anything that needs a tensor for longer owns it: a variable
(``Variables``, ``Frame`` in frames.py) owns its value, an operation its arguments, and a node the tensors that it
saves. A tensor is released when it loses its last owner, and a storage when it loses its last tensor. How long Python
itself keeps the objects does not matter.
"""

from collections.abc import Callable, Sequence

from bertcalc.memory.timeline import Area, MemoryChange, Phase
from bertcalc.model.modules import Shape

_RELEASED = -1  # replaces the number of holders or owners


class ReleasedError(RuntimeError):
    """Raised when a tensor is used after its release."""


class Memory:
    """The memory changes so far, the phase and step to which the next changes belong, and the temporaries."""

    def __init__(self) -> None:
        self.phase: Phase = "before"
        self.where = ""
        self.changes: list[MemoryChange] = []
        self.storages = 0
        self.temporaries: dict[SimulatedTensor, None] = {}  # in the order in which they were made
        self.released_nodes: list[Node] = []  # nodes without owners that still have to release their tensors
        self.releases_nodes = False

    def change(self, area: Area, num_bytes: int, storage: int, moved_from: Area | None = None) -> None:
        self.changes.append(MemoryChange(self.phase, self.where, area, num_bytes, storage, moved_from))

    def release_temporaries(self) -> None:
        """Release all temporaries, which no operation took and no function returned."""
        while self.temporaries:
            next(iter(self.temporaries)).drop()

    def check(self) -> None:
        """Raise RuntimeError if a temporary was neither used nor dropped."""
        for tensor in self.temporaries:
            raise RuntimeError(f"{self.where}: nothing took a tensor of shape {tensor.shape}. Bind or drop it.")


class Storage:
    """The memory of one or more tensors; ``holders`` is the number of its tensors that are not released."""

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
        """Count the storage in another area from now on."""
        if area != self.area:
            self.memory.change(area, self.num_bytes, self.number, self.area)
            self.area = area

    def release(self) -> None:
        """Record the release of the storage, after the release of its last tensor."""
        self.holders = _RELEASED
        self.memory.change(self.area, -self.num_bytes, self.number)


class SimulatedTensor:
    """A tensor without data: a shape and strides over a storage.

    ``item`` is the number of bytes per element. ``node`` is the tensor's grad_fn, if it has one, and ``output`` its
    index among the node's outputs. ``is_view`` says whether PyTorch treats it as a view, which holds a reference to its
    base. ``owners`` is the number of owners; a tensor without owners is a temporary.
    """

    __slots__ = ("is_view", "item", "node", "output", "owners", "shape", "storage", "strides")

    def __init__(self, storage: Storage, shape: Shape, strides: Shape, item: int, *, is_view: bool = False) -> None:
        if storage.holders < 0:
            raise ReleasedError(f"{storage.memory.where}: a view of a released storage, of shape {shape}.")
        self.storage = storage
        self.shape = shape
        self.strides = strides
        self.item = item
        self.is_view = is_view
        self.node: Node | None = None
        self.output = 0
        self.owners = 0
        storage.holders += 1
        storage.memory.temporaries[self] = None

    def own(self) -> "SimulatedTensor":
        """Add an owner. Raises ReleasedError if the tensor is released."""
        if self.owners < 1:
            if self.owners:
                raise self.released()
            del self.storage.memory.temporaries[self]
        self.owners += 1
        return self

    def disown(self) -> None:
        """Remove an owner, and release the tensor if none is left."""
        self.owners -= 1
        if not self.owners:
            self._release()

    def pass_on(self) -> "SimulatedTensor":
        """Remove an owner; if none is left, the tensor becomes a temporary, like a value that a function returns."""
        self.owners -= 1
        if not self.owners:
            self.storage.memory.temporaries[self] = None
        return self

    def drop(self) -> None:
        """Release the tensor if it is a temporary. Raises ReleasedError if it is released."""
        if self.owners < 1:
            if self.owners:
                raise self.released()
            del self.storage.memory.temporaries[self]
            self._release()

    def released(self) -> ReleasedError:
        """The error to raise if this released tensor is used."""
        return ReleasedError(
            f"{self.storage.memory.where}: a tensor of shape {self.shape} was released by the operation that took it. "
            "To use it again, bind it to a variable of a frame."
        )

    def _release(self) -> None:
        self.owners = _RELEASED
        if self.node:
            self.node.disown()
        storage = self.storage
        storage.holders -= 1
        if not storage.holders:
            storage.release()

    def set_node(self, node: "Node", output: int = 0) -> None:
        """Set the grad_fn; it replaces the previous grad_fn if an operation changed the tensor in place."""
        node.owners += 1
        if self.node:
            self.node.disown()
        self.node = node
        self.output = output

    def set_storage(self, storage: Storage) -> None:
        """Replace the storage, as ``x.data = ...`` does."""
        storage.holders += 1
        before, self.storage = self.storage, storage
        before.holders -= 1
        if not before.holders:
            before.release()

    def detached(self) -> "SimulatedTensor":
        """A view of the tensor without its grad_fn, as autograd saves it."""
        return SimulatedTensor(self.storage, self.shape, self.strides, self.item, is_view=self.is_view)


Tensors = Sequence[SimulatedTensor]
Gradients = Sequence[SimulatedTensor | None]
Rule = Callable[..., Gradients]  # computes the inputs' gradients from the outputs' gradients and the saved tensors


class Node:
    """A node of the autograd graph: an operation, or a leaf, which accumulates its gradient.

    Its outputs, and the nodes of operations that use them, own the node. The node owns the tensors that it saves.
    """

    __slots__ = (
        *("edges", "grad", "held", "kept", "memory", "number", "outputs", "owners"),
        *("region", "rule", "shapes", "where", "written_in_python"),
    )

    def __init__(self, memory: Memory, number: int, where: str) -> None:
        self.memory = memory
        self.number = number
        self.where = where
        self.owners = 0
        self.edges: list[tuple[Node, int] | None] = []
        self.shapes: list[tuple[Shape, int]] = []  # (shape, bytes per element) of each input
        self.kept: tuple[SimulatedTensor, ...] = ()
        self.held: tuple[SimulatedTensor, ...] = ()  # attributes of the node's ctx; they live as long as the graph
        self.rule: Rule | None = None  # None for a leaf
        self.outputs = 1
        self.grad: SimulatedTensor | None = None  # the gradient of a leaf
        self.region: Region | None = None  # the checkpoint that recomputes the saved tensors
        # Whether this is a torch.autograd.Function, which releases the gradients of its outputs after its rule.
        self.written_in_python = False

    def connect(self, inputs: "Tensors") -> None:
        """Set the inputs of the operation, and own their nodes."""
        for tensor in inputs:
            self.shapes.append((tensor.shape, tensor.item))
            if tensor.node:
                tensor.node.owners += 1
                self.edges.append((tensor.node, tensor.output))
            else:
                self.edges.append(None)

    @property
    def alive(self) -> bool:
        return self.owners >= 0

    def disown(self) -> None:
        """Remove an owner; if none is left, the node releases everything that it owns.

        A graph can be deeper than Python's call stack, so released nodes wait in a list instead of recursing.
        """
        self.owners -= 1
        if self.owners:
            return
        self.owners = _RELEASED
        memory = self.memory
        memory.released_nodes.append(self)
        if memory.releases_nodes:
            return
        memory.releases_nodes = True
        while memory.released_nodes:
            memory.released_nodes.pop()._release()
        memory.releases_nodes = False

    def _release(self) -> None:
        for edge in self.edges:
            if edge:
                edge[0].disown()
        self.set_grad(None)
        for tensor in self.held:
            tensor.disown()
        self.release_kept()
        self.release_region()

    def release_kept(self) -> None:
        """Release the tensors that the node saved."""
        for tensor in self.kept:
            tensor.disown()
        self.kept = ()

    def release_region(self) -> None:
        """Stop owning the checkpoint that recomputes the saved tensors."""
        if self.region:
            self.region.disown()
            self.region = None

    def set_grad(self, gradient: SimulatedTensor | None) -> None:
        """Set or delete the gradient of a leaf."""
        if gradient:
            gradient.own()
        if self.grad:
            self.grad.disown()
        self.grad = gradient


class Region:
    """A checkpointed region: its operations save nothing, and the backward pass runs them ``again``.

    This is torch.utils.checkpoint with use_reentrant=False. The region owns its ``inputs``. It is owned by the nodes
    that would save tensors without the checkpoint.
    """

    def __init__(self, inputs: Tensors, again: Callable[[], None]) -> None:
        self.inputs = [tensor.own() for tensor in inputs]
        self.again = again
        self.owners = 1  # the forward pass, until the last step of the region has run
        self.ran_again = False
        self.nodes: list[Node] = []
        self.filled = 0

    def disown(self) -> None:
        """Remove an owner; if none is left, the region releases its inputs."""
        self.owners -= 1
        if not self.owners:
            for tensor in self.inputs:
                tensor.disown()
