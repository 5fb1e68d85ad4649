"""Optimizer states equal the states of PyTorch's and transformers' optimizers on small real models."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers
from hypothesis import example, given
from hypothesis import strategies as st

from bertcalc import BertConfig, DebertaV2Config, build
from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS, Optimizer, least_training_bytes, parts, sizes
from bertcalc.model.freezing import TRAIN, Freezing
from bertcalc.model.modules import Tensor
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import bert_cases, cases

# Step counters and RMS values are not counted: they are single values on the CPU, or Python numbers.
REAL: list[tuple[Optimizer, Any]] = [
    ("sgd", lambda learned: torch.optim.SGD(learned)),
    ("momentum", lambda learned: torch.optim.SGD(learned, momentum=0.9)),
    ("adamw", lambda learned: torch.optim.AdamW(learned)),
    ("adamw", lambda learned: torch.optim.Adam(learned)),
    ("adafactor", lambda learned: torch.optim.Adafactor(learned)),
    ("adafactor", lambda learned: transformers.optimization.Adafactor(learned)),
]


CONVOLUTION = DebertaV2Config(
    vocab_size=7, hidden_size=4, num_hidden_layers=2, num_attention_heads=2, intermediate_size=5, conv_kernel_size=3
)


@pytest.mark.parametrize(("optimizer", "make"), REAL)
@examples(10)
@given(
    bert_cases() | cases(classes=["DebertaV2Model"]),  # with a convolution
    st.builds(Freezing, st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN)),
    st.sampled_from([torch.float32, torch.bfloat16]),
)
@example(Case(CONVOLUTION, "DebertaV2Model"), Freezing(), torch.float32)
def test_states_are_those_of_the_real_optimizer(
    optimizer: Optimizer, make: Any, case: Case, freezing: Freezing, dtype: torch.dtype
) -> None:
    if isinstance(make([torch.nn.Parameter()]), transformers.optimization.Adafactor):
        dtype = torch.float32  # Adafactor has float32 states even with 16-bit weights
    freezing = replace(freezing, layers=min(freezing.layers, case.config.num_hidden_layers))
    # Zeros in memory: an optimizer depends only on shapes and values, and Adafactor reads the values.
    learned = [
        torch.nn.Parameter(torch.zeros(tensor.shape, dtype=dtype))
        for name, tensor in case.real().named_parameters()
        if name not in freezing.names(case.ours())
    ]
    trained = sizes(map(freezing.trained, case.ours().tensors()))
    assert trained.elements == sum(tensor.numel() for tensor in learned)
    for tensor in learned:
        tensor.grad = torch.zeros_like(tensor)
    real = make(learned or [torch.nn.Parameter()])
    real.step()
    held = [value for state in real.state.values() for value in state.values() if isinstance(value, torch.Tensor)]
    assert OPTIMIZERS[optimizer](trained, dtype.itemsize) == sum(value.nbytes for value in held if value.dim())


@pytest.mark.parametrize(
    ("shape", "states"),
    [
        # state1, state2 (one byte per element), absmax1, absmax2 (four each); or two float32 states
        ((30, 768), 2 * 23_040 + 2 * 4 * 90),
        ((768,), 8 * 768),
        ((4095,), 8 * 4095),
        ((4096,), 2 * 4096 + 2 * 4 * 16),
        ((65, 65), 2 * 4225 + 2 * 4 * 17),
    ],
)
def test_8_bit_states_are_those_that_bitsandbytes_makes(shape: tuple[int, ...], states: int) -> None:
    """Expected values follow AdamW8bit.init_state of bitsandbytes 0.50.2, which is not installed for the tests."""
    for copies in (1, 12):
        for width in (2, 4):
            assert OPTIMIZERS["adamw-8bit"](sizes([Tensor("", shape, copies)]), width) == copies * states


def test_bytes_a_parameter_as_published() -> None:
    """Bytes per parameter from formulas.md: 16 for float32 Adam, 18 for mixed precision, 16 with 16-bit gradients.

    The 18 bytes are from Megatron and EleutherAI. Training entirely in 16 bits takes half as much as float32.
    """
    model = build(BertConfig())
    everything = sizes(model.tensors())
    published = {"fp32": 16, "amp-bf16": 16, "amp-fp16": 16, "bf16": 8, "mixed-18": 18, "mixed-16": 16}
    for precision in PRECISIONS:
        found = parts(model.num_parameters(), everything, precision, "adamw")
        assert sum(found.values()) == published[precision] * 109_482_240


@given(bert_cases())
def test_what_is_frozen_has_weights_alone(case: Case) -> None:
    model = case.ours()
    frozen = Freezing(embeddings=True, layers=case.config.num_hidden_layers, train="head")
    trained = sizes(map(frozen.trained, model.tensors()))
    head = sum(tensor.numel() for name, tensor in case.real().named_parameters() if name.startswith(_HEADS))
    found = parts(model.num_parameters(), trained, "mixed-18", "adamw")
    assert list(found.values()) == [2 * model.num_parameters(), 4 * head, 4 * head, 8 * head]


_HEADS = ("cls.", "classifier.", "qa_outputs.")


def test_the_meaning_of_a_precision_is_a_sentence() -> None:
    for rule in PRECISIONS.values():
        assert rule.meaning[0] == rule.meaning[0].upper()
        assert rule.meaning.endswith(".")


def test_a_step_of_adam_holds_the_least_bytes_of_training() -> None:
    model = torch.nn.Linear(30, 20)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(30)).sum().backward()
    optimizer.step()
    held = [tensor for parameter in model.parameters() for tensor in (parameter, parameter.grad)]
    held += [state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert least_training_bytes(parameters) == sum(tensor.nbytes for tensor in held if tensor is not None)
