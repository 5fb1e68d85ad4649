"""State that the browser keeps for a session and sends to a new session."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from bertcalc.discover.results.shipped import shipped
from pages.ui.session import kept
from pages.ui.shell.any_model import FIELDS
from tests.pages.apptest import component, move, open_app, texts, total
from tests.pages.test_exercises_page import PAGE as EXERCISES
from tests.pages.test_exercises_page import answer, words

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ANSWERS = st.lists(
    st.tuples(
        st.sampled_from(["bert", "gpt2"]) | VALUES,
        st.sampled_from(["easy"]) | VALUES,
        st.integers(0, 3) | VALUES,
        st.sampled_from(["1", "2"]) | VALUES,
        st.sampled_from(["7", "2^20", ""]) | VALUES,
    )
)


def reopened(before: AppTest, page: str = "", **link: str) -> AppTest:
    """Open a session of a restarted server with the state that the browser kept from another session."""
    return opened_with(component(before, "bertcalc_page_end")["kept"], page, **link)


def opened_with(values: Any, page: str = "", **link: str) -> AppTest:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "sent_by", lambda _key: json.dumps({"kept": values}))
        return open_app(page, **link)


def test_answers_are_there_again_with_their_verdicts() -> None:
    app = answer(open_app(EXERCISES, exercise="4"), "2,590")
    verdict = words(app)
    assert "✓ 4" in verdict
    app = reopened(app, EXERCISES, exercise="4")
    assert words(app) == verdict
    assert app.text_input[0].value == "2,590"
    assert "✓ 4" in words(reopened(app, EXERCISES, exercise="4"))  # after a second restart
    assert "✓ 4" in words(reopened(reopened(app), EXERCISES, exercise="4"))  # after opening another page


def test_undo_and_what_was_typed_are_there_again() -> None:
    app = open_app()
    move(app, num_hidden_layers=3)
    move(app, hidden_size=770)
    count = total(app)
    app = reopened(app, num_hidden_layers="3")
    assert app.session_state["track"].attempt == {"hidden_size": 770}
    assert total(app) == count
    app.session_state["track"].undo()
    app.session_state["track"].undo()
    assert total(app.run()) == "109,482,240"


def test_settings_of_another_page_are_there_again() -> None:
    app = open_app("memory.py")
    next(one for one in app.number_input if one.key == "batch_size").set_value(7)
    app.run()
    app.switch_page("structure.py").run()
    app = reopened(app, "structure.py")
    app.switch_page("memory.py").run()
    assert next(one for one in app.number_input if one.key == "batch_size").value == 7


def test_notes_on_the_link_stay_until_somebody_closes_them() -> None:
    app = open_app(hidden_size="770", vocab_size="abc")
    notes = texts(app)
    assert len(notes) == 2
    again = reopened(app, hidden_size="768")
    assert texts(again) == notes
    next(one for one in again.button if one.label == "Got it").click()
    again.run()
    assert texts(again) == []
    assert texts(reopened(again, hidden_size="768")) == []


def test_the_link_stands_before_what_the_browser_keeps() -> None:
    app = opened_with({"controls": {"batch_size": 7}}, "memory.py", batch_size="5")
    assert next(one for one in app.number_input if one.key == "batch_size").value == 5


def test_a_config_that_is_too_long_for_the_link_is_there_again(monkeypatch: pytest.MonkeyPatch) -> None:
    discovered = shipped("gpt2", "GPT2Model")
    assert discovered is not None
    monkeypatch.setattr("pages.ui.shell.any_model.known", lambda _request: discovered)
    long = {"summary_list": list(range(FIELDS.longest // 3))}
    link = {"model_type": "gpt2", "model_class": "GPT2Model"}
    app = opened_with({"any model": {"type": "gpt2", "fields": json.dumps(long)}}, "any_model.py", **link)
    assert any("summary_list" in caption.value for caption in app.caption)
    assert any("too long for the link" in caption.value for caption in app.caption)
    other = reopened(app, "any_model.py", model_type="opt")
    assert not any("summary_list" in caption.value for caption in other.caption)


@pytest.mark.parametrize(("lang", "sentence"), [("en", "no longer has the config.json"), ("zh", "config.json")])
def test_a_config_that_is_too_long_to_keep_is_missed(lang: str, sentence: str) -> None:
    link = {"model_type": "gpt2", "model_class": "GPT2LMHeadModel", "lang": lang}
    app = opened_with({"any model": {"type": "gpt2"}}, "any_model.py", **link)
    assert [sentence in warning.value for warning in app.warning] == [True]
    assert not open_app("any_model.py", **link).warning


def test_a_pasted_config_is_there_again_also_from_another_page() -> None:
    app = open_app("bring.py")
    app.text_area[0].set_value('{"model_type": "bert", "num_hidden_layers": 3}')
    app.run()
    shown = [one.value for one in app.metric] + [one.value for one in app.success] + texts(app)
    app.switch_page("structure.py").run()
    app = reopened(app, "structure.py", num_hidden_layers="5")
    app.switch_page("bring.py").run()
    assert "num_hidden_layers" in str(app.text_area[0].value)
    assert [one.value for one in app.metric] + [one.value for one in app.success] + texts(app) == shown


@pytest.mark.parametrize(("lang", "sentence"), [("en", "has restarted and no longer has"), ("zh", "服务器已重启")])
def test_files_that_were_read_are_missed(lang: str, sentence: str) -> None:
    app = opened_with({"file read": "model.safetensors"}, "bring.py", bring="file", lang=lang)
    [warning] = app.warning
    assert sentence in warning.value
    assert "model.safetensors" in str(warning.value)
    assert not open_app("bring.py", bring="file").warning


@pytest.mark.parametrize("values", [{"controls": {"batch_size": "\ud800"}}, {"answers": [["\ud800"]]}, {"\ud800": 1}])
def test_half_a_character_is_nothing_that_a_browser_keeps(values: dict[str, Any]) -> None:
    assert kept._read(json.dumps({"kept": values})) == {}
    assert not opened_with({"controls": {"number": "\ud800"}}, "explain.py").exception


def test_only_so_much_is_kept() -> None:
    state: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        kept.put("long", "x" * kept.LONGEST)
        kept.put("short", "x")
        assert (kept.get("long"), kept.get("short")) == (None, "x")
        kept.put("short", None)
        assert kept.get("short") is None


def test_a_text_of_the_tab_is_taken_where_the_new_session_has_none() -> None:
    texts = {"a": "long ago", "b": "before", "c": 7}
    sent = {"reloaded": json.dumps({"kept": {"texts": texts}})}
    state: dict[str, Any] = {kept._KEY: {"texts": {"b": "newer"}}, "a": "", "b": "newer"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        kept.take_reloaded(sent)
        for field in ("a", "b", "c"):
            kept.hold_text(field)
        assert (state["a"], state["b"], state.get("c")) == ("long ago", "newer", None)
        assert state[kept._KEY] == {"texts": {"a": "long ago", "b": "newer"}}
        state["a"] = ""  # cleared by the reader
        kept.hold_text("a")
        kept.take_reloaded({**sent, "kept": "{}"})  # after a restart, the browser sends both; this is newer
        kept.hold_text("a")
    assert state["a"] == ""


def test_answers_of_the_tab_are_there_again_unless_the_session_has_some() -> None:
    before = answer(open_app(EXERCISES, exercise="4"), "2,590")
    stored = {"reloaded": json.dumps({"kept": component(before, "bertcalc_page_end")["kept"]})}
    app = reloaded(open_app(EXERCISES, exercise="4"), stored)
    assert words(app) == words(before)
    assert app.text_input[0].value == "2,590"
    assert "✓ 4" in words(reopened(app, EXERCISES, exercise="4"))
    other = reloaded(answer(open_app(EXERCISES, exercise="3"), "7"), stored)
    assert "✗ 3" in words(other)
    assert "✓ 4" not in words(other)


def reloaded(app: AppTest, sent: dict[str, str]) -> AppTest:
    """Let the browser send a new session the values that its tab has kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", dict(app.session_state._state.filtered_state))
        kept.take_reloaded(sent)
    return app.run()


def test_a_text_of_the_tab_becomes_the_text_of_a_field_only() -> None:
    texts = {kept._KEY: "x", "drawn choices": "x"}
    sent = {"reloaded": json.dumps({"kept": {"texts": texts}})}
    state: dict[str, Any] = {"drawn choices": {}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        kept.take_reloaded(sent)
    assert state["drawn choices"] == {}
    assert isinstance(state[kept._KEY], dict)


def test_a_text_that_is_too_long_leaves_the_others() -> None:
    state: dict[str, Any] = {"short": "x", "long": "x" * kept.LONGEST}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        for field in ("short", "long"):
            kept.hold_text(field)
        assert (kept.holds_text("short"), kept.holds_text("long")) == (True, False)


@pytest.mark.parametrize("page", ["", "exercises.py", "any_model.py", "memory.py"])
@settings(max_examples=15)
@given(
    values=st.fixed_dictionaries(
        {},
        optional={
            "answers": ANSWERS | VALUES,
            "steps": VALUES,
            "controls": st.dictionaries(
                st.sampled_from(["batch_size", "level", "seed", "models", "model_type", "present", "step"]), VALUES
            )
            | VALUES,
            "any model": st.fixed_dictionaries({"type": st.just("llama"), "fields": VALUES}) | VALUES,
            "any steps": VALUES,
            "page": VALUES,
            "texts": st.dictionaries(st.sampled_from(["any config", "pasted_text", "x"]), VALUES) | VALUES,
            "link": st.dictionaries(st.sampled_from(["hidden_size", "lang", "x"]), VALUES) | VALUES,
        },
    )
)
def test_whatever_a_browser_sends_the_page_is_shown(page: str, values: dict[str, Any]) -> None:
    app = opened_with(values, page)
    assert app.metric or app.text_input or app.number_input


def test_an_answer_that_is_too_long_to_be_kept_is_not_cut() -> None:
    """A part of it would be a different answer."""
    app = answer(open_app(EXERCISES, exercise="4"), "2590" + "+0" * 120)
    assert app.text_input[0].value
    assert not reopened(app, EXERCISES, exercise="4").text_input[0].value


def test_the_last_answers_are_there_again() -> None:
    written = [["bert", "easy", seed, "1", "7"] for seed in range(101)]
    app = opened_with({"answers": written}, EXERCISES, level="easy")
    seeds = [seed for _family, _level, seed, *_others in app.session_state["answers"]]
    assert seeds == [*range(1, 101)]
