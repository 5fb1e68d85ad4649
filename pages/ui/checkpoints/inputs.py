"""Read the user's own model from a config.json, a repository on the Hub or weight files, and report its problems.

The last model that could be read stays on the page during the session. The browser sends only the header of a weight
file.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

from bertcalc.checkpoints.checkpoint import Matching, compare, model_of_shapes
from bertcalc.checkpoints.local_files import INDEX_SUFFIX, SUFFIX, chosen, weights_of
from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.config import Config
from bertcalc.families import CLASSES, counterpart, family_of
from bertcalc.families.config_files.key_remarks import MISSPELLED
from bertcalc.families.hf_json import LARGEST, ConfigReading, is_of_another_type, read, read_object, text_of
from bertcalc.hub import hub_workers, reader
from bertcalc.model.model import Model
from bertcalc.text import N_, code, shorten
from bertcalc.text.problem import InputError, Problem
from pages.server.run_queue import RUN_QUEUE
from pages.ui.any_model.link_to import show_config_link
from pages.ui.checkpoints.chooser import AcceptedFiles, take_files
from pages.ui.checkpoints.matching import CheckpointReading
from pages.ui.session import kept
from pages.ui.shell.controls import Text, sentence, set_values, view
from pages.ui.shell.i18n import _, with_colon
from pages.ui.shell.sidebar import choice
from pages.ui.widgets.real_answers import wanted

VIEW = view(
    "bring", {"text": N_("Text"), "config": "config.json", "hub": "Hugging Face Hub", "file": N_("Weights file")}
)
REPO_ID = Text("repo_id", N_("Name on the Hub"), "google-bert/bert-base-uncased", reader.LONGEST, width=420)
CONFIG = AcceptedFiles(accept=".json", several=False, whole="", largest=LARGEST)
WEIGHTS = AcceptedFiles(accept=f"{SUFFIX},.json", several=True, whole=INDEX_SUFFIX, largest=LARGEST_HEADER)


def read_config(text: str) -> ConfigReading | None:
    """Read the text of a config.json; return the result, or None if there is no text or the text has problems.

    Problems are stored in the session. If a chosen file could not be read, the result is the last model that was read.
    """
    if "problems of config" not in st.session_state and text.strip():
        try:
            st.session_state["config read last"] = read(text)
        except InputError as error:
            st.session_state["problems of config"] = error.problems
            st.session_state.pop("config read last", None)  # do not show an older model below this text's problems
    last: ConfigReading | None = last_read("config") if text.strip() or _problems("config") else None
    return last


def take_file_of_config() -> None:
    """Callback that puts the text of a chosen config.json into the text field."""
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
    """Read a model from the Hub, and store the result or the problems in the session."""
    forget("hub")
    try:
        with st.spinner(_("Querying the Hub ...")):
            reading, comparison = ask_hub(repo_id)
        st.session_state["hub read last"] = CheckpointReading(repo_id, comparison, remarks=reading.remarks)
    except InputError as error:
        st.session_state["problems of hub"] = error.problems
        config = ""
        if is_of_another_type(error.problems):
            with suppress(InputError), st.spinner(_("Querying the Hub ...")), RUN_QUEUE.pause():
                config = hub_workers.ask_config(repo_id, wanted)
        st.session_state["other config of hub"] = config


def ask_hub(repo_id: str) -> tuple[ConfigReading, Matching]:
    """Read a model from the Hub and compare its tensors; other runs can continue meanwhile.

    Raises:
        InputError: if the model cannot be read.
    """
    with RUN_QUEUE.pause():
        return hub_workers.ask(repo_id, wanted)


def take_files_of_weights() -> None:
    """Callback that reads the headers of chosen weight files and compares their tensors with a model."""
    files = take_files("weights_files")
    if files is None:
        return
    forget("file")
    try:
        weights = weights_of(chosen(files))
    except InputError as error:
        st.session_state["problems of file"] = error.problems  # in these problems, ``field`` is a file name
        return
    try:
        model, guessed = model_of_shapes(weights.tensors)
    except InputError as error:
        st.session_state["problems of file"] = tuple(problem._replace(field="") for problem in error.problems)
        return
    compared = compare(weights.tensors, model)
    st.session_state["file read last"] = CheckpointReading(weights.name, compared, guessed, weights.cut_off)


def forget(view: str) -> None:
    """Remove a view's problems from the session when its input changes."""
    st.session_state.pop(f"problems of {view}", None)


def show_problems(view: str, config: str = "") -> None:
    """Show each problem of a view; if a model follows below, state that it was read earlier.

    ``config`` is the text of a config.json. For a model type that only the page Any model supports, show a link to that
    page instead. For a probably misspelled key or a missing model type, show a button that corrects the text.
    """
    problems = _problems(view)
    if is_of_another_type(problems) and show_config_link(config):
        return
    for problem in problems:
        message = sentence(problem)
        st.error(with_colon(code(shorten(problem.field)), message) if view == "file" and problem.field else message)
        if view == "config":
            _offer_remedies(config, problem)
    if problems and last_read(view):
        st.caption(_("The model below is the last one that could be read."))


def like_sidebar(config: Config) -> Model:
    """The model with ``config`` and the sidebar's architecture.

    If ``config`` belongs to another family, the model has that family's architecture for the same task.
    """
    present, family = choice().model, family_of(config)
    if CLASSES[present.architecture] is family:
        return present.changed(config=config)
    return Model(config, counterpart(present.architecture, family))


def _offer_remedies(text: str, problem: Problem) -> None:
    for remedy in problem.remedies:
        for field, value in remedy.items():
            if field == "model_type":
                _offer(text, problem.field, value, partial(_with_type, model_type=value))
            elif problem.message == MISSPELLED:
                name = problem.values["field"]
                _offer(text, problem.field, name, partial(_with_name, key=problem.field, field=name))


def _offer(text: str, key: str, name: str, corrected: Callable[[str], dict[str, Any]]) -> None:
    """Draw a button that replaces ``text``, a config.json, with ``corrected(text)``, where ``key`` becomes ``name``."""
    label = _("Read it as {field}").format(field=code(name))
    st.button(label, key=f"read {key} as {name}", on_click=_put, args=(text, corrected))


def show_remarks(text: str, described: ConfigReading) -> None:
    """Show remarks on ignored and missing keys of a config.json; offer to correct probably misspelled keys."""
    for remark in described.remarks:
        if not remark.remedies:
            (st.warning if remark in described.guesses else st.caption)(sentence(remark))
            continue
        [field] = map(described.config.own_name, remark.remedies[0])
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(sentence(remark), width="content")
            _offer(text, remark.field, field, partial(_with_name, key=remark.field, field=field))


def _with_name(text: str, key: str, field: str) -> dict[str, Any]:
    return {field if name == key else name: value for name, value in read_object(text).items()}


def _with_type(text: str, model_type: str) -> dict[str, Any]:
    return {**read_object(text), "model_type": model_type}


def _put(text: str, corrected: Callable[[str], dict[str, Any]]) -> None:
    forget("config")
    set_values({"config_text": json.dumps(corrected(text), indent=2, ensure_ascii=False)})


def last_read(view: str) -> Any:
    """The last model that a view read; None if there is none, or if the current input has an unsupported model type."""
    return None if is_of_another_type(_problems(view)) else st.session_state.get(f"{view} read last")


def _problems(view: str) -> Sequence[Problem]:
    problems: Sequence[Problem] = st.session_state.get(f"problems of {view}", ())
    return problems


def show_lost(view: str, brought: CheckpointReading | None) -> None:
    """Let the browser keep the name of the model that was read; show a warning if a server restart has lost the model.

    This does not apply to the views "text" and "config", whose texts the browser keeps.
    """
    if view in ("text", "config"):
        return
    if brought:
        kept.put(f"{view} read", brought.name)
    elif isinstance(name := kept.get(f"{view} read"), str):
        message = _("The server has restarted and no longer has {name}. Please read it again.")
        st.warning(message.format(name=code(shorten(name))))
