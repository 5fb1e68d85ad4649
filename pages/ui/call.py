"""The arguments of a forward pass: shared by the pages that show what it returns, and in the link."""

from typing import Any

import streamlit as st

from bertcalc.config import BertConfig
from bertcalc.formula import CALL_LETTERS
from bertcalc.forward.outputs import SIGNATURES, Call, possible, problems, remarks
from bertcalc.forward.steps import BATCH, batch_problems
from pages.ui import model
from pages.ui.batch import choose_batch
from pages.ui.controls import Parameters, assignment, change, choose, show_problem, whole_number
from pages.ui.i18n import translator
from pages.ui.labels import label_of
from pages.ui.sidebar import Choice

FLAGS = ("output_hidden_states", "output_attentions", "return_dict", "labels")
SIZES = ("encoder_sequence_length", "num_choices", "label")
# What the link says, and what it means: none is what the configuration says.
USE_CACHE: dict[str, bool | None] = {"none": None, "true": True, "false": False}
PARAMETERS = Parameters(whole_numbers=SIZES, booleans=FLAGS, choices={"use_cache": tuple(USE_CACHE)})
_DEFAULT = Call()
_WIDTHS = {"encoder_sequence_length": 205, "num_choices": 130, "label": 130}


def choose_call(choice: Choice) -> Call:
    """Draw the controls of the call, as far as the class has them; what they say, or the nearest that runs."""
    _ = translator()
    config, architecture = choice.config, choice.architecture
    signature = SIGNATURES[architecture]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        said: dict[str, Any] = choose_batch(config)._asdict()
        if signature.encoder:
            said["encoder_sequence_length"] = _size("encoder_sequence_length")
        if signature.cache:
            chosen = choose("use_cache", list(USE_CACHE), width=140)
            said["use_cache"] = USE_CACHE[chosen]
        if architecture == "BertForMultipleChoice":
            said["num_choices"] = _size("num_choices")
        for flag in FLAGS:
            if signature.targets or flag != "labels":
                said[flag] = st.checkbox(flag, value=getattr(_DEFAULT, flag), key=flag, bind="query-params")
        if said.get("labels"):
            said["label"] = _size("label")
        for field in ("is_decoder", "add_cross_attention"):
            _switch(field)
    call = Call(**said)
    if found := list(problems(config, architecture, call)):
        with st.container(horizontal=True):
            for problem in found:
                show_problem(problem)
    st.session_state["call"] = call = possible(config, architecture, call)
    for remark in remarks(config, architecture, call):
        st.caption(_(remark.message).format(**remark.values))
    return call


def last_call(config: BertConfig, architecture: str) -> Call:
    """The call that was chosen last, or the nearest that this model can run."""
    call: Call = st.session_state.get("call", _DEFAULT)
    for problem in batch_problems(config, call._asdict()):
        call = call._replace(**problem.remedies[0])
    return possible(config, architecture, call)


def written(call: Call) -> str:
    """The arguments that are no defaults, as a link says them."""
    changed = {field: value for field, value in call._asdict().items() if value != getattr(_DEFAULT, field)}
    sizes = {field: getattr(call, field) for field in BATCH}
    return ", ".join(assignment(field, value) for field, value in (sizes | changed).items())


def _size(field: str) -> int | None:
    label = f"{label_of(field)} ${CALL_LETTERS[field]}$" if field in CALL_LETTERS else label_of(field)
    default: int | None = getattr(_DEFAULT, field)
    return whole_number(label, field, default, width=_WIDTHS[field])


def _switch(field: str) -> None:
    """A second control for a field of the sidebar, in step with it: no key can be drawn twice."""
    key = f"{field} of the call"
    st.session_state[key] = (model.track().kept.values() | model.track().attempt)[field]
    st.checkbox(field, key=key, on_change=_set_field, args=(field, key))


def _set_field(field: str, key: str) -> None:
    change({field: st.session_state[key]})
