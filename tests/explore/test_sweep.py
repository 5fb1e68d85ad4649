"""A sweep is a set of single models: each value, line and limit is compared with models built one by one."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bertcalc import BertConfig, EuroBertConfig, ModernBertConfig
from bertcalc.config import DIMENSIONS, POSITION_EMBEDDING_TYPES, ConfigError
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.explore.sweep import Sweep, Ties, around, crossing, levels, line, published, round_up, sweepable
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.memory.plan import Attention, Plan, Recompute
from bertcalc.model.batch import BATCH, Batch, batch_problems
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.examples import examples
from tests.strategies import cases as models

array = partial(np.array, dtype=np.int64)
ties = st.builds(Ties, st.booleans(), st.booleans())


@st.composite
def sweeps(draw: st.DrawFn, dimensions: int = 1) -> Sweep:
    drawn = draw(models(POSITION_EMBEDDING_TYPES))
    # A convolution of a single unit is not counted.
    convolves = getattr(drawn.config, "convolves", False)
    assume(not convolves or min(drawn.config.num_attention_heads, drawn.config.attention_head_size) > 1)
    length = draw(st.integers(1, min(32, drawn.config.longest)))
    plan = Plan(attention=draw(st.sampled_from(("eager", "fused"))))
    case = Case(drawn.model, Batch(draw(st.integers(1, 4)), length), plan)
    known = sweepable(drawn.model)
    fields = draw(st.lists(st.sampled_from(known), min_size=dimensions, max_size=dimensions, unique=True))
    return Sweep(case, tuple(fields), draw(ties))


OF_CALLS = {*PEAKS, "forward", "training", "activations"}


def countable(name: str, sweep: Sweep) -> bool:
    """Whether the quantity has a value at every place.

    Question answering needs two labels to run. ModernBERT's heads need an even size.
    """
    runs = sweep.case.model.cls.task != "question-answering" or "num_labels" not in sweep.dimensions
    if sweep.config.turns_pairs and sweep.config.heads_of == 1:
        runs = runs and not {"hidden_size", "num_attention_heads"} & {*sweep.dimensions}
    return (runs or name not in OF_CALLS) and QUANTITIES[name].known(sweep.case) is not None


def base(*dimensions: str, **said: bool) -> Sweep:
    return Sweep(Case(Model(BertConfig())), dimensions, Ties(**said))


def one(sweep: Sweep, **values: int) -> Case | None:
    """The single model at a place, checked as a configuration and as a batch, or None if it is impossible."""
    fields = sweep.fields(**values)
    now, then = sweep.config.shared(), {**sweep.config.shared(), **fields}
    if any(now[field] * then["hidden_size"] != then[field] * now["hidden_size"] for field in sweep.following):
        return None  # the fields that follow would not keep their ratio
    sizes = {field: fields.pop(field) for field in BATCH if field in fields}
    case = sweep.case._replace(batch=sweep.case.batch._replace(**sizes))
    try:
        config = replace(sweep.config, **fields)
    except ConfigError:
        return None
    if any(batch_problems(config, case.batch.sizes())):
        return None
    return case._replace(model=case.model.changed(config=config))


def near(sweep: Sweep, field: str, reach: int = 40) -> tuple[int, int]:
    low, high = sweep.limits(field)
    return low, min(high, max(low, reach * sweep.unit(field)))


def figure_of(name: str, case: Case) -> int | None:
    """The value of a single model, or None if it is refused, such as one with rotary heads of an odd size."""
    try:
        return QUANTITIES[name].of(case)
    except InputError:
        return None


@pytest.mark.parametrize("attention", ["eager", "fused"])
@pytest.mark.parametrize("name", QUANTITIES)
def test_a_row_may_have_a_model_whose_heads_share_no_keys(name: str, attention: Attention) -> None:
    """EuroBERT with two key heads: a model with two heads does not repeat them; models with four and eight heads do."""
    config = EuroBertConfig(vocab_size=9, hidden_size=16, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0)
    config = replace(config, num_hidden_layers=2, intermediate_size=1)
    sweep = Sweep(
        Case(Model(config), Batch(1, 16), Plan(attention=attention)), ("num_attention_heads",), Ties(heads=False)
    )
    alone = [one(sweep, num_attention_heads=heads) for heads in (2, 4, 8)]
    assert sweep.row(name, [2, 4, 8], array) == [figure_of(name, case) for case in alone if case]


@pytest.mark.parametrize("name", QUANTITIES)
@examples(10)
@given(sweeps())
def test_a_row_holds_what_each_model_has_alone(name: str, sweep: Sweep) -> None:
    (field,) = sweep.dimensions
    values = sweep.values(field, *near(sweep, field), most=9)
    alone = [one(sweep, **{field: value}) for value in values]
    assert sweep.row(name, values, array) == [figure_of(name, case) for case in alone if case]


@pytest.mark.parametrize("name", sorted(OF_CALLS))
@pytest.mark.parametrize("architecture", ["BertForQuestionAnswering", "AlbertForPreTraining"])
def test_a_row_has_no_figure_where_num_labels_makes_the_class_fail(architecture: str, name: str) -> None:
    sweep = Sweep(Case(Model(CLASSES[architecture].config.default(), architecture)), ("num_labels",))
    row = sweep.row(name, [2, 3, 4], array)
    assert row == [figure_of(name, sweep.at(num_labels=labels)) for labels in (2, 3, 4)]
    assert (row[1] is None) == ("Answering" in architecture or name in ("training", "training_memory"))


@pytest.mark.parametrize("name", ["parameters", "training", "training_memory"])
@examples(10)
@given(sweeps(2))
def test_a_table_holds_what_each_model_has_alone_and_nothing_where_there_is_none(name: str, sweep: Sweep) -> None:
    if not countable(name, sweep):
        return
    axes = [sweep.values(field, *near(sweep, field), most=5) for field in sweep.dimensions]
    for x, figures in zip(axes[0], sweep.table(name, axes[0], axes[1], array), strict=True):
        for y, figure in zip(axes[1], figures, strict=True):
            case = one(sweep, **dict(zip(sweep.dimensions, (x, y), strict=True)))
            assert figure == (figure_of(name, case) if case else None)


@given(sweeps())
def test_the_values_are_all_that_are_possible(sweep: Sweep) -> None:
    (field,) = sweep.dimensions
    low, high = near(sweep, field, reach=3)
    if high - low < 2_000:
        possible = [value for value in range(low, high + 1) if one(sweep, **{field: value})]
        assert sweep.values(field, low, high, most=2_000) == possible
        assert all(sweep.has(field, value) == (value in possible) for value in range(low, high + 1))


@given(sweeps(), st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 300))
def test_many_values_are_thinned_out_to_round_ones(sweep: Sweep, one_end: int, other: int, most: int) -> None:
    (field,) = sweep.dimensions
    least, last = sweep.limits(field)
    low, high = (min(max(end, least), last) for end in sorted((one_end, other)))
    values = sweep.values(field, low, high, most)
    assert 0 < len(values) <= most + 2 or field == "num_attention_heads"
    assert values == sorted(set(values))
    assert all(one(sweep, **{field: value}) for value in values)
    assert len(values) == 1 or low <= values[0] <= values[-1] <= high


@given(sweeps())
def test_the_limits_are_the_ends_of_what_is_possible(sweep: Sweep) -> None:
    (field,) = sweep.dimensions
    low, high = sweep.limits(field)
    assert one(sweep, **{field: low})
    assert one(sweep, **{field: high})
    assert not one(sweep, **{field: low - sweep.unit(field)})
    assert not one(sweep, **{field: high + sweep.unit(field)})


def test_what_goes_along_is_what_is_said() -> None:
    wide = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}
    assert base("hidden_size").fields(hidden_size=1024) == wide
    assert base("hidden_size", heads=False).values("hidden_size", 760, 800) == [768, 780, 792]
    assert base("hidden_size", intermediate=False).fields(hidden_size=1024) == {
        "hidden_size": 1024,
        "num_attention_heads": 16,
    }
    assert base("hidden_size", "intermediate_size").following == ("num_attention_heads",)
    assert base("num_hidden_layers").following == ()
    assert base("num_attention_heads").values("num_attention_heads", 5, 20) == [6, 8, 12, 16]
    assert base("num_attention_heads").values("num_attention_heads", 9, 11) == [8]
    assert base("hidden_size").values("hidden_size", 770, 780) == [768]


LINES = ["parameters", "encoder", "forward", "activations", "training_memory", "inference_memory"]


@pytest.mark.parametrize("name", LINES)
@examples(8)
@given(sweeps(2), st.floats(0, 1))
def test_a_line_is_between_what_is_below_the_level_and_what_is_not(name: str, sweep: Sweep, part: float) -> None:
    if not sweep.grows or not countable(name, sweep):
        return
    xs, ys = (sweep.values(field, *near(sweep, field), most=12) for field in sweep.dimensions)
    table = sweep.table(name, xs, ys, array)
    known = [figure for row in table for figure in row if figure is not None]
    level = min(known) + round(part * (max(known) - min(known)))
    places = line(xs, ys, table, level)
    assert places == sorted(places, key=lambda place: (place[0], -place[1]))
    for x, y in places:
        if x in xs:
            row = table[xs.index(int(x))]
            below = [figure for at, figure in zip(ys, row, strict=True) if figure is not None and at < y]
            above = [figure for at, figure in zip(ys, row, strict=True) if figure is not None and at > y]
        else:
            assert y in ys
            column = [row[ys.index(int(y))] for row in table]
            below = [figure for at, figure in zip(xs, column, strict=True) if figure is not None and at < x]
            above = [figure for at, figure in zip(xs, column, strict=True) if figure is not None and at > x]
        assert max(below, default=level) <= level <= min(above, default=level)


def test_a_line_misses_no_row_that_the_level_is_in() -> None:
    sweep = base("hidden_size", "num_hidden_layers")
    xs, ys = list(range(64, 2049, 64)), list(range(1, 49))
    table = [[QUANTITIES["parameters"].of(sweep.at(hidden_size=x, num_hidden_layers=y)) for y in ys] for x in xs]
    level = 110_000_000
    crossed = [x for x, row in zip(xs, table, strict=True) if row[0] <= level <= row[-1]]
    places = line(xs, ys, table, level)
    assert [x for x, _y in places if x in xs] == crossed
    # Exact, since the count is linear in the layers: bert-base has 109,482,240 and a layer has 7,087,872.
    assert dict(places)[768] == pytest.approx(12 + (level - 109_482_240) / 7_087_872)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(1, 40))
def test_where_a_polynomial_of_degree_2_reaches_a_level_is_exact(a: int, b: int, c: int, at: int) -> None:
    places = [1, 7, 20, 41, 66]
    figures: list[int | None] = [a * place**2 + b * place + c for place in places]
    found = crossing(places, figures, a * at**2 + b * at + c)
    assert found == pytest.approx(at if a or b else 1)


def test_a_level_that_is_never_reached_has_no_place() -> None:
    assert crossing([1, 2, 3], [10, 20, 30], 31) is None
    assert crossing([1, 2, 3], [10, 20, 30], 9) is None
    assert crossing([1, 2, 3, 4], [10, 20, None, 40], 30) == 3
    assert crossing([1, 2, 3, 4], [None, 20, None, 40], 30) is None


@given(st.integers(0, 10**18), st.integers(0, 10**18))
def test_levels_are_round_and_few(one_end: int, other: int) -> None:
    low, high = sorted((one_end, other))
    found = levels(low, high)
    assert found == sorted(set(found))
    assert all(low < level < high for level in found)
    assert len(found) <= max(11, len(str(high)) + 1)
    assert len(found) >= 2 or high - low < 20


@given(st.fractions(Fraction(1, 10), 10**9))
def test_rounding_up_finds_the_nearest(number: Fraction) -> None:
    steps = [head * 10**power for power in range(12) for head in (1, 2, 5)]
    assert round_up(number) == min(step for step in steps if step >= number)


@pytest.mark.parametrize("name", ["forward", "training_memory"])
@pytest.mark.parametrize("dimensions", [("batch_size",), ("batch_size", "sequence_length"), ("hidden_size",)])
def test_what_int64_cannot_count_is_known_before(name: str, dimensions: tuple[str, ...]) -> None:
    config = BertConfig(max_position_embeddings=10**6, num_hidden_layers=1000, vocab_size=10**7)
    case = Case(Model(config, "BertForMaskedLM"), Batch(10**4, 10**4))
    sweep = Sweep(case, dimensions)
    ranges = {field: sweep.limits(field) for field in dimensions}
    assert not sweep.fits([name], ranges)
    found = sweep.fitting([name], ranges)
    assert found is not None
    assert sweep.fits([name], found)
    assert QUANTITIES[name].of(sweep.at(**{field: high for field, (_low, high) in found.items()})) < 2**63
    field = next(field for field in dimensions if found[field] != ranges[field])
    corner = {
        name: (high if name in dimensions[: dimensions.index(field) + 1] else ranges[name][1])
        for name, (_l, high) in found.items()
    }
    beyond = {**corner, field: corner[field] + sweep.unit(field)}
    assert QUANTITIES[name].of(sweep.at(**beyond)) >= 2**63


def test_where_not_even_one_model_can_be_counted_there_is_none() -> None:
    config = BertConfig(max_position_embeddings=10**6)
    sweep = Sweep(Case(Model(config), Batch(10**6, 10**6)), ("num_hidden_layers",))
    assert sweep.fitting(["forward"], {"num_hidden_layers": (1, 48)}) is None


def test_no_quantity_of_a_model_that_fits_wraps_around() -> None:
    sweep = Sweep(Case(Model(BertConfig(max_position_embeddings=10**6)), Batch(1, 10**6)), ("batch_size",))
    found = sweep.fitting(["forward"], {"batch_size": (1, 10**6)})
    assert found is not None
    values = sweep.values("batch_size", *found["batch_size"])
    assert sweep.row("forward", values, array) == [QUANTITIES["forward"].of(sweep.at(batch_size=n)) for n in values]


@pytest.mark.parametrize("dimensions", list(permutations(DIMENSIONS, 2)))
def test_every_published_model_is_in_its_place(dimensions: tuple[str, str]) -> None:
    found = published(dimensions)
    assert sorted(name for place in found for name in place.presets) == sorted(PRESETS)
    assert len({place.place for place in found}) == len(found)
    for place in found:
        for name in place.presets:
            assert tuple(getattr(PRESETS[name].config, field) for field in dimensions) == place.place


def test_a_batch_is_no_field_of_a_published_model() -> None:
    assert published(("hidden_size", "batch_size")) == []


def test_the_neighbours_of_a_value_need_not_include_it() -> None:
    assert around([64, 128, 192], 128) == (64, 192)
    assert around([64, 128, 192], 100) == (64, 128)
    assert around([64, 128], 64) == (None, 128)
    assert around([64, 128], 300) == (128, None)


def test_heads_that_share_keys_and_values_are_swept_in_multiples() -> None:
    """EuroBERT-610m has 18 heads and 6 key and value heads.

    The real class refuses 4 heads, and 9 heads with a width of 576.
    """
    config = PRESETS["EuroBERT-610m"].config
    heads = Sweep(Case(Model(config, "EuroBertModel")), ("num_attention_heads",))
    assert heads.values("num_attention_heads", 1, 36) == [6, 12, 18, 24, 36]
    assert not heads.has("num_attention_heads", 4)
    hidden = Sweep(Case(Model(config, "EuroBertModel")), ("hidden_size",))
    assert hidden.values("hidden_size", 64, 2048) == [1152]
    assert not Sweep(Case(Model(config, "EuroBertModel")), ("hidden_size", "num_attention_heads")).exists(
        hidden_size=576, num_attention_heads=9
    )


def test_a_size_that_cannot_run_leaves_the_others_in_the_chart() -> None:
    """ModernBERT cannot rotate heads of an odd size. With 66 units, this excludes 2, 6, 22 and 66 heads."""
    config = ModernBertConfig(
        hidden_size=66, num_attention_heads=11, num_hidden_layers=2, vocab_size=300, pad_token_id=0
    )
    for measure in ("training_memory", "inference_memory"):
        sweep = Sweep(Case(Model(config, "ModernBertModel")), ("num_attention_heads",))
        values = sweep.values("num_attention_heads", *sweep.limits("num_attention_heads"))
        assert values == [1, 2, 3, 6, 11, 22, 33, 66]
        figures = sweep.row(measure, values, array)
        assert [value for value, figure in zip(values, figures, strict=True) if figure is None] == [2, 6, 22, 66]
        assert figures == [QUANTITIES[measure].known(sweep.at(num_attention_heads=value)) for value in values]
        sweep = Sweep(sweep.case, ("num_attention_heads", "num_hidden_layers"))
        table = sweep.table(measure, values, [1, 2, 3], array)
        assert [[figure is None for figure in row] for row in table] == [[figure is None] * 3 for figure in figures]


@pytest.mark.parametrize("recompute", ["selective", "full"])
@pytest.mark.parametrize("frozen", [0, 2])
def test_layers_that_run_again_are_swept_as_each_is_alone(recompute: Recompute, frozen: int) -> None:
    plan = Plan(recompute=recompute, freezing=Freezing(layers=frozen))
    sweep = Sweep(Case(Model(BertConfig(vocab_size=300), "BertForMaskedLM"), Batch(2, 8), plan), ("num_hidden_layers",))
    for measure in ("training", "activations", "training_memory"):
        values = list(range(frozen + 1, 12))
        alone = [QUANTITIES[measure].of(sweep.at(num_hidden_layers=layers)) for layers in values]
        assert sweep.row(measure, values, array) == alone
