"""The inputs and outputs of forward methods, compared with the real ones."""

import inspect
from dataclasses import replace
from math import prod
from typing import Any

import pytest
import torch
import transformers
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Config, DebertaConfig, ModernBertConfig, build
from bertcalc.config import letters as letters_of
from bertcalc.config.fields import CHOICE_TOKENS
from bertcalc.families import CLASSES, class_of
from bertcalc.forward.meanings import MEANINGS
from bertcalc.forward.outputs import (
    IGNORED,
    Call,
    Entry,
    inputs,
    needs_mask,
    num_tensors,
    outputs,
    possible,
    problems,
    remarks,
    run,
    taking_all,
    total_bytes,
)
from bertcalc.model.formula import shape_letters, symbolic_steps
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from tests.examples import examples, sampled
from tests.oracle import Case, arguments, flat, real_config, real_outputs
from tests.strategies import cases, of_pairs

SMALL = BertConfig(
    vocab_size=11,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=16,
)
DECODER = replace(SMALL, is_decoder=True)
CROSS = replace(DECODER, add_cross_attention=True)


def small(architecture: str, like: Config = SMALL) -> Config:
    """Return a small configuration for a class, with all values of ``like`` that its family has."""
    kind = CLASSES[architecture].config
    own = {"embedding_size": 4, "num_labels": 2} | like.shared()
    if kind.default().turns_pairs:
        own |= {"hidden_size": 8, "classifier_dropout": 0.1}
    return kind(**{name: value for name, value in own.items() if kind.has(name)})


# DeBERTa flattens a single score for the loss, and returns it in that shape.
ONE_SCORE = Case(
    DebertaConfig(hidden_size=24, num_attention_heads=2, num_hidden_layers=2, num_labels=1),
    "DebertaForSequenceClassification",
)
ALL = Call(3, 4, 5, 7, output_hidden_states=True, output_attentions=True)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Case, Call]:
    """Draw a model and a call that its forward method can run."""
    case = of_pairs(draw(cases()))
    call = Call(
        batch_size=draw(st.integers(1, 4)),
        sequence_length=draw(st.integers(1, min(40, case.config.longest))),
        encoder_sequence_length=draw(st.none() | st.integers(1, 9)),
        num_choices=draw(st.integers(1, 4)),
        output_hidden_states=draw(st.booleans()),
        output_attentions=draw(st.booleans()),
        use_cache=draw(st.none() | st.booleans()),
        return_dict=draw(st.booleans()),
        labels=draw(st.booleans()),
    )
    if case.architecture.endswith("QuestionAnswering"):
        case = case._replace(config=replace(case.config, num_labels=2))
    return case, possible(case.model, call)


def ours(case: Case, call: Call) -> list[Entry]:
    steps = run(case.model, call)
    return outputs(case.model, call, steps)


@given(calls())
@example((Case(CROSS), ALL))
@example((Case(CROSS), ALL._replace(return_dict=False)))
@example((Case(CROSS, "BertLMHeadModel"), ALL._replace(labels=True, use_cache=True)))
@example((Case(CROSS, "BertForMaskedLM"), ALL._replace(return_dict=False)))
@example((Case(SMALL, add_pooling_layer=False), ALL._replace(return_dict=False)))
@example((Case(replace(SMALL, num_labels=1), "BertForSequenceClassification"), ALL._replace(labels=True)))
@example((ONE_SCORE, Call(3, 4, labels=True)))
@example((ONE_SCORE, Call(3, 4)))
def test_any_call_of_any_model_returns_what_the_real_one_returns(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    assert [flat(entry, call.return_dict) for entry in ours(case, call)] == real_outputs(case, call)


DECODERS = [name for name, family in CLASSES.items() if family.config.has("is_decoder")]
ALL_ON = [
    *((architecture, SMALL) for architecture in CLASSES),
    *((architecture, CROSS) for architecture in DECODERS),
    *((architecture, DECODER) for architecture in sampled(DECODERS, 3)),
]


@pytest.mark.parametrize(("architecture", "config"), ALL_ON)
def test_every_class_with_everything_switched_on(architecture: str, config: Config) -> None:
    config = small(architecture, config)
    for labels, return_dict in ((True, True), (False, False)):
        case = Case(config, architecture)
        call = possible(case.model, ALL._replace(labels=labels, return_dict=return_dict))
        entries = ours(case, call)
        assert [flat(entry, return_dict) for entry in entries] == real_outputs(case, call)
        assert [entry.position for entry in entries] == (
            [None] * len(entries) if return_dict else [*range(len(entries))]
        )


@pytest.mark.parametrize("chosen_by", CHOICE_TOKENS)
@pytest.mark.parametrize("projects", [True, False])
def test_the_scores_of_choices_have_the_real_shape(chosen_by: str, projects: bool) -> None:
    kind = CLASSES["GPT2DoubleHeadsModel"].config
    config = kind(**{**vars(small("GPT2Model")), "summary_type": chosen_by, "summary_use_proj": projects})
    case = Case(config, "GPT2DoubleHeadsModel")
    call = ALL._replace(encoder_sequence_length=None)
    assert [flat(entry, True) for entry in ours(case, call)] == real_outputs(case, call)
    losses = call._replace(labels=True)
    if projects:
        assert [flat(entry, True) for entry in ours(case, losses)] == real_outputs(case, losses)
    else:
        with pytest.raises(ValueError, match="batch_size"):
            real_outputs(case, losses)
        assert possible(case.model, losses) == call


@pytest.mark.parametrize("architecture", CLASSES)
def test_the_inputs_are_the_parameters_of_the_real_method(architecture: str) -> None:
    parameters = inspect.signature(getattr(transformers, architecture).forward).parameters
    model = Model(small(architecture), architecture)
    entries = inputs(model, ALL, run(taking_all(model), ALL))
    assert [entry.name for entry in entries] == [name for name in parameters if name not in ("self", "kwargs")]


@given(calls())
@example((Case(replace(SMALL, num_labels=1), "BertForSequenceClassification"), ALL._replace(labels=True)))
@examples(25)
def test_what_is_given_is_what_the_real_method_was_given(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    entries = inputs(case.model, call, run(taking_all(case.model), call))
    tensors = {
        name: (tuple(value.shape), str(value.dtype).removeprefix("torch."))
        for name, value in arguments(case, call).items()
        if isinstance(value, torch.Tensor) and (name != "attention_mask" or needs_mask(case.model))
    }
    assert {entry.name: flat(entry, True).tensors for entry in entries if entry.given and entry.tensors} == {
        name: [tensor] for name, tensor in tensors.items()
    }


OPTIONAL = ("attention_mask", "token_type_ids", "position_ids", "encoder_attention_mask", "inputs_embeds")


@pytest.mark.parametrize("architecture", CLASSES)
def test_the_real_method_takes_every_optional_input_in_the_shape_that_is_shown(architecture: str) -> None:
    config = small(architecture, CROSS)
    real = getattr(transformers, architecture)(real_config(config))  # with data, since the model reads its masks
    model = Model(config, architecture)
    entries = inputs(model, ALL, run(taking_all(model), ALL))
    given = {
        entry.name: torch.ones(shape, dtype=getattr(torch, entry.dtype))
        for entry in entries
        for _copies, shape in entry.tensors
        if entry.name in (*OPTIONAL, "input_ids", "encoder_hidden_states")
    }
    embeddings = {name: given[name] for name in given if name != "input_ids"} if "inputs_embeds" in given else given
    given = {name: given[name] for name in given if name != "inputs_embeds"}
    scores, others = real(**given)[0], real(**embeddings)[0]
    if "inputs_embeds" in model.cls.laid_out:  # the input also returns the scores of all choices in sequence
        others = others.view(scores.shape)
    assert scores.shape == others.shape


def test_past_key_values_go_in_as_they_came_out() -> None:
    for config in (DECODER, CROSS):
        model = Model(config)
        call = possible(model, ALL)
        [came] = [entry for entry in ours(Case(config), call) if entry.name == "past_key_values"]
        steps = run(taking_all(model), call)
        [goes] = [entry for entry in inputs(model, call, steps) if entry.name == "past_key_values"]
        assert goes == came._replace(given=False)


@given(calls())
@examples(20)
def test_the_letters_stand_for_the_numbers(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    # Without a projection, the summary loses its last axis if H is 1, but a symbol is never 1.
    assume(getattr(case.config, "summary_use_proj", True) or case.config.hidden_size > 1)
    model, wide = case.model, taking_all(case.model)
    sizes = letters_of(case.config)
    sizes |= {letter: getattr(call, field) for field, letter in CALL_LETTERS.items()}
    cross = any("crossattention" in step.name for step in run(model, call))
    both = [
        (
            outputs(model, call, run(model, call)),
            outputs(model, call, letters(model, cross)),
        ),
        (
            inputs(model, call, run(wide, call)),
            inputs(model, call, letters(wide, True)),
        ),
    ]
    for numbers, symbols in both:
        for number, symbol in zip(numbers, symbols, strict=True):
            assert number.name == symbol.name
            for mine, theirs in zip(number.tensors, symbol.tensors, strict=False):
                written = shape_letters((theirs.copies, *theirs.shape)).replace("2L", "2*L").replace("BN", "B*N")
                assert [int(eval(side, {}, sizes)) for side in written.split(" × ")] == [mine.copies, *mine.shape]


def letters(model: Model, cross: bool) -> list[Any]:
    return [found.step for found in symbolic_steps(model, cross=cross)]


@pytest.mark.parametrize("config", [SMALL, CROSS], ids=["encoder", "cross attention"])
def test_the_bytes_are_those_of_the_tensors_that_there_are(config: Config) -> None:
    """last_hidden_state and the last entry of hidden_states are the same tensor, so it is in memory once."""
    call = possible(Model(config), ALL)
    real = Case(config).real()
    real.set_attn_implementation("eager")
    found: dict[int, torch.Tensor] = {}
    kept = real(**arguments(Case(config), call))

    def collect(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found[id(value)] = value
        elif hasattr(value, "self_attention_cache"):
            collect([value.self_attention_cache, value.cross_attention_cache])
        else:
            for inside in [(layer.keys, layer.values) for layer in getattr(value, "layers", ())] or value:
                collect(inside)

    collect(kept.to_tuple())
    assert num_tensors(ours(Case(config), call)) == len(found)
    assert total_bytes(ours(Case(config), call)) == sum(
        prod(tensor.shape) * tensor.element_size() for tensor in found.values()
    )


@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if class_of(name).targets])
@pytest.mark.parametrize("label", [-101, IGNORED, -1, 0, 1, 2, 3, 6, 7, 10, 11, 16])
def test_a_label_is_possible_where_the_real_loss_takes_it(architecture: str, label: int) -> None:
    config = replace(SMALL, num_labels=2 if architecture == "BertForQuestionAnswering" else 3)
    model, call = Model(config, architecture), Call(3, 4, None, 7, labels=True, label=label)
    given = arguments(Case(config, architecture), call)
    real = getattr(transformers, architecture)(real_config(config))
    targets = ("labels", "start_positions", "end_positions")
    values = {
        name: torch.full(value.shape, label if name in targets else 0) if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
    }
    values["input_ids"] = torch.zeros_like(values["input_ids"])
    found = list(problems(model, call))
    try:
        loss = real(**values).loss
    except IndexError:
        [problem] = found
        assert problem.field == "label"
        assert not list(problems(model, call._replace(**problem.remedies[0])))
    else:
        assert not found
        if torch.isnan(loss):
            assert "label" in [remark.field for remark in remarks(model, call)]


@pytest.mark.parametrize(
    ("config", "architecture", "call"),
    [
        (DECODER, "BertModel", ALL),
        (DECODER, "BertForMaskedLM", ALL),
        (replace(SMALL, num_labels=3), "BertForQuestionAnswering", Call(1, 4)),
        (replace(SMALL, num_labels=1), "BertForQuestionAnswering", Call(1, 4)),
    ],
)
def test_what_the_real_method_refuses_is_a_problem(config: Config, architecture: str, call: Call) -> None:
    with pytest.raises(ValueError, match=r"cross-attention|unpack"):
        real_outputs(Case(config, architecture), call)
    [problem] = problems(Model(config, architecture), call)
    for remedy in problem.remedies:
        changed = {name: value for name, value in remedy.items() if name in Call._fields}
        fixed = replace(config, **{name: value for name, value in remedy.items() if name not in changed})
        assert real_outputs(Case(fixed, architecture), call._replace(**changed))
        assert not list(problems(Model(fixed, architecture), call._replace(**changed)))


@pytest.mark.parametrize(("hidden_size", "heads"), [(3, 3), (6, 2), (1, 1)])
def test_heads_of_an_odd_size_cannot_be_turned_and_the_remedy_can(hidden_size: int, heads: int) -> None:
    config = ModernBertConfig(
        vocab_size=11, hidden_size=hidden_size, num_attention_heads=heads, num_hidden_layers=2, pad_token_id=0
    )
    if hidden_size > heads:  # a head of size 1 is multiplied by two angles, which broadcasts
        with pytest.raises(RuntimeError):
            real_outputs(Case(config, "ModernBertModel"), Call(1, 4))
    [problem] = problems(Model(config, "ModernBertModel"), Call(1, 4))
    assert real_outputs(Case(replace(config, **problem.remedies[0]), "ModernBertModel"), Call(1, 4))


@pytest.mark.parametrize(
    ("config", "architecture", "without", "changes"),
    [
        (SMALL, "BertModel", Call(2, 4), {"use_cache": True}),
        (CROSS, "BertLMHeadModel", Call(2, 4, 5, labels=True), {"use_cache": True}),
        (SMALL, "BertForMaskedLM", Call(2, 4), {"encoder_sequence_length": 5}),
        (CROSS, "BertModel", Call(2, 4), {}),
        (CROSS, "BertForNextSentencePrediction", Call(2, 4, 5), {}),
    ],
)
def test_what_has_no_effect_is_said(config: Config, architecture: str, without: Call, changes: dict[str, Any]) -> None:
    call, case = without._replace(**changes), Case(config, architecture)
    [remark] = remarks(case.model, call)
    assert remark.field in (*changes, "add_cross_attention")
    assert real_outputs(case, call) == real_outputs(case, without)
    assert bool(changes) != bool(list(remarks(case.model, without)))


def test_attentions_need_eager_attention() -> None:
    call = Call(1, 4, output_attentions=True)
    [remark] = remarks(Model(SMALL), call)
    assert 'attn_implementation="eager"' in str(remark)
    assert len(real_outputs(Case(SMALL), call)[-2].tensors) == 2
    assert Case(SMALL).real()(**arguments(Case(SMALL), call)).attentions == ()
    # transformers 4 returns them with its default, too (test_outputs4.py).
    assert not list(remarks(Model(replace(SMALL, position_embedding_type="relative_key")), call))


@pytest.mark.parametrize(
    ("architecture", "wrong", "nearest"),
    [
        ("BertForMultipleChoice", {"num_choices": 0}, {"num_choices": 1}),
        ("BertModel", {"encoder_sequence_length": -3}, {"encoder_sequence_length": 1}),
        ("BertForMaskedLM", {"encoder_sequence_length": 10**9}, {"encoder_sequence_length": 10**6}),
        ("BertForMultipleChoice", {"labels": True, "label": 9, "num_choices": 4}, {"label": 3}),
        ("BertForMaskedLM", {"labels": True, "label": 11}, {"label": 10}),
    ],
)
def test_the_nearest_call_is_taken(architecture: str, wrong: dict[str, Any], nearest: dict[str, Any]) -> None:
    model, call = Model(SMALL, architecture), Call(2, 4)._replace(**wrong)
    assert possible(model, call) == call._replace(**nearest)
    assert possible(model, Call(2, 4)) == Call(2, 4)


def test_a_size_that_the_class_does_not_take_is_no_problem() -> None:
    assert not list(problems(Model(SMALL, "BertForTokenClassification"), Call(1, 4, 0, 0)))


def test_everything_has_a_meaning_and_nothing_else_has() -> None:
    named = set()
    for config in (CROSS, replace(CROSS, position_embedding_type="relative_key")):
        for architecture in CLASSES if config is CROSS else ARCHITECTURES:
            like = small(architecture, config) if config is CROSS else config
            model, call = Model(like, architecture), ALL._replace(labels=True)
            entries = [
                *inputs(model, call, run(taking_all(model), call)),
                *outputs(model, call, run(model, call)),
                *outputs(model, ALL, run(model, ALL)),
            ]
            named |= {entry.name for entry in entries}
            assert all(entry.meaning for entry in entries)
    assert named == set(MEANINGS)


def test_a_cache_of_bert_base_has_the_published_size() -> None:
    """For each token, 2 x 12 layers x 768 hidden units x 4 bytes are 73,728 bytes."""
    call = Call(1, 128)
    case = Case(BertConfig(is_decoder=True))
    [cache] = [entry for entry in ours(case, call) if entry.name == "past_key_values"]
    assert cache.num_bytes() == 128 * 73_728
    assert num_tensors([cache]) == 24
    assert build(case.config).num_parameters() == 109_482_240
