"""Other tools: what their formulas give for the same model, and why that is not the right count, line by line."""

from fractions import Fraction

import streamlit as st

from bertcalc.charts.colors import INK
from bertcalc.diagnosis.cause_formulas import tool_formulas
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.diagnosis.tools import TOOLS, corrections, padded_vocab_size, tool_counts
from bertcalc.digits import latex_number, signed_count
from pages.ui.diagnosis.cause_words import miscount_in_words
from pages.ui.formulas import colored_equation
from pages.ui.i18n import _
from pages.ui.numbers import signed_percent, unbroken
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice
from pages.ui.tables import show_rows, show_table
from pages.ui.theme import appearance
from pages.ui.tool_counts import TOOL, escaped, main_reason

subject = current_choice().subject
config, architecture, model = subject.config, subject.architecture, subject.model()
like_bert = model.family.like_bert
sizes, total = MiscountSizes.of(config), model.num_parameters()
counts = dict(tool_counts(config))

heading = _("{architecture} has {count:,} parameters. Formulas of other tools give:")
st.markdown(f"## {heading.format(architecture=architecture, count=total)}")
columns = {
    _("Tool"): [f"**{escaped(name)}**" for name in counts],
    _("Parameters"): [f"{count:,}" for count in counts.values()],
    _("Difference"): [signed_count(count - total) for count in counts.values()],
    "%": [unbroken(signed_percent(Fraction(count - total, total))) for count in counts.values()],
}
if like_bert:
    reasons = (main_reason(corrections(TOOLS[name], model, sizes), total - count) for name, count in counts.items())
    columns[_("Mostly because")] = [f":small[{why}]" for why in reasons]
show_table(columns, _("What the formulas of other tools give"))

tool = TOOLS[TOOL.show()]
formulas = tool_formulas(subject, tool.name)
padded, ink = padded_vocab_size(config), INK[appearance()]
terms = [(term.latex(), term.latex(config, padded_vocab_size=padded), ink) for term in formulas.terms]
st.latex(colored_equation("N &= ", terms, latex_number(tool.count(config))))
st.caption("  \n".join([*map(_, tool.notes), _("Source: {source}").format(source=escaped(tool.source))]))

if not like_bert:
    said = _(
        "These formulas are for layers like BERT's: for {architecture}, the difference is not explained line by line."
    )
    st.info(said.format(architecture=architecture))
elif not presenting():
    # Reasons that add nothing for this model, such as I = 4 H, are listed, too.
    found = {one.miscount: one.amount for one in corrections(tool, model, sizes)}
    so_far, bold = tool.count(config), "**{}**".format
    rows = [(bold(_("{tool} gives").format(tool=escaped(tool.name))), "", "", "", f"{so_far:,}")]
    for miscount, added in formulas.corrections.items():
        amount = found.get(miscount, 0)
        so_far += amount
        in_letters, in_numbers = f"${added.latex()}$", f"${added.latex(config, padded_vocab_size=padded)}$"
        rows.append((miscount_in_words(miscount), in_letters, in_numbers, signed_count(amount), f"{so_far:,}"))
    rows.append((bold(_("{architecture} has").format(architecture=architecture)), "", "", "", bold(f"{total:,}")))
    titles = (_("Where it differs"), _("To be added"), _("In numbers"), _("Parameters"), _("So far"))
    show_rows(titles, rows, _("From the count of the tool to that of the model"))
