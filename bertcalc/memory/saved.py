"""Saved activations: the tensors that autograd saves for backward, derived from the steps of the forward pass."""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from bertcalc.config.activations import TensorsForBackward
from bertcalc.forward.gradients import NOTHING_FROZEN, gradients
from bertcalc.memory.einsum import laid_out
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS, Dtype
from bertcalc.memory.plan import Attention, Plan, Recompute
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import NOWHERE, Activation, Dropout, Norm, Place, Shape, split_layer
from bertcalc.model.runnable import cannot_run
from bertcalc.model.stack import stack
from bertcalc.model.trace import Operation, Step, Value, any_is_one
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError, Problem, wrong

# The operations whose backward pass this module implements; bertcalc/completeness.py refuses any other operation.
KNOWN_OPERATIONS: frozenset[Operation] = frozenset(
    (
        "input", "lookup", "unused", "linear", "matmul", "norm", "dropout", "activation", "add", "scale",
        "softmax", "view", "copy", "multiply", "angles", "rotate", "repeat", "mean", "divide", "fill", "gather",
        "table", "convolution",
    )
)  # fmt: skip


UNDER_AUTOCAST = N_(
    "Under AMP, activations are not listed tensor by tensor, because autocast also keeps 16-bit copies. The "
    "Training view shows their sum and its formula."
)


NOT_RECOMPUTED = N_(
    "{change} cannot be trained with gradient checkpointing, because peft does not support it: set recompute to none."
)
LABELS = N_("With {field}, the memory of {architecture} depends on how many tokens are masked.")
CHANGED = N_(
    "With {change}, the activations of {architecture} are not listed tensor by tensor: the step's peak includes them."
)


class SavedActivation(NamedTuple):
    """A tensor saved for the backward pass, or all its copies in a repeated layer."""

    name: str  # a value's name, or "STEP: TENSOR" for a tensor that the step creates for backward
    step: str  # the first step that needs the tensor
    shape: Shape
    item_bytes: int
    copies: int
    place: Place = NOWHERE  # the step's place

    def num_bytes(self) -> int:
        """Bytes of all copies together."""
        return self.copies * prod(self.shape) * self.item_bytes


@checked
def saved_activation_bytes(
    model: Model,
    batch_size: int,
    sequence_length: int,
    dtype: Dtype = "float32",
    attention: Attention = "eager",
    fused_dropout: bool = False,
) -> int:
    """The bytes of the tensors that autograd saves for the backward pass of one training step.

    The result equals what torch.autograd.graph.saved_tensors_hooks sees on the real model. Each storage counts once;
    parameters, buffers and integer index tensors do not count. ``fused_dropout`` saves dropout masks with one byte per
    element, as PyTorch's CUDA kernel does; other devices save them in ``dtype``. ``attention="fused"`` saves the same
    tensors as PyTorch's flash attention: query, key, value, the output and one float32 for each row of scores. A layer
    with local attention also saves its mask if the sequence is at least half as long as ``local_attention``. Raises
    InputError in the same cases as ``saved_activations``.

    >>> from bertcalc import build
    >>> saved_activation_bytes(build("bert-base-uncased"), 1, 128)
    114454528
    """
    plan = Plan("fp32" if dtype == "float32" else "bf16", attention=attention, fused_dropout=fused_dropout)
    return total_bytes(saved_activations(model, Batch(batch_size, sequence_length), plan))


@checked
def total_bytes(kept: Sequence[SavedActivation]) -> int:
    return sum(saved.num_bytes() for saved in kept)


@checked
def saved_activations(model: Model, batch: Batch, plan: Plan) -> list[SavedActivation]:
    """The tensors that autograd saves, in order; a layer's tensors appear once, with the number of copies.

    With gradient checkpointing (``recompute``), autograd saves only the inputs of each attention core (selective) or
    layer (full), and the backward pass runs that part again. Nothing is saved before the first trained tensor. With
    transformers' gradient checkpointing, gradients would still flow to the embeddings unless the user calls
    ``disable_input_require_grads()``.

    Raises InputError if the model cannot run or does not support the plan's ``recompute``, if the saved tensors depend
    on the labels, or if the model has a change such as an adapter. InputError is also raised under autocast: only the
    simulated step (bertcalc/memory/peak) includes autocast's 16-bit copies.
    """
    check_recompute(model, plan.recompute)
    if problem := cannot_run(model) or by_labels(model):
        raise InputError(problem)
    if change := next((change for change in model.changes if not change.resizes), None):
        values = {"architecture": model.architecture, "change": change.title}
        raise InputError(Problem.of(CHANGED, "changes", None, **values))
    if PRECISIONS[plan.precision].autocast:
        raise wrong(UNDER_AUTOCAST, "precision", plan.precision)
    cached = not model.cls.labels_stop_caching  # training has labels, with which some classes do not cache
    return saved_by(
        model.steps(batch._replace(cached=cached)), plan, masks=model.config.masks_window(batch.sequence_length)
    )


@checked
def by_labels(model: Model) -> Problem | None:
    """The problem if the memory of a training step depends on which tokens have a label; otherwise None."""
    if not model.cls.leaves_out_tokens(model.config):
        return None
    field, name = model.cls.by_labels, model.cls.name
    return Problem(field, "True", LABELS, {"architecture": name, "field": field}, ({field: False},))


@checked
def check_recompute(model: Model, recompute: Recompute) -> None:
    """Raise InputError if a model does not support ``recompute``.

    In transformers, some layers do not support gradient checkpointing; peft refuses it for some adapters.
    """
    possible = ("none", *model.family.recomputes)
    if recompute not in possible:
        message = N_("{architecture} cannot be trained with recompute {value}: it supports only {possible}.")
        values = {"architecture": model.cls.name, "value": recompute, "possible": ", ".join(possible)}
        raise InputError(Problem("recompute", recompute, message, values, ({"recompute": "none"},)))
    if recompute == "full" and (change := next((change for change in model.changes if not change.recomputes), None)):
        values = {"change": change.title}
        raise InputError(Problem("recompute", recompute, NOT_RECOMPUTED, values, ({"recompute": "none"},)))


def saved_by(steps: list[Step], plan: Plan, *, masks: bool = False) -> list[SavedActivation]:
    """The tensors that autograd saves for the steps of a forward pass: see ``saved_activations``.

    ``masks``: whether layers with local attention have a mask; the fused kernel saves a copy of the mask per layer.
    """
    if plan.attention == "fused":
        steps = fuse_attention(steps)
    first = plan.freezing != NOTHING_FROZEN and any(map(_asks_for_gradient, steps))
    steps, trained, flowing = gradients(steps, plan.freezing, first=first)
    local = _local_layers(steps) if masks and plan.attention == "fused" else {}
    saver = _Saver(steps, plan)
    runs_again = {saver.regions[step.name] for step in steps if step.name in flowing}
    for step in steps:
        if region := saver.regions[step.name]:
            if region in runs_again:
                saver.save_from_outside(step)
        elif step.name in flowing:
            saver.save_needed(step, trained[step.name], [value.name in flowing for value in step.takes])
            if _is_fused(step) and step.within in local:
                batch, _heads, length, _size = step.gives.shape
                saver.add(step, "mask", (batch, 1, length, length), saver.width, local[step.within])
        if is_view(step):
            saver.note_view(step)
    return list(saver.saved.values())


class _Saver:
    """Collects the tensors that autograd saves, keyed by name in ``saved``."""

    def __init__(self, steps: Sequence[Step], plan: Plan) -> None:
        self.saved: dict[str, SavedActivation] = {}
        self.width = ITEM_BYTES[PRECISIONS[plan.precision].dtype]
        self.regions = {step.name: recomputed_in(step, plan.recompute) for step in steps}
        self._mask_width = 1 if plan.fused_dropout else self.width
        self._recomputes_layers = plan.recompute == "full"
        self._storages: dict[str, Value] = {}  # maps each view's name to the value that owns its storage
        self._pieces: set[str] = set()  # the names of views of a part of a wider value
        self._angles = {step.gives.name for step in steps if step.operation == "angles"}
        self._tables = {step.name for step in steps if step.operation == "table"}  # parameters: in memory anyway
        self._once = _outside(steps)

    def save(self, step: Step, value: Value) -> None:
        # A step that copies a piece to lay it out saves the copy. Inside a checkpoint, the view is saved instead.
        apart = value.name in self._pieces and not self.regions[step.name] and _lays_out(step)
        root = value if apart else self._storages.get(value.name, value)
        if root.name in self._tables:
            return
        from_outside = root.name in self._angles or value.name in self._once or root.name not in self.regions
        copies = 1 if from_outside else step.runs  # all layers share a value from outside
        self.saved.setdefault(
            root.name, SavedActivation(root.name, step.name, root.shape, self.width, copies, step.place)
        )

    def save_from_outside(self, step: Step) -> None:
        """Save the inputs of a step that come from outside its checkpointed region.

        transformers passes masks, and values that all layers read, to a checkpoint in a way that autograd ignores.
        """
        for value in step.takes:
            outside = self.regions.get(value.name) != self.regions[step.name] and not value.name.endswith("mask")
            unseen = value.ids or value.name in self._angles or (self._recomputes_layers and value.name in self._once)
            if outside and not unseen:
                self.save(step, value)

    def save_needed(self, step: Step, trained: set[str], flows: Sequence[bool]) -> None:
        """Save what the backward pass of a step needs; for ``trained`` and ``flows``, see ``_kept_values``."""
        for value in _kept_values(step, trained, flows, self.width):
            self.save(step, value)
        for name, shape, item_bytes in _kept_besides(step, trained, flows, self.width, self._mask_width):
            self.add(step, name, shape, item_bytes, step.runs)

    def add(self, step: Step, name: str, shape: Shape, item_bytes: int, copies: int) -> None:
        """Save a tensor that the step creates only for its backward pass."""
        own_name = f"{step.name}: {name}"
        self.saved[own_name] = SavedActivation(own_name, step.name, shape, item_bytes, copies, step.place)

    def note_view(self, step: Step) -> None:
        view, viewed = step.gives.name, step.takes[0]
        self._storages[view] = self._storages.get(viewed.name, viewed)
        if step.place.role == "cut" or viewed.name in self._pieces:
            self._pieces.add(view)
        if viewed.name in self._once:
            self._once.add(view)


def _outside(steps: Sequence[Step]) -> set[str]:
    """The names of values that are computed before the layers and read in a layer, except the hidden states."""
    names: set[str] = set()
    before, groups, _after = stack(steps)
    earlier = {step.gives.name for step in before}
    for group in groups:
        names |= {value.name for step in group.steps for value in step.takes if value.name in earlier} - {group.entry}
    return names


def _local_layers(steps: Sequence[Step]) -> dict[str, int]:
    """Map the name of each attention module to the number of its copies with local attention.

    A layer with local attention rotates its queries by different angles than the first layer.
    """
    first = next((step.gives for step in steps if step.operation == "angles"), None)
    numbers: dict[str, int] = {}
    for group in stack(steps).groups:
        end = group.start + group.copies
        for step in group.steps:
            if step.place.role == "query_rotated" and step.turns:
                period = len(step.turns)
                places = [place for place, angles in enumerate(step.turns) if angles != first]
                # Of the first n layers, (n - place + period - 1) // period are at this place in their period.
                numbers[step.within] = sum(
                    (end - place + period - 1) // period - (group.start - place + period - 1) // period
                    for place in places
                )
    return numbers


@checked
def by_module(kept: Sequence[SavedActivation]) -> dict[str, int]:
    """The saved bytes per direct child of a layer and per other top-level module, summed over all copies."""
    sums: dict[str, int] = {}
    for saved in kept:
        layer, inside = split_layer(saved.step)
        path = f"{layer}.{inside.split('.')[0]}" if layer else inside.split(".")[0]
        sums[path] = sums.get(path, 0) + saved.num_bytes()
    return sums


def largest(figures: Iterable[int]) -> int:
    """The maximum of the figures, elementwise for NumPy columns; 0 if there are no figures."""
    most = 0
    for figure in figures:
        most = most + (figure - most) * (figure > most)
    return most


@checked
def cache_bytes(steps: Iterable[Step]) -> int:
    """The bytes of a decoder's key/value cache in float32."""
    cached = (step for step in steps if step.place.role in ("key_heads", "value_heads"))
    return sum(4 * step.runs * prod(step.gives.shape) for step in cached)


@checked
def fuse_attention(steps: Sequence[Step]) -> list[Step]:
    """The steps with each attention core replaced by one fused kernel, which never stores the scores.

    The kernel reads query, key and value, and lays out its output so that merging the heads is a view. If no such
    kernel exists, the steps are unchanged.
    """
    if not can_fuse(steps):
        return list(steps)
    fused: list[Step] = []
    query_and_key: tuple[Value, ...] = ()
    # The kernel itself repeats keys and values that heads share.
    repeated = {step.gives.name: step.takes[0] for step in steps if step.operation == "repeat"}
    for step in steps:
        match step.place.role:
            case "scores":
                query_and_key = step.takes
            case "context":
                takes = (*query_and_key, step.takes[1])
                fused.append(step._replace(takes=tuple(repeated.get(value.name, value) for value in takes)))
            case "merge_heads":
                fused.append(step._replace(operation="view"))
            case _ if not _in_core(step):
                fused.append(step)
    return fused


@checked
def can_fuse(steps: Iterable[Step]) -> bool:
    """Whether a fused kernel exists for the attention: it must only scale the scores and add a mask."""
    roles = {step.place.role for step in steps if step.core and step.operation in ("add", "divide", "fill")}
    return roles <= {"mask"}


def is_view(step: Step) -> bool:
    """Whether a step returns a view of its input, or the input itself."""
    match step.operation, step.module:
        case "view", _:
            return True
        case "dropout", Dropout(p=p):
            return not p
        case "activation", Activation(kept=kept):
            return kept == TensorsForBackward()
        case "repeat", _:  # a single sequence with a single head is not copied
            return all(map(any_is_one, step.takes[0].shape[:2]))
    return False


def _kept_values(step: Step, trained: set[str], flows: Sequence[bool], width: int) -> tuple[Value, ...]:
    """The inputs and outputs of a step that its backward pass needs.

    ``trained``: the names of the step's trained tensors; ``flows``: for each input, whether a gradient flows to it;
    ``width``: bytes per element.
    """
    match step.operation, step.module:
        case "linear", _:
            return step.takes if "weight" in trained else ()
        case "norm", Norm(written_out=True, centers=centers):  # in float32; a centering norm saves differences instead
            return step.takes if flows[0] and width == 4 and not centers else ()
        case "norm" | "gather" | "convolution", _:
            return step.takes
        case "matmul", _ if _is_fused(step):
            return (*step.takes, step.gives)
        case "matmul", _:  # each factor's gradient needs the other factor
            takes = (laid_out(step), *step.takes[1:])
            return tuple(value for value, needed in zip(takes, reversed(flows), strict=True) if needed)
        case "multiply", _:
            return tuple(value for value, needed in zip(step.takes, reversed(flows), strict=True) if needed)
        case "rotate", _:  # cosine and sine, shared by all layers
            return step.takes[1:]
        case "softmax", _:
            return () if step.wide and width < 4 else (step.gives,)
        case "activation", Activation(kept=kept):
            return step.takes * kept.input + (step.gives,) * kept.output
    return ()


def _lays_out(step: Step) -> bool:
    """Whether a step copies an input that is a slice of a wider value: a matmul over several sequences and heads."""
    return step.operation == "matmul" and not _is_fused(step) and not any_is_one(*step.takes[0].shape[:2])


def _kept_besides(
    step: Step, trained: set[str], flows: Sequence[bool], width: int, mask: int
) -> Iterator[tuple[str, Shape, int]]:
    """The tensors that a step creates only for its backward pass: name, shape, and bytes per element."""
    shape = step.gives.shape
    match step.operation, step.module:
        case "norm", Norm(written_out=True, centers=centers):
            if flows[0]:
                yield "root of the mean square", (*shape[:-1], 1), 4
                if centers:
                    yield "differences to be squared", shape, 4
                    yield "differences to be divided", shape, 4
                elif width < 4:
                    yield "in float32", shape, 4
            if "weight" in trained:
                yield "before gamma", shape, width
        case "norm", _:
            yield "mean", (*shape[:-1], 1), 4
            yield "rstd", (*shape[:-1], 1), 4
        case "dropout", Dropout(p=p) if p:
            # With p = 1, PyTorch multiplies by a single 0.
            yield ("mask", shape, mask) if p < 1 else ("zero", (), width)
        case "activation", Activation(kept=kept):
            yield from (
                (f"part {number}", shape, width) for number in range(kept.same_size + bool(trained) * kept.learning)
            )
            yield from ((f"choice {number}", shape, 1) for number in range(kept.bools))
            # transformers creates xielu's scalars in bfloat16, even in a float32 model.
            yield from ((f"scalar {number}", (1,), 2) for number in range(kept.scalars))
        case "matmul", _ if _is_fused(step):
            yield "logsumexp", shape[:-1], 4
        case "softmax", _ if step.wide and width < 4:
            yield "in float32", shape, 4
        case "divide", _:  # the divisor is a tensor with one element
            yield "divisor", (), 4 if step.wide else width
        case "fill", _:
            yield "mask", step.takes[1].shape, 1
        case "mean", _ if len(step.takes) > 1 and not step.takes[1].ids:
            yield "mask", step.takes[1].shape, 1


def recomputed_in(step: Step, recompute: Recompute) -> str:
    """The name of the step's checkpointed region (the part of the model that the backward pass runs again), or ""."""
    if recompute == "selective" and _in_core(step):
        return step.within
    if recompute == "full" and step.place.component == "encoder":
        return split_layer(step.name)[0]
    return ""


def _in_core(step: Step) -> bool:
    """Whether a step is in the attention core: from the query, key and value heads to the context."""
    return step.core and step.operation not in ("view", "copy")


def _is_fused(step: Step) -> bool:
    return step.operation == "matmul" and len(step.takes) == 3


def _asks_for_gradient(step: Step) -> bool:
    """Whether a step saves less in the first trained layer than in others if the layer's input needs no gradient.

    A norm that is computed step by step saves nothing for such an input. If the query projection has no bias and its
    weight is frozen, no gradient flows to the query in that layer.
    """
    if isinstance(step.module, Norm):
        return step.module.written_out
    return step.place.role == "query" and len(step.tensors) == 1
