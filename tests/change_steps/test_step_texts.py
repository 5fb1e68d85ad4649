"""Steps as text: what is written is read again, and what is wrong is told."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import InputError, Lora
from bertcalc.change_steps.recipes import RECIPES
from bertcalc.change_steps.step_texts import KINDS, argument_texts, read_steps, with_argument, written
from pages.ui.change.step_words import FIRST, TITLES
from tests.changes.adapters import adapters
from tests.strategies import cases


@given(st.data())
def test_an_adapter_is_read_as_it_is_written(data: st.DataObject) -> None:
    adapter = data.draw(adapters(data.draw(cases()).model)).ours()
    text = written([adapter, adapter])
    assert read_steps(text) == (adapter, adapter)
    assert not set(text) & set(" &#?\"'")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_title_and_a_first_value(name: str) -> None:
    assert name in TITLES
    (step,) = read_steps(FIRST.get(name, name))
    assert type(step) is KINDS[name]
    assert read_steps(written([step])) == (step,)


def test_a_dictionary_has_lists() -> None:
    (step,) = read_steps("heads,heads=0:0/1+11:3/")
    assert argument_texts(step) == {"heads": "0:0/1+11:3/"}
    (lora,) = read_steps("lora,rank_pattern=query:4+value:2")
    assert lora == Lora(rank_pattern={"query": 4, "value": 2})


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_is_written_as_links_are(recipe: object) -> None:
    steps: str = recipe.steps  # type: ignore[attr-defined]  # a ChangeRecipe
    assert written(read_steps(steps)) == steps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lorra", "There is no step 'lorra': did you mean lora?"),
        ("lora,R=3", "lora has no argument 'R': did you mean r?"),
        ("lora,r", "r is no argument of a step: write it as r=8."),
        ("lora,r=x", "r 'x' is not possible: it must be a whole number from 1."),
        ("layers", "layers needs layers: write it as layers,layers=..."),
    ],
)
def test_a_wrong_text_is_told(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_steps(text)
    assert str(error.value) == message


def test_an_empty_argument_is_the_default() -> None:
    assert with_argument(Lora(r=4, bias="all"), "bias", "") == Lora(r=4)
    assert with_argument(Lora(r=4), "target_modules", "query+") == Lora(r=4, target_modules=["query"])


@given(st.text(alphabet="lora,=;+:/.0129%_ \n中", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert read_steps(written(read_steps(text))) == read_steps(text)
