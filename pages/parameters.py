"""Parameters: the exact total, the formula, and where the parameters are."""

from functools import partial

import streamlit as st

from bertcalc.explore.factor_formulas import total_growth
from bertcalc.live.live_formulas import live_reading
from bertcalc.model.model import Model
from bertcalc.model.names import norm_kind
from bertcalc.model.totals import breakdown, parts_inside, totals_by_component
from bertcalc.text.live_numbers import grouped, joined
from pages.ui.lecture.screen_files import BEGINNING
from pages.ui.parameters import answer
from pages.ui.session import present_model
from pages.ui.shell import live
from pages.ui.shell.i18n import _, filled
from pages.ui.shell.navigation import page_at
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets import tables
from pages.ui.widgets.bars import OPEN, WHOLE, draw_bars, open_clicked, openable_in, parameter_bars, preset_of
from pages.ui.widgets.growth import factor
from pages.ui.widgets.metrics import metric_row, show_metric, show_total
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.total_formula.show import show_part_formula, show_total_formula

choice = current_choice()
model = choice.model
total = live_reading(Model.num_parameters, model)
components = live_reading(totals_by_component, model)

if not presenting():
    with st.container(key="answer"):
        live.markdown(answer.sentence(choice))
        st.page_link(page_at("lecture"), label=_("Take the tour →"), query_params=present_model.link() | BEGINNING)
        st.page_link(page_at("change"), label=_("Make it smaller →"))
        st.page_link(page_at("bring"), label=_("And yours? →"))

difference = total - preset_of(choice).model.num_parameters()
against = _("vs. {preset}").format(preset=choice.preset)
grown = factor(total_growth(preset_of(choice).model, model))
with metric_row():
    show_total(choice.architecture, total, difference, against, grown)
    for component, count in components.items():
        show_metric(_(component), percent(count, total), grouped(count), least=112)

show_total_formula(model)

bars = parameter_bars(choice)

with st.container(horizontal=True, vertical_alignment="center"):
    opened = OPEN.show(openable_in(model))
    if opened == WHOLE:
        st.caption(_("Click a bar, or choose here, to open a part of the model"))
    else:
        bars = parameter_bars(choice, opened)
        show_part_formula(model, opened, sum(bars.figures.values()))
if opened != WHOLE and not presenting():  # on the projector, the bars need the space
    parts = live_reading(parts_inside, model, opened)
    if 1 < len(parts) < len(breakdown(model, opened)):  # otherwise the bars show the same
        words = [_(part).replace("LayerNorm", norm_kind(model)) for _component, part in parts]
        counts = [joined(" ", (word, grouped(count))) for word, count in zip(words, parts.values(), strict=True)]
        live.markdown(joined(" · ", counts))
draw_bars(
    bars,
    "parameters",
    choice.architecture,
    opened,
    key=f"bars of {opened}",
    on_select=partial(open_clicked, OPEN, f"bars of {opened}"),
    alt=filled(_("Parameters of each part of {opened}"), opened=OPEN.word(opened)),
)

tables.TENSORS.around(tables.show_tensors, model)
