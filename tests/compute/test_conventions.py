"""Conventions of other tools: their published figures, and known differences from PyTorch's count."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Config
from bertcalc.compute.chips import DEVICES, RUNS
from bertcalc.compute.conventions import PUBLISHED, RULES, PublishedFigure
from bertcalc.compute.flop_formulas import crossover, letters, name_formulas, part_formulas, rule_formulas, value
from bertcalc.compute.flops import PYTORCH, Convention, Part, as_stated, by_name, by_part, masked_positions, total
from bertcalc.families import class_of
from bertcalc.forward.outputs import Call, attends, run
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from tests.compute.test_flops import CONVENTIONS, steps_of
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import configs, passes


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: f"{one.rule} {one.figure} {one.unit}")
def test_the_rules_give_what_was_published(published: PublishedFigure) -> None:
    digits = len(f"{published.figure:g}".partition("e")[0].replace(".", ""))
    assert f"{float(published.ours()):.{digits}g}" == f"{published.figure:.{digits}g}"


def test_nanogpts_notebook() -> None:
    """GPT-2 small at 1,024 tokens takes 291,648,307,200 FLOPs forward, and three times that with backward."""
    assert RULES["nanoGPT"].flops(BertConfig(vocab_size=50257), 1, 1024, []) == 3 * 291_648_307_200


def test_electras_layer_is_the_sum_of_its_own_list() -> None:
    """flops_computation.py counts 5 per element of a LayerNorm, but 5 in all for the first LayerNorm, per token."""
    softmax, dropout, norm, activation = 5, 4, 5, 8
    one, two = (BertConfig(num_hidden_layers=layers) for layers in (1, 2))
    batch, s, h, i, heads = 3, 50, one.hidden_size, one.intermediate_size, one.num_attention_heads
    attention = [3 * 2 * h * h, 3 * h, 2 * h * s, softmax * s * heads, dropout * s * heads, s * heads, 2 * h * s]
    after = [2 * h * h, h, dropout * h, h, norm]
    feed_forward = [2 * h * i, activation * i, i, 2 * h * i, h, dropout * h, h, norm * h]
    more = RULES["ELECTRA"].flops(two, batch, s, []) - RULES["ELECTRA"].flops(one, batch, s, [])
    assert more == 2 * batch * s * sum(attention + after + feed_forward)


def test_electras_embeddings_and_logits_are_the_sum_of_its_own_list() -> None:
    """The figures are those of flops_computation.py, per token.

    The cost of a layer is the difference between models with two layers and one. Logits are computed at 5/32 of the
    tokens.
    """
    softmax, dropout, norm, activation = 5, 4, 5, 8
    one, two = (BertConfig(num_hidden_layers=layers) for layers in (1, 2))
    batch, s, h, v = 2, 64, one.hidden_size, one.vocab_size
    embeddings = [2 * h * v, 2 * h * (s + 2), 2 * h, norm * h, dropout * h]
    logits = [2 * h * v, 2 * h * h, h, activation * h, norm * h, softmax * v, 2 * v]
    first, second = (RULES["ELECTRA"].flops(config, batch, s, []) for config in (one, two))
    assert 2 * first - second == 2 * batch * s * (sum(embeddings) + Fraction(5, 32) * sum(logits))


@given(configs(), st.integers(1, 9), st.integers(1, 600))
def test_narayanans_training_is_ours_with_recomputation_but_for_the_transform(
    config: Config, batch: int, length: int
) -> None:
    config = replace(
        config,
        intermediate_size=4 * config.hidden_size,
        max_position_embeddings=1000,
        is_decoder=False,
        add_cross_attention=False,
    )
    steps = run(Model(config, "BertForMaskedLM"), Call(batch, length))
    transform = 3 * 2 * batch * length * config.hidden_size**2
    ours = total(steps, Convention(training="4x"), "training")
    assert RULES["Narayanan"].flops(config, batch, length, steps) == ours - transform


@given(configs(), st.integers(1, 9), st.integers(1, 600))
def test_kaplans_training_is_that_of_the_dense_layers(config: Config, batch: int, length: int) -> None:
    config = replace(config, max_position_embeddings=1000, is_decoder=False, add_cross_attention=False)
    steps = run(Model(config, add_pooling_layer=False), Call(batch, length))
    parts = by_part(steps)
    dense = 3 * (parts["projections"] + parts["feed-forward"])
    assert RULES["Kaplan 6ND"].flops(config, batch, length, steps) == dense


def letters_of(call: Call) -> dict[str, int]:
    """The sizes of a call that have a symbol in formulas."""
    return {field: size for field in CALL_LETTERS if (size := getattr(call, field)) is not None}


@given(passes(), CONVENTIONS)
def test_formulas_are_the_counts(drawn: tuple[Case, Call], convention: Convention) -> None:
    case, call = drawn
    steps = as_stated(steps_of(case, call), convention, call.sequence_length)
    cross = attends(case.model, call)
    symbolic = letters(case.model, convention, cross=cross)
    sizes = {**letters_of(call), "masked_positions": masked_positions(call.sequence_length)}

    rows = {row.name: row.cost for row in by_name(steps, convention)}
    formulas = name_formulas(symbolic, convention)
    assert {name: value(formula, case.config, **sizes) for name, formula in formulas.items()} == rows
    parts = {
        part: sum(value(term, case.config, **sizes) for term in terms)
        for part, terms in part_formulas(symbolic, convention).items()
    }
    assert parts == by_part(steps, convention)


@examples(10)
@given(passes())
def test_a_rule_and_what_pytorch_counts_more_are_pytorchs_count(drawn: tuple[Case, Call]) -> None:
    case, call = drawn
    steps = steps_of(case, call)
    cross = attends(case.model, call)
    symbolic = letters(case.model, PYTORCH, cross=cross)
    choices = call.num_choices if class_of(case.architecture).takes_choices else 1
    for rule in RULES.values():
        theirs, more = (
            sum(value(term, case.config, **letters_of(call)) for term in terms)
            for terms in rule_formulas(symbolic, rule)
        )
        assert theirs == rule.flops(case.config, call.batch_size * choices, call.sequence_length, steps)
        assert theirs + more == total(steps, PYTORCH, rule.phase)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@examples(8)
@given(
    configs(),
    CONVENTIONS,
    st.sampled_from([("feed-forward",), ("feed-forward", "projections")]),
)
def test_scores_and_context_overtake_just_after_the_crossover(
    architecture: str, config: Config, convention: Convention, others: tuple[Part, ...]
) -> None:
    config = replace(config, max_position_embeddings=10**6, num_labels=2)
    formula = crossover(letters(Model(config, architecture), convention), convention, others)
    assert formula is not None
    length = int(value(formula, config))  # the largest integer length up to the crossover

    def ahead(length: int) -> Fraction:
        parts = by_part(run(Model(config, architecture), Call(1, length)), convention)
        return Fraction(parts["scores and context"] - sum(parts[other] for other in others))

    assert ahead(length + 1) > 0
    if length:
        assert ahead(length) <= 0


@given(configs(), st.integers(1, 500))
def test_with_cross_attention_the_feed_forward_is_overtaken_earlier(config: Config, encoder: int) -> None:
    config = replace(config, max_position_embeddings=10**6, is_decoder=True, add_cross_attention=True)
    symbolic = letters(Model(config, "BertLMHeadModel"), cross=True)
    formula = crossover(symbolic, PYTORCH, ("feed-forward",))
    assert formula is not None
    assert value(formula, config, encoder_sequence_length=encoder) == config.intermediate_size - encoder
    assert crossover(symbolic, PYTORCH, ("feed-forward", "projections")) is None


def test_the_crossover_of_bert_is_its_intermediate_size() -> None:
    symbolic = letters(Model(BertConfig()))
    feed_forward, both = (
        crossover(symbolic, PYTORCH, parts) for parts in (("feed-forward",), ("feed-forward", "projections"))
    )
    assert feed_forward is not None
    assert both is not None
    assert feed_forward.latex() == "I"
    assert both.latex() == "2 H + I"


def test_every_run_fits_on_its_devices() -> None:
    for published in RUNS:
        assert 0 < published.utilisation(PYTORCH) < 1
        assert published.seconds(PYTORCH, published.utilisation(PYTORCH)) == 3600 * published.hours


def test_devices_are_slower_in_wider_formats() -> None:
    for device in DEVICES.values():
        assert list(device.peak.values()) == sorted(device.peak.values(), reverse=True)
