import math
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, fields
from typing import Any

import numpy as np
import pytest
import transformers
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Config, ConfigError, GPT2Config, build, columns
from bertcalc.config import DIMENSIONS, check_field, problems
from tests.oracle import Case, facts, real_config
from tests.strategies import configs

FIELDS = [field.name for field in fields(BertConfig)]
DEFAULTS = asdict(BertConfig())
fields_of_a_config = st.sampled_from(FIELDS)
dimensions = st.sampled_from(list(DIMENSIONS))

HUGE = 10**5000  # more digits than Python prints, so Hypothesis must not print it
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**4000, -(10**4000), 2**63, 0, -1])
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.text(min_size=1000)
    | st.binary()
    | st.sampled_from(["gelu", "relative_key", "GELU", "768", "True", "{value}"])
)
junk = (
    st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2) | st.tuples(inner),
        max_leaves=5,
    )
    | st.sampled_from([np.array([1, 2]), np.array([0.5, 0.5]), np.array([])])
    | st.builds(object)
)


def shown(value: object) -> str:
    return f"{value:,}" if type(value) is int else repr(value)


def error_of(values: Mapping[str, Any]) -> ConfigError | None:
    """The error that a configuration of these values raises. Any other exception fails the test."""
    try:
        BertConfig(**values)
    except ConfigError as error:
        return error
    return None


def same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def test_the_defaults_are_those_of_transformers() -> None:
    real = transformers.BertConfig()
    ours = {field: value for field, value in DEFAULTS.items() if field != "position_embedding_type"}
    assert all(same(getattr(real, field), value) for field, value in ours.items())
    # In transformers, num_labels is a property, not a field.
    assert set(transformers.BertConfig.__annotations__) - {"model_type"} == set(ours) - {"num_labels"}


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        BertConfig().hidden_size = 1  # type: ignore[misc]


@given(configs())
def test_transformers_takes_every_configuration_as_it_is(config: Config) -> None:
    real = real_config(config)
    ours = asdict(config)
    del ours["position_embedding_type"]
    assert {field: getattr(real, field) for field in ours} == ours


@given(fields_of_a_config, junk)
@example("hidden_size", np.array([1, 2]))
@example("num_labels", True)
@example("hidden_dropout_prob", math.nan)
@example("intermediate_size", math.nan)
@example("intermediate_size", math.inf)
@example("layer_norm_eps", 1)
@example("hidden_act", ["gelu"])
@example("pad_token_id", -1)
def test_whatever_a_field_is_given_the_only_exception_is_a_config_error(field: str, value: Any) -> None:
    error = error_of({field: value})
    if error is None:
        if field != "position_embedding_type":
            real_config(BertConfig(**{field: value}))
        return
    message, problem = str(error), error.problem
    assert field in message
    assert len(message) < 300
    if value is problem.value:
        text = "an object" if type(value) is object else shown(value)
        assert (text if len(text) <= 40 else text[:36]) in message
    for remedied, nearest in problem.remedies[0].items():
        assert remedied in message
        assert shown(nearest) in message


NO_PROBABILITY = (math.nan, -0.1, 1.5, True, "0.1")
NO_POSITIVE_DECIMAL = (math.nan, math.inf, 0.0, -1.0, 1, None)
NO_TOKEN = (-1, 1.0, True, "0", 2**63)
REFUSED: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(FIELDS, (1, None)),  # for all other fields, which are booleans or names
    **dict.fromkeys(DIMENSIONS, (0, -1, 2**63, 2.0, True, "2", None)),
    **dict.fromkeys(["hidden_dropout_prob", "attention_probs_dropout_prob"], (*NO_PROBABILITY, None)),
    **dict.fromkeys(["initializer_range", "layer_norm_eps"], NO_POSITIVE_DECIMAL),
    **dict.fromkeys(["pad_token_id", "bos_token_id", "eos_token_id"], NO_TOKEN),
    "classifier_dropout": NO_PROBABILITY,
    "hidden_act": ("GELU", "", 1, None),
    "position_embedding_type": ("relative", "", 1, None),
}


@pytest.mark.parametrize("value", [None, "wide", [1]])
def test_a_width_that_is_no_number_is_refused_before_another_size_is_made_of_it(value: Any) -> None:
    with pytest.raises(ConfigError, match="n_embd"):
        GPT2Config(n_embd=value)


@pytest.mark.parametrize("field", FIELDS)
def test_a_value_that_a_field_cannot_have_is_refused_under_its_name(field: str) -> None:
    for value in REFUSED[field]:
        error = error_of({field: value})
        assert error is not None, value
        assert error.problem.field == field
        assert error.problem.value is value


@pytest.mark.parametrize("value", [HUGE, -HUGE, [HUGE], {HUGE: HUGE}], ids=["huge", "-huge", "list", "dict"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_number_too_long_to_be_written_is_refused_like_any_other(field: str, value: object) -> None:
    error = error_of({field: value})
    assert error is not None
    assert error.problem.field == field
    assert f"{field} too long to show" in str(error)


@given(st.dictionaries(fields_of_a_config, junk, min_size=1), st.data())
def test_following_the_remedies_always_ends_in_a_valid_configuration(
    wrong: dict[str, Any], data: st.DataObject
) -> None:
    values = {**DEFAULTS, **wrong}
    # Each field is corrected separately, then heads, padding and cross-attention together.
    for _ in range(len(wrong) + 3):
        if (error := error_of(values)) is None:
            return
        problem = error.problem
        values |= data.draw(st.sampled_from(problem.remedies))
        assert check_field(BertConfig, problem.field, values[problem.field]) is None
    assert error_of(values) is None


@given(configs(), st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 9999), st.booleans())
def test_each_remedy_of_a_relation_between_fields_mends_it(
    config: Config, hidden_size: int, heads: int, pad: int, cross: bool
) -> None:
    values = asdict(config) | {
        "hidden_size": hidden_size,
        "num_attention_heads": heads,
        "pad_token_id": pad,
        "add_cross_attention": cross,
    }
    found = list(problems(BertConfig, values))
    assume(found)
    for problem in found:
        assert len(problem.remedies) >= 1
        for remedy in problem.remedies:
            rest = list(problems(BertConfig, values | remedy))
            assert problem.field not in {other.field for other in rest}
            assert len(rest) == len(found) - 1


def test_770_hidden_units_for_12_heads_are_answered_with_768_and_780() -> None:
    with pytest.raises(ConfigError, match=r"hidden_size 770 .* num_attention_heads 12: use 768 or 780") as caught:
        BertConfig(hidden_size=770)
    assert caught.value.problem.remedies == (
        {"hidden_size": 768},
        {"hidden_size": 780},
        {"num_attention_heads": 11},
    )


def pair_problems(hidden_size: int, heads: int) -> tuple[dict[str, Any], ...]:
    error = error_of({"hidden_size": hidden_size, "num_attention_heads": heads})
    return error.problem.remedies if error else ()


def test_the_remedies_for_heads_are_the_nearest_by_brute_force() -> None:
    for hidden_size in range(1, 60):
        for heads in range(1, 60):
            remedies = pair_problems(hidden_size, heads)
            assert bool(remedies) == (hidden_size % heads != 0)
            if not remedies:
                continue
            *sizes, divisor = remedies
            offered = [size["hidden_size"] for size in sizes]
            multiples = range(heads, 200, heads)
            distances = [abs(size - hidden_size) for size in offered]
            assert distances == sorted(distances)
            assert set(offered) <= set(multiples)
            assert distances[0] == min(abs(multiple - hidden_size) for multiple in multiples)
            below = [multiple for multiple in multiples if multiple < hidden_size][-1:]
            assert set(offered) == {*below, next(multiple for multiple in multiples if multiple > hidden_size)}
            divisors = [count for count in range(1, hidden_size + 1) if hidden_size % count == 0]
            chosen = divisor["num_attention_heads"]
            nearest = min(abs(count - heads) for count in divisors)
            assert chosen == max(count for count in divisors if abs(count - heads) == nearest)  # the larger of two


@pytest.mark.parametrize(
    ("hidden_size", "heads", "sizes"),
    [(65_535, 40_000, [40_000]), (3, 5, [5]), (65_530, 65_536, [65_536]), (65_536, 3, [65_535])],
)
def test_no_remedy_leaves_the_limits_of_hidden_size(hidden_size: int, heads: int, sizes: list[int]) -> None:
    *offered, _ = pair_problems(hidden_size, heads)
    assert [remedy["hidden_size"] for remedy in offered] == sizes


@given(dimensions, st.floats(allow_nan=False) | st.integers())
@example("hidden_size", math.inf)
@example("hidden_size", -math.inf)
@example("num_labels", 0.5)
def test_the_remedy_for_a_number_is_the_nearest_whole_number_within_the_limits(field: str, value: float) -> None:
    problem = check_field(BertConfig, field, value)
    assume(problem is not None)
    assert problem is not None
    (remedy,) = problem.remedies
    low, high = DIMENSIONS[field]
    nearest = remedy[field]
    assert isinstance(nearest, int)
    assert low <= nearest <= high
    assert abs(nearest - min(max(value, low), high)) <= 0.5


@given(dimensions, st.text() | st.booleans() | st.none() | st.just(math.nan))
def test_what_is_nowhere_near_a_number_is_answered_with_the_default(field: str, value: object) -> None:
    problem = check_field(BertConfig, field, value)
    assert problem is not None
    assert problem.remedies == ({field: DEFAULTS[field]},)


def test_a_pad_token_outside_the_vocabulary_is_answered_with_the_last_token_or_a_larger_one() -> None:
    assert BertConfig(vocab_size=10, pad_token_id=9).pad_token_id == 9
    error = error_of({"vocab_size": 10, "pad_token_id": 10})
    assert error is not None
    assert error.problem.remedies == ({"pad_token_id": 9}, {"vocab_size": 11})


def test_cross_attention_needs_a_decoder() -> None:
    error = error_of({"add_cross_attention": True})
    assert error is not None
    assert error.problem.remedies == ({"is_decoder": True}, {"add_cross_attention": False})
    # transformers refuses it, too, when a model is built.
    with pytest.raises(ValueError, match="decoder"):
        transformers.BertModel(transformers.BertConfig(add_cross_attention=True))


def at_limit(*fields: str) -> Config:
    return BertConfig(**{field: DIMENSIONS[field][1] for field in fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "field", [field for field in DIMENSIONS if field not in ("num_attention_heads", "hidden_size")]
)
def test_transformers_builds_every_dimension_at_its_upper_limit(field: str) -> None:
    case = Case(at_limit(field), "BertForSequenceClassification")
    assert facts(case.ours()) == facts(case.real())


def test_transformers_builds_as_many_heads_and_hidden_units_as_there_can_be() -> None:
    case = Case(at_limit("num_attention_heads", "hidden_size"))
    assert facts(case.ours()) == facts(case.real())


@pytest.mark.parametrize("field", DIMENSIONS)
def test_transformers_builds_every_dimension_at_its_lower_limit(field: str) -> None:
    heads = {"num_attention_heads": 1} if field == "hidden_size" else {}
    case = Case(BertConfig(**heads, **{field: DIMENSIONS[field][0]}), "BertForTokenClassification")  # type: ignore[arg-type]
    assert facts(case.ours()) == facts(case.real())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_with_everything_at_its_limit_the_total_still_fits_64_bits(architecture: str) -> None:
    # With one head of 65,536 units, the table of relative positions is largest.
    largest = BertConfig(
        **{field: high for field, (_, high) in DIMENSIONS.items() if field != "num_attention_heads"},  # type: ignore[arg-type]
        num_attention_heads=1,
        position_embedding_type="relative_key",
        is_decoder=True,
        add_cross_attention=True,
        tie_word_embeddings=False,
    )
    assert build(largest, architecture).num_parameters() < 2**63


@pytest.mark.parametrize("field", [field for field in FIELDS if field not in DIMENSIONS])
def test_columns_are_for_dimensions_only(field: str) -> None:
    with pytest.raises(TypeError, match=f"{field} is not a dimension: .*vocab_size.*num_labels"):
        columns(BertConfig(), **{field: np.array([1])})


@pytest.mark.parametrize("wrong", [0, -1, 2**40])
@pytest.mark.parametrize("field", DIMENSIONS)
def test_a_row_outside_the_limits_is_reported_as_the_single_configuration_is(field: str, wrong: int) -> None:
    alone = error_of({field: wrong})
    with pytest.raises(ConfigError) as caught:
        columns(BertConfig(), **{field: np.array([DEFAULTS[field], wrong])})
    assert str(caught.value) == str(alone)


@pytest.mark.parametrize("column", [[1.5], [768.0], [True], ["768"], [None], [np.nan]], ids=repr)
def test_a_column_that_is_not_of_integers_is_refused(column: list[Any]) -> None:
    with pytest.raises(ConfigError, match="hidden_size"):
        columns(BertConfig(), hidden_size=np.array(column))


def test_a_row_where_heads_do_not_divide_the_hidden_size_is_refused() -> None:
    alone = error_of({"hidden_size": 770, "num_attention_heads": 12})
    for arrays in (
        {"hidden_size": np.array([768, 770])},
        {"hidden_size": np.array([768, 770]), "num_attention_heads": np.array([12, 12])},
        {"hidden_size": np.array([[768], [770]]), "num_attention_heads": np.array([1, 12])},
        {"hidden_size": np.array([770])},
    ):
        with pytest.raises(ConfigError) as caught:
            columns(BertConfig(), **arrays)
        assert str(caught.value) == str(alone)


def test_a_row_whose_vocabulary_lacks_the_pad_token_is_refused() -> None:
    alone = error_of({"vocab_size": 50, "pad_token_id": 100})
    with pytest.raises(ConfigError) as caught:
        columns(BertConfig(pad_token_id=100), vocab_size=np.array([200, 50]))
    assert str(caught.value) == str(alone)


def test_an_activation_of_5_with_positions_of_4_is_refused() -> None:
    with pytest.raises(ConfigError, match="hidden_act hardswish came with transformers 5") as caught:
        BertConfig(hidden_act="hardswish", position_embedding_type="relative_key")
    for remedy in caught.value.problem.remedies:
        BertConfig(**{"hidden_act": "hardswish", "position_embedding_type": "relative_key", **remedy})
