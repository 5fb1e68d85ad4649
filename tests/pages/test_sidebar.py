"""The sidebar: values that make no model, and what is offered instead."""

import pytest

from bertcalc import BertConfig
from bertcalc.presets import DEFAULT_PRESET, PRESETS
from pages.ui.sidebar import FIELDS
from tests.pages.apptest import open_app, total


def test_an_impossible_pair_offers_the_nearest_and_keeps_the_last_good_model() -> None:
    app = open_app()
    app.number_input(key="hidden_size").set_value(780).run()
    good = total(app)
    app.number_input(key="hidden_size").set_value(785).run()
    assert app.error[0].value == ("hidden_size 785 is not a multiple of num_attention_heads 12: 780 or 792 would be.")
    assert total(app) == good
    assert app.warning[0].value.endswith("possible: hidden_size = 780.")
    [remedy] = [button for button in app.button if button.label == "hidden_size = 780"]
    remedy.click().run()
    assert not app.error
    assert not app.warning
    assert app.number_input(key="hidden_size").value == 780


@pytest.mark.parametrize("value", [0, -5, 10_000_001, 2**53 - 1])
def test_a_size_out_of_range_is_named(value: int) -> None:
    app = open_app()
    app.number_input(key="vocab_size").set_value(value).run()
    assert f"vocab_size {value:,} is not possible" in app.error[0].value
    assert total(app) == "109,482,240"


def test_the_first_link_to_something_impossible_shows_the_nearest_model() -> None:
    app = open_app(hidden_size="770", vocab_size="21128")
    assert "hidden_size 770" in app.error[0].value
    assert app.warning[0].value.endswith("possible: hidden_size = 768.")
    assert total(app) == "102,267,648"  # bert-base-chinese: the rest of the link counts


def test_cross_attention_without_a_decoder_is_explained() -> None:
    app = open_app(add_cross_attention="true")
    assert "needs a decoder" in app.error[0].value
    [remedy] = [button for button in app.button if button.label == "is_decoder = True"]
    remedy.click().run()
    assert not app.error
    assert total(app) == "137,849,088"  # 12 more attentions with LayerNorm, 12 x 2,363,904


def test_folded_fields_are_drawn_only_where_they_hold_something() -> None:
    assert not open_app().checkbox
    app = open_app(tie_word_embeddings="false", architecture="BertForMaskedLM")
    assert app.checkbox(key="tie_word_embeddings").value is False
    app.checkbox(key="tie_word_embeddings").check().run()
    assert total(app) == "109,514,298"


def test_a_link_is_read_before_the_controls_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every reader who follows one would run the script twice."""

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
    assert app.slider(key="num_hidden_layers_slider").value == 6
    assert app.number_input(key="hidden_dropout_prob").value == 0.2
    assert app.checkbox(key="is_decoder").value is True
    assert app.checkbox(key="add_pooling_layer").value is False
    assert total(app) == f"{30522 * 1024 + 514 * 1024 + 2048 + 6 * 12_596_224:,}"


def test_defaults_of_a_link_are_frozen() -> None:
    """A link leaves out what equals these values: whoever changes one changes what old links mean."""
    assert DEFAULT_PRESET == "bert-base-uncased"
    defaults = PRESETS[DEFAULT_PRESET].config
    assert {field: getattr(defaults, field) for field in FIELDS} == {
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
