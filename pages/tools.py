"""Other tools: the counts that other tools' formulas give for this model, with each error explained."""

import streamlit as st

from bertcalc.diagnosis.other_tools import TOOLS
from bertcalc.live.live_formulas import live_reading
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import between, fill
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.tools import tool_counts

model = current_choice().model

heading = _("{architecture} has {count:,} parameters. Formulas of other tools give:")
count = live_reading(Model.num_parameters, model)
live.markdown(between("", ("## ", fill(heading, architecture=model.architecture, count=count))))
tool_counts.show_counts(model)

tool = TOOLS[tool_counts.TOOL.show()]
st.latex(tool_counts.tool_latex(model, tool))
source = _("Source: {source}").format(source=tool_counts.escaped(tool.source))
st.caption("  \n".join([*map(_, tool.notes), source]))

if not model.family.like_bert:
    message = _(
        "These formulas are for layers like BERT's: for {architecture}, the difference is not explained line by line."
    )
    st.info(message.format(architecture=model.architecture))
elif not presenting():
    tool_counts.show_corrections(model, tool)
