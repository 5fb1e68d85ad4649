"""The model of the page, as the link has it: type, class, the given fields of its configuration, and sizes."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.discover import discovery_worker
from bertcalc.discover.comparable import WrittenFound, text_of
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.discover.results.size_steps import Steps, read, refused, write
from bertcalc.discover.results.types import types
from bertcalc.discover.search.config_input import read_fields
from bertcalc.discover.search.config_integers import put
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem
from pages.ui.session import address, kept
from pages.ui.shell.controls import Reason, Select, Text, sentence
from pages.ui.shell.i18n import _, filled

PAGE = "any_model"
# What the browser keeps: the given fields, and the steps of their sizes.
_KEPT, _KEPT_STEPS = "any model", "any steps"


def _check(reader: Callable[[str], object], text: str) -> Reason | None:
    try:
        reader(text)
    except InputError as error:
        return N_("{name} in the link is not possible: {problem}"), {"problem": str(error)}
    return None


_LONGEST = 40  # characters of a name that are compared with the options


class _Names(Select[str]):
    """Options that have the same names in every language, and of which there are hundreds."""

    def word(self, option: str) -> str:
        return option

    def wrong(self, text: str) -> Reason | None:
        """Name only an option that is really near, or the default."""
        if text in self.options:
            return None
        near = [*get_close_matches(text[:_LONGEST], self.options, n=1, cutoff=0.7), self.default]
        message = N_("{name}={text} in the link is not possible: it must be one of the options, such as {nearest}.")
        return message, {"nearest": near[0]}


MODEL_TYPE = _Names("model_type", N_("Model type"), types(), default="llama", label_visibility="collapsed")


class _Classes(_Names):
    """The classes of all types; a link has to name one of its own type."""

    def wrong_in(self, link: Mapping[str, str]) -> Reason | None:
        """Check that the link's type has the class."""
        text, said = link[self.name], link.get(MODEL_TYPE.name, "")
        kind = said if said in types() else MODEL_TYPE.default
        if text in types()[kind]:
            return None
        near = get_close_matches(text[:_LONGEST], types()[kind], n=1, cutoff=0.0)
        message = N_("{name}={text} in the link is not possible: it must be a class of {kind}, such as {nearest}.")
        return message, {"kind": kind, "nearest": near[0]}


MODEL_CLASS = _Classes(
    "model_class",
    N_("Class"),
    sorted({cls for classes in types().values() for cls in classes}),
    default=types()[MODEL_TYPE.default][0],
    label_visibility="collapsed",
)
# Also in the link, but not drawn.
SIZES = Text("sizes", N_("Sizes"), "", 1_500, check=partial(_check, read))
FIELDS = Text("fields", N_("Fields of a config.json"), "", 4_000, check=partial(_check, read_fields))


class Chosen(NamedTuple):
    """A class of a type, the given fields of its configuration, and the discovery, if it is known already."""

    model_type: str
    cls: str
    given: dict[str, Any]
    asked: discovery_worker.Asked | None

    @property
    def found(self) -> Discovered | None:
        return self.asked.found if self.asked else None


def classes_of(model_type: str) -> list[str]:
    """The classes of a type; those known without PyTorch come first."""
    known = set(shipped_classes())
    return sorted(types()[model_type], key=lambda cls: (model_type, cls) not in known)


def chosen() -> Chosen:
    """The model that this session has chosen."""
    kind = MODEL_TYPE.value()
    cls = MODEL_CLASS.value(classes_of(kind))
    return of(kind, cls, _given(kind))


def of(model_type: str, cls: str, given: dict[str, Any]) -> Chosen:
    """A class of a type, with the discovery, if it is known already."""
    asked = discovery_worker.known(model_type, cls, given)
    if asked is None and not given and (found := shipped(model_type, cls)):
        asked = discovery_worker.Asked(found, "")
    return Chosen(model_type, cls, given, asked)


def written(now: Chosen, sizes: Steps | None) -> WrittenFound:
    """The model as the link of a comparison writes it."""
    return WrittenFound(now.model_type, now.cls, tuple(sizes.kept.items()) if sizes else (), text_of(now.given))


def take(
    model_type: str, cls: str | None, given: Mapping[str, Any], sizes: Mapping[str, int] = MappingProxyType({})
) -> None:
    """Choose a model, with its sizes, from the next run on."""
    fields = text_of(given)
    wanted = {MODEL_TYPE.name: model_type, MODEL_CLASS.name: cls or classes_of(model_type)[0]}
    st.session_state["repair"] = st.session_state.get("repair", {}) | wanted  # a drawn widget cannot be set
    _hold(model_type, fields, dict(given))
    st.session_state["any carried"] = dict(sizes)
    st.session_state.pop("any lost", None)
    st.session_state.pop("any steps", None)


def give(field: str, value: int) -> None:
    """Give a derived field a value, which makes it a size like the others; those keep theirs."""
    now = chosen()
    held = steps(now)
    take(now.model_type, now.cls, put(now.given, field, value), held.kept if held else {})


def _given(kind: str) -> dict[str, Any]:
    """The fields of a config.json for this type; read from the link in the first run, and after Back."""
    linked = st.query_params.get(FIELDS.name, "")
    held: tuple[str, str, dict[str, Any]] | None = st.session_state.get("any given")
    if held is None or (_is_linked() and held[1] != linked):
        text = linked or ("" if held or address.went_back() else _kept_fields(kind))
        try:
            held = _hold(kind, text, read_fields(text) if text else {})
        except InputError:  # Back to a link that was refused
            held = _hold(kind, "", {})
    return held[2] if held[0] == kind else {}


def _hold(kind: str, linked: str, given: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Hold the given fields in the session; the browser keeps those that are too long for the link."""
    st.session_state["any given"] = held = kind, linked, given
    text = text_of(given)
    is_long = len(text) > FIELDS.longest
    kept.put(_KEPT, {"type": kind, "fields": text} if is_long else None)
    if is_long and kept.get(_KEPT) is None:
        kept.put(_KEPT, {"type": kind})
    return held


def _kept_fields(kind: str) -> str:
    """The fields for this type that the browser has kept, as JSON; "" if there are none, or too many to keep."""
    match kept.get(_KEPT):
        case {"type": str(kept_kind), "fields": str(fields)} if kept_kind == kind:
            return fields
        case {"type": str(kept_kind)} if kept_kind == kind:
            st.session_state["any lost"] = kind
    return ""


def steps(now: Chosen) -> Steps | None:
    """The sizes of this session; None if no formula is known."""
    if now.found is None or now.found.unexplained:
        return None
    held: tuple[object, Steps] | None = st.session_state.get("any steps")
    linked = st.query_params.get(SIZES.name, "")
    key = now.model_type, now.cls, text_of(now.given)
    # A link is read once: in the first run, when it leads here from another page, and after Back.
    told = st.session_state.get("any sizes") != linked and (_is_linked() or "any sizes" not in st.session_state)
    if held is None or held[0] != key or told:
        carried = st.session_state.get("any carried", {})
        sizes, wrong = _sizes(now.found, linked) if told else ({} if refused(now.found, carried) else carried, None)
        st.session_state["any wrong"] = wrong
        sizes_held = Steps(now.found, sizes)
        if held is None and not (carried or wrong):
            match kept.get(_KEPT_STEPS):
                case {"of": digest, "steps": written} if digest == _digest(now):
                    sizes_held.restore(written, is_linked=bool(linked) or _is_linked())
        held = key, sizes_held
        st.session_state["any steps"] = held
    st.session_state.pop("any carried", None)  # not before: this run may be ended at each use of the session's state
    st.session_state["any sizes"] = linked
    return held[1]


def _digest(now: Chosen) -> str:
    """A short name of a class with its given fields, which may be long."""
    return sha256(f"{now.model_type} {now.cls} {text_of(now.given)}".encode()).hexdigest()


def _is_linked() -> bool:
    """Whether the link says what this run shows."""
    return address.went_back() or (address.is_opened() and MODEL_TYPE.name in st.query_params)


def _sizes(found: Discovered, linked: str) -> tuple[dict[str, int], Problem | None]:
    """The sizes of a link, and what is wrong with them; then there are none."""
    try:
        sizes = read(linked)
    except InputError as error:
        return {}, error.problem
    wrong = refused(found, sizes)
    return ({}, wrong) if wrong else (sizes, None)


def show_wrong_in_link() -> None:
    """Say what was wrong with the sizes of the link, which were left out, and whether a config.json was lost."""
    if st.session_state.get("any lost") == MODEL_TYPE.value():
        st.warning(
            _(
                "The server has restarted and no longer has the config.json: this is the default of its type."
                " Press Find its formula again."
            )
        )
    known = chosen().found
    if known and known.unexplained and st.query_params.get(SIZES.name):
        st.text(_("The link asks for other sizes, but this model has no formula for them: showing those given."))
    found: Problem | None = st.session_state.get("any wrong")
    held: tuple[object, Steps] | None = st.session_state.get("any steps")
    if found and held and not (held[1].past or held[1].attempt):
        message = _("The link asks for a model that is not possible: {problem} Showing {shown} instead.")
        st.text(filled(message, problem=sentence(found, str), shown=_("the sizes that were given")))


def write_link(now: Chosen, sizes: Steps | None) -> None:
    """Have the link name the fields and sizes at the end of the run, like the page's other choices."""
    drawn = st.session_state["drawn choices"]
    drawn[FIELDS.name] = None if too_long(now) else text_of(now.given) or None
    text = st.query_params.get(SIZES.name) if sizes is None else write(sizes.kept)
    drawn[SIZES.name] = text or None
    if sizes is not None:
        st.session_state["any sizes"] = text
        kept.put(_KEPT_STEPS, {"of": _digest(now), "steps": sizes.written()})


def too_long(now: Chosen) -> bool:
    """Whether the given fields are too long for the link."""
    return len(text_of(now.given)) > FIELDS.longest


def state() -> str:
    """The model in short, for the title of the browser's tab."""
    now = chosen()
    held = steps(now)
    changed = [f"{field} = {value:,}" for field, value in held.kept.items()] if held else []
    return ", ".join([now.cls, *changed[:3], *("…" for _more in changed[3:4])])
