"""The simulated peaks against the real models, followed storage by storage."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, build, inference_peak_bytes, training_peak_bytes
from bertcalc.families import CLASSES, class_of
from bertcalc.forward.outputs import Call
from bertcalc.memory.peak import alive_at_peak, curve, inference_changes, training_changes
from bertcalc.memory.peak import peak as our_peak
from bertcalc.memory.tape import AREAS
from tests.memory.allocator import inference_allocated, training_allocated
from tests.memory.live import inference_moments, on_cpu, peak, tops, training_moments
from tests.oracle import Case, arguments
from tests.strategies import cases


@st.composite
def calls(draw: st.DrawFn) -> tuple[Case, Call]:
    """A model and a batch of input_ids."""
    case = draw(cases(classes=[name for name, family in CLASSES.items() if family.peaks]))
    if case.architecture.endswith("QuestionAnswering"):  # its forward method splits the scores in two
        case = case._replace(config=replace(case.config, num_labels=2))
    length = draw(st.integers(1, min(9, case.config.longest)))
    choices = draw(st.integers(1, 3)) if case.architecture.endswith("MultipleChoice") else 1
    return case, Call(draw(st.integers(1, 3)), length, num_choices=choices)


def device(case: Case, real: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """On the meta device, unless that is not like a real one."""
    return on_cpu(real, given) if case.config.hidden_act == "mish" else (real, given)


@settings(max_examples=20)
@given(calls())
def test_a_forward_pass_holds_what_the_real_one_holds(run: tuple[Case, Call]) -> None:
    case, call = run
    real = case.real()
    real.set_attn_implementation("eager")
    moments = inference_moments(*device(case, real, arguments(case, call)))
    ours = inference_changes(case.ours(), call.batch_size, call.sequence_length, num_choices=call.num_choices)
    assert our_peak(ours).live == peak(moments).live
    assert tops(moment.live for moment in curve(ours)) == tops(moment.live for moment in moments)


@settings(max_examples=20)
@given(calls(), st.booleans())
def test_a_training_step_holds_what_the_real_one_holds(run: tuple[Case, Call], keep_outputs: bool) -> None:
    case, call = run
    if not class_of(case.architecture).targets:
        return
    call = call._replace(labels=True)
    real = case.real()
    real.set_attn_implementation("eager")
    moments = training_moments(*device(case, real, arguments(case, call)), keep_outputs=keep_outputs)
    ours = training_changes(
        case.ours(),
        call.batch_size,
        call.sequence_length,
        keep_outputs=keep_outputs,
        num_choices=call.num_choices,
    )
    assert our_peak(ours).live == peak(moments).live
    assert tops(moment.live for moment in curve(ours)) == tops(moment.live for moment in moments)


@settings(max_examples=10)
@given(calls(), st.booleans())
def test_a_padded_batch(run: tuple[Case, Call], training: bool) -> None:
    """On the CPU: whether there is padding is asked of the numbers."""
    case, call = run
    training = training and bool(class_of(case.architecture).targets)
    case = case._replace(config=replace(case.config, type_vocab_size=2))
    real, given = on_cpu(case.real(), arguments(case, call._replace(labels=training)))
    real.set_attn_implementation("eager")
    given["token_type_ids"] = torch.zeros_like(given["input_ids"])
    given["attention_mask"] = torch.ones_like(given["input_ids"])
    given["attention_mask"][..., -1] = 0
    moments = training_moments(real, given) if training else inference_moments(real, given)
    simulated = training_changes if training else inference_changes
    ours = simulated(case.ours(), call.batch_size, call.sequence_length, num_choices=call.num_choices, padded=True)
    assert our_peak(ours).live == peak(moments).live
    assert tops(moment.live for moment in curve(ours)) == tops(moment.live for moment in moments)


@pytest.mark.parametrize(
    ("architecture", "vocab_size", "keep_outputs"),
    [
        ("BertForMaskedLM", 301, True),
        ("BertForSequenceClassification", 301, False),  # which has its peak in the backward pass
        ("BertForSequenceClassification", 3001, False),  # in the optimizer
        ("RobertaForCausalLM", 3001, False),
    ],
)
def test_the_allocator_of_the_cpu_hands_out_no_more(architecture: str, vocab_size: int, keep_outputs: bool) -> None:
    """No kernel's own memory comes on top of the peak.

    Python numbers do: where a tensor is multiplied by one, that is a tensor of eight bytes on the CPU, whatever the
    device. It is made where no dispatch mode looks. Autograd keeps one in each layer, of the scores' scale.
    """
    layers = 3
    case = Case(
        replace(
            class_config(architecture),
            vocab_size=vocab_size,
            hidden_size=48,
            num_hidden_layers=layers,
            num_attention_heads=4,
            intermediate_size=192,
        ),
        architecture,
    )
    real, given = on_cpu(case.real(), arguments(case, Call(4, 32, labels=True)))
    real.set_attn_implementation("eager")
    allocated = training_allocated(real, given, keep_outputs=keep_outputs)
    beside = allocated - training_peak_bytes(case.ours(), 4, 32, keep_outputs=keep_outputs)
    assert 0 <= beside <= 8 * layers
    real, given = on_cpu(case.real(), arguments(case, Call(4, 32)))
    real.set_attn_implementation("eager")
    assert inference_allocated(real, given) == inference_peak_bytes(case.ours(), 4, 32)


def class_config(architecture: str) -> Config:
    return CLASSES[architecture].config.default()


def test_the_figures_of_the_issue_that_asked_for_them() -> None:
    """Measured on the real models, in the loop that has the loss alone."""
    words = build(BertConfig(), "BertForMaskedLM")
    assert training_peak_bytes(words, 123, 128, keep_outputs=False) == 21_303_645_672
    for vocab_size, largest in ((30522, 90), (119547, 46)):
        model = build(BertConfig(vocab_size=vocab_size), "BertForMaskedLM")
        below, above = (training_peak_bytes(model, batch, 128, keep_outputs=False) for batch in (largest, largest + 1))
        assert below < 16e9 < above
    body = build(BertConfig(), "BertModel")
    assert inference_peak_bytes(body, 2135, 128) == 11_353_833_472
    assert inference_peak_bytes(body, 32, 128) - 4 * body.num_parameters() == 163_618_816


def test_a_language_model_peaks_in_the_loss_and_a_classifier_in_the_backward_pass() -> None:
    config = BertConfig(num_hidden_layers=2)
    words = our_peak(training_changes(build(config, "BertForMaskedLM"), 32, 128))
    assert (words.phase, words.where) == ("backward", "loss")  # of log-softmax
    classes = our_peak(training_changes(build(config, "BertForSequenceClassification"), 32, 128))
    assert (classes.phase, classes.where) == ("backward", "encoder.layer.1.output.dense")
    small = our_peak(training_changes(build(config, "BertForSequenceClassification"), 1, 8))
    assert (small.phase, small.where) == ("optimizer", "bert.embeddings.word_embeddings.weight")


def test_areas_add_up_and_what_is_alive_at_the_peak_is_named() -> None:
    model = build(BertConfig(num_hidden_layers=2, vocab_size=3000), "BertForMaskedLM")
    changes = training_changes(model, 32, 128)
    assert all(sum(moment.areas.values()) == moment.live for moment in curve(changes))
    top = our_peak(changes)
    alive = alive_at_peak(changes)
    for area in AREAS:
        assert sum(change.num_bytes for change in alive if change.area == area) == top.areas[area]
    assert top.areas["weights"] == 4 * model.num_parameters()
    scores = [change.where for change in alive if change.num_bytes == 4 * 32 * 128 * 3000]
    assert scores == ["cls.predictions.decoder", "loss", "loss", "loss"]  # log-softmax, and the gradients of both


@pytest.mark.parametrize("architecture", [name for name, family in CLASSES.items() if not family.peaks])
def test_a_family_whose_peaks_are_not_known_is_refused(architecture: str) -> None:
    model = build(CLASSES[architecture].config.default(), architecture)
    with pytest.raises(NotImplementedError, match=r"The peak is not known for \w+ models yet"):
        inference_peak_bytes(model, 1, 8)


def test_what_is_not_simulated_is_refused() -> None:
    words = build(BertConfig(), "BertForMaskedLM")
    with pytest.raises(NotImplementedError, match="float32 alone so far, not for bfloat16"):
        training_peak_bytes(words, 1, 8, dtype="bfloat16")
    with pytest.raises(NotImplementedError, match="eager attention alone so far, not for fused"):
        inference_peak_bytes(words, 1, 8, attention="fused")
    with pytest.raises(NotImplementedError, match="AdamW alone so far, not for sgd"):
        training_peak_bytes(words, 1, 8, optimizer="sgd")
    with pytest.raises(NotImplementedError, match="relative positions"):
        inference_peak_bytes(build(BertConfig(position_embedding_type="relative_key")), 1, 8)
    with pytest.raises(ValueError, match="BertModel gives no loss"):
        training_peak_bytes(build(BertConfig()), 1, 8)
    with pytest.raises(ValueError, match="BertForMaskedLM gives no loss without labels"):
        training_peak_bytes(words, 1, 8, labels=False)
    with pytest.raises(ValueError, match="needs num_labels to be 2"):
        inference_peak_bytes(build(BertConfig(num_labels=3), "BertForQuestionAnswering"), 1, 8)
