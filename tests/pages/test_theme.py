"""Colours that everybody can read."""

import pytest

from pages.ui.theme import BACKGROUND, COLORS
from tests.pages.apptest import ROOT


def luminance(color: str) -> float:
    """Relative luminance, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("appearance", COLORS)
def test_formula_terms_and_labels_in_bars_have_contrast(appearance: str) -> None:
    paper = luminance(BACKGROUND[appearance])
    for color in COLORS[appearance].values():
        ink = luminance(color)
        assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) >= 4.5


def test_backgrounds_are_those_of_the_theme() -> None:
    config = (ROOT / ".streamlit" / "config.toml").read_text()
    for color in BACKGROUND.values():
        assert f'backgroundColor = "{color}"' in config
