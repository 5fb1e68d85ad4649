"""The inputs and outputs of transformers 4, which runs in a separate environment."""

from dataclasses import asdict, replace
from itertools import product
from typing import Any

import pytest

from bertcalc import ARCHITECTURES
from bertcalc.forward.between_versions import differences
from bertcalc.forward.outputs import Call, inputs, outputs, possible, problems, run, taking_all
from bertcalc.model.model import Model
from tests.examples import sampled
from tests.forward.test_outputs import SMALL as ABSOLUTE
from tests.oracle import Case, Output, arguments, ask_transformers4, flat

SMALL = replace(ABSOLUTE, position_embedding_type="relative_key_query")
DECODER = replace(SMALL, is_decoder=True)
CROSS = replace(DECODER, add_cross_attention=True)
CONFIGS = [
    replace(config, position_embedding_type=positions, use_cache=use_cache)
    for config in (SMALL, DECODER, CROSS)
    for positions in ("absolute", "relative_key_query")
    for use_cache in (True, False)
    if use_cache or config.is_decoder
]
CALLS = [
    Call(
        3,
        4,
        length,
        5,
        output_hidden_states=shown,
        output_attentions=shown,
        return_dict=return_dict,
        labels=labels,
    )
    for length, shown, return_dict, labels in product((None, 6), (True, False), (True, False), (True, False))
    if not (labels and shown)
]
MODELS = [(architecture, True) for architecture in ARCHITECTURES] + [("BertModel", False)]
EVERY = [
    (Case(config, architecture, pooler), call)
    for (architecture, pooler), config, call in sampled(product(MODELS, CONFIGS, CALLS), 5)
    # Tests with version 5 cover what a decoder without cross-attention refuses in both versions.
    if "encoder_sequence_length" not in [problem.field for problem in problems(Model(config, architecture), call)]
]


def question(case: Case, call: Call) -> dict[str, Any]:
    given = arguments(case, call)
    tensors = {name: value for name, value in given.items() if hasattr(value, "shape")}
    return {
        "config": asdict(case.config),
        "architecture": case.architecture,
        "options": case.options,
        "tensors": {name: (list(value.shape), str(value.dtype)[6:]) for name, value in tensors.items()},
        "flags": {name: value for name, value in given.items() if name not in tensors},
    }


Answer = list[Output] | str  # outputs, or the text of the error


@pytest.fixture(scope="module")
def replies() -> list[Any]:
    """The parameters of every class, then the outputs of every case of EVERY, from one process."""
    return ask_transformers4(
        [*({"signature": name} for name in ARCHITECTURES), *(question(case, call) for case, call in EVERY)]
    )


@pytest.fixture(scope="module")
def signatures(replies: list[Any]) -> dict[str, list[str]]:
    """The parameters of every forward method, keyed by class."""
    return dict(zip(ARCHITECTURES, replies, strict=False))


@pytest.fixture(scope="module")
def answers(replies: list[Any]) -> list[Answer]:
    """The answers to all cases of EVERY, in order."""
    return [
        answer
        if isinstance(answer, str)
        else [Output(name, kind, [(tuple(shape), dtype) for shape, dtype in tensors]) for name, kind, tensors in answer]
        for answer in replies[len(ARCHITECTURES) :]
    ]


def ours(case: Case, call: Call) -> Answer:
    if list(problems(case.model, call)):
        return "tuple index out of range"
    entries = outputs(case.model, call, run(case.model, call))
    return [flat(entry, call.return_dict) for entry in entries]


def test_with_relative_positions_every_call_returns_what_transformers_4_returns(answers: list[Answer]) -> None:
    relative = [
        (case, call, answer)
        for (case, call), answer in zip(EVERY, answers, strict=True)
        if case.config.position_embedding_type != "absolute"
    ]
    assert len(relative) > 60
    for case, call, answer in relative:
        assert ours(case, call) == answer, (case, call)


def test_where_the_versions_differ_it_is_said_and_nowhere_else(answers: list[Answer]) -> None:
    absolute = [
        (case, call, answer)
        for (case, call), answer in zip(EVERY, answers, strict=True)
        if case.config.position_embedding_type == "absolute"
    ]
    assert len(absolute) > 60
    for case, call, answer in absolute:
        five = ours(case, call)
        if call.return_dict and not isinstance(answer, str):
            # BertModel's dictionary has its names in another order.
            same = sorted(map(repr, five)) == sorted(map(repr, answer))
        else:
            same = five == answer
        said = list(differences(case.model, call))
        assert same != bool(said), (case, call, said)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_inputs_are_the_parameters_of_the_real_method(architecture: str, signatures: dict[str, list[str]]) -> None:
    call = Call(3, 4, 5)
    entries = inputs(Model(SMALL, architecture), call, run(taking_all(Model(SMALL, architecture)), call))
    others = ("self", "kwargs", "loss_kwargs")
    assert [entry.name for entry in entries] == [name for name in signatures[architecture] if name not in others]


def test_what_stops_transformers_4_has_a_way_out() -> None:
    call = Call(3, 4, output_attentions=True)
    [problem] = problems(Model(CROSS), call)
    assert problem.field == "output_attentions"
    assert possible(Model(CROSS), call) == call._replace(output_attentions=False)
