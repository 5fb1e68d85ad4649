"""Relative positions, which only transformers 4 can build. Its classes run in a separate environment."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import cycle, product

import pytest
from hypothesis import Phase, given, settings

from bertcalc import ARCHITECTURES, BertConfig, forward_flops, saved_activation_bytes
from bertcalc.config.fields import POSITION_EMBEDDING_TYPES, PositionEmbeddingType
from tests.oracle import Case, Facts, ask_transformers4, facts
from tests.strategies import ACTIVATIONS_OF_4, bert_cases

RELATIVE: tuple[PositionEmbeddingType, ...] = POSITION_EMBEDDING_TYPES[1:]
BERT_BASE = Case(BertConfig(position_embedding_type="relative_key"))
EXPLICIT = [
    Case(BertConfig(position_embedding_type=position, tie_word_embeddings=tied, num_hidden_layers=2), architecture)
    for architecture, position, tied in product(ARCHITECTURES, RELATIVE, (True, False))
]
ACTIVATED = [
    Case(BertConfig(position_embedding_type="relative_key", num_hidden_layers=1, hidden_act=name), "BertForMaskedLM")
    for name in ACTIVATIONS_OF_4
]
# Transformers 4 and 5 agree on the tensors of absolute positions unless a head is untied. Their printed models differ.
ABSOLUTE = [Case(BertConfig(num_hidden_layers=2), architecture) for architecture in ARCHITECTURES]

Answers = Mapping[str, Facts]  # keyed by the case's repr: as keys, cases with a dropout of 0 and 0.0 would be equal


def drawn(count: int) -> list[Case]:
    """Draw this number of cases with Hypothesis, to send them all at once."""
    found: list[Case] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None)
    @given(bert_cases(RELATIVE))
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found


@pytest.fixture(scope="module")
def random_cases() -> list[Case]:
    return drawn(60)


@pytest.fixture(scope="module")
def answers(random_cases: list[Case]) -> Answers:
    """The answers of transformers 4 for every case of this module.

    One process answers all, since it takes seconds to start.
    """
    questions = [BERT_BASE, *EXPLICIT, *ACTIVATED, *ABSOLUTE, *random_cases]
    found = ask_transformers4(
        [{"config": asdict(q.config), "architecture": q.architecture, "options": q.options} for q in questions]
    )
    return {
        repr(question): Facts([(name, tuple(shape)) for name, shape in facts["tensors"]], facts["total"], facts["text"])
        for question, facts in zip(questions, found, strict=True)
    }


def name_of(case: Case) -> str:
    config = case.config
    return f"{case.architecture}-{config.position_embedding_type}-{'tied' if config.tie_word_embeddings else 'untied'}"


@pytest.mark.parametrize("case", EXPLICIT, ids=name_of)
def test_every_architecture_with_relative_positions(case: Case, answers: Answers) -> None:
    assert facts(case.ours()) == answers[repr(case)]


@pytest.mark.parametrize("case", ACTIVATED, ids=lambda case: case.config.hidden_act)
def test_every_activation_that_transformers_4_has(case: Case, answers: Answers) -> None:
    assert facts(case.ours()) == answers[repr(case)]


def test_any_model_with_relative_positions(random_cases: list[Case], answers: Answers) -> None:
    assert len(random_cases) > 30
    for case in random_cases:
        assert facts(case.ours()) == answers[repr(case)], case


def test_bert_base_with_relative_key(answers: Answers) -> None:
    assert BERT_BASE.ours().num_parameters() == answers[repr(BERT_BASE)].total == 110_267_904


@pytest.mark.parametrize("case", ABSOLUTE, ids=name_of)
def test_absolute_positions_give_the_same_tensors_in_transformers_4(case: Case, answers: Answers) -> None:
    tensors, total, _ = facts(case.ours())
    assert (tensors, total) == (answers[repr(case)].tensors, answers[repr(case)].total)


def test_an_untied_head_shares_its_decoder_bias_all_the_same(answers: Answers) -> None:
    for case in EXPLICIT:
        names = [name for name, _ in answers[repr(case)].tensors]
        assert ("cls.predictions.decoder.weight" in names) == (
            "cls.predictions.bias" in names and not case.config.tie_word_embeddings
        )
        assert "cls.predictions.decoder.bias" not in names


def test_with_relative_positions_the_number_of_heads_changes_the_count() -> None:
    few, many = (
        Case(BertConfig(position_embedding_type="relative_key", num_attention_heads=heads)).ours().num_parameters()
        for heads in (1, 12)
    )
    assert few - many == 12 * (2 * 512 - 1) * (768 - 64)


def costs(cases: list[Case], shapes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The FLOPs of transformers 4's forward pass, and the bytes that a forward pass in training saves for backward."""
    return [
        (flops, saved)
        for flops, saved in ask_transformers4(
            [
                {
                    "config": asdict(case.config),
                    "architecture": case.architecture,
                    "options": case.options,
                    "ids": shape,
                    # A causal language model fills no cache if it gets labels.
                    "training": {"use_cache": False} if case.architecture == "BertLMHeadModel" else {},
                }
                for case, shape in zip(cases, shapes, strict=True)
            ]
        )
    ]


def test_with_a_cache_all_queries_have_the_distances_of_the_last_one() -> None:
    config = BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        vocab_size=50,
        max_position_embeddings=20,
        position_embedding_type="relative_key_query",
        is_decoder=True,
        add_cross_attention=True,
    )
    key_alone = replace(config, position_embedding_type="relative_key")
    others = (replace(config, num_attention_heads=1), replace(config, use_cache=False))
    cases = [
        Case(one, architecture)
        for one, architecture in product(
            (config, key_alone, *others),
            ("BertModel", "BertLMHeadModel", "BertForTokenClassification"),
        )
        for _shape in range(4)
    ]
    shapes = [shape for shape, _case in zip(cycle(((2, 10), (1, 10), (3, 1), (1, 1))), cases, strict=False)]
    for case, shape, found in zip(cases, shapes, costs(cases, shapes), strict=True):
        assert (forward_flops(case.ours(), *shape), saved_activation_bytes(case.ours(), *shape)) == found, (case, shape)
    few, many = (forward_flops(case.ours(), 2, 10) for case in (cases[0], Case(replace(config, use_cache=False))))
    assert many - few == 216_064 - 204_544


def test_flops_and_saved_activations_with_relative_positions(random_cases: list[Case]) -> None:
    """relative_key_query multiplies by distances twice. xielu's scalars have another dtype in transformers 4."""
    chosen = [
        case._replace(config=replace(case.config, num_labels=2, hidden_act=act))
        for case, act in zip(random_cases, cycle(ACTIVATIONS_OF_4), strict=False)
        # With a head size of 1, einsum does not multiply matrices.
        if case.architecture != "BertForMultipleChoice" and act != "xielu" and case.config.attention_head_size > 1
    ]
    assert len(chosen) > 20
    shapes = [
        (batch, min(length, case.config.max_position_embeddings))
        for case, batch, length in zip(chosen, cycle((1, 2, 3)), cycle((7, 5)), strict=False)
    ]
    for case, shape, (flops, saved) in zip(chosen, shapes, costs(chosen, shapes), strict=True):
        if shape[1] > 1:
            assert (forward_flops(case.ours(), *shape), saved_activation_bytes(case.ours(), *shape)) == (
                flops,
                saved,
            ), case
