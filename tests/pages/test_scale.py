"""The scale of a chart stays the same while the reader explores."""

from unittest.mock import patch

import streamlit as st
from hypothesis import given
from hypothesis.strategies import integers, lists

from bertcalc import build
from bertcalc.families import PRESETS, family_of
from bertcalc.model.totals import breakdown
from bertcalc.text.live_choices import round_figure
from pages.ui.session.scale import axis_end, forget
from pages.ui.widgets.bars import with_room

FIGURES = integers(0, 10**16)


@given(FIGURES)
def test_a_round_figure_has_some_room_and_not_much(largest: int) -> None:
    limit = round_figure(largest)
    assert f"{limit}".strip("0") in {*"123456789", "12", "14", "16", "18", "25", "35", "45"}
    assert limit >= 1.1 * largest
    assert limit <= max(10, 2 * 1.1 * largest)


@given(FIGURES, lists(FIGURES, min_size=1))
def test_a_scale_widens_only_when_it_has_to_and_stays_while_it_says_something(before: int, explored: list[int]) -> None:
    with patch.object(st, "session_state", {}):
        limits = [axis_end("here", "model", before, present) for present in explored]
    assert limits[0] == round_figure(max(before, explored[0]))
    for last, limit, present in zip(limits, limits[1:], explored[1:], strict=False):
        largest = max(before, present)
        assert limit == (last if largest <= last <= 8 * largest else round_figure(largest))


def test_something_else_begins_anew_and_leaves_other_charts_alone() -> None:
    with patch.object(st, "session_state", {}):
        axis_end("there", "model", 100, 100)
        wide = axis_end("here", "model", 100, 700)
        assert axis_end("here", "model", 100, 100) == wide
        assert axis_end("here", "pooler", 100, 100) == round_figure(100)
        assert axis_end("here", "model", 100, 100) == round_figure(100)
        assert axis_end("there", "model", 100, 1) == round_figure(100)


def test_the_longest_bar_of_any_preset_takes_more_than_half_of_the_axis() -> None:
    for preset in PRESETS.values():
        for cls in family_of(preset.config).classes:
            longest = max(bar.parameters for bar in breakdown(build(preset.config, cls.name)))
            assert longest > round_figure(with_room(longest)) / 2, (preset, cls.name)


def test_what_is_forgotten_begins_anew() -> None:
    with patch.object(st, "session_state", {}):
        axis_end("here", "model", 100, 5000)
        forget()
        assert axis_end("here", "model", 100, 100) == round_figure(100)
