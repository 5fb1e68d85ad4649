"""The peak formula equals the simulated peak, and the largest batch that fits agrees with the real model."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, EuroBertConfig, GPT2Config, ModernBertConfig, XLMRobertaConfig, columns
from bertcalc.config.fields import POSITION_EMBEDDING_TYPES
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.memory.fit import most, most_fitting
from bertcalc.memory.optimizers import ITEM_BYTES, OPTIMIZERS, PRECISIONS, Precision
from bertcalc.memory.peak import changes_of
from bertcalc.memory.peak import peak as simulated
from bertcalc.memory.peak.live_peak_formulas import live_growths
from bertcalc.memory.peak.peak_formulas import growths, most_sequences, peak, peak_bytes, peak_of_designs
from bertcalc.memory.plan import RECOMPUTE, Inference, Plan
from bertcalc.model.formula import ALL_SYMBOLS, COUNT_SYMBOLS
from bertcalc.model.freezing import TRAIN, Freezing
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.examples import examples
from tests.memory.live import inference_moments, training_moments
from tests.memory.live import peak as measured
from tests.memory.test_peak import WITH_DISTANCES
from tests.oracle import Case, possible, unmasked
from tests.strategies import ACTIVATIONS_OF_4, SIMULATED, cases, has_distances, passes

WITH_WINDOWS = ["ModernBertModel", "ModernBertForTokenClassification"]
freezings = st.builds(Freezing, st.booleans(), st.integers(0, 6), st.sampled_from(TRAIN))
plans = st.builds(
    Plan,
    st.sampled_from(list(PRECISIONS)),
    st.sampled_from(list(OPTIMIZERS)),
    st.sampled_from(("eager", "fused")),
    st.booleans(),
    st.sampled_from(RECOMPUTE),
    freezing=freezings,
    keep_outputs=st.booleans(),
    accumulate=st.booleans(),
)
ways = plans | st.builds(Inference, st.sampled_from(list(ITEM_BYTES)), st.sampled_from(("eager", "fused")))


def simulated_plan(plan: Plan, config: Config) -> Plan:
    """Replace AMP by float32 for relative positions, which are not simulated under AMP."""
    return plan._replace(precision="fp32") if PRECISIONS[plan.precision].autocast and has_distances(config) else plan


@st.composite
def runs(draw: st.DrawFn, classes: Sequence[str] = SIMULATED) -> tuple[Model, Plan | Inference, int, int]:
    """Draw a model with so many layers that the formulas skip some, a way to run it, and a batch."""
    case, call = draw(passes(classes))
    most = 16 if case.config.layer_period > 1 else 9  # enough layers for some to be skipped
    config = replace(case.config, num_hidden_layers=draw(st.integers(1, most)))
    if type(config) is BertConfig and config.hidden_act in ACTIVATIONS_OF_4:
        config = replace(config, position_embedding_type=draw(st.sampled_from(POSITION_EMBEDDING_TYPES)))
    how = draw(ways)
    if isinstance(how, Plan):
        layers = min(how.freezing.layers, config.num_hidden_layers)
        recompute = possible(case, how.recompute)
        how = simulated_plan(how._replace(freezing=replace(how.freezing, layers=layers), recompute=recompute), config)
    return case.model.changed(config=config), how, *call.batch.shape


def in_numbers(model: Model, how: Plan | Inference, batch: int, length: int) -> int | None:
    """Return the peak of a run from the simulation, or None if there is nothing to train."""
    try:
        return simulated(changes_of(model, how, batch, length)).live
    except ValueError as error:
        if "there is nothing to train" not in str(error):
            raise
        return None


@given(runs())
def test_a_run_with_letters_gives_the_peak_of_the_run_with_numbers(run: tuple[Model, Any, int, int]) -> None:
    expected = in_numbers(*run)
    if expected is not None:
        assert peak_bytes(*run) == peak(*run).num_bytes == expected


@examples(8)
@given(runs(), st.sampled_from(list(PRECISIONS)))
def test_8_bit_states_are_those_of_tensors_with_a_gradient(
    run: tuple[Model, Any, int, int], precision: Precision
) -> None:
    """Every trained tensor has master weights, even if no gradient reaches it."""
    model, how, batch, length = run
    if isinstance(how, Plan):
        how = simulated_plan(how._replace(precision=precision, optimizer="adamw-8bit"), model.config)
        run = model, how, batch, length
    expected = in_numbers(*run)
    if expected is not None:
        assert peak_bytes(*run) == expected


def test_a_tensor_without_a_gradient_has_no_8_bit_states() -> None:
    """The untied masked-LM head has a bias that its decoder does not use."""
    config = XLMRobertaConfig(**TINY, max_position_embeddings=3, pad_token_id=0, tie_word_embeddings=False)
    for precision in PRECISIONS:
        run = Model(config, "XLMRobertaForMaskedLM"), Plan(precision, "adamw-8bit"), 1, 1
        assert peak_bytes(*run) == in_numbers(*run)


def test_8_bit_states_and_master_weights_have_one_letter_for_the_trained_parameters() -> None:
    how = Plan("mixed-16", "adamw-8bit", freezing=Freezing(layers=1))
    formulas = peak(Model(BertConfig(num_hidden_layers=2), "BertForMaskedLM"), how, 1, 8).formulas
    assert formulas["optimizer states"].latex() == "8 K + 6 N_{s} + 6 N_{t}"


TINY: dict[str, Any] = {
    **dict.fromkeys(("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"), 1),
    **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0),
    "type_vocab_size": 1,
}


@examples(8)
@given(runs(WITH_WINDOWS), st.booleans())
def test_letters_of_layers_that_alternate(run: tuple[Model, Any, int, int], fused: bool) -> None:
    """With fused attention, two of three layers of ModernBERT have their own masks."""
    model, how, batch, length = run
    run = model, how._replace(attention="fused") if fused else how, batch, length
    expected = in_numbers(*run)
    if expected is not None:
        assert peak_bytes(*run) == peak(*run).num_bytes == expected


@examples(12)
@given(runs() | runs(WITH_WINDOWS))
def test_the_formulas_are_those_of_the_areas_and_of_the_pieces(run: tuple[Model, Any, int, int]) -> None:
    model, how, batch, length = run
    if in_numbers(*run) is None or (isinstance(how, Plan) and how.optimizer == "adamw-8bit"):
        return
    found = peak(*run)
    trained = how.freezing.split(model).trainable if isinstance(how, Plan) else 0
    numbers = {**model.config.shared(), "batch_size": batch, "sequence_length": length}
    values = {ALL_SYMBOLS[field]: number for field, number in numbers.items() if number and field in ALL_SYMBOLS}
    values |= {COUNT_SYMBOLS["parameters"]: model.num_parameters(), COUNT_SYMBOLS["trained_parameters"]: trained}
    assert {area: formula.expression.subs(values) for area, formula in found.formulas.items()} == found.areas
    assert sympy.sympify(found.expression).subs(values) == found.num_bytes
    assert [piece.formula.expression.subs(values) for piece in found.temporaries] == [
        piece.num_bytes for piece in found.temporaries
    ]
    assert sum(piece.num_bytes for piece in found.temporaries) == found.areas.get("temporaries", 0)


@examples(8)
@given(
    runs() | runs(WITH_WINDOWS),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 16), st.integers(1, 9), st.integers(1, 4)), min_size=1),
)
def test_a_column_has_what_each_row_has_alone(
    run: tuple[Model, Any, int, int], rows: list[tuple[int, int, int, int]]
) -> None:
    model, how, _batch, length = run
    if isinstance(how, Plan):
        how = how._replace(freezing=Freezing(), optimizer="adamw")
    heads, layers, intermediate, batches = (np.array(column) for column in zip(*rows, strict=True))
    heads = heads * (model.config.shared().get("num_key_value_heads") or 1)  # heads share keys and values
    sizes: dict[str, Any] = {
        "hidden_size": 6 * heads,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "intermediate_size": intermediate,
    }
    column = peak_bytes(model.changed(config=columns(model.config, **sizes)), how, batches, length)  # type: ignore[arg-type]  # a column
    rows_alone: list[dict[str, Any]] = [
        {field: int(one[at]) for field, one in sizes.items()} for at in range(len(rows))
    ]
    alone = [model.changed(config=replace(model.config, **row)) for row in rows_alone]
    assert np.broadcast_to(column, len(rows)).tolist() == [
        peak_bytes(one, how, int(many), length) for one, many in zip(alone, batches, strict=True)
    ]


@examples(20)
@given(runs() | runs(WITH_WINDOWS), st.integers(1, 5), st.integers(1, 30), st.integers(1, 16))
def test_designs_have_what_each_has_alone(
    run: tuple[Model, Any, int, int], heads: int, intermediate: int, layers: int
) -> None:
    model, how, batch, length = run
    if isinstance(how, Plan):
        how = how._replace(freezing=Freezing(), optimizer="adamw")
    heads *= model.config.shared().get("num_key_value_heads") or 1  # heads share keys and values
    config = replace(
        model.config,
        hidden_size=heads * model.config.attention_head_size,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
    )
    expected = peak_bytes(model.changed(config=config), how, batch, length)
    assert peak_of_designs(model, how, batch, length)(heads, intermediate)(layers) == expected


@examples(12)
@given(runs(), st.sampled_from(("batch_size", "sequence_length")), st.integers(1, 60), st.sampled_from((None, 5)))
def test_what_fits_by_the_live_polynomials_is_now_what_fits_the_model(
    run: tuple[Model, Plan | Inference, int, int], field: str, size: int, positions: int | None
) -> None:
    model, how, *batch = run
    try:
        expected = growths(model, how, field, *batch)
    except InputError as error:  # everything is frozen
        with pytest.raises(InputError, match=re.escape(f"{error}")):
            live_growths(model, how, field, *batch)
        return
    found = live_growths(model, how, field, *batch)
    for _first, constant, linear, square, *_range in expected:
        for usable in (needed := constant + linear * size + square * size**2, needed - 1):
            assert found.most(usable, positions) == most(expected, usable, positions)
            number, limit = found.most_fitting(usable, positions)
            assert (number, limit) == most_fitting(expected, usable, positions)


@examples(4)
@given(passes(SIMULATED), st.booleans(), st.sampled_from(("batch_size", "sequence_length")), st.integers(0, 200_000))
def test_the_most_that_fits_fits_the_real_model_and_one_more_does_not(
    run: tuple[Case, Any], training: bool, field: str, more: int
) -> None:
    case, call = run
    case = case._replace(config=replace(case.config, hidden_act="gelu", max_position_embeddings=40))
    how: Plan | Inference = Plan() if training else Inference()
    call = call._replace(labels=training, num_choices=1)
    limit = peak_bytes(case.model, how, *call.batch.shape) + more
    longest = case.config.longest if field == "sequence_length" else None
    found = most(growths(case.model, how, field, *call.batch.shape), limit, longest).number
    assert found
    real = case.real()
    real.set_attn_implementation("eager")
    for number, fits in ((found, True), (found + 1, False)):
        if longest is not None and number > longest:
            continue
        batch = call._replace(**{field: number})
        batch = batch._replace(encoder_sequence_length=case.model.encoder_length(batch.sequence_length))
        given = unmasked(case, batch)
        moments = training_moments(real, given, how) if isinstance(how, Plan) else inference_moments(real, given)
        assert (measured(moments).live <= limit) == fits


@examples(8)
@given(st.integers(1, 12), st.integers(1, 2), ways)
def test_the_longest_sequence_needs_no_part_of_a_table(longest: int, batch: int, how: Plan | Inference) -> None:
    """The longest sequence uses the whole table of distances without slicing it.

    It therefore needs less memory than shorter sequences suggest.
    """
    config = replace(WITH_DISTANCES, max_position_embeddings=longest)
    if isinstance(how, Plan):
        how = simulated_plan(how._replace(freezing=Freezing(), recompute="none"), config)
    model = Model(config, "DebertaModel")
    peaks = [in_numbers(model, how, batch, length) or 0 for length in range(1, longest + 1)]
    assert [peak_bytes(model, how, batch, length) for length in range(1, longest + 1)] == peaks
    for usable in {*peaks, *(one - 1 for one in peaks)}:
        fitting = [length for length, one in enumerate(peaks, 1) if one <= usable]
        found = most(growths(model, how, "sequence_length", batch, 1), usable, longest)
        assert found.number == max(fitting, default=0)


def test_what_fits_into_a_model_with_fewer_positions_than_its_window() -> None:
    config = ModernBertConfig(
        vocab_size=11,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=9,
        local_attention=32,
        pad_token_id=0,
    )
    model, plan = Model(config, "ModernBertModel"), Plan("bf16", attention="fused")
    peaks = [in_numbers(model, plan, 2, length) or 0 for length in range(1, 10)]
    for usable in peaks:
        found = most(growths(model, plan, "sequence_length", 2, 1), usable, 9)
        assert found.number == max(length for length, one in enumerate(peaks, 1) if one <= usable)


@examples(10)
@given(cases(classes=SIMULATED), freezings, st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6))
def test_training_never_needs_less_than_inference(
    case: Case, freezing: Freezing, batch: int, length: int, more: int
) -> None:
    """This holds for any freezing, since a forward pass is part of the step.

    A decoder fills its cache only in inference.
    """
    config = replace(case.config, num_labels=2)
    if config.has("is_decoder"):
        config = replace(config, is_decoder=False, add_cross_attention=False)
    case = case._replace(config=config)
    length = min(length, case.config.longest)
    layers = min(freezing.layers, case.config.num_hidden_layers)
    plan = Plan(optimizer="sgd", freezing=replace(freezing, layers=layers))
    try:
        training = peak_bytes(case.model, plan, batch, length)
    except ValueError as error:
        if not re.search("there is nothing to train|no forward pass can run", str(error)):
            raise
        return
    inference = peak_bytes(case.model, Inference(), batch, length)
    assert training >= inference
    fits = [
        most(growths(case.model, how, "batch_size", batch, length), inference + more) for how in (plan, Inference())
    ]
    assert (fits[0].number or 0) <= (fits[1].number or 0)


@pytest.mark.parametrize("how", [Plan(), Inference()])
def test_where_a_batch_has_to_be_one_sequence_no_larger_one_fits(how: Plan | Inference) -> None:
    model = Model(GPT2Config(n_layer=2), "GPT2ForSequenceClassification")
    one = peak_bytes(model, how, 1, 128)
    assert one == simulated(changes_of(model, how, 1, 128)).live
    for usable, number in ((one - 1, 0), (one, 1), (1000 * one, 1)):
        assert most(growths(model, how, "batch_size", 1, 128), usable, most_sequences(model)).number == number
    assert (most(growths(model, how, "sequence_length", 1, 128), one).number or 0) >= 128
    with pytest.raises(InputError, match="one sequence at a time"):
        peak_bytes(model, how, 2, 128)
    assert most_sequences(model.changed(config=replace(model.config, pad_token_id=0))) is None


def test_the_figures_of_the_issue() -> None:
    for vocab_size, largest in ((30522, 90), (119547, 46)):
        model = Model(BertConfig(vocab_size=vocab_size), "BertForMaskedLM")
        assert most(growths(model, Plan(), "batch_size", 1, 128), 16 * 10**9).number == largest


def test_layers_that_are_frozen_and_run_again_keep_nothing() -> None:
    model = Model(BertConfig(num_hidden_layers=9, vocab_size=300), "BertForTokenClassification")
    plan = Plan(recompute="full", freezing=Freezing(train="head"))
    assert peak(model, plan, 2, 64).num_bytes == simulated(changes_of(model, plan, 2, 64)).live


def test_the_layer_of_the_peak_has_its_own_number() -> None:
    classes = Model(BertConfig(), "BertForSequenceClassification")
    assert peak(classes, Plan(), 32, 128).where == "encoder.layer.11.output.dense"


@pytest.mark.parametrize("preset", ["bert-base-uncased", "roberta-base", "deberta-v3-base", "gte-multilingual-base"])
def test_weights_are_four_bytes_a_parameter_also_where_a_size_is_1(preset: str) -> None:
    model = Model(PRESETS[preset].config, family_of(PRESETS[preset].config).base.name)
    assert peak(model, Plan(), 8, 128).formulas["weights"].latex() == "4 N"


@pytest.mark.parametrize(("layers", "frozen"), [(6, 1), (7, 1), (8, 6), (10, 8), (13, 11)])
def test_what_all_layers_share_is_released_once(layers: int, frozen: int) -> None:
    """The rotary angles of a kind of layer are released in the backward pass of the last layer that needs them."""
    sizes: dict[str, Any] = {"vocab_size": 50, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 32}
    model = Model(ModernBertConfig(**sizes, num_hidden_layers=layers, pad_token_id=0), "ModernBertModel")
    plan = Plan(freezing=Freezing(embeddings=True, layers=frozen))
    for batch, length in ((1, 1), (2, 8)):
        assert peak_bytes(model, plan, batch, length) == simulated(changes_of(model, plan, batch, length)).live


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("shared", [1, 2, 3])
def test_designs_whose_heads_share_no_keys_do_not_repeat_them(heads: int, shared: int) -> None:
    if heads % shared:
        return
    base = EuroBertConfig(hidden_size=24, num_attention_heads=6, num_key_value_heads=shared)
    base = replace(base, vocab_size=9, num_hidden_layers=2, intermediate_size=4, pad_token_id=0)
    design = replace(base, hidden_size=4 * heads, num_attention_heads=heads)
    how = Inference("float32", "eager")
    assert peak_of_designs(Model(base), how, 1, 8)(heads, 4)(2) == peak_bytes(Model(design), how, 1, 8)
