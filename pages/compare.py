"""Compare: any number of models side by side, and every difference explained."""

from contextlib import suppress

import streamlit as st

from bertcalc.model_ref import PRESENT, write
from bertcalc.text.problem import InputError
from pages.ui.change.linked_steps import note_made
from pages.ui.compare import comparison as controls
from pages.ui.compare import differences, discovered_models
from pages.ui.compare.compare_words import in_caption, relative, signed
from pages.ui.compare.glance import draw_models, show_links
from pages.ui.compare.side_by_side import show_bars, show_scatter, show_side_by_side
from pages.ui.shell.i18n import _, listed, with_colon
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets.export.files import stem_of
from pages.ui.widgets.export.shown import notes
from pages.ui.widgets.metrics import metric_row, show_metric
from pages.ui.widgets.quantity_words import title_of
from pages.ui.widgets.total_formula.show import draw_formula

choice = current_choice()
present = controls.present_with_steps(choice)

page, end = st.container(), st.container()
with end:  # drawn at the end of the page, but run first: everything above depends on the models in the link
    message = _(
        "Models, separated by spaces. Each model is a preset or {present}. Append ~field-value for each change, "
        "and ~changes-lora,r=16 for the steps of the Change page."
    )
    controls.MODELS.show(placeholder=write(controls.begin(choice, present)), help=message.format(present=PRESENT))
with page:
    items, unreadable = controls.models_of_link(choice, present)
    with st.container(horizontal=True, vertical_alignment="center"):
        view = controls.VIEW.show()
        controls.add_preset(items)
        with st.popover(_("Models"), icon=":material/list:"), st.container(key="choose-models"):
            controls.choose_models(items, choice, present)
            controls.paste(items)
    controls.show_pairs()
    discovered_models.discover([item for item in items if item.is_discovered])
    models, impossible = controls.build(items, present)
    with suppress(InputError):  # for example an impossible step, which the page reports only if the model is compared
        note_made(present.steps, present.after_steps)
    if wrong := [*unreadable, *impossible]:
        controls.show_wrong(wrong, models)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = controls.choose_measure(view)
        order = controls.ORDER.show() if view == "glance" else "chosen"
        batch = controls.choose_common_batch(models, choice.model, view)
        if view == "differences" and len(models) > 1:
            controls.choose_explained(models)
        if view == "differences":
            controls.offer_preset(items, choice)
    comparison = controls.Comparison(view, models, batch, measure, order)
    current = f"{stem_of(choice)} ({choice.architecture})"
    notes().models = ", ".join(in_caption(model.name, model.item, current) for model in models)

    if not models:
        st.info(_("There is nothing to compare: choose models under Models."))
    elif view == "differences" and len(models) == 1:
        st.info(_("A difference needs two models: choose another model under Models."))
    elif view == "differences":
        if explanation := differences.difference(comparison):
            pair = f"**{controls.explained(models).name} − {models[0].name}**"
            st.markdown(with_colon(pair, title_of(comparison.quantity)))
            with metric_row(vertical_alignment="center"):
                value, share = signed(explanation.difference), relative(explanation)
                show_metric(_("Difference"), value, share, least=230, label_visibility="collapsed")
                with st.container(key="sum", width="content"):
                    draw_formula(differences.sum_formula(explanation))
            differences.show_parts(comparison, explanation)
            st.caption(differences.how_found(comparison, explanation))
            if not presenting():
                differences.show_steps(comparison, explanation)
                if len(models) > 2:
                    differences.show_all(comparison, explanation)
    elif view == "table":
        show_side_by_side(comparison)
    elif view == "bars":
        show_bars(comparison)
    elif view == "scatter":
        show_scatter(comparison)
    else:
        draw_models(comparison, choice)
        if not presenting():
            st.caption(_("Click a model to open it; the names in the table are links, too."))
            show_links(comparison, choice)

    if comparison.quantity.unit == "bytes":
        st.caption(
            _("Computed in float32, with eager attention and CPU dropout masks. The Memory page has other settings.")
        )
    if not presenting():
        for why, those in comparison.unknown().items():
            st.caption(_("– for {models}: {why}").format(models=listed(those), why=why))
        discovered_models.show_limits(controls.discovered_in(comparison), measure)
