"""The text box of the page Bring anything, and the result of reading its text: its kind, model and counts."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from bertcalc.change_steps.step_texts import written
from bertcalc.checkpoints.local_files import chosen
from bertcalc.discover.results.from_config import CountedConfig
from bertcalc.discover.results.other_config import read_any
from bertcalc.families.hf_json import is_of_another_type, text_of
from bertcalc.model.model import Model
from bertcalc.model_ref import item_of
from bertcalc.reading.config_text import config_in
from bertcalc.reading.examples import EXAMPLES
from bertcalc.reading.plain_lines import LARGEST
from bertcalc.reading.recognition import UnmatchedPart
from bertcalc.reading.text_reading import KIND_NAMES, Kind, TextReading
from bertcalc.text import N_, code, shorten
from bertcalc.text.problem import InputError, Problem
from pages.ui.any_model.link_to import show_config_link
from pages.ui.bring import report_view
from pages.ui.checkpoints import matching
from pages.ui.checkpoints.chooser import AcceptedFiles, choose_files, take_files
from pages.ui.diagnosis import terms_view
from pages.ui.diagnosis.number_view import show_number
from pages.ui.session import address, kept
from pages.ui.shell.controls import Select, Text, sentence, set_values
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at
from pages.ui.widgets.metrics import show_figure
from pages.ui.widgets.tables import show_rows
from pages.ui.widgets.text_answer import answering, show_read_button
from pages.ui.widgets.total_formula.show import show_total_formula

AUTOMATIC = "recognized"
_KINDS = {AUTOMATIC: N_("the detected kind")} | {str(kind): name for kind, name in KIND_NAMES.items()}
# This control stores the text in the link and is not drawn. The visible text box accepts far longer texts.
LINKED = Text("text", N_("Text"), "", 1_500)
READ_AS: Select[str] = Select("read_as", N_("Read as"), words=_KINDS, width=200)
_FILES = AcceptedFiles(accept="", several=False, whole="", largest=LARGEST)
_MOST_PARTS = 200  # maximum number of rows in a table of differences


class _Read(NamedTuple):
    """A cached result of reading a text, and the input (text, kind, model) to which it belongs."""

    asked: tuple[str, str, Model]
    reading: TextReading | None
    problems: tuple[Problem, ...] = ()


def show(model: Model) -> None:
    """Draw the text box and, if it has text, the result; ``model`` is the reference for explaining numbers."""
    text, kind = _show_box()
    if not text.strip():
        return
    with answering(text):
        _show_answer(text, kind, model)


def _show_answer(text: str, kind: str, model: Model) -> None:
    answer = _read(text, kind, model)
    if not (is_of_another_type(answer.problems) and show_config_link(config_in(text))):
        for problem in answer.problems:
            st.error(sentence(problem))
    if reading := answer.reading:
        st.markdown(f"**{sentence(reading.sentence)}**")
        _show_reading(reading, model, text)


def _show_box() -> tuple[str, str]:
    """Draw the text box, the choice of a file, and the choice of the text's kind; return the text and the kind."""
    field, file = st.columns([3, 2])
    _take_linked()
    kept.hold_text("pasted_text")
    text: str = field.text_area(
        _("Your text"), key="pasted_text", height=190, max_chars=LARGEST, persist_state="session"
    )
    with file:
        st.caption(_("or a file"))
        choose_files("pasted_file", _FILES, _take_file)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            kind = READ_AS.show()
            show_read_button()
    for problem in st.session_state.pop("problems of pasted file", ()):
        st.error(sentence(problem))
    _show_examples(is_empty=not text.strip())
    is_long = len(text) > LINKED.longest
    if is_long:
        message = _(
            "This text has more than {most:,} characters, so it is not in the link: only this tab of your browser "
            "keeps it, and users who open the link see an empty box."
        )
        if not kept.holds_text("pasted_text"):
            message = _(
                "This text has more than {most:,} characters, so it is not in the link: a reload empties the box, "
                "and users who open the link see an empty box."
            )
        st.caption(message.format(most=LINKED.longest))
    st.session_state["drawn choices"][LINKED.name] = None if is_long or not text.strip() else text
    return text, kind


def _show_examples(is_empty: bool) -> None:
    """Draw a button for each example: below an empty box, or in a popover if the box has text."""
    if is_empty:
        st.caption(_("Nothing that you paste is executed or stored. Examples:"))
    with st.container(horizontal=True, gap="xsmall") if is_empty else st.popover(_("Examples")):
        for name in EXAMPLES:
            st.button(_(name), key=f"paste {name}", on_click=_take_example, args=(name,))


def _take_linked() -> None:
    """Put the link's text into the text box, in a new session or after Back. Call this before drawing the box."""
    linked = st.query_params.get(LINKED.name)
    if linked is not None and ("pasted_text" not in st.session_state or address.went_back()):
        st.session_state["pasted_text"] = linked


def _take_example(name: str) -> None:
    set_values({"pasted_text": EXAMPLES[name](), READ_AS.name: AUTOMATIC})


def _take_file() -> None:
    files = take_files("pasted_file")
    if files is None:
        return
    try:
        [file] = chosen(files)[:1]
        set_values({"pasted_text": text_of(file.bytes(), file.size), READ_AS.name: AUTOMATIC})
    except InputError as error:
        st.session_state["problems of pasted file"] = error.problems


def _read(text: str, kind: str, model: Model) -> _Read:
    asked = (text, kind, model)
    answer: _Read | None = st.session_state.get("text read")
    if answer is None or answer.asked != asked:
        try:
            answer = _Read(asked, read_any(text, next((name for name in KIND_NAMES if name == kind), None), model))
        except InputError as error:
            answer = _Read(asked, None, error.problems)
        st.session_state["text read"] = answer
    return answer


def _show_reading(reading: TextReading, model: Model, text: str) -> None:
    kind: Kind = reading.kind
    if kind in ("number", "calculation"):
        show_number(model, text, is_named=True)
        _show_link(number=text.strip())
    elif kind == "hand-count" and reading.model is not None:
        _show_hand_count(reading, reading.model, text)
    elif isinstance(reading.detail, CountedConfig):
        show_config_link(config_in(text))
    elif kind in ("article", "program"):
        for note in reading.notes:
            st.markdown(sentence(note))
        report_view.show(reading.detail, model, text)
    elif isinstance(reading.detail, Model) and reading.model is not None:
        _show_adapter(reading, reading.model, reading.detail)
    else:
        _show_model(reading)


def _show_hand_count(reading: TextReading, model: Model, text: str) -> None:
    st.markdown(sentence(reading.notes[0]))
    terms_view.show_verdicts(model, reading.detail)
    if len(reading.detail.verdicts) > 1:
        terms_view.show_corrections(model, reading.detail)
    _show_link(explain="terms", terms=text)


def _show_adapter(reading: TextReading, base: Model, adapted: Model) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        show_figure(_("Trained by peft"), adapted.num_parameters(only_trainable=True))
        show_figure(_("With the adapter"), adapted.num_parameters())
        show_figure(_("Without the adapter"), base.num_parameters())
    for note in reading.notes:
        st.markdown(sentence(note))
    query = {"preset": item_of(base).base, "architecture": adapted.architecture}
    label = _("Change this adapter →")
    st.page_link(page_at("change"), label=label, query_params={**query, "changes": written(adapted.changes)})


def _show_link(**query: str) -> None:
    st.page_link(page_at("explain"), label=_("Open a page with a shareable link →"), query_params=query)


def _show_model(reading: TextReading) -> None:
    """Show the parameter counts of a text that describes a model, and its differences from the nearest model."""
    with st.container(horizontal=True, vertical_alignment="center"):
        is_counted = reading.kind == "config" and reading.model is not None  # a config.json states no count
        if reading.num_parameters is not None and not is_counted:
            show_figure(_of_text(reading), reading.num_parameters)
        if reading.model is not None:
            label = _("Parameters in {architecture}").format(architecture=reading.model.architecture)
            show_figure(label, reading.model.num_parameters())
            matching.offer(reading.model, item_of(reading.model))
    if reading.model is not None:
        if reading.num_parameters != reading.model.num_parameters():
            st.caption(_("The formula of {architecture}:").format(architecture=reading.model.architecture))
        show_total_formula(reading.model)
    for part in reading.sentences()[1:]:
        st.markdown(sentence(part))
    titles: Mapping[str, tuple[UnmatchedPart, ...]] = {
        _("Missing from the text"): reading.missing,
        _("Only in the text"): reading.additional,
        _("Different shape in the text"): reading.reshaped,
    }
    for title, parts in titles.items():
        if parts:
            _show_parts(title, parts)


def _of_text(reading: TextReading) -> str:
    """The title of a text's count. It depends on whether a preset completes the text or the count is a lower bound."""
    if reading.preset:
        return _("Parameters, with missing parts taken from {preset}").format(preset=reading.preset)
    return _("Parameters in the text, at least") if reading.is_at_least else _("Parameters in the text")


def _show_parts(title: str, parts: tuple[UnmatchedPart, ...]) -> None:
    st.markdown(f"**{title}**")
    rows = [
        (code(shorten(part.path)), part.kind, f"{part.modules:,}", f"{part.parameters:,}")
        for part in parts[:_MOST_PARTS]
    ]
    show_rows((_("Part"), _("Kind"), _("Modules"), _("Parameters")), rows, title)
