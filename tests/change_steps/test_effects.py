"""The figures before and after each step."""

from collections.abc import Sequence

import pytest
import torch

import bertcalc
from bertcalc import (
    IA3,
    BitFit,
    BitsAndBytesConfig,
    Gguf,
    Lora,
    PromptTuning,
    PruneHeads,
    ResizeVocabulary,
    TorchQuantizeDynamic,
)
from bertcalc.change_steps.effects import StepEffect, changed_models, effect
from bertcalc.change_steps.step_texts import ChangeStep, read_steps
from bertcalc.memory.peak import changes_of, peak
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.storage.adapter_file import adapter_file_bytes
from bertcalc.storage.quantized_model import PackWeights

BATCH, PLAN = Batch(2, 64), Plan()
NF4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")


def effects(model: Model, steps: Sequence[ChangeStep]) -> list[StepEffect]:
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
    assert before.file_bytes
    assert smaller.file_bytes
    assert adapted.file_bytes
    assert abs(before.file_bytes - smaller.file_bytes - 4 * (30_522 - 20_000) * 768) < 100  # the header's offsets
    assert adapted.file_bytes - smaller.file_bytes == adapter_file_bytes(adapted.changed.model)
    assert adapted.memory_bytes == 4 * adapted.parameters
    changed = bert.adapted(vocabulary).adapted(lora)  # type: ignore[arg-type]  # both are changes
    assert adapted.flops == bertcalc.forward_flops(changed, *BATCH.shape)
    assert adapted.peak == bertcalc.training_peak_bytes(changed, *BATCH.shape, keep_outputs=False)


def test_an_adapter_on_quantized_weights_stays_in_float32() -> None:
    bert = bertcalc.load("bert-base-uncased")
    _before, quantized, adapted = effects(bert, [NF4, Lora(r=8)])
    assert adapted.memory_bytes - quantized.memory_bytes == 4 * 294_912
    assert (quantized.trained, adapted.trained) == (None, 294_912)
    # tests/memory/test_quantized_peaks.py checks this peak.
    packed = bert.changed(changes=(PackWeights(NF4), Lora(r=8)))
    assert adapted.peak == peak(changes_of(packed, PLAN, *BATCH.shape)).live


def test_an_adapter_on_int8_can_need_more_memory_than_on_float32() -> None:
    """int8 layers keep their inputs until the next step: tests/memory/test_quantized_peaks.py checks this."""
    bert = bertcalc.load("bert-base-uncased")
    ways: list[list[ChangeStep]] = [[Lora(r=8)], [BitsAndBytesConfig(load_in_8bit=True), Lora(r=8)]]
    in_float32, of_int8 = (effect(changed_models(bert, steps)[0][-1], Batch(8, 128), PLAN) for steps in ways)
    assert of_int8.memory_bytes < in_float32.memory_bytes / 2
    assert of_int8.peak
    assert in_float32.peak
    assert of_int8.peak > in_float32.peak
    assert of_int8.changed.base
    assert "keep their inputs" in of_int8.changed.base.format.caveat


@pytest.mark.parametrize("preset", ["nomic-embed-text-v1.5", "gte-multilingual-base"])
def test_a_file_that_cannot_be_written_is_unknown_and_the_other_figures_stay(preset: str) -> None:
    before, quantized = effects(bertcalc.load(preset), [BitsAndBytesConfig(load_in_8bit=True)])
    assert quantized.file_bytes is None
    assert any("scalars" in str(problem) for problem in quantized.unknown)
    assert quantized.memory_bytes < before.memory_bytes
    assert quantized.flops == before.flops


@pytest.mark.filterwarnings("ignore")  # PyTorch warns that this moves to torchao
def test_layers_in_dynamic_int8_pass_no_gradient() -> None:
    layer = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(4, 4)), {torch.nn.Linear})
    x = torch.ones(1, 4, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is None
    assert not TorchQuantizeDynamic.takes_adapters


def test_a_model_is_quantized_after_bitfit_and_then_not_trained() -> None:
    bert = bertcalc.load("bert-base-uncased")
    _before, trained, quantized = effects(bert, [BitFit(), Gguf()])
    assert (trained.trained, quantized.trained) == (102_912, None)
    assert quantized.memory_bytes == bert.quantized(Gguf()).memory_bytes
    _before, quantized, trained = effects(bert, [NF4, BitFit()])
    assert (quantized.trained, trained.trained) == (None, 102_912)


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (Lora(), Gguf(), "quantize the model before you add the adapter"),
        (NF4, Gguf(), "exclude each other: remove one of them"),
        (NF4, ResizeVocabulary(20_000), "A different vocabulary must come before bitsandbytes"),
        (Gguf(), Lora(), "Layers in GGUF Q8_0 do not propagate gradients"),
        (Gguf(), BitFit(), "leave BitFit out"),
        (TorchQuantizeDynamic(), PromptTuning(task_type="FEATURE_EXTRACTION"), "leave Prompt tuning out"),
        (Lora(), IA3(), "LoRA and IA3 exclude each other: remove one of them."),
        (Lora(), Lora(), "The change LoRA appears twice: remove one of the two."),
        (PruneHeads(1), PruneHeads(1), "The change Prune heads appears twice: remove one of the two."),
    ],
)
def test_an_impossible_step_is_refused_and_those_before_it_stay(
    first: ChangeStep, second: ChangeStep, sentence: str
) -> None:
    models, problem = changed_models(bertcalc.load("bert-base-uncased"), [first, second])
    assert len(models) == 2
    assert sentence in str(problem)
