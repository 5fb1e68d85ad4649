"""The live memory of a training or inference step over time: its peak, a chart, and the peak's formula by area."""

from collections.abc import Iterator

import streamlit as st

from bertcalc.charts.memory_charts import step_areas, step_frame
from bertcalc.explore.quantities import Case
from bertcalc.explore.savings import of_adding_up, of_freezing
from bertcalc.forward.gradients import NOTHING_FROZEN
from bertcalc.live.live_formulas import live_reading, live_size
from bertcalc.memory.footprint import cache_bytes, output_bytes
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.peak import moments_of_step, run_of
from bertcalc.memory.peak.live_peak_formulas import live_steady_bytes
from bertcalc.memory.peak.peak_formulas import Peak, most_sequences, peak, peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.timeline import Phase
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import decimal_size, fixed, scaled, signed, size
from bertcalc.text.live_choices import either, quotient
from bertcalc.text.live_numbers import fill, staying
from pages.ui.memory.run import Run
from pages.ui.memory.stack_bar import AREA_WORDS
from pages.ui.session.scale import axis_end
from pages.ui.shell import live
from pages.ui.shell.controls import Fold
from pages.ui.shell.i18n import _, in_a_row
from pages.ui.shell.present import lower, presenting
from pages.ui.shell.theme import appearance
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.growth import show_growth
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import percent, unbroken
from pages.ui.widgets.tables import show_rows

TEMPORARIES = Fold("temporaries", N_("Temporary tensors at the peak"))
PHASES: dict[Phase, str] = {
    "forward": N_("forward pass"),
    "loss": N_("loss"),
    "backward": N_("backward pass"),
    "optimizer": N_("optimizer step"),
}
# The measurements are in benchmarks/gpu_memory.md.
NOT_COUNTED = N_(
    "Every live tensor is counted, to the byte. Other GPU memory is not included: the driver and the CUDA context "
    "(1,165 MiB on an H100), the workspaces of cuBLAS (66 MiB) and the blocks of PyTorch's allocator. On an H100, "
    "the tensors of bert-base and bert-large took 0 to 2 % more in float32, 0 to 9 % more in bfloat16, and never "
    "less. Training needed 1 to 5 % more than the peak with PYTORCH_ALLOC_CONF=expandable_segments:True, and 2 to "
    "29 % more without it."
)


def show_peak(run: Run, how: Plan | Inference) -> None:
    """Show the peak memory, the operation at which it occurs, a chart of the step, and the formulas of the peak.

    In projector view, show only the peak, the operation and the chart. ``how`` is the plan of training, or the settings
    of inference.
    """
    highest, now = peak(run.model, how, *run.batch.shape), run.live_peak(how)
    start = run.of_preset()
    before = peak_bytes(start.model, how, *start.batch.shape) if start else highest.num_bytes
    changed = _("{difference} vs. {preset}").format(difference=f"+{size(before)}", preset=run.choice.preset)
    show_metrics(_figures(run, how, now.num_bytes, before), longest_below=changed)
    # The sentence can name one of the layers, so it is outdated once a slider changes their number.
    layers = live_size("num_hidden_layers", run.model.config.num_hidden_layers)
    with live.container_within((*now.bounds, staying(layers))):
        st.markdown(_when(run.model, highest))
    with live.older("step"):
        _draw_step(run, how, highest.num_bytes, before)
    if presenting():
        return
    if highest.num_bytes != before:
        show_growth(run.growth(how), _("Memory"), run.choice.preset)
    formulas = {area: formula.latex() for area, formula in highest.formulas.items()}
    rows = [
        (
            unbroken(_(AREA_WORDS[area])),
            f"${formulas[area]}$",
            *map(unbroken, (size(count), percent(count, now.num_bytes))),
        )
        for area, count in now.areas.items()
    ]
    titles = (_("Allocated at the peak"), _("Formula, in bytes"), _("Size"), _("Share"))
    with live.container_within(now.bounds):
        show_rows(titles, rows, _("What is in memory at the peak"))
    if isinstance(how, Plan):
        with live.older("savings"):
            for sentence in _savings(run, how):
                st.markdown(sentence)
    frozen = any("N_{t}" in formula for formula in formulas.values())
    letters = _("$N$: all parameters; $N_t$: trainable parameters.") if frozen else _("$N$: all parameters.")
    of_plan = [_(PRECISIONS[how.precision].meaning), loop(run, how, highest.num_bytes)] if isinstance(how, Plan) else []
    live.caption(in_a_row([letters, *of_plan, _(NOT_COUNTED)]))
    TEMPORARIES.around(_show_temporaries, run.model, highest)


def _draw_step(run: Run, how: Plan | Inference, highest: int, before: int) -> None:
    """Draw the chart of the step, whose peak is ``highest``, and ``before`` in the preset's step."""
    looked_at = (run.choice.preset, run.model.architecture, run.batch, how)
    end = axis_end("step", looked_at, before, highest)
    moments = moments_of_step(run.model, how, *run.batch.shape)
    occurring = {area: _(word) for area, word in AREA_WORDS.items() if any(moment.areas[area] for moment in moments)}
    named = [moment._replace(where=_step_words(run.model, moment.where)) for moment in moments]
    phases = {phase: _(word) for phase, word in PHASES.items()}
    draw_chart(
        step_frame(named, occurring, phases, (run.choice.preset, before), end, size),
        lower(step_areas(appearance(), tuple(occurring.items()), _("Step")), 190),
        numbers={"at": _("Operation"), "name": _("Category"), "bytes": _("Bytes"), "where": _("Step")},
        alt=_("Live memory over the step: at most {size}").format(size=size(highest)),
    )


def _show_temporaries(model: Model, highest: Peak) -> None:
    made = [
        (_step_words(model, piece.where, "`"), f"${piece.formula.latex()}$", unbroken(size(piece.num_bytes)))
        for piece in highest.temporaries
    ]
    show_rows((_("Used for"), _("Formula, in bytes"), _("Size")), made, _("Temporary tensors at the peak"))


def _figures(run: Run, how: Plan | Inference, highest: int, before: int) -> dict[str, tuple[str, str]]:
    """The metrics: the peak, and for training the constant memory, or for inference the outputs and any KV cache."""
    tokens = _("{batch_size:,} × {sequence_length:,} tokens").format(**run.batch.sizes())
    difference = signed(highest - before, decimal_size)
    against = fill(_("{difference} vs. {preset}"), difference=difference, preset=run.choice.preset)
    peak = (size(highest), either(highest, before, tokens, against))
    if isinstance(how, Inference):
        returned, cached = (
            size(live_reading(kind, run.model, how.dtype, *run.batch.shape)) for kind in (output_bytes, cache_bytes)
        )
        below = _("included in the peak")
        figures = {_("Peak of inference"): peak, _("Outputs"): (returned, below)}
        has_cache = cache_bytes(run.model, how.dtype, *run.batch.shape) > 0
        return {**figures, _("KV cache"): (cached, below)} if has_cache else figures
    steady = live_steady_bytes(run.model, how)
    share = quotient(steady, live_reading(Model.num_parameters, run.model))
    per_parameter = fill(_("{bytes} bytes per parameter"), bytes=fixed(share, 2))
    return {_("Peak of a training step"): peak, _("Weights, gradients, optimizer"): (per_parameter, size(steady))}


def loop(run: Run, plan: Plan, needed: int) -> str:
    """Return sentences on the assumed training loop, and on the extra memory of a loop that keeps all outputs.

    ``needed`` is the peak of the assumed loop in bytes.
    """
    with_outputs = run.live_peak(plan._replace(keep_outputs=True)).num_bytes
    sentence = _("The training loop keeps only the loss, as transformers' Trainer does.")
    if with_outputs == needed:
        return sentence
    keeping = _(
        "A training loop that keeps all outputs in a variable until the next step needs {more} more at the peak."
    )
    more = with_outputs - run.live_peak(plan).num_bytes
    return in_a_row([sentence, fill(keeping, more=size(more))])


def _savings(run: Run, plan: Plan) -> Iterator[str]:
    case = Case(run.model, run.batch, plan)
    if run.batches > 1 and not most_sequences(run.model):
        savings = of_adding_up(case, run.batches)
        sentence = _(
            "Accumulating the gradients of **{batches:,} batches of {batch_size:,}** needs {needed} at the peak; one "
            "batch of all the sequences needs {whole}. The FLOPs are the same."
        )
        sizes = {"needed": size(savings.num_bytes), "whole": size(savings.whole_bytes)}
        yield sentence.format(batches=run.batches, batch_size=run.batch.batch_size, **sizes)
    if plan.freezing != NOTHING_FROZEN:
        savings = of_freezing(case)
        sentence = _("**Freezing** saves {saved} of {whole} at the peak ({share}).")
        share = percent(savings.saved_bytes, savings.whole_bytes)
        yield sentence.format(saved=size(savings.saved_bytes), whole=size(savings.whole_bytes), share=share)
        sentence = _(
            "Freezing saves {flops} of {all_flops} in a step ({flops_share}): the forward pass is computed as before, "
            "and gradients flow back to the first tensor that is trained."
        )
        if plan.recompute != "none":
            sentence = _(
                "Freezing saves {flops} of {all_flops} in a step ({flops_share}): the forward pass is computed as "
                "before, gradients flow back to the first tensor that is trained, and only this part is recomputed."
            )
        flops, all_flops = (scaled(count, "FLOPs") for count in (savings.saved_flops, savings.whole_flops))
        share = percent(savings.saved_flops, savings.whole_flops)
        yield sentence.format(flops=flops, all_flops=all_flops, flops_share=share)


def _step_words(model: Model, where: str, quote: str = "") -> str:
    """The name of a step; if the model runs its layer several times (shared layers), the number of the run follows."""
    name, run = run_of(model, where)
    step = f"{quote}{name}{quote}"
    return step if run is None else _("{step}, run {number:,}").format(step=step, number=run)


def _when(model: Model, highest: Peak) -> str:
    if highest.where == "loss":
        return _("Memory peaks in the **{phase}**, at the loss.").format(phase=_(PHASES[highest.phase]))
    text = _("Memory peaks in the **{phase}**, at {step}.")
    return text.format(phase=_(PHASES[highest.phase]), step=_step_words(model, highest.where, "`"))
