"""The forward pass compared with the real one: every called module, in order, with its input and output shapes."""

from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, GPT2Config, MPNetConfig, RobertaConfig, build, columns
from bertcalc.config import Config
from bertcalc.families import CLASSES
from bertcalc.forward.outputs import Call
from bertcalc.model.batch import Batch, batch_problems
from bertcalc.model.trace import Step
from tests.examples import examples
from tests.oracle import Case, arguments, bare, layers_of, numbered
from tests.strategies import passes

Called = tuple[str, tuple[int, ...], tuple[int, ...]]


def steps_of(case: Case, call: Call) -> list[Step]:
    return case.ours().steps(call.batch)


def real_calls(case: Case, call: Call) -> list[Called]:
    """The name, input shape and output shape of every module without children that the real model calls."""
    real = case.real("cpu")
    real.set_attn_implementation("eager")
    found: list[Called] = []

    def listen(name: str) -> Any:
        return lambda _module, given, gives: found.append((name, tuple(given[0].shape), _shape(gives)))

    for name, module in real.named_modules():
        if not list(module.children()) and not isinstance(module, torch.nn.Identity):
            module.register_forward_hook(listen(bare(name, case.architecture)))
    with torch.no_grad():
        real(**numbered(arguments(case, call)))
    return found


def _shape(gives: Any) -> tuple[int, ...]:
    """The shape of a tensor. For a tuple of equal shapes, their number comes first."""
    return (len(gives), *gives[0].shape) if isinstance(gives, tuple) else tuple(gives.shape)


def our_calls(case: Case, steps: list[Step]) -> list[Called]:
    """The same calls from bertcalc's steps, with all layers unfolded. A functional activation is not a module."""
    modules = {bare(name, case.architecture) for name, _module in case.real().named_modules()}
    inside = [step for step in steps if ".*." in step.name]
    own = [step for step in steps if ".0." in step.name]  # steps of a separate first layer
    first = steps.index(inside[0])
    layers = [
        step._replace(name=step.name.replace("*", str(number % layers_of(case.config))))
        for number in range(len(own) > 0, case.config.num_hidden_layers)
        for step in inside
    ]
    unfolded = [*steps[:first], *layers, *steps[first + len(inside) :]]
    return [
        (step.name.removesuffix("_again"), step.takes[0].shape, step.gives.shape)
        for step in unfolded
        # The real attention calls the dropout function: its dropout module only stores the probability.
        if step.module
        and step.name.removesuffix("_again") in modules
        and (step.place.role != "weights_dropout" or case.architecture.startswith(("MPNet", "Deberta")))
    ]


@given(passes())
def test_every_module_is_called_in_order_with_these_shapes(run: tuple[Case, Call]) -> None:
    case, call = run
    assert our_calls(case, steps_of(case, call)) == real_calls(case, call)


@given(passes())
def test_every_tensor_is_learned_at_one_step(run: tuple[Case, Call]) -> None:
    case, call = run
    tensors = {tensor.name: tensor for tensor in case.ours().tensors()}
    copies = dict.fromkeys(tensors, 0)
    for step in steps_of(case, call):
        for tensor in step.tensors if not step.again else ():
            # The first layer may have its own step, but has the structure of the others.
            name = tensor.name if tensor.name in tensors else tensor.name.replace(".0.", ".*.")
            assert tensor._replace(name=name, copies=0) == tensors[name]._replace(copies=0)
            copies[name] += tensor.copies
    assert copies == {name: tensor.copies for name, tensor in tensors.items()}


CONVOLVED = [name for name in CLASSES if "conv_kernel_size" in CLASSES[name].config.most]


@examples(20)
@given(passes(CONVOLVED), st.integers(2, 3))
def test_the_convolution_runs_after_the_first_layer(run: tuple[Case, Call], layers: int) -> None:
    case, call = run
    sizes: dict[str, Any] = {
        "hidden_size": 2 * case.config.hidden_size,
        "num_hidden_layers": layers,
        "conv_kernel_size": 3,
    }
    case = case._replace(config=replace(case.config, **sizes))
    assert our_calls(case, steps_of(case, call)) == real_calls(case, call)


def test_columns_are_many_passes_at_once() -> None:
    """Without a separate test with NumPy, a shape could overflow or broadcast wrongly."""
    sizes = [256, 512, 768]
    many = build(columns(BertConfig(num_attention_heads=4), hidden_size=np.array(sizes)), "BertForPreTraining")
    for at, size in enumerate(sizes):
        one = build(BertConfig(hidden_size=size, num_attention_heads=4), "BertForPreTraining")
        products = [np.broadcast_to(step.multiply_adds(), 3)[at] for step in many.steps(Batch(2, 16))]
        assert products == [step.multiply_adds() for step in one.steps(Batch(2, 16))]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"batch_size": 0}, "batch_size 0 is invalid: it must be a whole number from 1 to 1,000,000; the nearest"),
        ({"sequence_length": -3}, "sequence_length -3 is invalid"),
        (
            {"sequence_length": 513},
            "Sequence length 513 exceeds max_position_embeddings 512: use at most 512.",
        ),
    ],
)
def test_what_cannot_go_through_is_explained(values: dict[str, int], sentence: str) -> None:
    (problem,) = batch_problems(BertConfig(), {"batch_size": 1, "sequence_length": 128, **values})
    assert str(problem).startswith(sentence)


@pytest.mark.parametrize("config", [BertConfig(), RobertaConfig(), MPNetConfig(), GPT2Config()])
def test_the_positions_that_are_offered_are_enough(config: Config) -> None:
    batch = {"batch_size": 1, "sequence_length": 2048}
    (problem,) = batch_problems(config, batch)
    longer = replace(config, **problem.remedies[-1])
    assert longer.longest == 2048
    assert not list(batch_problems(longer, batch))


def test_what_can_go_through_is_no_problem() -> None:
    assert not list(batch_problems(BertConfig(), {"batch_size": 7, "sequence_length": 512}))


def test_each_attention_is_masked_where_its_own_tokens_are_padding() -> None:
    config = BertConfig(num_hidden_layers=1, is_decoder=True, add_cross_attention=True)
    steps = build(config, "BertModel").steps(Batch(1, 4, encoder_sequence_length=3))
    masks = {step.key: step.takes[1].name for step in steps if step.place.role == "mask"}
    assert masks == {"attention.mask": "attention_mask", "cross-attention.mask": "encoder_attention_mask"}
    # transformers' names.
    assert set(masks.values()) <= set(signature(transformers.BertModel.forward).parameters)
