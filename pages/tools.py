"""Other tools: what their formulas give for the same model, and why that is not the right count, line by line."""

from fractions import Fraction
from itertools import accumulate

import streamlit as st

from bertcalc.diagnosis.cause_formulas import tool_formulas
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.diagnosis.tools import TOOLS, corrections, padded_vocab_size, tool_counts
from bertcalc.formula import latex_number
from pages.ui.diagnosis.cause_words import miscount_in_words
from pages.ui.formulas import aligned, colored_sum
from pages.ui.i18n import _
from pages.ui.numbers import signed_count, signed_percent, unbroken
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice
from pages.ui.tables import show_table
from pages.ui.theme import INK, appearance
from pages.ui.tool_counts import TOOL, escaped, main_reason

subject = current_choice().subject
config, architecture, model = subject.config, subject.architecture, subject.model()
like_bert = model.family.like_bert
sizes, total = MiscountSizes.of(config), model.num_parameters()
counts = dict(tool_counts(config))

heading = _("{architecture} has {count:,} parameters. Formulas of other tools give:")
st.markdown(f"## {heading.format(architecture=architecture, count=total)}")
show_table(
    {
        _("Tool"): [f"**{escaped(name)}**" for name in counts],
        _("Parameters"): [f"{count:,}" for count in counts.values()],
        _("Difference"): [signed_count(count - total) for count in counts.values()],
        "%": [unbroken(signed_percent(Fraction(count - total, total))) for count in counts.values()],
        _("Mostly because"): [
            f":small[{main_reason(corrections(TOOLS[name], model, sizes), total - count)}]" if like_bert else ""
            for name, count in counts.items()
        ],
    },
    _("What the formulas of other tools give"),
)

tool = TOOLS[TOOL.show()]
formulas = tool_formulas(subject, tool.name)
padded, ink = padded_vocab_size(config), INK[appearance()]
letters = [(term.latex(), ink) for term in formulas.terms]
numbers = [(term.latex(config, padded_vocab_size=padded), ink) for term in formulas.terms]
result = latex_number(tool.count(config))
st.latex(aligned([*colored_sum("N &= ", letters), *colored_sum("&= ", numbers), f"&= {result}"]))
st.caption("  \n".join([*map(_, tool.notes), _("Source: {source}").format(source=escaped(tool.source))]))

if not like_bert:
    st.info(
        _(
            "These formulas are for layers like BERT's: how they lead to {architecture} is not said line by line."
        ).format(architecture=architecture)
    )
elif not presenting():
    # A reason that adds nothing to this model, such as I = 4 H, is listed all the same.
    found = {one.miscount: one.amount for one in corrections(tool, model, sizes)}
    amounts = [found.get(miscount, 0) for miscount in formulas.corrections]
    added = formulas.corrections.values()
    bold = "**{}**".format
    show_table(
        {
            _("Where it differs"): [
                bold(_("{tool} gives").format(tool=escaped(tool.name))),
                *map(miscount_in_words, formulas.corrections),
                bold(_("{architecture} has").format(architecture=architecture)),
            ],
            _("To be added"): ["", *(f"${one.latex()}$" for one in added), ""],
            _("In numbers"): ["", *(f"${one.latex(config, padded_vocab_size=padded)}$" for one in added), ""],
            _("Parameters"): ["", *map(signed_count, amounts), ""],
            _("So far"): [
                *(f"{count:,}" for count in accumulate(amounts, initial=tool.count(config))),
                bold(f"{total:,}"),
            ],
        },
        _("From the count of the tool to that of the model"),
    )
