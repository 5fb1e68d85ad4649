"""What a visitor brings: a config.json, a name on the Hub, files of weights; what is wrong with it, and what was read.

The last model that could be read stays on the page for the session. The browser sends only the header of a file of
weights.
"""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from bertcalc.checkpoints.checkpoint import Matching, compare, subject_of_shapes
from bertcalc.checkpoints.chosen import INDEX_SUFFIX, SUFFIX, chosen, weights_of
from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.config_json import LARGEST, Described, is_of_another_type, read, text_of
from bertcalc.hub import hub_workers, reader
from bertcalc.problem import InputError, Problem
from bertcalc.server.run_queue import RUN_QUEUE
from bertcalc.text import N_, code, shorten
from pages.ui import kept
from pages.ui.any_model.way import show_way_of_config
from pages.ui.checkpoints.chooser import Wanted, take_files
from pages.ui.checkpoints.matching import Brought
from pages.ui.controls import Text, sentence, set_values, view
from pages.ui.i18n import _, with_colon
from pages.ui.oracle import wanted

VIEW = view("bring", {"config": "config.json", "hub": "Hugging Face Hub", "file": N_("Weights file")})
REPO_ID = Text("repo_id", N_("Name on the Hub"), "google-bert/bert-base-uncased", reader.LONGEST, width=420)
CONFIG = Wanted(accept=".json", several=False, whole="", largest=LARGEST)
WEIGHTS = Wanted(accept=f"{SUFFIX},.json", several=True, whole=INDEX_SUFFIX, largest=LARGEST_HEADER)


def read_config(text: str) -> Described | None:
    """Read a config.json, and return the last one that could be read; the problems of this one are kept."""
    if "problems of config" not in st.session_state and text.strip():
        try:
            st.session_state["config read last"] = read(text)
        except InputError as error:
            st.session_state["problems of config"] = error.problems
    last: Described | None = st.session_state.get("config read last")
    return last


def take_file_of_config() -> None:
    """Callback: put the text of a chosen file into the field."""
    files = take_files("config_file")
    if files is None:
        return
    forget("config")
    try:
        [file] = chosen(files)[:1]
        set_values({"config_text": text_of(file.bytes(), file.size)})
    except InputError as error:
        st.session_state["problems of config"] = error.problems


def read_from_hub(repo_id: str) -> None:
    """Read a model from the Hub, and keep it, or what is wrong with it."""
    forget("hub")
    try:
        with st.spinner(_("Asking the Hub ...")):
            reading, comparison = ask_hub(repo_id)
        st.session_state["hub read last"] = Brought(repo_id, comparison, remarks=reading.remarks)
    except InputError as error:
        st.session_state["problems of hub"] = error.problems
        config = ""
        if is_of_another_type(error.problems):
            with suppress(InputError), st.spinner(_("Asking the Hub ...")), RUN_QUEUE.pause():
                config = hub_workers.ask_config(repo_id, wanted)
        st.session_state["other config of hub"] = config


def ask_hub(repo_id: str) -> tuple[Described, Matching]:
    """Read a model from the Hub; other runs go on meanwhile. Raises InputError."""
    with RUN_QUEUE.pause():
        return hub_workers.ask(repo_id, wanted)


def take_files_of_weights() -> None:
    """Callback: read and compare the headers of chosen files."""
    files = take_files("weights_files")
    if files is None:
        return
    forget("file")
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


def forget(view: str) -> None:
    """Drop the problems of a view when its input changes."""
    st.session_state.pop(f"problems of {view}", None)


def show_problems(view: str, config: str = "") -> bool:
    """Show each problem of a view, if the model below was read before, and the way to another type's formula.

    ``config`` is the text of the config.json. Returns whether there is a problem.
    """
    found: Sequence[Problem] = st.session_state.get(f"problems of {view}", ())
    for problem in found:
        said = sentence(problem)
        st.error(with_colon(code(shorten(problem.field)), said) if view == "file" and problem.field else said)
    if found and f"{view} read last" in st.session_state:
        st.caption(_("Still showing the last one that could be read."))
    if is_of_another_type(found):
        show_way_of_config(config)
    return bool(found)


def show_lost(view: str, brought: Brought | None) -> None:
    """Say that the server no longer has what it read last, if it was restarted; else have the browser keep its name."""
    if view == "config":
        return
    if brought:
        kept.put(f"{view} read", brought.name)
    elif isinstance(name := kept.get(f"{view} read"), str):
        message = _("The server has started anew and no longer has what it read of {name}: read it again.")
        st.warning(message.format(name=code(shorten(name))))
