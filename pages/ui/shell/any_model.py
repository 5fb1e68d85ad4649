"""The model of the page Any model, as the link stores it: model type, class, given config fields, and sizes."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.discover.results.config_input import json_of, read_fields
from bertcalc.discover.results.field_paths import put
from bertcalc.discover.results.known_results import known
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.shipped import shipped_classes
from bertcalc.discover.results.size_steps import SizeHistory, read_sizes, refused, write_sizes
from bertcalc.discover.results.types import types
from bertcalc.model_ref import ModelRef
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem
from pages.ui.session import address, kept
from pages.ui.shell.controls import Reason, Select, Text, sentence
from pages.ui.shell.i18n import _, filled

PAGE = "any_model"
# Keys of the browser's storage, for the given fields and for the history of sizes.
_KEPT, _KEPT_STEPS = "any model", "any steps"
_LONGEST = 40  # only the first characters of an unknown name are compared with the options


def _check(reader: Callable[[str], object], text: str) -> Reason | None:
    try:
        reader(text)
    except InputError as error:
        return N_("{name} in the link is invalid: {problem}"), {"problem": str(error)}
    return None


class _Names(Select[str]):
    """A choice among hundreds of options, whose names are the same in every language."""

    def word(self, option: str) -> str:
        return option

    def wrong(self, text: str) -> Reason | None:
        """Reject a text that is not an option; suggest a similar option, or the default if no option is similar."""
        if text in self.options:
            return None
        near = [*get_close_matches(text[:_LONGEST], self.options, n=1, cutoff=0.7), self.default]
        message = N_("{name}={text} in the link is invalid: it must be one of the options, such as {nearest}.")
        return message, {"nearest": near[0]}


MODEL_TYPE = _Names("model_type", N_("Model type"), types(), default="llama", label_visibility="collapsed")


class _Classes(_Names):
    """A choice among the classes of all model types."""

    def wrong_in(self, link: Mapping[str, str]) -> Reason | None:
        """Reject a class that does not belong to the model type in the link."""
        text, linked_type = link[self.name], link.get(MODEL_TYPE.name, "")
        kind = linked_type if linked_type in types() else MODEL_TYPE.default
        if text in types()[kind]:
            return None
        near = get_close_matches(text[:_LONGEST], types()[kind], n=1, cutoff=0.0)
        message = N_("{name}={text} in the link is invalid: it must be a class of {kind}, such as {nearest}.")
        return message, {"kind": kind, "nearest": near[0]}


MODEL_CLASS = _Classes(
    "model_class",
    N_("Class"),
    sorted({cls for classes in types().values() for cls in classes}),
    default=types()[MODEL_TYPE.default][0],
    label_visibility="collapsed",
)
# These parts of the link have no visible control.
SIZES = Text("sizes", N_("Sizes"), "", 1_500, check=partial(_check, read_sizes))
FIELDS = Text("fields", N_("Fields of a config.json"), "", 4_000, check=partial(_check, read_fields))


class TypeSelection(NamedTuple):
    """A class of a model type, with its given config fields and its discovered formulas.

    ``discovery`` is None if the formulas are not yet available.
    """

    model_type: str
    cls: str
    fields: dict[str, Any]
    discovery: Discovered | None


def classes_of(model_type: str) -> list[str]:
    """Return the classes of a model type, beginning with the classes whose formulas are shipped with bertcalc."""
    shipped_pairs = set(shipped_classes())
    return sorted(types()[model_type], key=lambda cls: (model_type, cls) not in shipped_pairs)


def selected() -> TypeSelection:
    """Return the model that the reader has selected in this session."""
    kind = MODEL_TYPE.value()
    cls = MODEL_CLASS.value(classes_of(kind))
    return selection_of(kind, cls, _given(kind))


def selection_of(model_type: str, cls: str, fields: dict[str, Any]) -> TypeSelection:
    """Return a selection with these values, and with the discovered formulas if they are already available."""
    return TypeSelection(model_type, cls, fields, known(request_of(model_type, cls, fields)))


def request_of(model_type: str, cls: str, fields: Mapping[str, Any]) -> DiscoveryRequest:
    """Return the request that asks for the formulas of a class with the fields of a config.json."""
    return DiscoveryRequest({**fields, "model_type": model_type}, cls, printed=True)


def ref_of(selection: TypeSelection, sizes: SizeHistory | None) -> ModelRef:
    """Return the reference to the model for links to a comparison."""
    changes = sizes.present if sizes else {}
    return ModelRef.of_class(selection.model_type, selection.cls, changes, json_of(selection.fields))


def choose(
    model_type: str, cls: str | None, fields: Mapping[str, Any], sizes: Mapping[str, int] = MappingProxyType({})
) -> None:
    """Select a model and its sizes; the selection takes effect in the next run.

    If ``cls`` is None, the first class of the model type is selected.
    """
    text = json_of(fields)
    wanted = {MODEL_TYPE.name: model_type, MODEL_CLASS.name: cls or classes_of(model_type)[0]}
    # The next run sets the controls, because Streamlit cannot set a control that is already drawn.
    st.session_state["repair"] = st.session_state.get("repair", {}) | wanted
    _hold(model_type, text, dict(fields))
    st.session_state["any carried"] = dict(sizes)
    st.session_state.pop("any lost", None)
    st.session_state.pop("any steps", None)


def set_derived(field: str, value: int) -> None:
    """Set a derived field explicitly, which turns it into a size; the other sizes keep their values."""
    selection = selected()
    sizes = size_steps(selection)
    choose(selection.model_type, selection.cls, put(selection.fields, field, value), sizes.present if sizes else {})


def _given(kind: str) -> dict[str, Any]:
    """Return the given config.json fields of a model type; {} if the session's fields belong to another type.

    The first run, and each run in which the link determines the model (see ``_is_linked``), read the fields from the
    link. A new session reads fields that are too long for the link from the browser's storage.
    """
    linked = st.query_params.get(FIELDS.name, "")
    stored: tuple[str, str, dict[str, Any]] | None = st.session_state.get("any given")
    if stored is None or (_is_linked() and stored[1] != linked):
        text = linked or ("" if stored or address.went_back() else _kept_fields(kind))
        try:
            stored = _hold(kind, text, read_fields(text) if text else {})
        except InputError:  # Back has led to a link that was refused before
            stored = _hold(kind, "", {})
    return stored[2] if stored[0] == kind else {}


def _hold(kind: str, linked: str, fields: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Store the given fields in the session, and in the browser if they are too long for the link.

    ``linked`` is the JSON text of the fields. Return the tuple (model type, text, fields) that is stored.
    """
    st.session_state["any given"] = stored = kind, linked, fields
    text = json_of(fields)
    is_long = len(text) > FIELDS.longest
    kept.put(_KEPT, {"type": kind, "fields": text} if is_long else None)
    if is_long and kept.get(_KEPT) is None:
        kept.put(_KEPT, {"type": kind})
    return stored


def _kept_fields(kind: str) -> str:
    """Return the fields of a model type from the browser's storage, as JSON.

    Return "" if there are none, or if they were too long for the storage. In the second case, record the loss under
    "any lost" in the session state.
    """
    match kept.get(_KEPT):
        case {"type": str(kept_kind), "fields": str(fields)} if kept_kind == kind:
            return fields
        case {"type": str(kept_kind)} if kept_kind == kind:
            st.session_state["any lost"] = kind
    return ""


def size_steps(selection: TypeSelection) -> SizeHistory | None:
    """Return the history of the session's sizes, or None if the model has no complete formula."""
    if selection.discovery is None or selection.discovery.unexplained:
        return None
    stored: tuple[object, SizeHistory] | None = st.session_state.get("any steps")
    linked = st.query_params.get(SIZES.name, "")
    key = selection.model_type, selection.cls, json_of(selection.fields)
    # The link is read only in the first run, when a link opens this page from another page, and after Back.
    must_read = st.session_state.get("any sizes") != linked and (_is_linked() or "any sizes" not in st.session_state)
    if stored is None or stored[0] != key or must_read:
        carried = st.session_state.get("any carried", {})
        sizes, wrong = (
            _sizes(selection.discovery, linked)
            if must_read
            else ({} if refused(selection.discovery, carried) else carried, None)
        )
        st.session_state["any wrong"] = wrong
        steps = SizeHistory(selection.discovery, sizes)
        if stored is None and not (carried or wrong):
            match kept.get(_KEPT_STEPS):
                case {"of": digest, "steps": written} if digest == _digest(selection):
                    steps.restore(written, is_linked=bool(linked) or _is_linked())
        stored = key, steps
        st.session_state["any steps"] = stored
    # This is the last step because Streamlit may stop the run at each access to session_state.
    st.session_state.pop("any carried", None)
    st.session_state["any sizes"] = linked
    return stored[1]


def _digest(selection: TypeSelection) -> str:
    return sha256(f"{selection.model_type} {selection.cls} {json_of(selection.fields)}".encode()).hexdigest()


def _is_linked() -> bool:
    """Whether the link, and not the session, determines the model of this run."""
    return address.went_back() or (address.is_opened() and MODEL_TYPE.name in st.query_params)


def _sizes(discovery: Discovered, linked: str) -> tuple[dict[str, int], Problem | None]:
    try:
        sizes = read_sizes(linked)
    except InputError as error:
        return {}, error.problem
    wrong = refused(discovery, sizes)
    return ({}, wrong) if wrong else (sizes, None)


def show_wrong_in_link() -> None:
    """Show messages if the sizes in the link were ignored, or if a server restart has lost the config.json."""
    if st.session_state.get("any lost") == MODEL_TYPE.value():
        st.warning(
            _(
                "The server has restarted and no longer has the config.json: this page shows the default "
                "configuration of its type. Press Find its formula again."
            )
        )
    discovery = selected().discovery
    if discovery and discovery.unexplained and st.query_params.get(SIZES.name):
        st.text(
            _("The link sets other sizes, but this model has no formula for them, so the page shows the given sizes.")
        )
    problem: Problem | None = st.session_state.get("any wrong")
    stored: tuple[object, SizeHistory] | None = st.session_state.get("any steps")
    if problem and stored and not stored[1].can_undo:
        message = _("The link describes an invalid model: {problem} Showing {shown} instead.")
        st.text(filled(message, problem=sentence(problem, str), shown=_("the given sizes")))


def write_link(selection: TypeSelection, sizes: SizeHistory | None) -> None:
    """Pass the fields and sizes to the end of the run, which writes them into the link with the page's choices."""
    drawn = st.session_state["drawn choices"]
    drawn[FIELDS.name] = None if too_long(selection) else json_of(selection.fields) or None
    text = st.query_params.get(SIZES.name) if sizes is None else write_sizes(sizes.present)
    drawn[SIZES.name] = text or None
    if sizes is not None:
        st.session_state["any sizes"] = text
        kept.put(_KEPT_STEPS, {"of": _digest(selection), "steps": sizes.written()})


def too_long(selection: TypeSelection) -> bool:
    """Whether the given fields are too long for the link."""
    return len(json_of(selection.fields)) > FIELDS.longest


def state() -> str:
    """Return the class and its changed sizes, at most three, for the title of the browser's tab."""
    selection = selected()
    sizes = size_steps(selection)
    changed = [f"{field} = {value:,}" for field, value in sizes.present.items()] if sizes else []
    return ", ".join([selection.cls, *changed[:3], *("…" for _more in changed[3:4])])
