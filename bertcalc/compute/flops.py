"""FLOPs of a forward pass and a training step, counted from the forward pass's steps by a stated convention."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Literal, NamedTuple

from bertcalc.forward.gradients import NOTHING_FROZEN, gradients
from bertcalc.memory.plan import Recompute
from bertcalc.memory.saved import check_recompute, recomputed_in
from bertcalc.model.batch import Batch
from bertcalc.model.family import LANGUAGE_MODEL
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model, not_taken
from bertcalc.model.modules import Dropout
from bertcalc.model.runnable import cannot_run
from bertcalc.model.totals import summed
from bertcalc.model.trace import Operation, Step, Value
from bertcalc.text import N_
from bertcalc.text.arguments import checked, record
from bertcalc.text.problem import InputError, Problem

Phase = Literal["forward", "training"]
BY_LABELS = N_("With {field}, the FLOPs of training {architecture} depend on how many tokens have a label.")

RUN_TWICE = N_(
    "With use_dora, the FLOPs of training {architecture} are counted only if lora_dropout is 0: set it to 0."
)


class Counting(NamedTuple):
    """The cost of each operation: ``products`` per multiply-add, ``elements`` per element of its output."""

    products: Mapping[Operation, int]
    elements: Mapping[Operation, int] = {}

    def of(self, step: Step) -> int:
        """The cost of one copy of a step."""
        products, elements = self.products.get(step.operation), self.elements.get(step.operation)
        cost = products * step.multiply_adds() if products else 0
        return cost + elements * prod(step.gives.shape) if elements else cost


class ElementCost(NamedTuple):
    """An operation's FLOPs per output element, and what they consist of."""

    flops: int
    meaning: str


# As in ELECTRA's flops_computation.py: https://github.com/google-research/electra/blob/master/flops_computation.py
ELEMENT_COSTS: dict[Operation, ElementCost] = {
    "linear": ElementCost(1, N_("adding the bias")),
    "convolution": ElementCost(1, N_("adding the bias")),
    "norm": ElementCost(5, N_("LayerNorm: mean, variance (a square and a sum), scale, shift")),
    "activation": ElementCost(8, N_("any activation function is counted like GELU in its tanh form")),
    "softmax": ElementCost(5, N_("softmax: maximum, subtraction, exp, sum, division")),
    "dropout": ElementCost(4, N_("dropout: random number, comparison, multiplication by the mask and by the scale")),
    "scale": ElementCost(1, N_("dividing the attention scores by the square root of the head size")),
    "add": ElementCost(1, N_("additions: embeddings, residuals, attention mask (the mask is not in ELECTRA's list)")),
    # Not in ELECTRA's script, but counted in the same way.
    "multiply": ElementCost(1, N_("elementwise multiplication, as in a gated feed-forward network")),
    "divide": ElementCost(1, N_("dividing by the square root of the head size, as in DeBERTa")),
    "fill": ElementCost(1, N_("filling in the attention mask, as in DeBERTa")),
    "rotate": ElementCost(3, N_("rotary positions: two multiplications and an addition")),
}
MATMUL = Counting({"linear": 2, "convolution": 2, "matmul": 2})
_ALL = MATMUL._replace(elements={operation: cost.flops for operation, cost in ELEMENT_COSTS.items()})
_MACS = Counting({"linear": 1, "convolution": 1, "matmul": 1})  # only a product has multiply-adds


@record
class Convention(NamedTuple):
    """A counting convention; the defaults match PyTorch's FlopCounterMode."""

    unit: Literal["FLOPs", "MACs"] = "FLOPs"
    operations: Literal["matmul", "all"] = "matmul"  # only matrix products, or elementwise operations as well
    logits: Literal["all", "masked"] = "all"  # the positions at which the masked-LM head runs
    training: Literal["3x", "4x"] = "3x"  # 4x: the layers run forward once more before their backward pass

    @property
    def counting(self) -> Counting:
        if self.unit == "MACs":
            return _MACS
        return _ALL if self.operations == "all" else MATMUL


PYTORCH = Convention()
Part = Literal[
    "embeddings", "projections", "scores and context", "feed-forward", "LayerNorm, dropout, sums", "pooler", "head"
]
PARTS: tuple[Part, ...] = (
    N_("embeddings"),
    N_("projections"),
    N_("scores and context"),
    N_("feed-forward"),
    N_("LayerNorm, dropout, sums"),
    N_("pooler"),
    N_("head"),
)


class CostRow(NamedTuple):
    """A step or a whole module: its name without the body's prefix ("bert."), its copies, and the cost of one copy."""

    name: str
    copies: int
    cost: int


@checked
def forward_flops(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
) -> int:
    """FLOPs of the matrix products of one forward pass, as PyTorch's FlopCounterMode counts them (eager attention).

    All other operations (embeddings, sums, norms, softmax, activations) count as zero. ``encoder_sequence_length`` is
    the length of encoder_hidden_states, or None without them. ``num_choices`` is the number of choices in multiple
    choice. Raises InputError if no forward pass is possible.

    >>> from bertcalc import build
    >>> forward_flops(build("bert-base-uncased"), 1, 128)
    22348431360
    """
    return sum(map(cost, _run(model, Batch(batch_size, sequence_length, encoder_sequence_length, num_choices))))


def _run(model: Model, batch: Batch) -> list[Step]:
    if problem := cannot_run(model) or not_taken(model, batch):
        raise InputError(problem)
    return model.steps(batch)


@checked
def training_flops(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
    freezing: Freezing = NOTHING_FROZEN,
    recompute: Recompute = "none",
) -> int:
    """FLOPs of one forward and backward pass; the backward pass runs two products for each forward product.

    One of the two is for the gradient of the input, the other for the gradient of the weight. A product with
    ``encoder_hidden_states`` needs only one, because the encoder is not trained. ``freezing`` says which tensors are
    frozen: a frozen weight needs no product for its gradient, and neither does an input if nothing before it is
    trained. ``recompute`` runs layers, or their attention cores, forward a second time if a gradient flows in them.
    With transformers' gradient checkpointing, a gradient always flows to the embeddings unless the user calls
    ``disable_input_require_grads()``. ``encoder_sequence_length`` and ``num_choices`` are the same as in
    ``forward_flops``. Raises InputError if the model's family does not support this ``recompute``, if the model cannot
    be trained, or if the FLOPs depend on the labels.

    >>> from bertcalc import build
    >>> training_flops(build("bert-base-uncased"), 1, 128)
    67045294080
    """
    check_recompute(model, recompute)
    if problem := unknown_training(model):
        raise InputError(problem)
    steps = _run(model, Batch(batch_size, sequence_length, encoder_sequence_length, num_choices))
    if freezing == NOTHING_FROZEN and recompute == "none" and not model.changes:
        return total(steps, phase="training")
    steps, trained, flowing = gradients(steps, freezing, first=True)
    again = _recomputed(steps, recompute, flowing)

    def times(step: Step) -> int:
        learned = any(name.startswith(("weight", "default")) for name in trained[step.name])
        backward = learned + sum(value.name in flowing for value in step.takes)
        return 1 + backward + (step.name in again)

    return sum(times(step) * cost(step) for step in steps)


@checked
def unknown_training(model: Model) -> Problem | None:
    """The problem if a model cannot be trained, or if its FLOPs depend on the labels; otherwise None."""
    if not all(change.trains_as_it_runs for change in model.changes):
        return Problem.of(RUN_TWICE, "lora_dropout", None, architecture=model.cls.name)
    if not model.cls.leaves_out_tokens(model.config):
        return cannot_run(model, training=True)
    field, name = model.cls.by_labels, model.cls.name
    return Problem(field, "True", BY_LABELS, {"architecture": name, "field": field}, ({field: False},))


@checked
def total(steps: Iterable[Step], convention: Convention = PYTORCH, phase: Phase = "forward") -> int:
    """The cost of all steps and all their copies in a forward pass or a training step, in FLOPs or MACs."""
    if phase == "forward":
        return sum(cost(step, convention) for step in steps)
    steps = list(steps)
    again = _recomputed(steps, "full", {step.name for step in steps}) if convention.training == "4x" else set()
    return sum((_times(step) + (step.name in again)) * cost(step, convention) for step in steps)


def cost(step: Step, convention: Convention = PYTORCH) -> int:
    """The forward cost of all copies of a step, in FLOPs or MACs."""
    return step.runs * convention.counting.of(step)


@checked
def by_part(steps: Iterable[Step], convention: Convention = PYTORCH) -> dict[Part, int]:
    """The forward cost of each part that has a cost, in the order of PARTS; the costs sum to ``total``."""
    costs = summed((part_of(step), cost(step, convention)) for step in steps)
    return {part: costs[part] for part in PARTS if costs.get(part, 0) != 0}


@checked
def by_name(steps: Iterable[Step], convention: Convention = PYTORCH) -> list[CostRow]:
    """The forward cost of every module and step that has a cost.

    The first row is the whole model. Each module comes before its steps.
    """
    rows: dict[str, CostRow] = {}
    for step in steps:
        run_cost = convention.counting.of(step)
        if run_cost == 0:
            continue
        for name in _with_parents(step.name.removesuffix("_again") if step.again else step.name):
            inside = "*" in name
            row = rows.get(name, CostRow(name, step.runs if inside else 1, 0))
            rows[name] = row._replace(cost=row.cost + (run_cost if inside else step.runs * run_cost))
    return list(rows.values())


def part_of(step: Step) -> Part:
    component, block, _role = step.place
    if component != "encoder":
        return component
    if step.core:
        return "scores and context"
    if step.operation in ("linear", "activation", "multiply"):
        return "feed-forward" if block == "feed-forward" else "projections"
    return "LayerNorm, dropout, sums"


@checked
def masked_positions(sequence_length: int) -> int:
    """The number of masked positions in a sequence: 15 %, rounded as in google-research/bert, but at least 1.

    https://github.com/google-research/bert/blob/master/create_pretraining_data.py
    """
    return max(1, round(Fraction(15 * sequence_length, 100)))


@checked
def tokens(steps: Sequence[Step]) -> int:
    """The number of tokens in the batch, from the steps of a forward pass."""
    return prod(steps[0].gives.shape)


@checked
def has_masked_head(steps: Iterable[Step]) -> bool:
    return any(step.place.block == LANGUAGE_MODEL for step in steps)


@checked
def as_stated(steps: Iterable[Step], convention: Convention, sequence_length: int) -> list[Step]:
    """The steps as a convention counts them: the masked-LM head at all positions, or at masked positions only."""
    return at_masked(steps, masked_positions(sequence_length)) if convention.logits == "masked" else list(steps)


@checked
def at_masked(steps: Iterable[Step], positions: int) -> list[Step]:
    """The steps with the masked-LM head run at only ``positions`` positions of each sequence."""

    def cut(value: Value) -> Value:
        *batch, _length, width = value.shape
        return value._replace(shape=(*batch, positions, width))

    return [
        step._replace(takes=tuple(map(cut, step.takes)), gives=cut(step.gives))
        if step.place.block == LANGUAGE_MODEL
        else step
        for step in steps
    ]


def _times(step: Step) -> int:
    """How often training computes a step: forward, and for the gradients of its input and its weight."""
    # encoder_hidden_states get no gradient.
    return 3 - any(value.name == "encoder_hidden_states" for value in step.takes)


def _recomputed(steps: Iterable[Step], recompute: Recompute, flowing: Collection[str]) -> set[str]:
    """The names of the steps that checkpointing reruns: in each region with a gradient, up to the last saved tensor.

    A product saves only its inputs, so if it is the last to save anything, PyTorch's checkpoint stops before it.
    """
    regions: dict[str, list[Step]] = {}
    for step in steps:
        if region := recomputed_in(step, recompute):
            regions.setdefault(region, []).append(step)
    names: set[str] = set()
    for inside in regions.values():
        if not any(step.name in flowing for step in inside):
            continue
        while inside and not _keeps_what_it_makes(inside[-1]):
            if inside.pop().operation in ("linear", "matmul"):
                break
        names |= {step.name for step in inside}
    return names


def _keeps_what_it_makes(step: Step) -> bool:
    if isinstance(step.module, Dropout):
        return step.module.p > 0
    return step.operation in ("norm", "softmax", "activation", "multiply")


def _with_parents(name: str) -> list[str]:
    """The names of the model, every module that contains a step, and the step itself, without lists of layers."""
    names = name.split(".")
    ends = [end for end in range(1, len(names) + 1) if names[end : end + 1] not in (["*"], ["0"])]
    return ["", *(".".join(names[:end]) for end in ends)]
