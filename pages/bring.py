"""Bring anything: the page reads, counts and compares a text, a config.json, a Hub model or a weights file."""

import streamlit as st

from bertcalc.families.hf_json import PASTED
from bertcalc.hub import reader
from bertcalc.model.model import Model
from bertcalc.model_ref import item_of
from pages.ui.bring import pasted_view
from pages.ui.checkpoints import inputs, matching
from pages.ui.checkpoints.chooser import choose_files
from pages.ui.session import kept
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import choice
from pages.ui.widgets.metrics import show_figure
from pages.ui.widgets.text_answer import answering, show_read_button

view = inputs.VIEW.show()

if view == "text":
    pasted_view.show(choice().model)
elif view == "config":
    st.markdown(_("Paste or upload the config.json of your model; you can then use it on every page."))
    field, file = st.columns([3, 2])
    kept.hold_text("config_text")
    text: str = field.text_area(
        "config.json",
        key="config_text",
        height=190,
        max_chars=PASTED,
        on_change=inputs.forget,
        args=(view,),
        persist_state="session",
    )
    with file:
        st.caption(_("or a file"))
        choose_files("config_file", inputs.CONFIG, inputs.take_file_of_config)
        show_read_button()
    with answering(text):
        last = inputs.read_config(text)
        inputs.show_problems(view, text)
        if last:
            inputs.show_remarks(text, last)
            model = Model(last.config, last.architecture) if last.architecture else inputs.like_sidebar(last.config)
            if last.architecture is None:
                message = _("This config.json names no class: {architecture} is that of the current model.")
                st.caption(message.format(architecture=model.architecture))
            item = item_of(model)
            with st.container(horizontal=True, vertical_alignment="center"):
                label = (
                    _("Parameters in {architecture} (estimate)") if last.guesses else _("Parameters in {architecture}")
                )
                show_figure(label.format(architecture=model.architecture), model.num_parameters())
                matching.offer(model, item)
            if item.changes:
                matching.show_changes(model.config, item)
            else:
                st.success(_("This is {preset}.").format(preset=item.base), icon=":material/check_circle:")
elif view == "hub":
    message = _(
        "Enter the name of a public model on the Hugging Face Hub. Only its config.json and the headers of its "
        "safetensors files are read."
    )
    st.markdown(message)
    if reader.installed():
        # A form, so that pressing Enter in the field queries the Hub.
        with st.form("hub", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            repo_id = inputs.REPO_ID.show()
            asked = st.form_submit_button(_("Read it from the Hub"), icon=":material/download:")
        if asked:
            inputs.read_from_hub(repo_id.strip())
        inputs.show_problems(view, st.session_state.get("other config of hub", ""))
    else:
        st.info(
            _(
                "Reading from the Hub requires huggingface_hub, which is not installed here: run pip install -r "
                "requirements.txt."
            )
        )
else:
    message = _(
        "Choose a .safetensors file of any size, or all files of a model together with its index. Your browser "
        "reads and sends only the headers, which contain the names and shapes of the tensors. The weights never "
        "leave your computer."
    )
    st.markdown(message)
    choose_files("weights_files", inputs.WEIGHTS, inputs.take_files_of_weights)
    inputs.show_problems(view)

brought: matching.CheckpointReading | None = None if view in ("text", "config") else inputs.last_read(view)
inputs.show_lost(view, brought)
if brought:
    comparison = brought.comparison
    verdict, offer = st.columns([9, 4], vertical_alignment="center")
    with verdict:
        for cut_off in brought.cut_off:
            matching.show_cut_off(cut_off)
        matching.show_verdict(brought)
    with offer:
        matching.offer(comparison.model, item_of(comparison.model))
    with st.container(horizontal=True):
        show_figure(_("Tensors"), comparison.tensors)
        show_figure(_("Parameters in the file"), comparison.parameters)
        label = _("Parameters in {architecture}").format(architecture=comparison.model.architecture)
        show_figure(label, comparison.ours)
        show_figure(_("Elements of buffers"), comparison.buffers)
    matching.show_groups(comparison)
    matching.show_details(brought)
    for remark in brought.remarks:
        st.caption(sentence(remark))
