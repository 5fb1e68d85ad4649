"""Other tools: what their formulas give for the same model, and why that is not the right count, line by line."""

import streamlit as st

from bertcalc.diagnosis.other_tools import TOOLS
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.tools import tool_counts

subject = current_choice().subject
model = subject.model()

heading = _("{architecture} has {count:,} parameters. Formulas of other tools give:")
st.markdown(f"## {heading.format(architecture=subject.architecture, count=model.num_parameters())}")
tool_counts.show_counts(subject)

tool = TOOLS[tool_counts.TOOL.show()]
st.latex(tool_counts.tool_latex(subject, tool))
source = _("Source: {source}").format(source=tool_counts.escaped(tool.source))
st.caption("  \n".join([*map(_, tool.notes), source]))

if not model.family.like_bert:
    said = _(
        "These formulas are for layers like BERT's: for {architecture}, the difference is not explained line by line."
    )
    st.info(said.format(architecture=subject.architecture))
elif not presenting():
    tool_counts.show_corrections(subject, tool)
