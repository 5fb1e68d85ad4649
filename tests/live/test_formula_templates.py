"""Data built once for each structure equals the data built for each model."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.charts.colors import COLORS
from bertcalc.controls.stops import SLIDERS, moved, stops
from bertcalc.families import CLASSES, family_of
from bertcalc.families.presets import PRESETS
from bertcalc.live.formula_templates import templated, templated_by_nodes
from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import FigureBound, Live, LiveNode, LiveText, fill, live, within
from pages.ui.shell.i18n import translator
from pages.ui.widgets import bars
from pages.ui.widgets.total_formula import formula_parts
from tests.examples import examples

INKS = tuple(COLORS["light"].items())


@st.composite
def alike(draw: st.DrawFn) -> tuple[str, Model, Model]:
    """Draw a preset and two models of the same structure with sizes from the sliders' stops."""
    preset = draw(st.sampled_from(list(PRESETS)))
    config = PRESETS[preset].config
    architecture = draw(st.sampled_from([cls for cls, family in CLASSES.items() if family is family_of(config)]))
    models = []
    for _model in range(2):
        sizes = config
        for field in SLIDERS:
            if config.has(field):
                sizes = moved(sizes, field, draw(st.sampled_from(stops(sizes, field))))
        models.append(Model(sizes, architecture))
    first, second = models
    if symbolic_model(first) is not symbolic_model(second):
        second = first
    return preset, first, second


def operations(node: Any) -> list[Any]:
    """The operations of a node, with indices in place of nested nodes, since equal nodes may be two objects."""
    places: dict[LiveNode, int] = {}
    listed: list[Any] = []

    def place(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(place, value))
        if not isinstance(value, LiveNode):
            return value
        if value not in places:
            listed.append((value.operation, *map(place, value.arguments)))
            places[value] = len(listed)
        return f"#{places[value]}"

    place(node)
    return listed


def leaves(data: Any) -> Iterator[Any]:
    """Yield all values in the data, and the operations of live values."""
    match data:
        case LiveText():
            yield from (operations(data.node), str(data), *map(str, data.parts))
        case Live():
            yield from (operations(data.node), data.plain)
        case dict():
            for name, value in data.items():
                yield name
                yield from leaves(value)
        case list() | tuple():
            yield type(data)
            for value in data:
                yield from leaves(value)
        case _:
            yield data


@examples(40)
@given(alike())
def test_the_formula_of_a_structure_is_that_of_each_model(case: tuple[str, Model, Model]) -> None:
    _preset, first, second = case
    build = formula_parts._total_formula
    build(first, INKS, translator())
    plain: Any = build.__wrapped__  # type: ignore[attr-defined]  # set by functools.wraps
    assert [*leaves(build(second, INKS, translator()))] == [*leaves(plain(second, INKS, translator()))]


@examples(40)
@given(alike(), st.integers(1, 10**9))
def test_the_bars_of_a_structure_are_those_of_each_model(case: tuple[str, Model, Model], limit: int) -> None:
    preset, first, second = case
    build, plain = bars._parameter_bars, bars._parameter_bars.__wrapped__  # type: ignore[attr-defined]  # likewise
    frame, plain_frame = bars._bars_frame, bars._bars_frame.__wrapped__  # type: ignore[attr-defined]  # likewise
    arguments = (preset, "", INKS, translator())
    frame(build(first, *arguments), limit, translator())
    expected = plain(second, *arguments)
    assert [*leaves(build(second, *arguments))] == [*leaves(expected)]
    drawn = frame(build(second, *arguments), limit, translator())
    assert [*leaves(drawn)] == [*leaves(plain_frame(expected, limit, translator()))]


def test_a_structure_is_built_once_and_other_arguments_again() -> None:
    built: list[int] = []

    @templated
    def layers(model: Model, word: str) -> str:
        built.append(model.config.num_hidden_layers)
        count = live(model.config.num_hidden_layers, LiveNode("field", ("num_hidden_layers",)))
        return fill("{count} {word}", count=count, word=word)

    base = PRESETS["bert-base-uncased"].config
    models = [Model(moved(base, "num_hidden_layers", count)) for count in (12, 13, 14)]
    assert [layers(model, "layers") for model in models] == ["12 layers", "13 layers", "14 layers"]
    assert built == [12]
    assert layers(models[1], "层") == "13 层"
    assert built == [12, 13]


def test_where_a_formula_does_not_hold_the_data_are_built_again() -> None:
    @templated_by_nodes
    def few(count: int) -> str:
        return fill("{count}", count=within(count, (FigureBound(count, 0, 9),))) if count < 10 else "many"

    def heads(count: int) -> int:
        made: int = live(count, LiveNode("field", ("num_attention_heads",)))
        return made

    assert [few(heads(count)) for count in (3, 5, 12)] == ["3", "5", "many"]


@pytest.mark.parametrize("value", [768, 1.5, "768", True])
def test_constants_with_the_same_value_are_not_confused(value: object) -> None:
    @templated_by_nodes
    def kind(of: object) -> str:
        return type(of).__name__

    assert [kind(1), kind(True), kind(1.0), kind(value)] == ["int", "bool", "float", type(value).__name__]
