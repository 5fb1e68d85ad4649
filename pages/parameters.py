"""Parameters: the exact total, the formula, and where the parameters are."""

from functools import partial

import streamlit as st

from bertcalc.tree.totals import breakdown, openable, submodule, totals_by_component
from pages.ui import tables
from pages.ui.charts import WHOLE, bars_frame, bars_numbers, open_clicked, proportional_bar, ranked_bars
from pages.ui.formulas import node_formula, total_formula
from pages.ui.history import last_change
from pages.ui.i18n import translator
from pages.ui.numbers import metric_width, percent
from pages.ui.sidebar import choice as current_choice
from pages.ui.take.shown import draw_chart
from pages.ui.theme import appearance, colors

_ = translator()
choice = current_choice()
model = choice.model()
total = model.num_parameters()
components = totals_by_component(model)
look = appearance()

difference = choice.from_preset()
with st.container(horizontal=True):
    st.metric(
        _("Parameters in {architecture}").format(architecture=choice.architecture),
        f"{total:,}",
        f"{difference:+,}" if difference else "±0",
        delta_color="off",
        delta_arrow="auto" if difference else "off",
        delta_description=_("against the preset"),
        width=metric_width(290, f"{total:,}", f"{difference:+,} against the preset"),
    )
    for component, count in components.items():
        share = percent(count, total)
        width = metric_width(125, share, f"{count:,}")
        st.metric(_(component), share, f"{count:,}", delta_color="off", delta_arrow="off", width=width)
change = last_change(total)
st.caption(_("Last change {difference:+,} from {before:,}").format(**change) if change else _("Last change: none yet"))

st.latex(total_formula(choice, colors(), total))

pieces = breakdown(model)
frame = bars_frame(pieces, [f"{_(piece.component)} · {_(piece.name)}" for piece in pieces], total)
draw_chart(frame, proportional_bar(look), numbers=bars_numbers(), alt=_("Share of each part in the whole model"))

with st.container(horizontal=True, vertical_alignment="center"):
    opened = st.selectbox(
        _("Open"),
        [WHOLE, *openable(model)[1:]],
        key="open",
        bind="query-params",
        label_visibility="collapsed",
        width=240,
    )
    if opened == WHOLE:
        st.caption(_("Click a bar, or choose here, to open a part of the model"))
    else:
        pieces = breakdown(model, opened)
        count = submodule(model, opened).num_parameters()
        frame = bars_frame(pieces, [piece.name for piece in pieces], count)
        st.latex(node_formula(choice, opened, count))
draw_chart(
    frame,
    ranked_bars(look, len(pieces)),
    numbers=bars_numbers(),
    key=f"bars of {opened}",
    on_select=partial(open_clicked, f"bars of {opened}"),
    alt=_("Parameters of each part of {opened}").format(opened=opened),
)

details = st.expander(_("Tensors: name, shape, formula, count, share"), key="tensors", bind="query-params")
if details.open:
    with details:
        tables.show_tensors(
            choice, model, unfolded=st.toggle(_("Unfold the layers"), key="unfold", bind="query-params")
        )
