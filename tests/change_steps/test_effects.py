"""The figures before and after each step, and the program that makes the steps with the real libraries."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import bertcalc
from bertcalc import IA3, BitsAndBytesConfig, Gguf, Lora, ResizeVocabulary
from bertcalc.change_steps.effects import StepEffect, changed_models, effect
from bertcalc.change_steps.recipes import RECIPES
from bertcalc.change_steps.step_code import code
from bertcalc.change_steps.step_texts import Step, read_steps
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from bertcalc.model.steps import Batch
from bertcalc.storage.adapter_file import adapter_file_bytes

BATCH, PLAN = Batch(2, 64), Plan()
NF4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")


def effects(model: Model, steps: Sequence[Step]) -> list[StepEffect]:
    models, problem = changed_models(model, steps)
    assert not problem
    return [effect(changed, BATCH, PLAN) for changed in models]


def test_each_step_has_the_figures_of_the_changed_model() -> None:
    bert = bertcalc.load("bert-base-uncased", "BertForSequenceClassification")
    vocabulary, lora = steps = read_steps("vocabulary,new_num_tokens=20000;lora,r=16,task_type=SEQ_CLS")
    before, smaller, adapted = effects(bert, steps)
    assert before.parameters == 109_483_778
    assert before.parameters - smaller.parameters == (30_522 - 20_000) * 768
    assert adapted.parameters - smaller.parameters == adapted.trained == 2 * 294_912 + 1_538
    assert abs(before.file_bytes - smaller.file_bytes - 4 * (30_522 - 20_000) * 768) < 100  # the header's offsets
    assert adapted.file_bytes - smaller.file_bytes == adapter_file_bytes(adapted.changed.model)
    assert adapted.memory_bytes == 4 * adapted.parameters
    changed = bert.adapted(vocabulary).adapted(lora)  # type: ignore[arg-type]  # both are changes
    assert adapted.flops == bertcalc.forward_flops(changed, *BATCH)
    assert adapted.peak == bertcalc.training_peak_bytes(changed, *BATCH, keep_outputs=False)


def test_an_adapter_on_quantized_weights_stays_in_float32() -> None:
    bert = bertcalc.load("bert-base-uncased")
    _before, quantized, adapted = effects(bert, [NF4, Lora(r=8)])
    assert adapted.memory_bytes - quantized.memory_bytes == 4 * 294_912
    assert (quantized.trained, adapted.trained) == (None, 294_912)


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (Lora(), Gguf(), "put the quantization in front of the adapter"),
        (NF4, Gguf(), "A model is quantized once"),
        (NF4, ResizeVocabulary(20_000), "ResizeVocabulary has to come before the quantization"),
        (Gguf(), Lora(), "peft adds no adapters to a model in GGUF"),
        (Lora(), IA3(), "A model has one adapter: leave out Lora or IA3."),
    ],
)
def test_an_impossible_step_is_refused_and_the_steps_before_it_stay(first: Step, second: Step, sentence: str) -> None:
    models, problem = changed_models(bertcalc.load("bert-base-uncased"), [first, second])
    assert len(models) == 2
    assert sentence in str(problem)


RUN = [recipe for recipe in RECIPES if recipe.steps.startswith(("lora", "vocabulary", "layers"))]


@pytest.mark.parametrize("recipe", RUN, ids=lambda recipe: recipe.title)
def test_the_program_makes_the_steps_and_agrees(recipe: object, tmp_path: Path) -> None:
    start = bertcalc.load(recipe.preset or "bert-base-uncased", recipe.architecture or "BertModel")  # type: ignore[attr-defined]
    steps = recipe.steps_for(start)  # type: ignore[attr-defined]
    program = tmp_path / "program.py"
    program.write_text(code(start, read_steps(steps)), encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wrong = program.read_text("utf-8").replace("assert trained == ", "assert trained == 1 + ")
    program.write_text(wrong, encoding="utf-8")
    assert subprocess.run([sys.executable, program], capture_output=True, check=False).returncode != 0
