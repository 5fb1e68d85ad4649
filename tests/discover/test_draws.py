"""The sizes at which a formula is tested go beyond the ends of rules, and satisfy the known conditions."""

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover.results.conditions import Condition
from bertcalc.discover.search.condition_candidates import bounds, candidates, count_excluded
from bertcalc.discover.search.draws import adjusted, is_depth, values_beyond, wide_values

FIELDS = ("hidden_size", "heads", "layers")
SIZES = st.fixed_dictionaries({field: st.integers(1, 4096) for field in FIELDS})
CONDITIONS = st.lists(
    st.builds(
        Condition,
        st.sampled_from(["multiple", "differs", "at least", "at most", "more", "less"]),
        st.sampled_from(FIELDS),
        st.sampled_from(FIELDS) | st.integers(1, 9),
        st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2)]),
    ).filter(lambda condition: condition.field != condition.other),
    max_size=4,
)


@given(SIZES, SIZES, CONDITIONS)
def test_changes_are_made_to_meet_conditions_that_the_first_sizes_meet(
    at: dict[str, int], changes: dict[str, int], conditions: list[Condition]
) -> None:
    conditions = [condition for condition in conditions if condition.holds(at)]
    after = adjusted(changes, at, conditions)
    assert all(condition.holds({**at, **after}) for condition in conditions)
    assert all(at[field] != value for field, value in after.items())
    if not conditions:
        assert after == {field: value for field, value in changes.items() if value != at[field]}


@given(SIZES, st.integers())
def test_values_are_other_sizes_near_and_far(at: dict[str, int], seed: int) -> None:
    values = wide_values("hidden_size", at, Random(seed))
    assert all(0 < value != at["hidden_size"] for value in values)
    assert {at["hidden_size"] + 1, 2 * at["hidden_size"], 3 * at["hidden_size"]} <= {*values}
    assert {other for other in at.values() if other < at["hidden_size"]} <= {*values}
    assert max(wide_values("layers", at, Random(seed))) <= max(48, at["layers"] + 1)


def test_a_list_of_layers_ends_within_what_is_tried() -> None:
    assert 44 in values_beyond("num_hidden_layers", 40, 5)  # mllama's next layer with cross-attention would be 43
    assert is_depth("text_config.num_hidden_layers")
    assert not is_depth("hidden_size_per_layer_input")


@given(st.integers(1, 99), st.integers(1, 99), st.fractions(Fraction(1, 4), 4, max_denominator=4))
def test_a_multiple_of_a_part_is_what_its_step_divides(size: int, other: int, factor: Fraction) -> None:
    condition = Condition("multiple", "size", "other", factor)
    assert condition.holds({"size": size, "other": other}) == ((size / (factor * other)).denominator == 1)


def test_bounds_exclude_a_size_and_as_few_good_ones_as_they_can() -> None:
    good = [{"size": size} for size in (8, 4, 12, 16)]
    offered = bounds({"size": 14}, good, ["size"])
    assert offered == [Condition("at most", "size", 12), Condition("at least", "size", 16), Condition("is", "size", 8)]
    assert [count_excluded(condition, good) for condition in offered] == [1, 3, 3]


def test_a_quarter_of_a_quotient_is_among_the_conditions() -> None:
    """OLMo Hybrid has int(0.75 * hidden_size / heads) keys in each head: 22 instead of 22.5 with 3,840 / 128."""
    fields = ("hidden_size", "heads")
    base, bad = ({"hidden_size": 3840, "heads": heads} for heads in (30, 128))
    good = [{"hidden_size": 3840, "heads": heads} for heads in range(1, 3841) if 2880 % heads == 0 == 3840 % heads]
    assert Condition("multiple", "hidden_size", "heads", Fraction(4)) in candidates(bad, good, fields, base)
    assert all(int(0.75 * 3840 / sizes["heads"]) * sizes["heads"] == 2880 for sizes in good)
