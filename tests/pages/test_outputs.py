"""The In and out page: it agrees with the core, and impossible inputs are explained beside their controls.

Its tables are the inputs, the outputs, and other possible inputs.
"""

import pytest

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.forward.outputs import Call
from tests.oracle import Case, real_outputs
from tests.pages.apptest import button, captions, column, open_app, showing, tables, without_marks

EVERYTHING = {
    "output_hidden_states": "true",
    "output_attentions": "true",
    "is_decoder": "true",
    "add_cross_attention": "true",
    "encoder_sequence_length": "40",
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_class_shows_the_outputs_of_the_real_one(architecture: str) -> None:
    app = open_app("outputs.py", architecture=architecture, num_hidden_layers="2", batch_size="2", **EVERYTHING)
    config = BertConfig(is_decoder=True, add_cross_attention=True, num_hidden_layers=2)
    call = Call(2, 128, 40, 2, output_hidden_states=True, output_attentions=True)
    real = real_outputs(Case(config, architecture), call)
    assert column(app, "Name", 1) == [output.name for output in real]
    assert column(app, "Elements", 1) == [
        f"{sum(product(shape) for shape, _dtype in output.tensors):,}" for output in real
    ]
    assert not app.error


def product(shape: tuple[int, ...]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count


def test_shapes_stand_in_letters_and_in_numbers() -> None:
    app = open_app("outputs.py", **EVERYTHING)
    shapes = dict(zip(column(app, "Name", 1), column(app, "Shape", 1), strict=True))
    numbers = dict(zip(column(app, "Name", 1), column(app, "In numbers", 1), strict=True))
    assert shapes["last_hidden_state"] == "B × S × H"
    assert shapes["hidden_states"] == "(L + 1) × [B × S × H]"
    assert shapes["attentions"] == "L × [B × A × S × S]"
    assert shapes["cross_attentions"] == "L × [B × A × S × X]"
    assert shapes["past_key_values"] == "2L × [B × A × S × H/A] + 2L × [B × A × X × H/A]"
    assert numbers["past_key_values"] == "24 × [1 × 12 × 128 × 64] + 24 × [1 × 12 × 40 × 64]"
    assert column(app, "Name") == ["input_ids", "encoder_hidden_states"]
    assert column(app, "Shape") == ["B × S", "B × X × H"]
    assert "past_key_values" in column(app, "Name", 2)


def test_an_input_that_is_not_given_has_its_letters_all_the_same() -> None:
    app = open_app("outputs.py")
    shapes = dict(zip(column(app, "Name", 2), column(app, "Shape", 2), strict=True))
    numbers = dict(zip(column(app, "Name", 2), column(app, "In numbers", 2), strict=True))
    assert (shapes["encoder_hidden_states"], numbers["encoder_hidden_states"]) == ("B × X × H", "")
    assert numbers["inputs_embeds"] == "1 × 128 × 768"


def test_a_tuple_has_places() -> None:
    app = open_app("outputs.py", return_dict="false", labels="true", architecture="BertForPreTraining")
    assert column(app, "Index", 1) == ["[0]", "[1]", "[2]"]
    assert column(app, "Name", 1) == ["loss", "prediction_logits", "seq_relationship_logits"]
    assert "Index" not in tables(open_app("outputs.py"))[1]


def test_the_total_is_in_bytes() -> None:
    app = open_app("outputs.py", architecture="BertForNextSentencePrediction", batch_size="10")
    assert without_marks(app.markdown[2].value) == "**Outputs**: 1 tensors, 80 B"


def test_an_impossible_sequence_is_explained_and_the_last_stays() -> None:
    app = open_app("outputs.py", sequence_length="64")
    app.number_input(key="sequence_length").set_value(513).run()
    assert "Sequence length 513 exceeds max_position_embeddings 512" in app.error[0].value
    assert column(app, "In numbers") == ["1 × 64"]


def test_an_impossible_label_is_explained_and_the_nearest_offered() -> None:
    app = open_app("outputs.py", architecture="BertForTokenClassification", num_labels="5", labels="true", label="5")
    assert app.error[0].value.startswith("Label 5 is invalid: it must be from 0 to 4")
    button(app, "Label = 4").click().run()
    assert not app.error
    assert app.number_input(key="label").value == 4


def test_an_encoder_without_cross_attention_is_explained() -> None:
    app = open_app("outputs.py", is_decoder="true", encoder_sequence_length="9")
    assert "does not accept encoder_hidden_states" in app.error[0].value
    assert column(app, "Name", 1) == ["last_hidden_state", "pooler_output", "past_key_values"]
    button(app, "add_cross_attention = True").click().run()
    assert not app.error
    assert column(app, "Name") == ["input_ids", "encoder_hidden_states"]


def test_question_answering_needs_two_labels() -> None:
    app = open_app("outputs.py", architecture="BertForQuestionAnswering", num_labels="3")
    assert "needs num_labels 2" in app.error[0].value
    button(app, "num_labels = 2").click().run()
    assert not app.error


def test_what_has_no_effect_is_said() -> None:
    app = open_app("outputs.py", use_cache="true")
    assert "use_cache has no effect without is_decoder" in captions(app)
    showing(app.checkbox, "is_decoder of the call").check().run()
    assert "no effect" not in captions(app)
    assert "past_key_values" in column(app, "Name", 1)
    app.selectbox(key="use_cache").select("false").run()
    assert "past_key_values" not in column(app, "Name", 1)


def test_the_switches_are_in_step_with_the_sidebar() -> None:
    app = open_app("outputs.py", is_decoder="true")
    assert showing(app.checkbox, "is_decoder of the call").value
    showing(app.checkbox, "is_decoder").uncheck().run()
    assert not showing(app.checkbox, "is_decoder of the call").value
    showing(app.checkbox, "add_cross_attention of the call").check().run()
    assert "needs a decoder" in app.error[0].value
    assert showing(app.checkbox, "add_cross_attention").value
    assert showing(app.checkbox, "add_cross_attention of the call").value
    button(app, "is_decoder = True").click().run()
    assert not app.error
    assert showing(app.checkbox, "is_decoder of the call").value


def test_relative_positions_show_transformers_4() -> None:
    app = open_app("outputs.py", position_embedding_type="relative_key", output_attentions="true")
    assert "This shows transformers 4" in captions(app)
    assert "head_mask" in column(app, "Name", 2)
    assert "cross_attentions" not in column(app, "Name", 1)
    assert "transformers 4" not in captions(open_app("outputs.py"))
    chinese = captions(open_app("outputs.py", position_embedding_type="relative_key", lang="zh"))
    assert "transformers 4" in chinese
    assert "This is" not in chinese


def test_what_was_chosen_is_kept_on_a_page_switch() -> None:
    app = open_app("outputs.py", **EVERYTHING, return_dict="false", use_cache="false", batch_size="3")
    before = column(app, "In numbers", 1)
    app.switch_page("parameters.py").run()
    app.switch_page("outputs.py").run()
    assert column(app, "In numbers", 1) == before
    assert not app.checkbox(key="return_dict").value


def test_every_sentence_is_translated() -> None:
    app = open_app("outputs.py", lang="zh", **EVERYTHING)
    meanings = captions(app)
    assert "Keys and values" not in meanings
    assert "past_key_values" in meanings
    assert "What" not in "".join(str(text.value) for text in app.markdown)
