"""The panel's data. No message of a browser breaks the panel."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from bertcalc.controls.chosen_model import ChosenModel
from bertcalc.controls.model_history import ModelHistory
from bertcalc.controls.stops import SLIDERS
from pages.ui.shell import panel
from tests.pages.apptest import data_of, move, open_app


def data(app: AppTest) -> dict[str, Any]:
    """The data that the panel sends to the browser."""
    [component] = [one for one in app.get("bidi_component") if one.proto.component_name == "bertcalc_panel"]
    return data_of(component)


def field(app: AppTest, name: str) -> dict[str, Any]:
    return next(one for one in data(app)["fields"] if one["name"] == name)


def take(track: ModelHistory, *events: object, said: object = None, last: int = -1) -> dict[str, Any]:
    """Let the server handle a browser's events, and return its session state."""
    sent = list(events) if said is None else said
    state = {"track": track, "panel": {"events": sent}, "last event": last}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        panel._take_events(panel._take)
    return state


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.fixed_dictionaries(
    {"do": st.sampled_from(["move", "type", "repair", "lock", "undo", "redo", "reset"])},
    optional={
        "field": st.sampled_from([*SLIDERS, "hidden_act", "preset"]) | JSON,
        "value": st.integers(-2, 3000) | JSON,
        "text": st.integers(0, 3000).map(str) | st.text(max_size=60) | JSON,
        "repair": st.integers(-2, 4) | JSON,
        "name": st.sampled_from(["heads", "intermediate"]) | JSON,
        "closed": st.booleans() | JSON,
        "number": st.integers() | JSON,
    },
)


@given(st.lists(EVENTS | JSON, max_size=8), JSON)
def test_whatever_a_browser_sends_there_is_a_model(events: list[object], other: object) -> None:
    track = ModelHistory(ChosenModel())
    for sent in (*([event] for event in events), events, other):
        take(track, said=sent if sent is not None else [])
        track.present.changed({})  # checks the configuration again
        track.problems()


def test_all_sliders_are_there_and_a_lecture_has_those_of_its_screen() -> None:
    app = open_app()
    assert [one["name"] for one in data(app)["fields"]] == list(SLIDERS)
    assert data(app)["lecture"] is False
    app = open_app("lecture.py", screen="all-layers")
    assert [one["name"] for one in data(app)["fields"]] == ["num_hidden_layers"]
    assert data(app)["lecture"] is True


def test_what_is_wrong_stands_at_its_control_also_where_a_screen_does_not_show_it() -> None:
    app = open_app("lecture.py", screen="all-layers")
    move(app, num_attention_heads=13)
    problem = field(app, "num_attention_heads")["problem"]
    assert problem["text"] == "hidden_size 768 cannot be split into 13 equal heads: use num_attention_heads 12."
    assert problem["repairs"] == ["A = 12", "A = 16", "H = 767, A = 13"]
    assert field(app, "num_attention_heads")["typed"] == "13"
    event = {"do": "repair", "field": "num_attention_heads", "repair": 2, "number": 1}
    take(app.session_state["track"], event)
    app.run()
    assert [one["name"] for one in data(app)["fields"]] == ["num_hidden_layers"]
    assert app.session_state["track"].present.config.hidden_size == 767


def test_the_words_of_the_locks_follow_the_model() -> None:
    app = open_app(hidden_size="1024")
    assert field(app, "hidden_size")["lock"]["label"] == "A follows H: 64 per head"
    assert field(app, "intermediate_size")["lock"]["label"] == "I is fixed: currently 3 H"
    app = open_app(lock_heads="false", lock_intermediate="true")
    assert field(app, "hidden_size")["lock"]["label"] == "A is fixed: H is a multiple of 12"
    assert field(app, "intermediate_size")["lock"]["label"] == "I follows H: 4 H"


@pytest.mark.parametrize(("positions", "said"), [("absolute", True), ("relative_key", False)])
def test_that_heads_change_nothing_is_said_where_it_is_so(positions: str, said: bool) -> None:
    note = field(open_app(position_embedding_type=positions), "num_attention_heads")["note"]
    assert note == ("The number of heads does not change the count." if said else None)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *((" 30 522 ", 30522), ("1,024", 1024), ("１０２４", 1024), ("1_000", 1000)),
        *(("-5", -5), ("12.5", "12.5"), ("", "")),
        *(("1e5", 100_000), ("1e9", 10**9), ("30k", 30_000), ("3万", 30_000), ("1,5", "1,5"), ("1e-1", "1e-1")),
    ],
)
def test_what_is_typed_is_read_as_people_write_it(text: str, meant: object) -> None:
    assert panel.whole_number(text) == meant


def test_an_event_that_comes_again_counts_once() -> None:
    track = ModelHistory(ChosenModel())
    first, second = ({"do": "move", "field": "num_hidden_layers", "value": count} for count in (13, 14))
    state = take(track, {**first, "number": 7}, {**second, "number": 8}, last=6)
    assert (state["last event"], len(track.steps)) == (8, 3)
    state = take(track, {**first, "number": 7}, {**second, "number": 8}, {"do": "undo", "number": 9}, last=8)
    assert (state["last event"], track.present.config.num_hidden_layers) == (9, 13)


@pytest.mark.parametrize(
    ("preset", "shared"), [("albert-base-v2", True), ("bert-base-uncased", False), ("gpt2", False)]
)
def test_layers_that_share_their_weights_are_said_to(preset: str, shared: bool) -> None:
    note = field(open_app(preset=preset), "num_hidden_layers")["note"]
    assert note == (
        "The layers share their weights, so the number of layers does not change the count." if shared else None
    )


@pytest.mark.parametrize(
    ("language", "title", "touch"),
    [("en", "Undo one step (Ctrl+Z)", "Undo one step"), ("zh", "撤销一步（Ctrl+Z）", "撤销一步")],
)
def test_the_title_of_an_action_names_its_key_but_not_on_a_touch_screen(language: str, title: str, touch: str) -> None:
    undo = data(open_app(lang=language))["actions"][0]
    assert (undo["title"], undo["touch"]) == (title, touch)
