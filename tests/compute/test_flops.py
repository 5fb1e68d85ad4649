"""FLOPs equal PyTorch's own counts, module by module, and follow every convention."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import pytest
import torch
import transformers
from hypothesis import example, given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from bertcalc import (
    AlbertConfig,
    BertConfig,
    ConfigError,
    DebertaV2Config,
    GPT2Config,
    ModernBertConfig,
    build,
    forward_flops,
    saved_activation_bytes,
    training_flops,
    training_peak_bytes,
)
from bertcalc.compute.flops import (
    ELEMENT_COSTS,
    PYTORCH,
    Convention,
    as_stated,
    at_masked,
    by_name,
    by_part,
    masked_positions,
    total,
    unknown_training,
)
from bertcalc.families import CLASSES, class_of
from bertcalc.families.presets import PRESETS
from bertcalc.forward.outputs import Call, run
from bertcalc.memory.peak import changes_in
from bertcalc.memory.plan import Plan, Recompute
from bertcalc.memory.saved import saved_activations
from bertcalc.model.batch import Batch
from bertcalc.model.freezing import TRAIN, Freezing, Train
from bertcalc.model.model import Model
from bertcalc.model.trace import Step
from bertcalc.text.problem import InputError
from tests.examples import crossed, examples
from tests.memory.live import on_cpu
from tests.memory.test_saved import freeze, recompute_in
from tests.oracle import Case, arguments, bare, layers_of, numbered, possible
from tests.strategies import passes

CONVENTIONS = st.builds(
    Convention,
    st.sampled_from(["FLOPs", "MACs"]),
    st.sampled_from(["matmul", "all"]),
    st.sampled_from(["all", "masked"]),
    st.sampled_from(["3x", "4x"]),
)

WITHOUT_DROPOUT = GPT2Config(vocab_size=11, n_positions=16, n_embd=6, n_layer=2, n_head=2, resid_pdrop=0.0)

# For such small models, running with data is faster than PyTorch's shape inference on the meta device.
_FEW, _FEW_TOKENS = 5_000_000, 100


def sizes(call: Call) -> dict[str, Any]:
    """The sizes of a call as keyword arguments for the library's functions."""
    names = ("batch_size", "sequence_length", "encoder_sequence_length", "num_choices")
    return {name: getattr(call, name) for name in names}


def steps_of(case: Case, call: Call) -> list[Step]:
    return run(case.model, call)


def counted_flops(real: Any, given: dict[str, Any]) -> tuple[dict[str, dict[Any, int]], int, int]:
    """FlopCounterMode's counts: for a forward pass, by module and in all, and for a forward and a backward pass."""
    with FlopCounterMode(display=False) as counter:
        returned = real(**given)
        modules, forward = counter.get_flop_counts(), counter.get_total_flops()
        outputs = [value for value in returned.values() if isinstance(value, torch.Tensor) and value.requires_grad]
        if outputs:
            torch.autograd.backward([output.sum() for output in outputs])
    return modules, forward, counter.get_total_flops()


def real_flops(
    case: Case, call: Call, *, recompute: bool = False, frozen: Collection[str] = ()
) -> tuple[dict[str, int], int, int]:
    """FlopCounterMode's counts: for each module, for a forward pass, and for a forward and a backward pass."""
    small = case.ours().num_parameters() < _FEW and call.batch_size * call.sequence_length < _FEW_TOKENS
    real, body = case.real("cpu" if small else "meta"), CLASSES[case.architecture].prefix
    given = arguments(case, call)
    for name, parameter in real.named_parameters():
        parameter.requires_grad_(name not in frozen)
    real.set_attn_implementation("eager")
    if recompute:
        real.train()
        real.activation_checkpointing_enable()
    counts, forward, both = counted_flops(real, numbered(given) if small else given)
    modules = {
        bare(name.partition(".")[2], case.architecture): sum(found.values())
        for name, found in counts.items()
        if name != "Global" and name.partition(".")[2] != body
    }
    return modules, forward, both


def trained(classes: Sequence[str] = tuple(CLASSES)) -> st.SearchStrategy[tuple[Case, Call]]:
    """Draw passes with training FLOPs that do not depend on the labels; others are refused."""
    return passes(classes).filter(lambda drawn: unknown_training(drawn[0].ours()) is None)


@given(trained())
def test_flops_are_those_that_pytorch_counts(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    sizes: dict[str, Any] = {
        "encoder_sequence_length": call.encoder_sequence_length,
        "num_choices": call.num_choices,
    }
    ours = [flops(case.ours(), *call.batch.shape, **sizes) for flops in (forward_flops, training_flops)]
    assert tuple(ours) == real_flops(case, call)[1:]


@pytest.mark.parametrize(
    ("labels", "architecture"),
    crossed(2, [2, 3], [name for name in CLASSES if name.endswith(("QuestionAnswering", "ForPreTraining"))]),
)
def test_what_fails_with_a_number_of_labels_is_refused(architecture: str, labels: int) -> None:
    """The real forward pass decides, with and without labels."""
    case = Case(replace(CLASSES[architecture].config.default(), num_labels=labels), architecture)

    def runs(call: Call) -> bool:
        try:
            real = case.real("meta")
            real.set_attn_implementation("eager")
            real(**arguments(case, call))
        except (ValueError, RuntimeError):  # DistilBERT's cannot even be built
            return False
        return True

    def is_counted(count: Callable[..., int]) -> bool:
        try:
            return count(build(case.config, architecture), 1, 8) > 0
        except (InputError, ConfigError):
            return False

    runs_forward = runs(Call(2, 8))
    assert (is_counted(forward_flops), is_counted(saved_activation_bytes)) == (runs_forward, runs_forward)
    assert is_counted(training_flops) == runs(Call(2, 8, labels=True))
    assert is_counted(training_peak_bytes) <= is_counted(training_flops)


@examples(8)
@given(trained(), st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN))
def test_what_is_frozen_costs_what_pytorch_counts(
    drawn: tuple[Case, Call], embeddings: bool, layers: int, train: Train
) -> None:
    case, call = drawn
    freezing = Freezing(embeddings, min(layers, case.config.num_hidden_layers), train)
    ours = training_flops(case.ours(), **sizes(call), freezing=freezing)
    assert ours == real_flops(case, call, frozen=freezing.names(case.ours()))[2]


@examples(20)
@given(
    trained([name for name, family in CLASSES.items() if family.recomputes]),
    st.builds(Freezing, st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN)),
    st.sampled_from(("selective", "full")),
)
# There is no dropout after the last product.
@example((Case(WITHOUT_DROPOUT, "GPT2Model"), Call(2, 5, num_choices=1)), Freezing(), "full")
def test_freezing_and_recomputing_cost_what_pytorch_counts(
    drawn: tuple[Case, Call], freezing: Freezing, recompute: Recompute
) -> None:
    case, call = drawn
    freezing = replace(freezing, layers=min(freezing.layers, case.config.num_hidden_layers))
    recompute = possible(case, recompute)
    real = case.real("cpu").train()
    freeze(real, freezing, case.ours())
    recompute_in(real, "eager", recompute)
    ours = training_flops(case.ours(), **sizes(call), freezing=freezing, recompute=recompute)
    assert ours == counted_flops(real, numbered(arguments(case, call)))[2]


@pytest.mark.parametrize("kernel_size", [1, 3])
def test_a_convolution_costs_what_pytorch_counts(kernel_size: int) -> None:
    config = DebertaV2Config(
        vocab_size=11, hidden_size=8, num_hidden_layers=3, num_attention_heads=2, conv_kernel_size=kernel_size
    )
    case, call = Case(config, "DebertaV2Model"), Call(2, 9)
    modules, forward, both = real_flops(case, call)
    (row,) = (row for row in by_name(steps_of(case, call)) if row.name == "encoder.conv.conv")
    assert row.cost == modules["encoder.conv.conv"] == 2 * 2 * 9 * 8 * 8 * kernel_size
    assert (forward_flops(case.ours(), 2, 9), training_flops(case.ours(), 2, 9)) == (forward, both)


def test_what_a_family_cannot_run_again_is_refused() -> None:
    for architecture, recompute in (("MPNetModel", "full"), ("AlbertModel", "full"), ("DebertaV2Model", "selective")):
        model = build(CLASSES[architecture].config.default(), architecture)
        how: dict[str, Any] = {"recompute": recompute}
        said = f"{architecture} cannot be trained with recompute {recompute}"
        with pytest.raises(InputError, match=said):
            training_flops(model, 1, 8, **how)
        with pytest.raises(InputError, match=said):
            saved_activations(model, Batch(1, 8), Plan(**how))
    with pytest.raises(InputError, match="AlbertModel cannot be trained with recompute full"):
        changes_in(build(AlbertConfig(), "AlbertModel"), Plan(recompute="full"), Batch(1, 8))


@examples(12)
@given(passes())
def test_every_module_costs_what_pytorch_counts_in_it(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    ours = {row.name: row.cost for row in by_name(steps_of(case, call))}
    layers, runs = range(layers_of(case.config)), case.config.num_hidden_layers // layers_of(case.config)
    unfolded = {
        name.replace("*", str(layer)): cost * (runs if "*" in name else 1)
        for name, cost in ours.items()
        for layer in (layers if "*" in name else [0])
    }
    modules = {bare(name, case.architecture) for name, _module in case.real().named_modules()}
    assert {name: cost for name, cost in unfolded.items() if name in modules} == real_flops(case, call)[0]


@examples(10)
@given(passes([name for name in CLASSES if getattr(transformers, name).supports_gradient_checkpointing]))
def test_recomputation_costs_what_pytorch_counts_with_checkpoints(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    steps = steps_of(case, call)
    assert total(steps, Convention(training="4x"), "training") == real_flops(case, call, recompute=True)[2]


@given(passes(), CONVENTIONS)
def test_parts_and_top_modules_add_up_to_the_whole(drawn: tuple[Case, Call], convention: Convention) -> None:
    case, call = drawn
    steps = as_stated(steps_of(case, call), convention, call.sequence_length)
    whole = total(steps, convention)
    assert sum(by_part(steps, convention).values()) == whole
    rows = by_name(steps, convention)
    # layers.* may be one of these rows; GPT-2's layers are in no module.
    tops = [row for row in rows if row.name and "." not in re.sub(r"\.([*0])(?=\.|$)", "", row.name)]
    assert sum(row.copies * row.cost for row in tops) == rows[0].cost == whole


@given(passes())
def test_macs_are_half_the_flops_and_elements_come_on_top(drawn: tuple[Case, Call]) -> None:
    """Elements are counted from the outputs of the real modules, if there are such modules."""
    steps = steps_of(*drawn)
    products = total(steps)
    assert 2 * total(steps, Convention(unit="MACs", operations="all")) == products
    elements = {"linear": 1, "norm": 5, "activation": 8, "softmax": 5, "dropout": 4, "scale": 1, "add": 1}
    # Operations that ELECTRA does not have.
    more_of_ours = {"convolution": 1, "multiply": 1, "rotate": 3, "divide": 1, "fill": 1}
    assert {operation: cost.flops for operation, cost in ELEMENT_COSTS.items()} == elements | more_of_ours
    elements |= more_of_ours
    more = sum(step.runs * elements.get(step.operation, 0) * prod(step.gives.shape) for step in steps)
    assert total(steps, Convention(operations="all")) == products + more


LANGUAGE_MODELS = [
    name for name in CLASSES if class_of(name).task in ("masked-lm", "causal-lm") or name == "BertForPreTraining"
]


@examples(10)
@given(passes(LANGUAGE_MODELS))
def test_logits_at_masked_positions_are_the_head_on_a_shorter_sequence(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    steps = steps_of(case, call)
    modules = real_flops(case, call)[0]
    tops = [name for name, _module in case.real().named_children() if name != CLASSES[case.architecture].prefix]
    head = sum(modules.get("cls.predictions" if name == "cls" else name, 0) for name in tops)
    masked = total(at_masked(steps, 1))
    assert masked == modules[""] - head + Fraction(head, call.sequence_length)


@pytest.mark.parametrize(("length", "masked"), [(1, 1), (3, 1), (128, 19), (512, 77)])
def test_masked_positions_are_those_of_googles_data_preparation(length: int, masked: int) -> None:
    assert masked_positions(length) == masked == max(1, round(length * 0.15))


def test_published_figures() -> None:
    """The figures are from calflops and formulas.md: 22.35 GFLOPs for bert-base at 128 tokens.

    DeepSpeed's figure is for BERT-large with a batch size of 80.
    """
    base = build(BertConfig())
    assert round(forward_flops(base, 1, 128) / 1e9, 2) == 22.35
    assert training_flops(base, 1, 128) == 3 * forward_flops(base, 1, 128)
    config = PRESETS["bert-large-uncased"].config
    steps = run(Model(config, add_pooling_layer=False), Call(80, 128))
    assert round(total(steps, Convention(unit="MACs")) / 1e9, 2) == 3156.80
    assert total(steps, PYTORCH, "training") == 3 * total(steps)


def test_flops_that_depend_on_labels_are_refused() -> None:
    """The real head runs only on labelled tokens."""
    config = ModernBertConfig(num_hidden_layers=1, sparse_prediction=True, pad_token_id=0, vocab_size=300)
    case = Case(config, "ModernBertForMaskedLM")
    real, counts = case.real(), []
    for masked in (1, 5):
        given = {"input_ids": torch.zeros(1, 8, dtype=torch.long), "labels": torch.full((1, 8), -100)}
        given["labels"][0, :masked] = 0
        with FlopCounterMode(display=False) as counter:
            on_cpu(real, {})[0](**given)
        counts.append(counter.get_total_flops())
    assert counts[0] < counts[1]
    with pytest.raises(
        InputError, match="With sparse_prediction, the FLOPs of training ModernBertForMaskedLM depend on"
    ):
        training_flops(case.ours(), 1, 8)
    assert forward_flops(case.ours(), 1, 8)
    assert training_flops(build(config, "ModernBertForTokenClassification"), 1, 8)
