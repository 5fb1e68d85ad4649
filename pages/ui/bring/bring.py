"""The three ways in: a config.json, a name on the Hub, a file of weights; what is wrong is said where it was entered.

What was read last stays on the page for the session, until something else can be read; no file is kept.
"""

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bertcalc.bring.checkpoint import CheckpointError, best_class, compare, subject_of_shapes
from bertcalc.bring.safetensors import SafetensorsError, read_file
from bertcalc.bring.uploads import text_of
from bertcalc.config import Problem
from bertcalc.config_json import LARGEST, JsonError, Reading, read
from bertcalc.memory.footprint import Subject
from pages.ui.bring import hub
from pages.ui.bring.comparison import Brought, show_brought, show_model
from pages.ui.controls import Parameters, at_most, carry, sentence, set_values
from pages.ui.i18n import translator
from pages.ui.sidebar import Choice
from pages.ui.tables import escaped
from pages.ui.turn import TURN

VIEWS = ("config", "hub", "file")
REPO_ID = "google-bert/bert-base-uncased"
LARGEST_FILE = 200  # MB, as .streamlit/config.toml has it


PARAMETERS = Parameters(choices={"bring": VIEWS}, texts={"repo_id": at_most(hub.LONGEST)})


def show_config(choice: Choice) -> None:
    """A config.json, pasted or uploaded, and the model that it describes."""
    _ = translator()
    st.markdown(_("Paste the config.json of your model, or upload it; the sidebar can take it for every page."))
    text, file = st.columns([3, 2])
    pasted: str = text.text_area(
        "config.json", key="config_text", height=190, on_change=_forget, args=("config",), persist_state="session"
    )
    file.file_uploader(
        _("or a file"), type="json", key="config_file", max_upload_size=1, on_change=_take_file_of_config
    )
    found = st.session_state.get("problems of config", ())
    if not found and pasted.strip():
        try:
            st.session_state["config read last"] = read(pasted)
        except JsonError as error:
            found = error.problems
    reading: Reading | None = st.session_state.get("config read last")
    _show_problems(found, older=bool(found) and reading is not None)
    if reading is None or (not found and not pasted.strip()):
        return
    _show_remarks(reading)
    if reading.architecture is None:
        st.caption(_("It names no class: {architecture} is the sidebar's.").format(architecture=choice.architecture))
        options = tuple(choice.options.items())
        show_model(Subject(reading.config, choice.architecture, options))
    else:
        show_model(Subject(reading.config, reading.architecture))


def _take_file_of_config() -> None:
    """Put an uploaded file into the field, where it can be read and changed; in a callback."""
    _forget("config")
    file = st.session_state["config_file"]
    if file is None:
        return
    try:
        set_values({"config_text": text_of(file.read(LARGEST + 1))})
    except JsonError as error:
        st.session_state["problems of config"] = error.problems


def show_hub() -> None:
    """A name on the Hub, asked for on request, and what its files have in them."""
    _ = translator()
    st.markdown(
        _(
            "Name a public model on the Hugging Face Hub: its config.json is read, and of its safetensors files the "
            "headers alone."
        )
    )
    if not hub.installed():
        st.info(_("This needs huggingface_hub, which is not installed here: pip install -r requirements.txt."))
        return
    carry("repo_id", REPO_ID)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        repo_id = st.text_input(
            _("Name on the Hub"),
            REPO_ID,
            key="repo_id",
            bind="query-params",
            max_chars=hub.LONGEST,
            width=420,
            on_change=_forget,
            args=("hub",),
        )
        asked = st.button(_("Read it from the Hub"), icon=":material/download:")
    if asked:
        _forget("hub")
        try:
            with st.spinner(_("Asking the Hub ...")), TURN.pause():
                answer = hub.find(repo_id.strip())
            config, named = answer.reading.config, answer.reading.architecture
            subject = Subject(config, named) if named else best_class(answer.tensors, config)
            brought = Brought(answer.repo_id, compare(answer.tensors, subject))
            st.session_state["hub read last"] = brought, answer.reading
        except hub.HubError as error:
            st.session_state["problems of hub"] = error.problems
    last: tuple[Brought, Reading] | None = st.session_state.get("hub read last")
    found = st.session_state.get("problems of hub", ())
    _show_problems(found, older=bool(found) and last is not None)
    if last is not None:
        brought, reading = last
        show_brought(brought)
        _show_remarks(reading)


def show_file() -> None:
    """A file of weights, of which the header is read, and what is in it."""
    _ = translator()
    st.markdown(
        _("Upload a .safetensors file: its header is read, the names and shapes of its tensors, and no weight.")
    )
    # An uploader that is drawn under another key is empty again, and lets go of its file.
    st.file_uploader(
        "model.safetensors",
        type="safetensors",
        key=_weights_key(),
        max_upload_size=LARGEST_FILE,
        label_visibility="collapsed",
        on_change=_take_file_of_weights,
    )
    last: Brought | None = st.session_state.get("file read last")
    found = st.session_state.get("problems of file", ())
    _show_problems(found, older=bool(found) and last is not None)
    if last is not None:
        show_brought(last)


def _weights_key() -> str:
    return f"weights_file {st.session_state.get('weights files', 0)}"


def _take_file_of_weights() -> None:
    """Read the header of an uploaded file, and let go of the rest: Streamlit would hold it as long as the session."""
    _forget("file")
    file = st.session_state[_weights_key()]
    if file is None:
        return
    try:
        tensors = read_file(file, file.size).tensors
        subject, guessed = subject_of_shapes(tensors)
        st.session_state["file read last"] = Brought(file.name, compare(tensors, subject), guessed)
    except (SafetensorsError, CheckpointError) as error:
        st.session_state["problems of file"] = (error.problem,)
    context = get_script_run_ctx()
    if context and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    st.session_state["weights files"] = st.session_state.get("weights files", 0) + 1


def _forget(view: str) -> None:
    """What was wrong with what is changed now."""
    st.session_state.pop(f"problems of {view}", None)


def _show_problems(found: Sequence[Problem], *, older: bool) -> None:
    """A sentence for each; and whether the model below is an older one."""
    _ = translator()
    for problem in found:
        st.error(sentence(problem, escaped))
    if older:
        st.caption(_("Shown is the last that could be read."))


def _show_remarks(reading: Reading) -> None:
    for remark in reading.remarks:
        st.caption(sentence(remark, escaped))
