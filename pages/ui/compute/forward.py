"""The view Forward pass of the Compute page: the cost as a formula and by module, and a check against PyTorch."""

from fractions import Fraction

from bertcalc.charts.length_chart import part_colors
from bertcalc.compute.flop_formulas import name_formulas, part_formulas, plain_formulas, total_expression
from bertcalc.compute.flops import Part, Phase, by_part, total, unknown_training
from bertcalc.explore.factor_formulas import growths
from bertcalc.model.modules import split_layer
from bertcalc.proof.flop_proof import FlopProof, prove
from bertcalc.text import N_
from bertcalc.text.digits import scaled
from bertcalc.text.live_choices import nearest, quotient
from bertcalc.text.live_numbers import fill, grouped, joined
from pages.ui.compute.count import Count
from pages.ui.shell.controls import Fold, Switch
from pages.ui.shell.i18n import _
from pages.ui.shell.theme import appearance
from pages.ui.widgets.bars import Bars, draw_bars
from pages.ui.widgets.growth import grown_by
from pages.ui.widgets.metrics import metric_row, show_metric
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.real_answers import ask, runs, show_agreement
from pages.ui.widgets.tables import show_rows
from pages.ui.widgets.total_formula.formula_parts import sum_data
from pages.ui.widgets.total_formula.show import draw_formula

MODULES = Fold("modules", N_("Each module: formula, cost, share"))
PYTORCH = Switch("pytorch", N_("Let PyTorch count too"))


def show_figures(count: Count) -> None:
    """Show the cost of a forward pass, in total and per token, and the cost of a training step."""
    unit, forward, grown = count.convention.unit, count.total(), _growth(count)
    figures: list[tuple[str, Fraction | int, str]] = [
        (_("Forward, {unit}"), forward, grown.get("forward", "")),
        # This figure has no growth factor, because a third explanation would not fit into the row.
        (_("Forward per token, {unit}"), quotient(forward, count.tokens), ""),
    ]
    if not unknown_training(count.choice.model):
        figures.append((_("Training step, {unit}"), count.total("training"), grown.get("training", "")))
    with metric_row():
        for label, figure, factor in figures:
            below = joined(" · ", (scaled(figure, unit), factor))
            show_metric(label.format(unit=unit), grouped(nearest(figure)), below, least=230)


def _growth(count: Count) -> dict[Phase, str]:
    """The growth of each phase's cost from the preset's cost, as a text with the factor and the reason.

    Empty if the preset cannot run the same call.
    """
    phases: tuple[Phase, ...] = ("forward", "training")
    start = count.of_preset
    if not start:
        return {}
    before, after = (
        model_count.side(
            {phase: total(model_count.steps, model_count.convention, phase) for phase in phases},
            {phase: total_expression(model_count.letters, model_count.convention, phase) for phase in phases},
        )
        for model_count in (start, count)
    )
    return {phase: grown_by(growth) for phase, growth in growths(before, after).items()}


def show_formula(count: Count, colors: dict[Part, str]) -> None:
    """Show the formula of the forward cost with letters and numbers, each term in the color of its part."""
    formulas = part_formulas(count.letters, count.convention)
    written = [(*count.written(term), colors[part]) for part, terms in formulas.items() for term in terms]
    draw_formula(sum_data("F", written, count.total(), count.convention.unit))


def show_parts(count: Count, place: str) -> None:
    """Draw the cost of each part as a bar, in the order of the model.

    The chart at ``place`` keeps its scale between runs (see ``draw_bars``).
    """
    convention, choice = count.convention, count.choice
    costs = count.costs
    inks = part_colors(appearance())
    formulas = plain_formulas(count.letters, convention)
    start = count.of_preset
    before = by_part(start.steps, convention) if start else {}
    growth = growths(start.side(before, start.formulas), count.side(costs, count.formulas)).values() if start else ()
    bars = Bars(
        costs,
        before,
        [_(part) for part in costs],
        [inks[part] for part in costs],
        [formulas[part] for part in costs],
        unit=convention.unit,
        preset=choice.preset,
        factors=[*map(grown_by, growth)],
    )
    draw_bars(bars, place, choice.architecture, convention.unit, alt=_("Share of each part in the forward pass"))


def show_names(count: Count) -> None:
    """Show the formula, the cost and the number of copies of every module, and the share of all its copies together.

    Steps outside modules are listed like modules.
    """
    rows = count.rows
    formulas = name_formulas(count.letters, count.convention)
    whole, unit = rows[0].cost, count.convention.unit
    layers = {row.name.partition(".*")[0] for row in rows if "*" in row.name}
    holding = {"", *(row.name for row in rows if any(f"{stack}.".startswith(f"{row.name}.") for stack in layers))}
    cells = []
    for row in rows:
        module = f"`{split_layer(row.name)[1] or count.choice.architecture}`"
        # The formula of a module that contains all layers would be too wide. The page shows the total formula at the
        # top.
        formula = f"${formulas[row.name].latex()}$" if row.name not in holding else ""
        share = percent(row.copies * row.cost, whole)
        copies = fill("{copies:,}\N{NO-BREAK SPACE}×", copies=row.copies)
        cells.append((module, formula, grouped(row.cost), copies, share))
    titles = (_("Module"), _("Formula per copy"), _("Per copy, {unit}").format(unit=unit), _("Copies"), _("Share"))
    show_rows(titles, cells, _("Operations of each module in a forward pass"))


def show_verdict(count: Count) -> None:
    """Draw the switch that lets PyTorch count the real model; if it is on, show whether the counts agree."""
    if not PYTORCH.show():
        return
    model = count.choice.model
    if runs(model, count.call):
        recompute = count.convention.training == "4x"
        _show_proof(ask(model.architecture, prove, model, count.call, recompute=recompute))


def _show_proof(proof: FlopProof) -> None:
    if proof.differences:
        show_agreement(False, _("PyTorch counts differently."))
        rows = [(count.name, _figure(count.ours), _figure(count.theirs)) for count in proof.differences]
        show_rows((_("Module"), "bertcalc", "PyTorch"), rows, _("The counts that differ"))
    else:
        message = _(
            "PyTorch counts the same: {forward:,} FLOPs in the forward pass, {training:,} including the backward "
            "pass, and the same FLOPs in each of {modules:,} modules."
        )
        figures = {"forward": proof.forward.theirs, "training": proof.training.theirs, "modules": len(proof.modules)}
        show_agreement(True, message.format(**figures))


def _figure(figure: int | None) -> str:
    return "" if figure is None else f"{figure:,}"
