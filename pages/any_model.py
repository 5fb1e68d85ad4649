"""Any model: the formula of any transformers class, inferred from the real class."""

import streamlit as st

from bertcalc.discover.results.components import NAMES, components, live_count
from bertcalc.discover.results.expressions import letters
from bertcalc.explore.factor_formulas import WHOLE, growths, whole
from bertcalc.memory.footprint import weight_bytes
from bertcalc.memory.optimizers import least_training_bytes
from bertcalc.text.digits import size
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.any_model import discovering, flops_view, own_config, tensors
from pages.ui.any_model.discovered_formula import formula
from pages.ui.any_model.export import offer
from pages.ui.any_model.link_to import show_compare_link
from pages.ui.session.present_model import plain
from pages.ui.shell import any_model, live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.theme import colors
from pages.ui.widgets.growth import grown_by
from pages.ui.widgets.metrics import metric_row, show_metric, show_total
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.total_formula.show import draw_formula

with st.container(horizontal=True):
    kind = any_model.MODEL_TYPE.show()
    any_model.MODEL_CLASS.show(any_model.classes_of(kind))

selection = any_model.selected()
sizes = any_model.size_steps(selection)
discovery = selection.discovery
any_model.show_wrong_in_link()
if not presenting():
    own_config.show_bring(selection)  # above the answer, so that readers notice the controls

if discovery is None:
    discovering.show_discovery(selection)
else:
    values = sizes.values() if sizes else discovery.fields
    offer(discovery, sizes.present if sizes else {})
    total = live_count(discovery.tensors, values) if sizes else discovery.parameters
    sides = whole(discovery.parameters, discovery.total, discovery.fields), whole(total, discovery.total, values)
    grown = grown_by(growths(*sides, letters(discovery))[WHOLE])
    against = _("vs. the given sizes") if selection.fields else _("compared with the default sizes")
    with metric_row("any-figures"):
        show_total(discovery.cls, total, total - discovery.parameters, against, grown, room=18, lines=2)
        for component, parts in components(discovery).items():
            part = live_count(parts, values)
            show_metric(_(NAMES[component]), percent(part, total), grouped(part), least=112)
    draw_formula(formula(discovery, values, colors()))
    discovering.show_verdict(discovery)
    if not (sizes and sizes.present):
        discovering.show_no_run(discovery)
    tensors.show_parts(discovery, values)
    flops_view.show_flops(selection, sizes.present if sizes else {})
    if not presenting():
        memory = _(
            "Weights: {float32} in float32, {half} in 16 bits, {byte} in 8 bits, {nibble} in 4 bits without scales. "
            "Training in float32 with Adam: at least {training}, 16 bytes for each parameter. Activations and a KV "
            "cache are not counted here; the Compute and Memory pages show {other}."
        )
        bits = {"float32": 32, "half": 16, "byte": 8, "nibble": 4}
        weights = {name: size(weight_bytes(total, width)) for name, width in bits.items()}
        other = plain().preset
        live.caption(fill(memory, training=size(least_training_bytes(total)), other=other, **weights))
        tensors.show_tensors(discovery, values)
        discovering.show_proof(discovery)
        discovering.show_tree(discovery.printed)
        show_compare_link(any_model.ref_of(selection, sizes))
any_model.write_link(selection, sizes)
