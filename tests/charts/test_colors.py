"""Colours that every reader can distinguish."""

import json
from itertools import combinations
from math import cbrt, dist
from operator import mul

import pytest

from bertcalc.charts.blocks import png, svg
from bertcalc.charts.colors import BACKGROUND, COLORS, for_paper
from bertcalc.charts.length_chart import part_colors
from bertcalc.charts.memory_charts import AREA_COLORS, step_areas
from bertcalc.memory.timeline import AREAS
from tests.pages.apptest import ROOT


@pytest.mark.parametrize("appearance", COLORS)
def test_terms_and_names_in_bars_and_areas_have_contrast(appearance: str) -> None:
    paper = luminance(BACKGROUND[appearance])
    for color in (*COLORS[appearance].values(), *part_colors(appearance).values()):
        ink = luminance(color)
        assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) >= 4.5


def luminance(color: str) -> float:
    """Relative luminance, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    red, green, blue = linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_backgrounds_are_those_of_the_theme() -> None:
    config = (ROOT / ".streamlit" / "config.toml").read_text()
    for color in BACKGROUND.values():
        assert f'backgroundColor = "{color}"' in config


@pytest.mark.parametrize("look", ["light", "dark"])
def test_parts_that_stand_beside_each_other_differ_to_colour_blind_eyes_too(look: str) -> None:
    """Colour blindness is simulated after Machado et al. 2009, severity 1. Distances are CIE76 in Lab.

    A distance of about 2 is just noticeable.
    """
    inks = {area: linear(ink) for area, ink in AREA_COLORS[look].items()}
    for one, other in combinations(inks, 2):
        for eyes in EYES:
            seen = [lab([sum(map(mul, row, inks[part])) for row in eyes]) for part in (one, other)]
            assert dist(*seen) > 15, (one, other)


def linear(ink: str) -> list[float]:
    shares = [int(ink[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def lab(light: list[float]) -> list[float]:
    """Convert linear sRGB, D65, to lightness and two opponent colours."""
    x, y, z = (
        cbrt(max(0, sum(map(mul, row, light))))
        for row in (
            (0.4339, 0.3762, 0.1899),
            (0.2127, 0.7152, 0.0722),
            (0.0178, 0.1095, 0.8727),
        )
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


EYES = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
)


@pytest.mark.parametrize("look", AREA_COLORS)
def test_the_areas_of_a_step_have_the_colours_of_the_page(look: str) -> None:
    drawn = json.dumps(dict(step_areas(look, tuple((area, area) for area in AREAS), "Step")), default=repr)
    assert [one for one, inks in AREA_COLORS.items() if any(ink in drawn for ink in inks.values())] == [look]


def test_a_chart_of_a_dark_page_is_drawn_for_paper() -> None:
    """The picture is exactly that of the light page."""
    names = tuple(AREAS)
    light, dark = (
        {
            "mark": "bar",
            "encoding": {"color": {"field": "name", "scale": {"domain": names, "range": inks}}, "y": {"field": "name"}},
        }
        for inks in (list(AREA_COLORS["light"].values()), list(AREA_COLORS["dark"].values()))
    )
    data = {"name": list(names)}
    assert svg(dark, data) == svg(light, data)
    assert png(dark, data) == png(light, data)
    assert png(dark, data).startswith(b"\x89PNG")
    assert for_paper(BACKGROUND["dark"]) == BACKGROUND["light"]
