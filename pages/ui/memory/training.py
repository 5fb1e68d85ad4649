"""A training step, part by part."""

from collections.abc import Mapping

import streamlit as st

from bertcalc.memory import footprint
from bertcalc.memory.byte_formulas import kept_formulas, part_formulas, plain_formulas
from bertcalc.memory.devices import Device
from bertcalc.memory.optimizers import PRECISIONS, Part, sizes
from bertcalc.memory.plan import Plan
from bertcalc.text import N_
from pages.ui.i18n import in_a_row, translator
from pages.ui.memory.run import Run
from pages.ui.memory.stack import Stack, show_bar
from pages.ui.metrics import show_metrics
from pages.ui.numbers import size, unbroken
from pages.ui.present import presenting
from pages.ui.tables import show_table

LEGENDS: dict[str, str] = {
    "adamw-8bit": N_(
        "bitsandbytes: 2 bytes a parameter, and 2 float32 scales for each of $K$ blocks of 256; the $N_s$ parameters "
        "of tensors with fewer than 4,096 keep 8 bytes each."
    ),
    "adafactor": N_(
        "Adafactor: a float32 for each of the $R$ rows and $C$ columns of matrices, and of the $v$ numbers in vectors."
    ),
}


def training_stack(run: Run, plan: Plan, found: Mapping[Part, int], device: Device | None = None) -> Stack:
    """The parts of a training step as a bar shows them."""
    _ = translator()
    start = run.of_preset()
    formulas = {
        **plain_formulas(plan.precision, plan.optimizer),
        "activations": kept_formulas(run.subject, plan, *run.batch).total,
        "recomputed": _("what one recomputation restores"),
    }
    return Stack(found, footprint.training(start.subject, plan, *start.batch) if start else {}, formulas, device)


def show_training(run: Run, plan: Plan) -> None:
    """All parts of a training step: the total, one bar, a formula for each."""
    _ = translator()
    found = footprint.training(run.subject, plan, *run.batch)
    total, model = sum(found.values()), run.choice.model()
    steady = sum(found[part] for part in found if part not in ("activations", "recomputed"))
    show_metrics(
        {
            _("Memory for a training step"): (
                size(total),
                _("{batch_size:,} × {sequence_length:,} tokens").format(**run.batch._asdict()),
            ),
            _("Excluding activations"): (
                _("{bytes:.2f} bytes a parameter").format(bytes=steady / model.num_parameters()),
                size(steady),
            ),
        }
    )
    show_bar(run.choice, training_stack(run, plan, found), "training", named=not presenting())
    trained = sizes(map(plan.freezing.trained, model.tensors()))
    written = part_formulas(plan.precision, plan.optimizer, model.num_parameters(), trained)
    formulas: dict[Part, str] = {part: f"${letters} = {numbers}$" for part, (letters, numbers) in written.items()}
    kept = kept_formulas(run.subject, plan, *run.batch).components
    formulas["activations"] = f"${' + '.join(formula.latex() for formula in kept.values())}$"
    formulas["recomputed"] = _("what one recomputation restores")
    rows = {part: count for part, count in found.items() if count}
    show_table(
        {
            _("Part"): [unbroken(_(part)) for part in rows],
            _("Formula, in bytes"): [formulas[part] for part in rows],
            _("Size"): [unbroken(size(count)) for count in rows.values()],
        },
        _("The parts of a training step"),
    )
    legends = [N_("$N$: all parameters; $N_t$: trainable parameters."), PRECISIONS[plan.precision].meaning]
    legends += [LEGENDS[plan.optimizer]] if plan.optimizer in LEGENDS else []
    st.caption(in_a_row(map(_, legends)))
