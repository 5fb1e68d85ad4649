"""The peak memory of all tensors in a training step or a forward pass: a simulation, not a bound.

The step runs on simulated tensors, without data: bertcalc/memory/simulator has the forward pass, the lifetime of its
variables, the operations, the backward pass and the optimizers; bertcalc/memory/family_steps has the family-specific
overrides. The result equals the real model's to the byte, storage by storage, under every plan except 8-bit Adam, which
has not been measured. In float32, it is within a few elements of the memory that PyTorch's CPU allocator hands out
(tests/memory/test_peak.py). The simulation leaves out the workspace of a convolution kernel, and the copy that the CPU
makes of a convolution weight's gradient.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from bertcalc.changes.prompts import Prompts
from bertcalc.memory.optimizers import PRECISIONS, Dtype, Optimizer, Precision
from bertcalc.memory.plan import Attention, Inference, Plan, Recompute, checkpointed
from bertcalc.memory.saved import UNDER_AUTOCAST, by_labels, check_recompute
from bertcalc.memory.timeline import AREAS, Area, MemoryChange, Phase
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model, not_taken
from bertcalc.model.modules import ModuleList, layer_number, split_layer
from bertcalc.model.runnable import cannot_run, in_pairs, unpadded
from bertcalc.text import N_
from bertcalc.text.arguments import Single, checked
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.transformers4.version import version_of

PADDING = N_("The memory of {architecture} depends on the number of padding tokens, because its loss ignores them.")
PADDED_PROMPTS = N_(
    "The memory of {architecture} with virtual tokens in front of padded sequences is not simulated yet."
)
DISTANCES = N_(
    "With relative positions, the memory of {architecture} under AMP is not simulated yet: choose another precision."
)
IN_16_BITS = N_(
    "With {change}, the memory of {architecture} is not simulated in this precision: choose another precision."
)
MASTERS = N_("With an adapter, master weights are not simulated: choose a precision without them.")
TWO_TYPES = N_(
    "Matrix products in {dtype} are not simulated in this precision: choose the same 16-bit type for both, or float32."
)
UNKNOWN = N_("The memory of {architecture} is not simulated yet.")


class NotSimulatedError(InputError, NotImplementedError):
    """Raised if the memory of a model is not simulated."""


class Moment(NamedTuple):
    """The live bytes at one point in time of a step: in total, and by area in the order of AREAS."""

    phase: Phase
    where: str
    live: int
    areas: dict[Area, int]


@checked
def training_peak_bytes(
    model: Model,
    batch_size: Single,
    sequence_length: Single,
    *,
    labels: bool = True,
    optimizer: Optimizer = "adamw",
    dtype: Dtype = "float32",
    autocast: Literal["bfloat16", "float16"] | None = None,
    attention: Attention = "eager",
    recompute: Recompute = "none",
    keep_outputs: bool = True,
    fused_dropout: bool = False,
    num_choices: Single = 1,
    encoder_sequence_length: Single | None = None,
    padded: bool = False,
) -> int:
    """The peak bytes of all tensors in a training step, weights included.

    ``changes_in`` describes the step and its settings. ``autocast`` is the dtype of torch.autocast on CUDA; the weights
    are then float32. With ``recompute`` "full", transformers' gradient checkpointing recomputes each layer in the
    backward pass. With ``fused_dropout``, dropout masks have one byte per element, as on CUDA; otherwise they are as
    wide as the activations, as on a CPU. Raises InputError if there are no labels, if ``dtype`` is not float32 under
    autocast, or if the class cannot run, and NotSimulatedError if the model's memory is not simulated.

    >>> from bertcalc import build
    >>> training_peak_bytes(build("bert-base-uncased"), 1, 128)
    1939649312
    """
    if not labels:
        raise wrong(N_("Without labels, there is no loss: nothing can be trained."), "labels", labels)
    if autocast and dtype != "float32":
        message = N_("With autocast, the weights stay float32: leave dtype at float32 instead of {value}.")
        raise wrong(message, "dtype", dtype, value=dtype)
    precisions: dict[str | None, Precision] = {
        "bfloat16": "amp-bf16",
        "float16": "amp-fp16",
        None: "fp32" if dtype == "float32" else "bf16",
    }
    settings = (precisions[autocast], optimizer, attention, fused_dropout)
    plan = checkpointed(Plan(*settings, keep_outputs=keep_outputs), recompute)
    batch = Batch(batch_size, sequence_length, encoder_sequence_length, num_choices, padded=padded)
    return _peak_bytes(model, plan, batch)


def _peak_bytes(model: Model, how: Plan | Inference, batch: Batch) -> int:
    if problem := not_taken(model, batch):
        raise InputError(problem)
    return peak(changes_in(model, how, batch)).live


@checked
def inference_peak_bytes(
    model: Model,
    batch_size: Single,
    sequence_length: Single,
    *,
    dtype: Dtype = "float32",
    attention: Attention = "eager",
    num_choices: Single = 1,
    encoder_sequence_length: Single | None = None,
    padded: bool = False,
) -> int:
    """The peak bytes of all tensors in a forward pass under ``torch.no_grad()``, weights included.

    ``changes_in`` describes the pass and its settings. Raises InputError if the class cannot run, and NotSimulatedError
    if the model's memory is not simulated.

    >>> from bertcalc import build
    >>> inference_peak_bytes(build("bert-base-uncased"), 1, 128)
    443049984
    """
    batch = Batch(batch_size, sequence_length, encoder_sequence_length, num_choices, padded=padded)
    return _peak_bytes(model, Inference(dtype, attention), batch)


@checked
def peak(timeline: Sequence[MemoryChange]) -> Moment:
    """The first point in time with the most live memory."""
    return max(curve(timeline), key=lambda moment: moment.live)


@checked
def curve(timeline: Sequence[MemoryChange]) -> list[Moment]:
    """The live memory after each change, starting with the forward pass."""
    areas: dict[Area, int] = dict.fromkeys(AREAS, 0)
    live = 0
    moments = []
    for change in timeline:
        areas[change.area] += change.num_bytes
        if change.moved_from:
            areas[change.moved_from] -= change.num_bytes
        else:
            live += change.num_bytes
        if change.phase != "before":
            moments.append(Moment(change.phase, change.where, live, dict(areas)))
    return moments


@checked
def changes_of(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> list[MemoryChange]:
    """The allocations and releases of a step; encoder_hidden_states are as long as the decoder's sequence."""
    batch = model.batch_of(batch_size, sequence_length)
    return changes_in(model, how, batch)


@checked
def moments_of_step(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> list[Moment]:
    """The ``curve`` of a whole step, downsampled to at most 300 points in time; each interval keeps its maximum."""
    moments = curve(changes_of(model, how, batch_size, sequence_length))
    step = -(-len(moments) // 300)
    return [
        max(moments[start : start + step], key=lambda moment: moment.live) for start in range(0, len(moments), step)
    ]


@checked
def run_of(model: Model, where: str) -> tuple[str, int | None]:
    """Return the name of the step at a point in time, and the number of its run (from 1).

    ``where`` is ``Moment.where``. The number is None outside layers that run several times with the same weights.
    """
    name = model.without_prefix(where)
    layers = split_layer(name)[0].rpartition(".")[0]
    shared = model.body().get_submodule(layers) if layers else model
    runs = sum(copies for _start, copies in shared.groups.values()) if isinstance(shared, ModuleList) else 0
    shared_name = ".".join("0" if part.isdecimal() else part for part in name.split("."))
    if not runs or runs == model.config.num_hidden_layers or "*" in name:
        return where, None
    module, _dot, last = shared_name.rpartition(".")
    with suppress(KeyError):
        if last in model.body().get_submodule(module).parameters:  # a parameter, not a step of a run
            return where, None
    return shared_name, layer_number(name) + 1


@checked
def changes_in(model: Model, how: Plan | Inference, batch: Batch) -> list[MemoryChange]:
    """The allocations and releases, in order, of a forward pass of ``model.eval()`` under ``torch.no_grad()``.

    With a plan, the changes belong to one step of the usual training loop in steady state:

        outputs = model(**batch, labels=labels)
        outputs.loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    The loss of GPT2DoubleHeadsModel is ``outputs.loss + outputs.mc_loss``. A body such as BertModel accepts no labels
    and has no loss; the simulation uses the sum of all its outputs, without a cache:
    ``loss = sum(output.sum() for output in outputs.to_tuple())``. All sequences have labels (DeBERTa's loss selects
    the sequences that have labels).

    The batch consists of input_ids and labels. A ``padded`` batch also has token_type_ids, if the family has them, and
    an attention_mask that contains zeros, which makes the model build an additive mask. With an
    ``encoder_sequence_length``, the batch also has encoder_hidden_states for the cross-attention.

    The loop overwrites the variable ``outputs`` when the next forward pass has returned: until then, the previous
    logits are alive. Without ``plan.keep_outputs``, the loop is ``loss = model(...).loss`` and holds only the loss, so
    the logits are released before the backward pass. The other settings of a plan:

    - ``precision``: "amp-bf16" and "amp-fp16" are torch.autocast("cuda") around the forward pass and the loss, as
      PyTorch's dispatcher casts there: products in 16 bits, each trained weight cast once, softmax, norms and losses in
      float32. The two scalars of a GradScaler, 8 bytes, are not counted. "bf16" is ``model.to(torch.bfloat16)``;
      float16 needs as many bytes. "mixed-16" and "mixed-18" add float32 master weights, which the optimizer updates
      tensor by tensor. "mixed-16" makes a float32 copy of each gradient when its tensor is updated. "mixed-18" has
      float32 gradients all the time: each 16-bit gradient is added to them and released as soon as it is computed.
      Master weights are counted as "optimizer states". LayerNorm's means and deviations are float32, as on CUDA; on
      the CPU, a 16-bit model has them in 16 bits.
    - ``optimizer``: the optimizers of torch.optim with ``foreach=False``, and the 8-bit Adam of bitsandbytes. Its
      states follow the rule in memory/optimizers.py. Its kernels work in place, so there are no temporary tensors. This
      has not been measured.
    - ``attention``: "fused" is the flash kernel of scaled_dot_product_attention, which saves query, key, value, output
      and a float32 for each row of scores. On the CPU, PyTorch chooses this kernel only if the attention has no
      dropout. On CUDA, the kernel also has a seed of 16 bytes. If there is a mask, each layer makes and saves an
      additive copy.
    - ``fused_dropout``: dropout masks of one byte per element, as PyTorch saves them on CUDA.
    - ``recompute``: torch.utils.checkpoint with ``use_reentrant=False`` around each layer ("full", which is
      transformers' gradient checkpointing) or each attention core ("selective"). The saved states of random number
      generators are not counted: about 5 kB each, on the CPU.
    - ``freezing``: ``requires_grad_(False)``; transformers' gradient checkpointing also needs
      ``disable_input_require_grads()``, or a gradient flows to frozen embeddings.
    - ``accumulate``: the step is the last of several; the gradients of earlier steps exist from the beginning.

    Raises InputError if nothing is trained or the class cannot run, and NotSimulatedError if the model's memory is
    not simulated.
    """
    _check(model, batch, training=isinstance(how, Plan))
    if isinstance(how, Plan):
        if problem := _unknown_under_autocast(model, how) or _unknown_with_changes(model, how.precision):
            raise NotSimulatedError(problem)
        check_recompute(model, how.recompute)
    elif problem := _unknown_with_changes(model, how.dtype):
        raise NotSimulatedError(problem)
    from bertcalc.memory.family_steps import overrides_of  # imported late, because it is slow to import
    from bertcalc.memory.simulator import simulate

    return simulate(model, how, batch, overrides_of(model))


def _check(model: Model, batch: Batch, *, training: bool) -> None:
    config: Any = model.config
    cls = model.cls
    values = {"architecture": cls.name}
    one_of_them = cls.task == "double-heads" and config.choice_token in ("first", "last")
    # With several choices, the chosen token's hidden states are not contiguous, so PyTorch uses a different product.
    if not model.family.peaks or (one_of_them and batch.num_choices > 1):
        raise NotSimulatedError(Problem("architecture", cls.name, UNKNOWN, values))
    for change in model.changes:
        if problem := change.unsimulated(model):
            raise NotSimulatedError(problem)
    if batch.padded and any(isinstance(change, Prompts) for change in model.changes):
        raise NotSimulatedError(Problem("architecture", cls.name, PADDED_PROMPTS, values))
    if training and batch.padded and cls.task == "replaced-tokens":
        raise NotSimulatedError(Problem("architecture", cls.name, PADDING, values))
    if training and (problem := by_labels(model)):
        raise NotSimulatedError(problem)
    if problem := cannot_run(model, training=training) or unpadded(cls, model.config, batch.batch_size):
        raise InputError(problem)


@checked
def unknown_peaks(model: Model) -> Problem | None:
    """The problem if a model's memory is not simulated or the model cannot run; otherwise None."""
    name = model.cls.name
    if model.family.peaks:
        return in_pairs(model.config)
    return Problem("architecture", name, UNKNOWN, {"architecture": name})


def _unknown_under_autocast(model: Model, plan: Plan) -> Problem | None:
    if not PRECISIONS[plan.precision].autocast:
        return None
    relative = getattr(model.config, "relative_attention", False) or version_of(model.config).distances
    if not relative:
        return None
    return Problem.of(DISTANCES, "precision", plan.precision, architecture=model.cls.name)


def _unknown_with_changes(model: Model, precision: Precision | Dtype) -> Problem | None:
    values: dict[str, Any] = {"architecture": model.cls.name}
    packs = next((change.packs for change in model.changes if change.packs), "")
    for change in model.changes:
        if precision in ("mixed-16", "mixed-18"):
            return Problem.of(MASTERS, "precision", precision, **values)
        autocast = precision in ("amp-bf16", "amp-fp16")
        in_16_bits = change.in_16_bits and (change.packed_in_16_bits or not packs)
        possible = change.under_autocast if autocast else in_16_bits or precision in ("fp32", "float32")
        if not possible:
            return Problem.of(IN_16_BITS, "precision", precision, **values, change=change.title)
    if packs in ("bfloat16", "float16") and precision in PRECISIONS:
        rule = PRECISIONS[precision]
        if {rule.autocast, rule.dtype} - {None, "float32", packs}:
            return Problem.of(TWO_TYPES, "precision", precision, **values, dtype=packs)
    return None


@checked
def unlisted(model: Model, plan: Plan) -> Problem | None:
    """The problem if a model's saved activations are not listed tensor by tensor under a plan; otherwise None."""
    if (problem := by_labels(model)) or not PRECISIONS[plan.precision].autocast:
        return problem
    return _unknown_under_autocast(model, plan) or Problem.of(UNDER_AUTOCAST, "precision", plan.precision)
