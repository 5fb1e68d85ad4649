"""The sidebar: values that make no model, and the alternatives that it offers."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig
from bertcalc.controls.chosen_model import FIELDS
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from tests.pages.apptest import button, move, open_app, present, showing, texts, total


def test_what_makes_no_model_keeps_the_last_one_and_the_link() -> None:
    app = open_app()
    move(app, hidden_size=780)
    good = total(app)
    move(app, hidden_size=785)
    assert total(app) == good
    assert app.query_params["hidden_size"] == "780"
    move(app, hidden_size=845)  # 65 units for each head now
    assert (present(app).hidden_size, present(app).num_attention_heads) == (845, 13)


@pytest.mark.parametrize("value", [0, -5, 10_000_001, 2**53 - 1])
def test_a_size_out_of_range_changes_nothing(value: int) -> None:
    app = open_app()
    move(app, vocab_size=value)
    assert total(app) == "109,482,240"
    assert app.session_state["track"].problems()


def test_a_link_to_something_impossible_shows_the_nearest_model_and_says_so() -> None:
    app = open_app(hidden_size="770", vocab_size="21128")
    [said] = texts(app)
    assert said == (
        "The link describes an invalid model: "
        "hidden_size 770 is not a multiple of num_attention_heads 12: use 768 or 780. "
        "Showing hidden_size = 768 instead."
    )
    assert total(app) == "102,267,648"  # bert-base-chinese: the rest of the link is used
    assert app.query_params == {"vocab_size": "21128"}
    button(app, "Got it").click().run()
    assert not texts(app)


def test_choosing_the_preset_again_leads_back_to_it() -> None:
    app = open_app(num_hidden_layers="24")
    assert showing(app.selectbox, "preset").options[0] == "bert-base-uncased (changed)"
    assert showing(app.selectbox, "preset").value not in PRESETS
    showing(app.selectbox, "preset").select("bert-base-uncased").run()
    assert total(app) == "109,482,240"
    assert showing(app.selectbox, "preset").value == "bert-base-uncased"
    assert showing(app.selectbox, "preset").options == list(PRESETS)
    assert app.query_params == {}


def _undo(app: AppTest) -> None:
    app.session_state["track"].undo()
    app.run()


CHANGES_BY_THE_MODEL: dict[str, tuple[Callable[[AppTest], object], ...]] = {
    "preset": (lambda app: move(app, num_hidden_layers=13),),
    "architecture": (lambda app: showing(app.selectbox, "architecture").select("BertForMaskedLM").run(), _undo),
    "is_decoder": (lambda app: showing(app.checkbox, "is_decoder").uncheck().run(), _undo),
    "is_decoder of the call": (lambda app: showing(app.checkbox, "is_decoder of the call").uncheck().run(), _undo),
}


@pytest.mark.parametrize("control", CHANGES_BY_THE_MODEL)
def test_a_message_of_a_browser_that_has_not_drawn_the_change_leaves_it(control: str) -> None:
    """With each message, a browser sends the values of all controls, including controls that it has not redrawn yet."""
    app = open_app("outputs.py", **({} if control == "preset" else {"is_decoder": "true"}))
    for change in CHANGES_BY_THE_MODEL[control]:
        shown = app._tree.get_widget_states()
        change(app)
    after = app.session_state["track"].present
    app._run(shown)
    assert not app.exception
    assert app.session_state["track"].present == after


def test_an_old_message_leaves_two_changes() -> None:
    app = open_app()
    shown = app._tree.get_widget_states()
    move(app, num_hidden_layers=13)
    _undo(app)
    move(app, num_hidden_layers=14)
    app._run(shown)
    assert present(app).num_hidden_layers == 14


def test_an_option_that_is_gone_is_not_taken() -> None:
    """Back leads to the preset itself. A faster browser still answers with the text "changed"."""
    app = open_app(num_hidden_layers="24")
    gone = showing(app.selectbox, "preset").options[0]
    showing(app.selectbox, "preset").select("bert-base-uncased").run()
    showing(app.selectbox, "preset").options.append(gone)  # the browser still shows this option
    showing(app.selectbox, "preset").set_value(gone).run()
    assert not app.exception
    assert showing(app.selectbox, "preset").value == "bert-base-uncased"
    assert total(app) == "109,482,240"


def test_cross_attention_without_a_decoder_is_explained() -> None:
    app = open_app(is_decoder="true", add_cross_attention="true")
    showing(app.checkbox, "is_decoder").uncheck().run()
    assert "needs a decoder" in app.error[0].value
    assert showing(app.checkbox, "is_decoder").value is False
    button(app, "is_decoder = True").click().run()
    assert not app.error
    assert total(app) == "137,849,088"  # 12 more attentions with LayerNorm, 12 x 2,363,904


def test_folded_fields_are_drawn_only_where_they_hold_something() -> None:
    assert not open_app().checkbox
    app = open_app(tie_word_embeddings="false", architecture="BertForMaskedLM")
    assert showing(app.checkbox, "tie_word_embeddings").value is False
    showing(app.checkbox, "tie_word_embeddings").check().run()
    assert total(app) == "109,514,298"


def test_a_link_is_read_before_the_controls_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, every reader who follows a link would run the script twice."""

    def second_run() -> None:
        raise AssertionError("the script runs again")

    monkeypatch.setattr("streamlit.rerun", second_run)
    app = open_app(
        preset="bert-large-uncased",
        num_hidden_layers="6",
        hidden_dropout_prob="0.2",
        is_decoder="TRUE",
        add_pooling_layer="false",
        hidden_act="relu",
    )
    assert present(app).num_hidden_layers == 6
    assert app.number_input(key="hidden_dropout_prob").value == 0.2
    assert showing(app.checkbox, "is_decoder").value is True
    assert app.checkbox(key="add_pooling_layer").value is False
    assert total(app) == f"{30522 * 1024 + 514 * 1024 + 2048 + 6 * 12_596_224:,}"


def test_defaults_of_a_link_are_frozen() -> None:
    """Links omit values that equal the defaults, so changing a default would change the meaning of old links."""
    assert DEFAULT_PRESET == "bert-base-uncased"
    defaults = PRESETS[DEFAULT_PRESET].config
    assert {field: getattr(defaults, field) for field in FIELDS if defaults.has(field)} == {
        "vocab_size": 30522,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "num_labels": 2,
        "tie_word_embeddings": True,
        "is_decoder": False,
        "add_cross_attention": False,
        "position_embedding_type": "absolute",
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "layer_norm_eps": 1e-12,
    }
    assert defaults == BertConfig()


def test_two_sessions_do_not_share_anything() -> None:
    one, other = open_app(lang="zh", hidden_size="1024", num_attention_heads="16"), open_app()
    assert total(one) != total(other) == "109,482,240"
    one.run()
    other.run()
    assert "参数量" in one.metric[0].label
    assert other.metric[0].label == "Parameters in BertModel"
