"""The arguments of a forward pass, shared by the pages that show its outputs."""

from typing import Any

import streamlit as st

from bertcalc.forward.outputs import Call, possible, problems, remarks
from bertcalc.model.batch import BATCH, batch_problems
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from bertcalc.text import N_
from pages.ui.session import present_model
from pages.ui.session.shown_values import showing
from pages.ui.shell.controls import Number, Select, Switch, assignment, change, show_problem
from pages.ui.shell.i18n import _
from pages.ui.widgets.batch_controls import choose_batch

_DEFAULT = Call()
ENCODER_SEQUENCE_LENGTH = Number[int | None](
    "encoder_sequence_length",
    N_("Encoder sequence length"),
    None,
    letter=CALL_LETTERS["encoder_sequence_length"],
    width=205,
)
NUM_CHOICES = Number("num_choices", N_("Choices"), _DEFAULT.num_choices, letter=CALL_LETTERS["num_choices"], width=130)
LABEL = Number("label", N_("Label"), _DEFAULT.label, width=130)
FLAGS = [
    Switch(flag, flag, getattr(_DEFAULT, flag), draw=st.checkbox)
    for flag in ("output_hidden_states", "output_attentions", "return_dict", "labels")
]
# Maps the options in the link to values; None leaves the choice to the config.
_USE_CACHE: dict[str, bool | None] = {"none": None, "true": True, "false": False}
USE_CACHE = Select("use_cache", "use_cache", _USE_CACHE, {"none": N_("As configured")}, width=140)


def choose_call(model: Model) -> Call:
    """Draw controls for the forward arguments of this class; return the call, or the nearest call the model can run."""
    cls = model.cls
    with st.container(horizontal=True, vertical_alignment="bottom"):
        arguments: dict[str, Any] = choose_batch(model.config).sizes()
        if cls.sees_encoder:
            arguments["encoder_sequence_length"] = ENCODER_SEQUENCE_LENGTH.show()
        if cls.caches:
            arguments["use_cache"] = _USE_CACHE[USE_CACHE.show()]
        if cls.takes_choices:
            arguments["num_choices"] = NUM_CHOICES.show()
        arguments |= {flag.name: flag.show() for flag in FLAGS if cls.targets or flag.name != "labels"}
        if arguments.get("labels"):
            arguments["label"] = LABEL.show()
        for field in ("is_decoder", "add_cross_attention"):
            if model.config.has(field):
                _switch(field)
    call = Call(**arguments)
    if wrong := list(problems(model, call)):
        with st.container(horizontal=True):
            for problem in wrong:
                show_problem(problem)
    st.session_state["call"] = call = possible(model, call)
    for remark in remarks(model, call):
        st.caption(_(remark.message).format(**remark.values))
    return call


def last_call(model: Model) -> Call:
    """The call that was chosen last, or the nearest call that this model can run."""
    call: Call = st.session_state.get("call", _DEFAULT)
    for problem in batch_problems(model.config, call._asdict()):
        call = call._replace(**problem.remedies[0])
    return possible(model, call)


def written(call: Call) -> str:
    """The batch size, the sequence length and all arguments that differ from their defaults: "Batch size = 8, ..."."""
    changed = {field: value for field, value in call._asdict().items() if value != getattr(_DEFAULT, field)}
    sizes = {field: getattr(call, field) for field in BATCH}
    return ", ".join(assignment(field, value) for field, value in (sizes | changed).items())


def _switch(field: str) -> None:
    value = (present_model.track().present.values() | present_model.track().attempt)[field]
    st.checkbox(field, **showing(f"{field} of the call", value, lambda value: change({field: value})))
