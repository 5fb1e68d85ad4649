"""The box that takes any text: each kind is recognised, counted and compared, and faults are reported."""

import json
from urllib.parse import parse_qsl

import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import BertConfig, BertForSequenceClassification, BertForTokenClassification

from bertcalc.reading.examples import EXAMPLES
from tests.adapters import peft_counts
from tests.component_data import sent_to
from tests.pages.apptest import button, metrics, open_app, tables


def paste(text: str, app: AppTest | None = None, **link: str) -> AppTest:
    """Return the page after a text was pasted into the box."""
    app = app or open_app("bring.py", **link)
    return app.text_area(key="pasted_text").set_value(text).run()


def read_as(app: AppTest) -> str:
    [sentence] = [text.value for text in app.markdown if "Read as: " in text.value]
    return sentence


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_each_kind_is_one_click_away(name: str) -> None:
    app = open_app("bring.py").button(key=f"paste {name}").click().run()
    assert not app.exception
    assert not app.error
    assert app.text_area(key="pasted_text").value == EXAMPLES[name]()
    assert read_as(app)


def test_the_print_of_a_real_model_is_counted_and_can_be_used_everywhere() -> None:
    with torch.device("meta"):
        real = BertForTokenClassification(BertConfig(hidden_size=96, intermediate_size=160, num_hidden_layers=3))
    count = f"{sum(tensor.numel() for tensor in real.parameters()):,}"
    app = paste(str(real))
    assert metrics(app) == {"Parameters in the text": count, "Parameters in BertForTokenClassification": count}
    button(app, "Use this model").click().run()
    assert {"hidden_size": "96", "num_hidden_layers": "3"}.items() <= app.query_params.items() or any(
        "96" in value for values in app.query_params.values() for value in values
    )
    assert button(app, "In use on every page").disabled


def formula(app: AppTest) -> str:
    [drawn] = [each for each in app.get("bidi_component") if each.proto.component_name == "total_formula"]
    return f"{sent_to(drawn.proto)}"


def test_a_text_that_describes_a_model_has_its_formula() -> None:
    with torch.device("meta"):
        real = BertForTokenClassification(BertConfig(hidden_size=96, intermediate_size=160, num_labels=7))
    app = paste(str(real))
    assert f"{real.num_parameters():,}" in formula(app)
    assert not any("The formula of" in caption.value for caption in app.caption)
    app = paste(str(real).replace("(classifier)", "(tags)"), app)
    assert formula(app)
    [caption] = [caption.value for caption in app.caption if "The formula of" in caption.value]
    assert caption == "The formula of BertForTokenClassification:"


def test_a_short_text_is_in_the_link_and_there_again_after_a_reload() -> None:
    app = paste("embeddings = V * H\npooler = H * H")
    text = app.query_params["text"]
    reloaded = open_app("bring.py", text=text)
    assert reloaded.text_area(key="pasted_text").value == text
    assert read_as(reloaded) == read_as(app)
    assert "text" not in paste("", app).query_params


def test_a_long_text_is_not_in_the_link_and_that_is_said() -> None:
    app = paste(EXAMPLES["a printed PyTorch model"]())
    assert "text" not in app.query_params
    assert "so it is not in the link: only this tab" in " ".join(caption.value for caption in app.caption)
    app = paste("BERT-base. " * 6000, app)
    assert "so it is not in the link: a reload empties the box" in " ".join(caption.value for caption in app.caption)


def test_a_number_is_read_once_and_a_range_is_shown() -> None:
    app = paste("440,473,133 bytes")
    assert read_as(app) == "**Read as: a number, 440,473,133 bytes.**"
    assert not [caption.value for caption in app.caption if "Read as" in caption.value]
    assert [caption.value for caption in paste("110M", app).caption if "Read as a range: 109,500,000" in caption.value]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "text", ["897,024", "109,483,009", "220 million", "which vocabulary gives 1e8?", "1,610,612,736 B"]
)
def test_every_kind_of_meaning_can_be_shown(text: str, lang: str) -> None:
    app = paste(text, lang=lang)
    assert not app.exception
    assert app.info or app.success or app.markdown


def test_units_are_in_the_language_of_the_page() -> None:
    app = paste("437,928,960 bytes", lang="zh")
    shown = " ".join(text.value for texts in (app.markdown, app.info, app.success, app.caption) for text in texts)
    assert "437,928,960 字节" in shown
    assert "bytes" not in shown
    app = paste(f"{2 * 109_482_240 + 21_976} bytes", app)  # a safetensors file in half precision
    shown = " ".join(text.value for text in app.info)
    assert "safetensors" in shown
    assert "16 bits" not in shown


def test_a_head_of_ones_own_is_named_with_its_parameters() -> None:
    with torch.device("meta"):
        real = BertForTokenClassification(BertConfig(hidden_size=96, intermediate_size=160, num_labels=7))
    app = paste(str(real).replace("BertForTokenClassification", "MyTagger").replace("(classifier)", "(tags)"))
    assert metrics(app)["Parameters in the text"] == f"{real.num_parameters():,}"
    [table] = tables(app)
    rows = [[str(cell) for cell in row] for row in table.to_numpy().tolist()]
    assert rows == [["`tags`", "Linear", "1", f"{7 * (96 + 1):,}"]]


def test_a_wrong_number_of_an_article_is_marked_in_its_place() -> None:
    app = paste(EXAMPLES["an article"]())
    [marked] = [element.proto.body for element in app.get("html") if "<mark" in element.proto.body]
    assert '<mark class="wrong"' in marked
    assert "110,482,240" in marked
    assert metrics(app)["✗ wrong"] == "1"


def test_an_article_can_be_checked_against_the_model_in_the_sidebar() -> None:
    text = "Our model has 109,482,240 parameters in total, and the pooler has 590,592 of them, as we counted by hand."
    app = paste(text, preset="bert-large-uncased")
    assert metrics(app)["✓ right"] == "2"
    app = app.toggle(key="against_sidebar").set_value(True).run()
    assert metrics(app)["✓ right"] == "0"


def test_the_kind_can_be_changed() -> None:
    app = paste("embeddings = V * H\npooler = H * H")
    assert "a hand count" in read_as(app)
    app = app.selectbox(key="read_as").set_value("an article").run()
    assert "an article" in read_as(app)


def test_below_what_is_nothing_stands_no_older_count() -> None:
    app = paste(json.dumps({"model_type": "bert", "hidden_size": 96, "num_attention_heads": 4}))
    assert metrics(app)
    app = paste("{", app)
    assert len(app.error) == 1
    assert not metrics(app)
    app = paste("{", paste("109,489,000"))
    assert len(app.error) == 1
    assert not app.get("page_link")


def test_an_equation_is_checked() -> None:
    app = paste("30522*768 = 23440896")
    assert not app.error
    app = paste("30522*768 = 23440869", app)
    assert [message.value for message in app.error] == ["The calculation gives 23,440,896, not 23,440,869."]


def test_a_count_with_its_own_total_needs_no_corrections() -> None:
    lines = "layer = 4*(768*768+768) + 2*768*3072 + 3072 + 768 + 4*768\nembeddings = 23837184\npooler = 590592\n"
    app = paste(f"{lines}total = 23837184 + 12*7087872 + 590592 = 109482240")
    assert [message.value for message in app.success] == ["The total is right: 109,482,240 parameters."]
    app = paste(f"{lines}total = 23837184 + 12*7087872 = 108891648", app)
    assert not app.success


def test_the_link_of_a_number_leads_to_its_own_page() -> None:
    app = paste("109,089,024")
    assert [link.proto.page for link in app.get("page_link")]


def test_a_text_without_claims_says_what_would_help() -> None:
    text = "Attention and the other parts of a layer have many parameters, of which a third are in the attention: {}."
    app = paste(text.format("as always"))
    assert "Name the model in the text" in app.info[0].value
    app = paste(text.format("as in BERT-base"))
    assert app.info[0].value == "No number in this text was recognized as a claim about bert-base-uncased."
    [metric] = metrics(app).values()  # the model that the text names is still counted
    assert metric == "109,482,240"


def test_a_known_count_is_shown_with_its_difference_from_the_sidebars_model() -> None:
    [table] = tables(paste("109,514,298"))
    assert list(table["Difference from BertModel"]) == ["+32,058 = −590,592 (pooler) +622,650 (head)"]
    [table] = tables(paste("109,514,298", architecture="BertForMaskedLM"))
    assert "Difference from BertForMaskedLM" not in table


def test_what_peft_trains_is_the_first_figure_and_links_to_its_change() -> None:
    with torch.device("meta"):
        base = BertForSequenceClassification(BertConfig())
    trained, whole = peft_counts(base, r=16, target_modules=["query", "value"], task_type="SEQ_CLS")
    app = paste(EXAMPLES["an adapter_config.json"]())
    assert [*metrics(app).items()] == [
        ("Trained by peft", f"{trained:,}"),
        ("With the adapter", f"{whole:,}"),
        ("Without the adapter", f"{whole - trained:,}"),
    ]
    [link] = [link for link in app.get("page_link") if link.proto.label == "Change this adapter →"]
    query = dict(parse_qsl(link.proto.query_string))
    assert query["architecture"] == "BertForSequenceClassification"
    assert f"{trained:,}" in [metric.value for metric in open_app("change.py", **query).metric]


def test_a_hand_count_with_a_classifier_is_compared_with_a_classifier() -> None:
    with torch.device("meta"):
        real = BertForSequenceClassification(BertConfig(num_labels=3))
    total = sum(tensor.numel() for tensor in real.parameters())
    parts = "embeddings 23,837,184\nencoder 85,054,464\npooler 590,592\nclassifier 768 x 3 + 3 = 2,307"
    app = paste(f"{parts}\ntotal {total:,}")
    sentence = f"BertForSequenceClassification has {total:,} parameters."
    [verdict] = [text.value for text in app.markdown if text.value.startswith("5 of 5 lines are right.")]
    assert verdict.endswith(sentence)
    assert "should be" not in str(tables(app))
