"""In and out: what goes into the model and what comes out, with names, shapes and bytes."""

import streamlit as st

from bertcalc.forward.between_versions import differences
from bertcalc.forward.outputs import attends, inputs, num_tensors, outputs, run, taking_all, total_bytes
from bertcalc.forward.step_formulas import call_sizes
from bertcalc.live.live_formulas import with_formulas
from bertcalc.model.formula import symbolic_steps
from bertcalc.text.digits import size
from bertcalc.text.live_numbers import fill
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets import tables
from pages.ui.widgets.call_controls import choose_call

model = current_choice().model
call = choose_call(model)

wide, crossed = taking_all(model), attends(model, call)
letters_in = [symbolic.step for symbolic in symbolic_steps(wide, cross=True)]
letters_out = [symbolic.step for symbolic in symbolic_steps(model, cross=crossed)]
goes_in = inputs(model, call, run(wide, call))
goes_in_letters = inputs(model, call, letters_in)
comes_out = outputs(model, call, run(model, call))
comes_out_letters = outputs(model, call, letters_out)

st.markdown(_("**Inputs**"))
tables.show_entries(goes_in, goes_in_letters, True, _("The inputs of the model"))
totals, in_letters = ((num_tensors(entries), total_bytes(entries)) for entries in (comes_out, comes_out_letters))
sizes = call_sizes(call)
live.note_sizes(sizes)
tensors, num_bytes = with_formulas(totals, in_letters, {**model.letter_values(), **sizes})
live.markdown(fill(_("**Outputs**: {tensors:,} tensors, {size}"), tensors=tensors, size=size(num_bytes)))
tables.show_entries(comes_out, comes_out_letters, True, _("The outputs of the model"))
for difference in differences(model, call):
    st.caption(_(difference.message))
if not presenting():
    st.markdown(_("**Optional inputs**"))
    tables.show_entries(goes_in, goes_in_letters, False, _("Other arguments of the forward method"))
