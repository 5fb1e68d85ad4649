"""The growth formula comes from the same definition: it gives the values of the columns, and has their degree."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, ModernBertConfig
from bertcalc.compute.flops import unknown_training
from bertcalc.config import unchecked
from bertcalc.explore.growth_formulas import growth, local_exponent
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.explore.sweep import Sweep, Ties, sweepable
from bertcalc.families.presets import PRESETS
from bertcalc.memory.plan import Attention, Plan
from bertcalc.model.batch import Batch, rows_for
from bertcalc.model.formula import ALL_SYMBOLS
from bertcalc.model.model import Model
from bertcalc.model.runnable import cannot_run
from tests.examples import crossed, examples
from tests.explore.test_sweep import array, countable, near, sweeps

ATTENTIONS: tuple[Attention, ...] = ("eager", "fused")
WITH_FORMULA = [name for name in QUANTITIES if name not in PEAKS]  # the same formula for all sizes


def breaks(sweep: Sweep, field: str, value: int) -> bool:
    """Whether the model at this value has a different structure from the others in the row."""
    config = unchecked(sweep.config, **sweep.fields(**{field: value}))
    if field == "num_hidden_layers" and config.turns_pairs:
        whole_periods = (value - sweep.config.num_hidden_layers) % config.layer_period == 0
        if value == 1 or not (whole_periods or sweep.case.plan.attention == "eager"):
            return True
    if field == "sequence_length" and config.masks_window(value) != config.masks_window(
        sweep.case.batch.sequence_length
    ):
        return True
    return field in ("hidden_size", "embedding_size") and config.hidden_size in config.breaks


@pytest.mark.parametrize("name", WITH_FORMULA)
@examples(10)
@given(sweeps())
def test_the_formula_gives_what_the_columns_hold(name: str, sweep: Sweep) -> None:
    (field,) = sweep.dimensions
    if QUANTITIES[name].known(sweep.case) is None:  # FLOPs of training with sparse_prediction
        return
    values = sweep.values(field, *near(sweep, field), most=7)
    # With relative positions, a single head, sequence or token saves less than the formula for several.
    alone = {value for value in values if 1 in sweep.fields(**{field: value}).values()}
    coefficients = growth(name, sweep).coefficients(sweep.case)
    for value, figure in zip(values, sweep.row(name, values, array), strict=True):
        if breaks(sweep, field, value):
            continue
        if figure is None:
            config = unchecked(sweep.config, **sweep.fields(**{field: value}))
            model = sweep.case.model.changed(config=config)
            assert name in ("forward", "training", "activations")
            assert cannot_run(model) or (name == "training" and unknown_training(model))
        elif not sweep.config.ones_matter or value not in alone:
            assert sum(one * Fraction(value) ** power for power, one in coefficients.items()) == figure


@pytest.mark.parametrize("name", WITH_FORMULA)
@examples(10)
@given(sweeps())
def test_the_order_is_that_of_the_differences(name: str, sweep: Sweep) -> None:
    (field,) = sweep.dimensions
    if sweep.config.ones_matter or not countable(name, sweep):
        return
    if field == "num_attention_heads":  # one to five heads must divide the hidden size
        model = sweep.case.model
        wide = replace(model.config, hidden_size=60 * model.config.hidden_size)
        sweep = sweep._replace(case=sweep.case._replace(model=model.changed(config=wide)))
    if field == "sequence_length":  # up to five tokens
        model = sweep.case.model
        longer = replace(model.config, max_position_embeddings=rows_for(model.config, 5))
        sweep = sweep._replace(case=sweep.case._replace(model=model.changed(config=longer)))
    # Positions start where they suffice for the sequence.
    start = sweep.limits(field)[0] if field == "max_position_embeddings" else 0
    places = [start + sweep.unit(field) * place for place in range(1, 6)]
    if any(breaks(sweep, field, place) for place in places):
        return
    figures = [QUANTITIES[name].of(sweep.at(**{field: place})) for place in places]
    degree = 0
    while any(figures := [after - before for before, after in pairwise(figures)]):
        degree += 1
    assert growth(name, sweep).order == degree


@given(sweeps(), st.sampled_from(WITH_FORMULA))
def test_the_exponent_is_the_slope_on_logarithmic_axes(sweep: Sweep, name: str) -> None:
    (field,) = sweep.dimensions
    coefficients = growth(name, sweep).coefficients(sweep.case)
    if not coefficients:
        return
    x = sympy.Symbol("x", positive=True)
    curve = sum(sympy.Rational(one.numerator, one.denominator) * x**power for power, one in coefficients.items())
    at = sweep.present(field)
    slope = (x * sympy.diff(curve, x) / curve).subs(x, at)
    assert local_exponent(coefficients, at) == Fraction(int(slope.p), int(slope.q))


def test_layers_are_12_times_the_square() -> None:
    """As in Kaplan et al. 2020 (arXiv:2001.08361), where N is about 12 L d^2.

    The other terms are biases and LayerNorms.
    """
    sweep = Sweep(Case(Model(BertConfig())), ("hidden_size",))
    assert growth("encoder", sweep).terms == ((2, "12 L H^{2}"), (1, "13 L H"))
    assert growth("encoder", sweep).numeric_terms(sweep.case) == ((2, "144 H^{2}"), (1, "156 H"))
    alone = growth("encoder", sweep._replace(ties=Ties(heads=True, intermediate=False)))
    assert alone.terms == ((2, "4 L H^{2}"), (1, r"L \left(2 I + 9\right) H"), (0, "I L"))


def test_more_heads_are_smaller_with_relative_positions() -> None:
    config = BertConfig(position_embedding_type="relative_key")
    found = growth("encoder", Sweep(Case(Model(config)), ("num_attention_heads",)))
    assert found.order == 0
    assert found.terms[-1] == (-1, r"H L \left(2 P - 1\right) A^{-1}")


def test_what_a_model_does_not_have_is_nothing() -> None:
    assert growth("head", Sweep(Case(Model(BertConfig())), ("hidden_size",))).terms == ()


@pytest.mark.parametrize("name", PEAKS)
@examples(25)
@given(sweeps())
def test_of_a_peak_it_is_the_formula_of_the_moment_where_it_is_now(name: str, sweep: Sweep) -> None:
    if not countable(name, sweep):
        return
    (field,) = sweep.dimensions
    coefficients = growth(name, sweep).coefficients(sweep.case)

    def figure(value: int) -> Fraction:
        return sum((one * Fraction(value) ** power for power, one in coefficients.items()), Fraction())

    now, config = sweep.present(field), sweep.config
    if field in ("hidden_size", "embedding_size") and config.hidden_size in config.breaks:
        return  # the formula holds for the neighbouring widths
    start = growth(name, sweep).start or now
    assert figure(start) == QUANTITIES[name].of(sweep.at(**{field: start}))
    # With a head size of 1, less is saved.
    if sweep.has(field, 2 * start) and sweep.at(**{field: 2 * start}).model.config.attention_head_size > 1:
        assert figure(2 * start) <= QUANTITIES[name].of(sweep.at(**{field: 2 * start}))


@pytest.mark.parametrize(
    ("preset", "layers", "attention", "name"),
    crossed(3, ["bert-base-uncased", "ModernBERT-base", "gpt2"], [1, 2, 3, 5, 8], ATTENTIONS, PEAKS),
)
def test_a_peak_of_few_layers_grows_with_them(preset: str, layers: int, attention: Attention, name: str) -> None:
    """With so few layers, the current model's formula has no symbol for their number."""
    config = replace(PRESETS[preset].config, num_hidden_layers=layers)
    sweep = Sweep(Case(Model(config), Batch(2, 128), Plan(attention=attention)), ("num_hidden_layers",))
    if QUANTITIES[name].known(sweep.case) is None:
        return
    trend = growth(name, sweep)
    assert trend.order == 1
    assert trend.start <= 1 + trend.step
    for more in range(4):
        place = max(trend.start, layers) + more * trend.step
        real = QUANTITIES[name].of(sweep.at(num_hidden_layers=place))
        if preset == "gpt2" and more:  # with GPT-2's cache, the point of the peak in inference can move
            assert trend.figure(sweep.case, place) <= real
        else:
            assert trend.figure(sweep.case, place) == real


@pytest.mark.parametrize("name", PEAKS)
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize(
    ("field", "order"),
    [("batch_size", 1), ("sequence_length", 2), ("num_attention_heads", 1), ("hidden_size", 2), ("type_vocab_size", 1)],
)
def test_a_peak_grows_from_a_single_one(field: str, order: int, attention: Attention, name: str) -> None:
    """For a single sequence, token, head or token type, the current model's formula has no symbol."""
    config = BertConfig(num_attention_heads=1, type_vocab_size=1, num_hidden_layers=2, hidden_size=64, vocab_size=99)
    sweep = Sweep(Case(Model(config), Batch(1, 1), Plan(attention=attention)), (field,))
    trend = growth(name, sweep)
    start = trend.start or sweep.present(field)
    assert trend.order in range(field in ("hidden_size", "type_vocab_size", "batch_size"), order + 1)
    for times in (1, 2, 4):
        figure = trend.figure(sweep.case, times * start)
        real = QUANTITIES[name].of(sweep.at(**{field: times * start}))
        assert figure == real if times == 1 else figure <= real


def test_memory_is_linear_in_the_batch_also_for_a_single_sequence() -> None:
    case = Case(Model(BertConfig(vocab_size=99), "BertForMaskedLM"))
    for name in PEAKS:
        trend = growth(name, Sweep(case, ("batch_size",)))
        assert (trend.order, trend.start) == (1, 0)
        for batch_size in (1, 2, 64):
            figure = QUANTITIES[name].of(case._replace(batch=Batch(batch_size, 128)))
            assert batch_size > 1 or trend.figure(case, batch_size) == figure


@pytest.mark.parametrize("field", sweepable(Model(BertConfig())))
def test_no_coefficient_has_the_swept_letter_or_what_goes_along(field: str) -> None:
    sweep = Sweep(Case(Model(BertConfig(), "BertForMaskedLM")), (field,))
    for name in WITH_FORMULA:
        for coefficient in growth(name, sweep).powers.values():
            assert not coefficient.expression.free_symbols & {ALL_SYMBOLS[one] for one in (field, *sweep.following)}


@pytest.mark.parametrize("name", PEAKS)
@pytest.mark.parametrize("width", [640, 1024])
def test_a_peak_where_embeddings_and_layers_are_as_wide_now(name: str, width: int) -> None:
    """ELECTRA has a projection if the two widths differ."""
    config = PRESETS["electra-base-discriminator"].config
    sweep = Sweep(Case(Model(config, "ElectraModel")), ("embedding_size",))
    coefficients = growth(name, sweep).coefficients(sweep.case)
    figure = sum(one * width**power for power, one in coefficients.items())
    assert figure == QUANTITIES[name].of(sweep.at(embedding_size=width))


@pytest.mark.parametrize("field", ["num_hidden_layers", "sequence_length", "batch_size", "hidden_size"])
def test_the_masks_of_a_window_are_in_the_formula(field: str) -> None:
    """Two of three layers have a window, so the formula holds for whole periods of layers."""
    config = ModernBertConfig(num_hidden_layers=7, hidden_size=64, num_attention_heads=2, pad_token_id=0, vocab_size=99)
    case = Case(Model(config, "ModernBertModel"), Batch(2, 256), Plan(attention="fused"))
    sweep = Sweep(case, (field,))
    coefficients = growth("activations", sweep).coefficients(case)
    for more in (0, 3, 6):
        value = sweep.present(field) + more * (2 if field == "hidden_size" else 1)
        sizes: dict[str, Any] = {field: value}
        other = case.replace(**sizes) if config.has(field) else case._replace(batch=case.batch._replace(**sizes))
        figure = QUANTITIES["activations"].of(other) if field != "hidden_size" or not more else None
        total = sum(coefficient * Fraction(value) ** power for power, coefficient in coefficients.items())
        assert figure is None or total == figure
