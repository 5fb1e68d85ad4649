"""Any model: the formula of a class of transformers that has no family here, read off the real class."""

import streamlit as st

from bertcalc.discover.results.components import NAMES, components, count
from bertcalc.discover.results.expressions import letters
from bertcalc.explore.factor_formulas import WHOLE, factors, whole
from pages.ui.any_model import discovering, flops_view, own_config, tensors
from pages.ui.any_model.discovered_formula import formula
from pages.ui.any_model.export import offer
from pages.ui.any_model.link_to import show_way_to_compare
from pages.ui.shell import any_model
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.theme import colors
from pages.ui.widgets.growth import grown_by
from pages.ui.widgets.metrics import show_metric, show_total
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.total_formula.show import draw_formula

with st.container(horizontal=True):
    kind = any_model.MODEL_TYPE.show()
    any_model.MODEL_CLASS.show(any_model.classes_of(kind))

now = any_model.chosen()
sizes = any_model.steps(now)
found = now.found
any_model.show_wrong_in_link()

if found is None or now.asked is None:
    discovering.discover(now)
else:
    values = sizes.values() if sizes else found.fields
    offer(found)
    total = count(found.tensors, values) if sizes else found.parameters
    sides = whole(found.parameters, found.total, found.fields), whole(total, found.total, values)
    grown = grown_by(factors(*sides)[WHOLE], letters(found))
    against = _("against the sizes that were given") if now.given else _("against the default sizes")
    with st.container(horizontal=True):
        show_total(found.cls, total, total - found.parameters, against, grown, room=32)
        for component, parts in components(found).items():
            part = count(parts, values)
            show_metric(_(NAMES[component]), percent(part, total), f"{part:,}", least=112)
    draw_formula(formula(found, values, colors()))
    discovering.show_verdict(found)
    if not (sizes and sizes.present):
        discovering.show_no_run(found)
    tensors.show_parts(found, values)
    flops_view.show_flops(now, sizes.present if sizes else {})
    if not presenting():
        tensors.show_tensors(found, values)
        discovering.show_proof(found)
        discovering.show_tree(now.asked.tree)
        show_way_to_compare(any_model.written(now, sizes))
if not presenting():
    own_config.show_bring(now)
any_model.write_link(now, sizes)
