"""The view Activations of the Memory page: the tensors that autograd saves for the backward pass."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from bertcalc.explore.factor_formulas import Side, growths
from bertcalc.forward.outputs import Call
from bertcalc.memory import footprint
from bertcalc.memory.byte_formulas import kept_formulas, korthikanti_formulas, live_modules
from bertcalc.memory.held_formulas import held
from bertcalc.memory.optimizers import PRECISIONS, Dtype
from bertcalc.memory.peak import unlisted
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import SavedActivation, by_module
from bertcalc.model.formula import plain, shape_letters
from bertcalc.model.formula_latex import colored_equation
from bertcalc.model.totals import component_at
from bertcalc.proof import memory_proof
from bertcalc.text import N_
from bertcalc.text.digits import latex_number, signed_count, size
from pages.ui.memory.run import Run, show_masks
from pages.ui.shell.controls import Fold, Switch, sentence
from pages.ui.shell.i18n import _
from pages.ui.shell.theme import colors
from pages.ui.widgets.bars import Bars, draw_bars
from pages.ui.widgets.export.shown import draw_frame
from pages.ui.widgets.growth import grown_by
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import counted
from pages.ui.widgets.real_answers import ask, runs, show_agreement
from pages.ui.widgets.tables import shape_text, show_rows

HOOKS = Switch("hooks", N_("Check with PyTorch"))
KEPT = Fold("kept", N_("Tensors: name, shape, type, bytes, formula"))
KORTHIKANTI = Fold("korthikanti", N_("Compared with the formula of Korthikanti et al."))


def show_activations(run: Run, plan: Plan) -> None:
    """Show the activations that autograd saves: the total, its formula, a bar for each module, and all tensors.

    A comparison with a published formula follows. If the saved activations of this model are unknown, show why instead.
    """
    if problem := unlisted(run.choice.model, plan):
        st.info(sentence(problem))
        return
    saved = footprint.kept(run.model, plan, *run.batch.shape)
    formulas = kept_formulas(run.model, plan, *run.batch.shape)
    modules = live_modules(run.model, plan, *run.batch.shape)
    total = sum(modules.values()) if modules else held(0, run.model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        show_metrics({_("Saved for the backward pass"): (size(total), counted(total, "bytes"))})
        check = HOOKS.show()
    verdict = st.container()  # it is filled last, because the first comparison takes seconds
    terms = [(*run.written(formula), colors()[component]) for component, formula in formulas.components.items()]
    st.latex(colored_equation(rf"\text{{{_('bytes')}}}", terms, latex_number(total)))
    if modules:
        bars = _module_bars(run, plan, modules, formulas.modules)
        draw_bars(bars, "activations", run.model.architecture, alt=_("Bytes saved for each module"))
    KEPT.around(_show_saved, saved, formulas.saved, PRECISIONS[plan.precision].dtype)
    KORTHIKANTI.around(_show_korthikanti, run, plan)
    show_masks(plan)
    if check:
        with verdict:
            _show_verdict(run, plan)


def _module_bars(run: Run, plan: Plan, modules: Mapping[str, int], formulas: Mapping[str, Any]) -> Bars:
    inks, start = colors(), run.of_preset()
    before = _side(start, plan) if start else Side({}, {}, {})
    after = run.side(modules, formulas)
    return Bars(
        modules,
        before.figures,
        list(modules),
        [inks[component_at(run.choice.model, path)] for path in modules],
        [plain(formulas[path]) for path in modules],
        unit="bytes",
        preset=run.choice.preset,
        factors=[*map(grown_by, growths(before, after).values())],
    )


def _side(run: Run, plan: Plan) -> Side:
    formulas = kept_formulas(run.model, plan, *run.batch.shape).modules
    return run.side(by_module(footprint.kept(run.model, plan, *run.batch.shape)), formulas)


def _show_saved(saved: Sequence[SavedActivation], letters: Sequence[SavedActivation], dtype: Dtype) -> None:
    draw_frame(
        {
            "name": [tensor.name for tensor in saved],
            "step": [tensor.step for tensor in saved],
            "shape": [shape_text(tensor.shape) for tensor in saved],
            "dtype": [_dtype(tensor.item_bytes, dtype) for tensor in saved],
            "formula": [_product(tensor) for tensor in letters],
            "bytes": [tensor.num_bytes() for tensor in saved],
        },
        column_config={
            "name": st.column_config.TextColumn(_("Tensor"), width="large"),
            "step": st.column_config.TextColumn(_("First needed by")),
            "shape": st.column_config.TextColumn(_("Shape")),
            "dtype": st.column_config.TextColumn(_("Type")),
            "formula": st.column_config.TextColumn(_("Copies × shape × bytes")),
            "bytes": st.column_config.NumberColumn(_("Bytes"), format="%,d"),
        },
        alt=_("The tensors that autograd saves"),
    )


def _dtype(item_bytes: int, dtype: Dtype) -> str:
    # In a float32 model, only the parameters of xielu have two bytes: transformers creates them in bfloat16.
    return {1: "bool", 4: "float32"}.get(item_bytes) or ("bfloat16" if dtype == "float32" else dtype)


def _product(saved: SavedActivation) -> str:
    copies = () if saved.copies == 1 else (saved.copies,)
    return shape_letters((*copies, *saved.shape, saved.item_bytes))


def _show_korthikanti(run: Run, plan: Plan) -> None:
    """Show the published formula for a layer, and the reasons why bertcalc's count differs, with their amounts."""
    terms = footprint.korthikanti(run.model, plan, *run.batch.shape)
    formulas = korthikanti_formulas(run.model, plan, *run.batch.shape)
    rows: list[tuple[str, ...]] = []
    for (reason, amount), formula in zip(terms, formulas, strict=True):
        if amount:
            letters, numbers = run.written(formula)
            count = signed_count(amount) if rows else f"{amount:,}"  # the first row is the published formula
            rows.append((_(reason), f"${letters}$", f"${numbers}$", count))
    rows.append((_("together: bertcalc's count"), "", "", f"{sum(amount for _reason, amount in terms):,}"))
    titles = (_("One trained layer"), _("Formula, in bytes"), _("In numbers"), _("Bytes"))
    show_rows(titles, rows, _("The published formula, and why the count differs"))
    st.caption(
        _(
            "Korthikanti et al. 2022, arXiv:2205.05198: s b h (34 + 5 a s / h) bytes per layer in 16 bits; 34 s b "
            "h with selective recomputation, 2 s b h with full recomputation. The formula assumes i = 4 h and "
            "one-byte dropout masks."
        )
    )


def _show_verdict(run: Run, plan: Plan) -> None:
    """Show whether PyTorch counts the same bytes, or why PyTorch cannot count them."""
    model = run.model
    call = Call(*run.batch.shape, model.encoder_length(run.batch.sequence_length), num_choices=1)
    if plan.attention == "fused":
        st.info(_("PyTorch has no fused attention on its meta device, so the test suite compares it on the CPU."))
    elif runs(model, call):
        proof = ask(model.architecture, memory_proof.prove, model, plan, *run.batch.shape)
        masks = (
            " " + _("For this comparison, masks have the data type of the activations.") if plan.fused_dropout else ""
        )
        agrees, same = proof.ours == proof.theirs, _("PyTorch counts the same: {bytes:,} bytes.")
        message = same if agrees else _("PyTorch counts {theirs:,} bytes; bertcalc counts {ours:,}.")
        show_agreement(agrees, message.format(**proof._asdict(), bytes=proof.theirs) + masks)
