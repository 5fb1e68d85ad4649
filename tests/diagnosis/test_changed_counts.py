"""Counts of changed models equal those of the real peft and transformers, and those that peft printed."""

from dataclasses import replace
from typing import Any

import pytest

import bertcalc
from bertcalc import IA3, LNTuning, Lora, PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.diagnosis.changed_counts import adapter_counts, adapter_lines
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from tests.adapters import Adapter
from tests.oracle import Case

SMALL = replace(PRESETS["bert-base-uncased"].config, vocab_size=500, num_hidden_layers=3)


@pytest.mark.parametrize(
    ("preset", "architecture", "trained", "all_of_it", "change"),
    [  # as peft 0.21 prints them for rank 8: "trainable params" and "all params"
        ("bert-base-uncased", "BertModel", 294_912, 109_777_152, "['query', 'value'])"),
        ("bert-base-uncased", "BertForSequenceClassification", 296_450, 109_780_228, "['query', 'value'], task_type="),
        ("bert-base-uncased", "BertForSequenceClassification", 294_912, 109_778_690, "['query', 'value'])"),
        ("bert-base-uncased", "BertForQuestionAnswering", 296_450, 109_189_636, "['query', 'value'], task_type="),
        ("bert-base-uncased", "BertForMaskedLM", 294_912, 109_809_210, "['query', 'value'])"),
        ("bert-base-uncased", "BertModel", 897_024, 110_379_264, "['dense'])"),
        ("bert-base-uncased", "BertModel", 442_368, 109_924_608, "['query', 'key', 'value'])"),
        ("bert-base-uncased", "BertModel", 1_339_392, 110_821_632, "'all-linear')"),
        ("bert-base-uncased", "BertForSequenceClassification", 1_340_930, 110_824_708, "'all-linear', task_type="),
        ("roberta-base", "RobertaForSequenceClassification", 887_042, 125_534_212, "['query', 'value'], task_type="),
        ("distilbert-base-uncased", "DistilBertForSequenceClassification", 739_586, 67_694_596, "['q_lin', 'v_lin']"),
    ],
)
def test_what_peft_prints_is_known(preset: str, architecture: str, trained: int, all_of_it: int, change: str) -> None:
    model = bertcalc.load(preset, architecture)
    for count, amount in ((trained, "trained"), (all_of_it, "all")):
        meant = [one for one in adapter_counts(model, count) if one.amount == amount]
        words = [str(changed.model.changes[0]) for changed in meant]
        assert any(f"Lora(r=8, target_modules={change}" in text for text in words), words
        assert {one.model.architecture for one in meant} == {architecture}


_KINDS = {Lora, IA3, LNTuning, PromptTuning, PrefixTuning, PromptEncoder}


@pytest.mark.parametrize("architecture", ["BertForSequenceClassification", "BertForTokenClassification", "BertModel"])
def test_every_usual_adapter_is_counted_as_peft_counts_it(architecture: str) -> None:
    """Each line of adapters is checked at a rank to which its two known counts are extrapolated."""
    seen = set[type]()
    for line in adapter_lines(Model(SMALL, architecture)):
        number = 8 if line.step else 1
        changed = line.changed(number)
        change: Any = changed.changes[0]
        if type(change) in _KINDS:
            seen.add(type(change))
            arguments = {
                name: list(value) if isinstance(value, tuple) else value for name, value in vars(change).items()
            }
            given = {name: value for name, value in arguments.items() if value is not None}
            real = Adapter(type(change), given).added(Case(SMALL, architecture).real())
            trained, whole = real.get_nb_trainable_parameters()
            assert line.first + (number - 1) * line.step == (trained if line.amount == "trained" else whole), change
    assert seen == _KINDS


def test_another_vocabulary_and_fewer_layers_are_known() -> None:
    case = Case(PRESETS["bert-base-uncased"].config, "BertModel")
    resized, half, padded = case.real(), case.real(), case.real()
    resized.resize_token_embeddings(20_000, mean_resizing=False)
    padded.resize_token_embeddings(pad_to_multiple_of=64, mean_resizing=False)
    half.encoder.layer = half.encoder.layer[:6]
    for real, words in (
        (resized, "a vocabulary of 20,000 tokens instead of 30,522"),
        (padded, "a vocabulary of 30,528 tokens instead of 30,522"),
        (half, "6 of its 12 layers"),
    ):
        assert words in str(bertcalc.load("bert-base-uncased").explain(f"{real.num_parameters():,}"))


def test_a_changed_model_knows_its_parts_and_what_it_trains() -> None:
    classifier = bertcalc.load("bert-base-uncased", "BertForSequenceClassification")
    lora = classifier.adapted(Lora(r=5, target_modules=["query", "value"], task_type="SEQ_CLS"))
    whole, trained, adapters = 109_669_636, 185_858, 184_320  # printed by peft; without the classifier
    assert "trains with Lora(r=5, " in str(lora.explain(f"{trained:,}"))
    assert str(lora.explain(f"{adapters:,}")).startswith("184,320 is the count of adapters of all 12 layers.")
    assert str(lora.explain(f"{whole:,}")) == "109,669,636 is the count of the whole model."
    assert (lora.num_parameters(), lora.trainable_parameters) == (whole, trained)
