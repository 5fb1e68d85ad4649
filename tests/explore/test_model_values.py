"""A model is determined by its values, for every field of every family."""

from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.explore.model_values import FIELDS, model_of, values_of
from bertcalc.families import FAMILIES
from bertcalc.model.model import Model
from tests.strategies import bert_cases


@st.composite
def models(draw: st.DrawFn) -> Model:
    case = draw(bert_cases(POSITION_EMBEDDING_TYPES))
    return case.model


KINDS = [family.config for family in FAMILIES.values()]


def test_every_field_is_written() -> None:
    assert sorted(FIELDS) == sorted(
        {
            *(kind.shared_name(one.name) for kind in KINDS for one in fields(kind)),
            "architecture",
            "add_pooling_layer",
        }
    )


@given(models())
def test_the_values_of_a_model_make_the_model(model: Model) -> None:
    assert model_of(values_of(model)) == model
