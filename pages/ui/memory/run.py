"""The controls of the Memory page: the batch, the settings of training or inference, and the device."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.explore.factor_formulas import WHOLE, FigureGrowth, Side, growths
from bertcalc.export.report import Settings
from bertcalc.memory.devices import DEFAULT, DEVICES, GAPS, KEPT_FREE, WITHOUT_BFLOAT16, Device, kept_free
from bertcalc.memory.optimizers import ITEM_BYTES, OPTIMIZERS, PRECISIONS, Precision
from bertcalc.memory.peak.live_peak_formulas import LivePeak, live_peak
from bertcalc.memory.peak.peak_formulas import peak
from bertcalc.memory.plan import ATTENTIONS, RECOMPUTE, Inference, Plan, Recompute
from bertcalc.memory.saved import can_fuse
from bertcalc.model.batch import LARGEST, Batch, batch_problems
from bertcalc.model.formula import Formula
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.live_numbers import within
from bertcalc.text.problem import Problem
from pages.ui.session.present_model import linked
from pages.ui.shell import live
from pages.ui.shell.controls import (
    Control,
    Decimal,
    Number,
    Select,
    assignments,
    more_controls,
    set_values,
    show_problem,
    view,
)
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.bars import preset_of
from pages.ui.widgets.batch_controls import choose_batch, show_seen
from pages.ui.widgets.export.shown import notes
from pages.ui.widgets.freezing_controls import FREEZE_EMBEDDINGS, FREEZE_LAYERS, TRAINED, choose_freezing, frozen

VIEW = view(
    "memory",
    {
        "fit": N_("What fits"),
        "weights": N_("Weights"),
        "training": N_("Training"),
        "activations": N_("Activations"),
        "inference": N_("Inference"),
    },
)
TRAINING_DTYPE = Select(
    "training_dtype",
    N_("Training precision"),
    PRECISIONS,
    {
        "fp32": "FP32",
        "amp-bf16": N_("AMP bfloat16"),
        "amp-fp16": N_("AMP float16"),
        "bf16": N_("Pure bfloat16"),
        "mixed-18": N_("18 B, FP32 master weights"),
        "mixed-16": N_("16 B, FP32 master weights"),
    },
)
OPTIMIZER = Select(
    "optimizer",
    N_("Optimizer"),
    OPTIMIZERS,
    {
        "sgd": "SGD",
        "momentum": N_("Momentum"),
        "adamw": "Adam(W)",
        "adamw-8bit": N_("8-bit Adam"),
        "adafactor": "Adafactor",
    },
    width=138,
)
ATTENTION = Select("attention", N_("Attention"), ATTENTIONS, {"eager": N_("Eager"), "fused": N_("Fused")}, width=94)
_MEANINGS = {precision: rule.meaning for precision, rule in PRECISIONS.items()}


def recompute_options(model: Model) -> list[Recompute]:
    """The kinds of gradient checkpointing that the model's family supports, including "none"."""
    return [kind for kind in RECOMPUTE if kind in ("none", *model.family.recomputes)]


RECOMPUTATION = Select(
    "recompute",
    N_("Recompute"),
    RECOMPUTE,
    {"none": N_("None"), "selective": N_("Selective"), "full": N_("Full")},
    available=lambda link: recompute_options(linked(link).model()),
    width=116,
)
DROPOUT_MASKS = Select[str](
    "fused_dropout",
    N_("Dropout masks"),
    words={"true": N_("CUDA: one byte per element"), "false": N_("CPU: as the activations")},
)
_MASKS = N_(
    "PyTorch saves dropout masks with one byte per element on CUDA, and in the data type of the activations on a CPU. "
    "The choice applies to all views of this page."
)
ONE_BYTE_MASKS = N_(
    "Dropout masks have one byte per element here, as PyTorch saves them on CUDA (measured on an H100)."
)
_WIDE_MASKS = N_("Dropout masks have the data type of the activations here, as PyTorch saves them on a CPU.")
DTYPE = Select("dtype", N_("Data type"), ITEM_BYTES, width=115)
TASK = Select[str]("task", N_("Task"), words={"training": N_("Training"), "inference": N_("Inference")}, width=115)
DEVICE_MEMORY = Select[str](
    "device_memory",
    N_("Device"),
    words={name: name.replace("-", " ").replace("GB", " GB") for name in DEVICES} | {"GiB": N_("Other")},
    default=DEFAULT,
    width=160,
)
DEVICE_GIB = Number("device_gib", N_("Memory in GiB"), 16, width=105)
KEEP_FREE = Decimal("kept_free", N_("Reserved, GiB"), KEPT_FREE, step=0.5, width=120)
OVERHEAD = Number("overhead", N_("Allocator, %"), GAPS, width=105)
ACCUMULATE = Number("accumulate", N_("Gradient accumulation steps"), 1)
_MORE: tuple[Control[Any], ...] = (ACCUMULATE, DROPOUT_MASKS, FREEZE_LAYERS, TRAINED, FREEZE_EMBEDDINGS)
_LARGEST_GIB = 1_000_000


class Run(NamedTuple):
    """A model with its batch, for which the Memory page simulates training or inference."""

    choice: Choice
    batch: Batch
    batches: int = 1  # the number of batches whose gradients are accumulated for an optimizer step

    @property
    def model(self) -> Model:
        return self.choice.model

    def of_preset(self) -> "Run | None":
        """The preset with the same batch, or None if the preset does not support this batch."""
        start = preset_of(self.choice)
        return None if any(batch_problems(start.config, self.batch.sizes())) else Run(start, self.batch)

    def side(self, figures: Mapping[Any, int], formulas: Mapping[Any, Any]) -> Side:
        """Combine figures with their formulas, as one side of a comparison."""
        return Side(figures, formulas, {**self.model.config.shared(), **self.batch.sizes()})

    def growth(self, how: Plan | Inference) -> FigureGrowth:
        """The growth of the peak from the preset's peak at the same batch.

        If the preset does not support this batch, there is no growth: the result is FigureGrowth(0, 0).
        """
        start = self.of_preset()
        if not start:
            return FigureGrowth(0, 0)
        highest = self.live_peak(how)
        # The explanation is valid only while memory peaks at the same step.
        growth = growths(start._peak_side(how), self._peak_side(how))[WHOLE]
        return growth._replace(after=within(highest.num_bytes, highest.bounds))

    def live_peak(self, how: Plan | Inference) -> LivePeak:
        """The peak memory as a live number."""
        return live_peak(self.model, how, *self.batch.shape)

    def _peak_side(self, how: Plan | Inference) -> Side:
        largest = peak(self.model, how, *self.batch.shape)
        return self.side({WHOLE: largest.num_bytes}, {WHOLE: largest.expression})

    def written(self, formula: Formula) -> tuple[str, str]:
        """A formula as two LaTeX texts: with letters, and with numbers."""
        return formula.latex(), formula.latex(self.choice.config, **self.batch.sizes())


def choose_plan(choice: Choice, *, states: bool = True) -> tuple[Run, Plan]:
    """Draw the controls of the batch and of training; return the run and the plan with their values.

    The choice of the optimizer and the note on dropout masks are drawn only with ``states``.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        batch = choose_batch(choice.config)
        options: dict[str, Any] = {"precision": choose_precision(width=163)}
        if states:
            options["optimizer"] = OPTIMIZER.show()
        options |= {"attention": ATTENTION.show(), "recompute": RECOMPUTATION.show(recompute_options(choice.model))}
        with more_controls(_("More"), sum(control.is_changed for control in _MORE)):
            batches = ACCUMULATE.show_within(1, LARGEST)
            options["fused_dropout"] = DROPOUT_MASKS.show(help=_(_MASKS)) == "true"
            freezing = choose_freezing(choice.config)
    if (typed := st.session_state[ACCUMULATE.name]) != batches and (problem := ACCUMULATE.problem(typed, 1, LARGEST)):
        show_problem(problem._replace(remedies=()))
    if problem := replace(freezing, layers=st.session_state["freeze_layers"]).problem(choice.config):
        show_problem(problem._replace(remedies=()))  # repeated without remedies, which are in the popover
    _show_remarks(choice)
    plan = Plan(**options, freezing=freezing, accumulate=batches > 1)
    if states:
        show_masks(plan)
    notes().settings = Settings(assignments(_settings(plan, batches)), plan)
    return _run(choice, batch, batches), plan


def show_masks(plan: Plan) -> None:
    """Show a note on the bytes of dropout masks."""
    st.caption(_(ONE_BYTE_MASKS if plan.fused_dropout else _WIDE_MASKS))


def _run(choice: Choice, batch: Batch, batches: int = 1) -> Run:
    live.note_sizes(batch.sizes())
    return Run(choice, batch, batches)


def choose_precision(**look: Any) -> Precision:
    """Draw and return the training precision; when it changes, set the data type of inference accordingly."""
    precision = TRAINING_DTYPE.show(**{"help": TRAINING_DTYPE.meanings(_MEANINGS), **look})
    of_link = "last precision" not in st.session_state and DTYPE.is_changed
    if st.session_state.get("last precision", TRAINING_DTYPE.default) != precision and not of_link:
        set_values({DTYPE.name: PRECISIONS[precision].dtype})
    st.session_state["last precision"] = precision
    return precision


def _settings(plan: Plan, batches: int) -> dict[str, object]:
    """The values of the controls, keyed by name. Controls in the popover are included only if they have an effect."""
    folded = {ACCUMULATE.name: batches} if batches > 1 else {}
    return {
        TRAINING_DTYPE.name: plan.precision,
        OPTIMIZER.name: plan.optimizer,
        ATTENTION.name: plan.attention,
        RECOMPUTATION.name: plan.recompute,
        DROPOUT_MASKS.name: "true" if plan.fused_dropout else "false",
        **folded,
        **frozen(plan.freezing),
    }


def choose_inference(choice: Choice) -> tuple[Run, Inference]:
    """Draw the controls of the batch and of inference; return the run and its settings, which are also exported."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = choose_batch(choice.config)
        how = Inference(DTYPE.show(), ATTENTION.show())
    _show_remarks(choice)
    options = assignments({DTYPE.name: how.dtype, ATTENTION.name: how.attention})
    trained = _("trained in float32 with AdamW")
    notes().settings = Settings(f"{options}; {trained}", Plan(attention=how.attention), how)
    return _run(choice, batch), how


def _show_remarks(choice: Choice) -> None:
    show_unfused(choice.model)
    show_seen(choice.model)


def show_unfused(model: Model) -> None:
    """Show a note if fused attention is chosen but the model does not support it."""
    if st.session_state["attention"] == "fused" and not can_fuse(model.steps(Batch())):
        st.caption(_("Fused attention does not support relative positions; eager attention is counted instead."))


def choose_task() -> tuple[str, Device]:
    """Draw the controls for the task ("training" or "inference") and the device; return both values."""
    with (controls := st.container(horizontal=True, vertical_alignment="bottom")):
        task = TASK.show()
    return task, choose_device(controls)


def choose_device(controls: DeltaGenerator) -> Device:
    """Draw the controls of a device in the row ``controls``, and return the device.

    Invalid sizes are shown as problems and replaced by valid sizes.
    """
    with controls:
        chosen = DEVICE_MEMORY.show(help=_("Total memory as nvidia-smi reports it."))
        device = _named_device(chosen) if chosen in DEVICES else _typed_device()
        problems: list[Problem] = []
        with more_controls(_("Reserved"), sum(control.is_changed for control in (KEEP_FREE, OVERHEAD))):
            typed = KEEP_FREE.show(
                help=_(
                    "Reserved for everything except tensors: driver, CUDA context, gaps between tensors, working "
                    "memory of kernels."
                ),
            )
            overhead = OVERHEAD.show_within(
                0,
                100,
                problems.append,
                help=_(
                    "Memory that PyTorch's allocator and cuBLAS use in addition to the tensors: up to 6 % with "
                    "expandable segments, 2 to 29 % without (measured on an H100)."
                ),
            )
    for problem in problems:  # shown outside the popover, which would hide them
        show_problem(problem)
    device = device._replace(overhead=overhead)
    limited = kept_free(device, typed)
    if isinstance(limited, Device):
        return limited
    show_problem(limited)
    return device


def _named_device(name: str) -> Device:
    return Device(DEVICE_MEMORY.word(name), DEVICES[name], has_bfloat16=name not in WITHOUT_BFLOAT16)


def _typed_device() -> Device:
    typed = DEVICE_GIB.show_within(1, _LARGEST_GIB)
    return Device(f"{typed:,} GiB", typed * 2**30)
