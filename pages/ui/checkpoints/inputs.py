"""The views of the page: a config.json, a name on the Hub, a file of weights.

The last model that could be read stays on the page for the session. The browser sends only the header of a file of
weights.
"""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from bertcalc.checkpoints.checkpoint import Matching, compare, subject_of_shapes
from bertcalc.checkpoints.chosen import INDEX_SUFFIX, SUFFIX, chosen, weights_of
from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.config_json import LARGEST, Described, read, text_of
from bertcalc.hub import hub_workers, reader
from bertcalc.problem import InputError, Problem
from bertcalc.server.run_queue import RUN_QUEUE
from bertcalc.subject import Subject
from bertcalc.text import N_, code, shorten
from pages.ui.any_model.way import show_way_of_config
from pages.ui.checkpoints.chooser import Wanted, choose_files, take_files
from pages.ui.checkpoints.matching import Brought, show_brought, show_model
from pages.ui.controls import Text, sentence, set_values, view
from pages.ui.i18n import _
from pages.ui.oracle import wanted

VIEW = view("bring", {"config": "config.json", "hub": "Hugging Face Hub", "file": N_("Weights file")})
REPO_ID = Text("repo_id", N_("Name on the Hub"), "google-bert/bert-base-uncased", reader.LONGEST, width=420)
_CONFIG = Wanted(accept=".json", several=False, whole="", largest=LARGEST)
_WEIGHTS = Wanted(accept=f"{SUFFIX},.json", several=True, whole=INDEX_SUFFIX, largest=LARGEST_HEADER)


def show_config(subject: Subject) -> None:
    """The view of a config.json, pasted or chosen as a file."""
    st.markdown(_("Paste or upload the config.json of your model; you can then use it on every page."))
    text, file = st.columns([3, 2])
    pasted: str = text.text_area(
        "config.json", key="config_text", height=190, on_change=_forget, args=("config",), persist_state="session"
    )
    with file:
        st.caption(_("or a file"))
        choose_files("config_file", _CONFIG, _take_file_of_config)
    if "problems of config" not in st.session_state and pasted.strip():
        try:
            st.session_state["config read last"] = read(pasted)
        except InputError as error:
            st.session_state["problems of config"] = error.problems
    reading: Described | None = st.session_state.get("config read last")
    found = _show_problems("config")
    if any(problem.field in ("model_type", "architectures") for problem in found):
        show_way_of_config(pasted)
    if reading is None or (not found and not pasted.strip()):
        return
    _show_remarks(reading)
    if reading.architecture is None:
        said = _("It names no class, so {architecture} is taken from the sidebar.")
        st.caption(said.format(architecture=subject.architecture))
        show_model(subject._replace(config=reading.config))
    else:
        show_model(Subject(reading.config, reading.architecture))


def _take_file_of_config() -> None:
    """Callback: put the text of a chosen file into the field."""
    files = take_files("config_file")
    if files is None:
        return
    _forget("config")
    try:
        [file] = chosen(files)[:1]
        set_values({"config_text": text_of(file.bytes(), file.size)})
    except InputError as error:
        st.session_state["problems of config"] = error.problems


def show_hub() -> None:
    """The view of a model on the Hub, which is read when the button is pressed."""
    st.markdown(
        _(
            "Name a public model on the Hugging Face Hub: only its config.json and the headers of its"
            " safetensors files are read."
        )
    )
    if not reader.installed():
        st.info(_("This needs huggingface_hub, which is not installed here: pip install -r requirements.txt."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        repo_id = REPO_ID.show(on_change=_forget, args=("hub",))
        asked = st.button(_("Read it from the Hub"), icon=":material/download:")
    if asked:
        _forget("hub")
        try:
            with st.spinner(_("Asking the Hub ...")):
                reading, comparison = ask_hub(repo_id.strip())
            st.session_state["hub read last"] = Brought(repo_id.strip(), comparison), reading
        except InputError as error:
            st.session_state["problems of hub"] = error.problems
            st.session_state["other config of hub"] = _other_config(repo_id.strip(), error.problems)
    last: tuple[Brought, Described] | None = st.session_state.get("hub read last")
    if _show_problems("hub"):
        show_way_of_config(st.session_state.get("other config of hub", ""))
    if last is not None:
        brought, reading = last
        show_brought(brought)
        _show_remarks(reading)


def _other_config(repo_id: str, problems: Sequence[Problem]) -> str:
    """The text of the config.json if the problem is its model type or class, else ""; for the page Any model."""
    with suppress(InputError):
        if any(problem.field in ("model_type", "architectures") for problem in problems):
            with st.spinner(_("Asking the Hub ...")), RUN_QUEUE.pause():
                return hub_workers.ask_config(repo_id, wanted)
    return ""


def ask_hub(repo_id: str) -> tuple[Described, Matching]:
    """Read a model from the Hub; other runs go on meanwhile. Raises InputError."""
    with RUN_QUEUE.pause():
        return hub_workers.ask(repo_id, wanted)


def show_file() -> None:
    """The view of files of weights, of which only the headers are read."""
    st.markdown(
        _(
            "Choose a .safetensors file of any size, or all files of a model with its index: your browser reads the "
            "headers, the names and shapes of the tensors, and sends nothing else. The weights never leave your "
            "computer."
        )
    )
    choose_files("weights_files", _WEIGHTS, _take_files_of_weights)
    last: Brought | None = st.session_state.get("file read last")
    _show_problems("file")
    if last is not None:
        show_brought(last)


def _take_files_of_weights() -> None:
    """Callback: read and compare the headers of chosen files."""
    files = take_files("weights_files")
    if files is None:
        return
    _forget("file")
    try:
        found = weights_of(chosen(files))
    except InputError as error:
        st.session_state["problems of file"] = error.problems  # their fields are names of files
        return
    try:
        subject, guessed = subject_of_shapes(found.tensors)
    except InputError as error:
        st.session_state["problems of file"] = tuple(problem._replace(field="") for problem in error.problems)
        return
    compared = compare(found.tensors, subject)
    st.session_state["file read last"] = Brought(found.name, compared, guessed, found.cut_off)


def _forget(view: str) -> None:
    """Drop the problems of a view when its input changes."""
    st.session_state.pop(f"problems of {view}", None)


def _show_problems(view: str) -> Sequence[Problem]:
    """Show each problem of a view, with its file's name, and say if the model below was read before."""
    found: Sequence[Problem] = st.session_state.get(f"problems of {view}", ())
    for problem in found:
        file = f"{code(shorten(problem.field))}: " if view == "file" and problem.field else ""
        st.error(f"{file}{sentence(problem)}")
    if found and f"{view} read last" in st.session_state:
        st.caption(_("Still showing the last one that could be read."))
    return found


def _show_remarks(reading: Described) -> None:
    for remark in reading.remarks:
        st.caption(sentence(remark))
