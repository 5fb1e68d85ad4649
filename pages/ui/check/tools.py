"""What the formulas of other tools give for the same model."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import streamlit as st

from bertcalc.check.formula import tool_formulas
from bertcalc.check.slips import Sizes
from bertcalc.check.tools import REASONS, TOOLS, Correction, Tool, corrections, padded_vocab_size, tool_counts
from bertcalc.formula import latex_number
from bertcalc.text import N_
from pages.ui.controls import Select
from pages.ui.formulas import aligned, colored_sum
from pages.ui.i18n import translator
from pages.ui.numbers import signed_count, signed_percent, unbroken
from pages.ui.present import presenting
from pages.ui.sidebar import Choice
from pages.ui.tables import show_table
from pages.ui.theme import INK

TOOL = Select("tool", N_("Tool"), TOOLS, row=True, label_visibility="collapsed")


def show_counts(choice: Choice) -> None:
    """What each tool gives, how far it is from the model, and what matters most in that."""
    _ = translator()
    model, sizes = choice.model(), Sizes.of(choice.config)
    right = model.num_parameters()
    counts = dict(tool_counts(choice.config))
    said = _("{architecture} has {count:,} parameters. Formulas of other tools give:")
    st.markdown(f"## {said.format(architecture=choice.architecture, count=right)}")
    show_table(
        {
            _("Tool"): [f"**{_literal(name)}**" for name in counts],
            _("Parameters"): [f"{count:,}" for count in counts.values()],
            _("Difference"): [_signed(count - right) for count in counts.values()],
            "%": [unbroken(signed_percent(Fraction(count - right, right))) for count in counts.values()],
            _("Mostly because"): [
                f":small[{_main(corrections(TOOLS[name], model, sizes), right - count)}]"
                for name, count in counts.items()
            ],
        },
        _("What the formulas of other tools give"),
    )


def choose_tool() -> Tool:
    """The tool that is shown in full."""
    return TOOLS[TOOL.show()]


def show_tool(tool: Tool, choice: Choice, look: str) -> None:
    """Its formula with letters and with numbers, and what leads from its count to that of the model, line by line."""
    _ = translator()
    config, model = choice.config, choice.model()
    padded = padded_vocab_size(config)
    formulas = tool_formulas(tool.name, config, choice.architecture, choice.options)
    letters = [(term.latex(), INK[look]) for term in formulas.terms]
    numbers = [(term.latex(config, padded_vocab_size=padded), INK[look]) for term in formulas.terms]
    count = tool.count(config)
    st.latex(aligned([*colored_sum("N &= ", letters), *colored_sum("&= ", numbers), f"&= {latex_number(count)}"]))
    st.caption("  \n".join([*map(_, tool.notes), _("Source: {source}").format(source=_literal(tool.source))]))

    if presenting():
        return
    # What holds here, such as I = 4 H, is a reason all the same: of nothing.
    found = {one.slip: one.amount for one in corrections(tool, model, Sizes.of(config))}
    amounts = [found.get(slip, 0) for slip in formulas.corrections]
    bold = "**{}**".format
    show_table(
        {
            _("Where it differs"): [
                bold(_("{tool} gives").format(tool=_literal(tool.name))),
                *(_(REASONS[slip].said) for slip in formulas.corrections),
                bold(_("{architecture} has").format(architecture=choice.architecture)),
            ],
            _("To be added"): ["", *(f"${one.latex()}$" for one in formulas.corrections.values()), ""],
            _("In numbers"): [
                "",
                *(f"${one.latex(config, padded_vocab_size=padded)}$" for one in formulas.corrections.values()),
                "",
            ],
            _("Parameters"): ["", *map(_signed, amounts), ""],
            _("So far"): [
                *(f"{total:,}" for total in accumulate(amounts, initial=count)),
                bold(f"{model.num_parameters():,}"),
            ],
        },
        _("From the count of the tool to that of the model"),
    )


def _main(found: Sequence[Correction], missing: int) -> str:
    """The reason that makes most of what is missing, and how many more there are."""
    _ = translator()
    most = max(found, key=lambda one: one.amount * missing)
    said = _(REASONS[most.slip].said)
    more = unbroken(_("{count} more").format(count=len(found) - 1))
    return said if len(found) == 1 else _("{said}; {more}").format(said=said, more=more)


def _literal(text: str) -> str:
    """A name in a text that is read as Markdown."""
    return text.replace("_", r"\_")


def _signed(difference: int) -> str:
    return signed_count(difference)
