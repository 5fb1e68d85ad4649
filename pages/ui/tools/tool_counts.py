"""The counts of other tools as a table, a tool's formula, and the corrections from its count to the right count."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import streamlit as st

from bertcalc.charts.colors import INK
from bertcalc.diagnosis.cause_formulas import tool_formulas
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.diagnosis.other_tools import REASONS, TOOLS, Correction, Tool, corrections, padded_vocab_size, tool_counts
from bertcalc.diagnosis.part_words import miscount_in_words
from bertcalc.model.formula_latex import colored_equation
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import latex_number, signed_count
from pages.ui.shell.controls import Select, sentence
from pages.ui.shell.i18n import _
from pages.ui.shell.theme import appearance
from pages.ui.widgets.numbers import signed_percent, unbroken
from pages.ui.widgets.tables import show_rows, show_table, stacked_on_a_phone

TOOL = Select("tool", N_("Tool"), TOOLS, row=True, label_visibility="collapsed")
_BIASES = "layer biases"


def show_counts(model: Model) -> None:
    """Show each tool's count and its difference from the right count.

    If the layers are like BERT's, also show the main reason for the difference, and whether the tool counts biases:
    these tools are known for this choice.
    """
    sizes = MiscountSizes.of(model.config)
    total, counts = model.num_parameters(), dict(tool_counts(model.config))
    columns = {
        _("Tool"): [f"**{escaped(name)}**" for name in counts],
        _("Parameters"): [f"{count:,}" for count in counts.values()],
        _("Difference"): [signed_count(count - total) for count in counts.values()],
        "%": [unbroken(signed_percent(Fraction(count - total, total))) for count in counts.values()],
    }
    if model.family.like_bert:
        made = {name: corrections(TOOLS[name], model, sizes) for name in counts}
        columns[_("Biases")] = [
            _("left out") if any(correction.miscount == _BIASES for correction in made[name]) else _("counted")
            for name in counts
        ]
        reasons = (_main_reason(made[name], total - counts[name]) for name in counts)
        columns[_("Main reason")] = [f":small[{why}]" for why in reasons]
    with st.container(key="reasons-below"):
        show_table(columns, _("Counts from other tools' formulas"))


def _main_reason(reasons: Sequence[Correction], missing: int) -> str:
    """The reason with the largest effect on the difference, followed by the number of other reasons, if any."""
    most = max(reasons, key=lambda correction: correction.amount * missing)
    reason = sentence(miscount_in_words(REASONS[most.miscount]))
    rest = unbroken(_("{count} more").format(count=len(reasons) - 1))
    return reason if len(reasons) == 1 else _("{reason}; {more}").format(reason=reason, more=rest)


def tool_latex(model: Model, tool: Tool) -> str:
    """Return LaTeX for a tool's count: the formula with letters, with numbers, and the result."""
    config, ink = model.config, INK[appearance()]
    padded = padded_vocab_size(config)
    formulas = tool_formulas(model, tool.name).terms
    terms = [(term.latex(), term.latex(config, padded_vocab_size=padded), ink) for term in formulas]
    return colored_equation("N", terms, latex_number(tool.count(config)))


def show_corrections(model: Model, tool: Tool) -> None:
    """Show all corrections from a tool's count to the model's count.

    A correction can be 0 for this model, such as the correction for tools that assume I = 4 H.
    """
    config, bold = model.config, "**{}**".format
    by_miscount = {
        correction.miscount: correction.amount for correction in corrections(tool, model, MiscountSizes.of(config))
    }
    added = tool_formulas(model, tool.name).corrections
    amounts = [by_miscount.get(miscount, 0) for miscount in added]
    first, *so_far = accumulate(amounts, initial=tool.count(config))
    rows = [(bold(_("{tool} gives").format(tool=escaped(tool.name))), "", "", "", f"{first:,}")]
    for (miscount, formula), amount, sum_now in zip(added.items(), amounts, so_far, strict=True):
        in_numbers = f"${formula.latex(config, padded_vocab_size=padded_vocab_size(config))}$"
        figures = (signed_count(amount), f"{sum_now:,}")
        rows.append((sentence(miscount_in_words(REASONS[miscount])), f"${formula.latex()}$", in_numbers, *figures))
    total = bold(f"{model.num_parameters():,}")
    rows.append((bold(_("{architecture} has").format(architecture=model.architecture)), "", "", "", total))
    titles = (_("Where it differs"), _("Correction"), _("In numbers"), _("Parameters"), _("So far"))
    with stacked_on_a_phone():
        show_rows(titles, rows, _("From the tool's count to the model's count"))


def escaped(text: str) -> str:
    """Escape the underscores of a name for Markdown."""
    return text.replace("_", r"\_")
