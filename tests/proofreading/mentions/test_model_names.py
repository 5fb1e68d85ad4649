"""The models that a text names."""

import pytest

from bertcalc.families.presets import PRESETS
from bertcalc.proofreading.mentions.model_names import (
    first_named,
    is_model_name,
    mentions_in,
    mentions_of_classes,
    models_named,
    without_models,
    without_sizes,
)


def test_sizes_in_names_are_no_numbers() -> None:
    assert without_sizes("Llama 2 7B and GPT-2 have 7B") == "Llama x xB and GPT-2 have 7B"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_known_by_its_name(preset: str) -> None:
    assert is_model_name(preset)
    assert PRESETS[first_named(f"the {preset} model")].config == PRESETS[preset].config


@pytest.mark.parametrize(
    "text", ["Qwen2.5-7B", "Qwen3-0.6B", "Gemma 2 27B", "Phi-3", "OPT-175B", "ChatGLM-6B", "T5-base", "Falcon-40B"]
)
def test_other_models_are_named_but_no_presets(text: str) -> None:
    assert [mention.preset for mention in mentions_in(f"We use {text} here.")] == [""]


@pytest.mark.parametrize("text", ["Albert Einstein", "robertson", "the gpt-researcher tool", "bertrand"])
def test_words_that_only_begin_like_names_name_no_preset(text: str) -> None:
    assert "bert-base-uncased" not in models_named(text)


def test_another_size_of_a_named_model_is_a_mention() -> None:
    text = "XLM-R base has 12 layers. The large version has 24."
    assert [mention.preset for mention in mentions_in(text)] == ["xlm-roberta-base", "xlm-roberta-large"]


def test_a_class_names_the_most_named_model_of_its_family() -> None:
    text = "bert-large-uncased: BertForMaskedLM ties its decoder. In bert-large-uncased it has 24 layers."
    assert {mention.preset for mention in mentions_of_classes(text)} == {"bert-large-uncased"}


def test_names_are_taken_out_of_a_label() -> None:
    assert without_models("the attention of BERT-base").split() == ["the", "attention", "of"]
