"""The first step offered of each kind: peft accepts it for every class, and it names the right modules."""

from typing import Any

import peft
import pytest

import bertcalc
from bertcalc import InputError
from bertcalc.change_steps.effects import changed_models
from bertcalc.change_steps.first_steps import first_step
from bertcalc.change_steps.step_texts import KINDS, read_steps, written
from bertcalc.families import CLASSES
from bertcalc.model.change import Change
from pages.ui.change.step_words import TITLES
from tests.adapters import KINDS as PEFT
from tests.adapters import Adapter
from tests.changes.resized import small
from tests.examples import sampled

NO_HEADS = ("mpnet", "modernbert", "deberta", "deberta-v2", "eurobert", "nomic_bert", "gte")


@pytest.mark.parametrize("architecture", sampled(list(CLASSES), 8, 3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_first_step_is_possible(kind: str, architecture: str) -> None:
    model = small(architecture, num_key_value_heads=2).model
    step = first_step(kind, model)
    assert type(step) is KINDS[kind]
    assert kind in TITLES
    assert read_steps(written([step])) == (step,)
    models, problem = changed_models(model, [step])
    narrow = kind == "awq" and architecture.startswith("EuroBert")  # AutoAWQ packs 8 rows, and EuroBERT's keys have 12
    assert bool(problem) == (narrow or (kind == "heads" and model.family.name in NO_HEADS))
    if not problem:
        assert models[-1] != models[0]


@pytest.mark.filterwarnings("ignore")  # warnings of peft and transformers
@pytest.mark.parametrize("architecture", sampled(list(CLASSES), 6, 3))
@pytest.mark.parametrize("kind", [kind for kind, cls in KINDS.items() if cls in PEFT])
def test_peft_takes_a_first_step(kind: str, architecture: str) -> None:
    case = small(architecture, num_key_value_heads=2)
    step: Any = first_step(kind, case.model)
    arguments = {name: value for name, value in vars(step).items() if value is not None}
    if "token_dim" in arguments:  # peft finds neither DistilBERT's hidden size nor its other sizes
        config: Any = case.model.config
        arguments |= {"num_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads}
    real = peft.get_peft_model(case.real(), Adapter(type(step), arguments).theirs())
    trained, whole = real.get_nb_trainable_parameters()
    ours = case.model.changed(changes=(step,))
    assert (ours.num_parameters(only_trainable=True), ours.num_parameters()) == (trained, whole)


def test_without_a_default_of_peft_the_same_projections_are_targets() -> None:
    """The targets follow the families with a default in peft.

    LoRA targets queries and values. IA3 targets keys, values and the feed-forward network.
    """
    for preset in ("bert-base-uncased", "roberta-base", "microsoft/deberta-v3-base", "gpt2"):
        model = bertcalc.load(preset)
        for kind, cls in (("lora", bertcalc.Lora), ("ia3", bertcalc.IA3)):
            first: Change = first_step(kind, model)  # type: ignore[assignment]  # both are adapters
            assert model.adapted(first).trainable_parameters == model.adapted(cls()).trainable_parameters
    wanted = {
        "distilbert-base-uncased": ("q_lin", "v_lin"),
        "answerdotai/ModernBERT-base": ("Wqkv",),
        "microsoft/mpnet-base": ("q", "v"),
    }
    for preset, targets in wanted.items():
        assert first_step("lora", bertcalc.load(preset)).target_modules == targets  # type: ignore[union-attr]


def test_lora_follows_the_first_quantization_of_a_classifier() -> None:
    model = bertcalc.load("bert-base-uncased", "BertForSequenceClassification")
    models, problem = changed_models(model, [first_step("bitsandbytes", model), first_step("lora", model)])
    assert not problem
    assert models[-1].model.num_parameters(only_trainable=True) == 294_912 + 1_538
    with pytest.raises(InputError, match="LoRA trains classifier, which is quantized"):
        models[0].after(bertcalc.BitsAndBytesConfig(load_in_4bit=True)).after(first_step("lora", model))


def test_a_model_that_cannot_be_halved() -> None:
    tiny = small("BertModel", num_hidden_layers=1, num_attention_heads=1).model
    _models, problem = changed_models(tiny, [first_step("layers", tiny)])
    assert str(problem) == "All 1 layers would be dropped: keep at least one."
    _models, problem = changed_models(tiny, [first_step("heads", tiny)])
    assert "must be" in str(problem)
