"""Modules: the module tree, the module types, every tensor by name, and what is trained when parts are frozen."""

import streamlit as st

from bertcalc.charts.bar_charts import Piece, PieceBar
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.explore.factor_formulas import total_growth
from bertcalc.export.report import Settings
from bertcalc.live.live_formulas import live_tree
from bertcalc.memory.plan import Plan
from bertcalc.model.difference import differences
from bertcalc.model.totals import totals_by_component
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.session.present_model import track
from pages.ui.shell import live
from pages.ui.shell.controls import assignments
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets import tables
from pages.ui.widgets.bars import draw_pieces, preset_of
from pages.ui.widgets.export.shown import notes
from pages.ui.widgets.freezing_controls import choose_freezing, frozen
from pages.ui.widgets.growth import show_growth
from pages.ui.widgets.metrics import metric_row, show_metric
from pages.ui.widgets.module_tree import BESIDE, COUNTS, VIEW, draw_tree, signs_of
from pages.ui.widgets.numbers import percent

choice = current_choice()
model = choice.model
tree = live_tree(model)

with st.container(horizontal=True, vertical_alignment="center"):
    view = VIEW.show()
    if view == "tree":
        counts = COUNTS.show()
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.caption(_("Compared with"), width="content")
            beside = BESIDE.show()

show_growth(total_growth(preset_of(choice).model, model), _("Parameters"), choice.preset)
if view == "tree":
    text = st.expander(_("The text of print(model), to copy"), key="text", on_change="rerun")
    if text.open:
        with text, live.older("text"):
            st.code(str(model), language=None)
    if beside == "none":
        draw_tree(tree, counts=counts, folded=presenting())
    else:
        other = live_tree(track().present.model(beside))
        # Pass the other model's sizes as well: a class of another family can have sizes that no slider moves here.
        live.note_sizes({field: getattr(other.config, field) for field in EVERY_LETTER if other.config.has(field)})
        changes = differences(tree, other)
        tables.show_module_differences(changes, choice.architecture, beside)
        trees = zip(st.columns(2), (tree, other), signs_of(changes), strict=True)
        for number, (column, each, signs) in enumerate(trees):
            with column:
                draw_tree(each, signs, counts=counts, number=number)
elif view == "parts":
    tables.show_inventory(tree)
elif view == "notebook":
    tables.show_sums(totals_by_component(tree))
    tables.show_named_parameters(model)
else:
    freezing = choose_freezing(choice.config)
    if changed := assignments(frozen(freezing)):
        training = _("in float32, trained with AdamW")
        notes().settings = Settings(f"{training}, {changed}", Plan(freezing=freezing))
    split, components = freezing.split(tree), freezing.by_component(tree)
    if freezing.train == "head" and "head" not in components:
        st.info(_("{architecture} has no head: nothing is trained.").format(architecture=choice.architecture))
    with metric_row():
        for label, count in ((_("Trainable"), split.trainable), (_("Frozen"), split.frozen), (_("Total"), split.total)):
            show_metric(label, grouped(count), percent(count, split.total), least=200)
    label = _("{trainable:,} trainable · {frozen:,} frozen")
    bars = []
    for component, part in components.items():
        pieces = [Piece(component, 0, part.trainable), Piece(component, part.trainable, part.total, filled=False)]
        figures = {"trainable": part.trainable, "parameters": part.total}
        bars.append(PieceBar(_(component), pieces, fill(label, **part._asdict()), figures))
    draw_pieces(
        bars,
        40,
        numbers={"name": _("Component"), "trainable": _("Trainable"), "parameters": _("Total")},
        alt=_("Trainable and frozen parameters of each component"),
    )
