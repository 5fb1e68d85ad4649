"""One color for each component, in all charts and formulas, for a light and a dark page.

The hues come from Okabe and Ito's color-blind-safe palette (https://jfly.uni-koeln.de/color/), darkened or lightened
until text in them has a contrast of at least 4.5 : 1 on the page. A test checks the contrast. Color is never the only
cue: bars and terms have names.
"""

from typing import Any

from bertcalc.model.totals import Component

BACKGROUND = {"light": "#ffffff", "dark": "#0e1117"}
INK = {"light": "#31333f", "dark": "#fafafa"}
COLORS: dict[str, dict[Component, str]] = {
    "light": {"embeddings": "#0072b2", "encoder": "#b34700", "pooler": "#007556", "head": "#a8437d"},
    "dark": {"embeddings": "#56b4e9", "encoder": "#f0a050", "pooler": "#2fc79b", "head": "#e391c0"},
}
NEUTRAL = {"light": "#5b4bb5", "dark": "#b5a6ff"}  # for bars that are not components
# Colors of the parts of the encoder's compute, based on Okabe and Ito's palette. The other parts of a model's compute
# are components, and have the components' colors.
ENCODER = {"light": ("#7a6200", "#5b4bb5", "#b34700", "#5f6673"), "dark": ("#e3d04f", "#b5a6ff", "#f0a050", "#a9b0bd")}
# Colors of the areas of memory. Neighbors also differ in lightness; a test simulates color blindness.
AREAS = {
    "light": ("#0066ff", "#5a3795", "#007f3f", "#4e1d01", "#b14f88", "#1d262d"),
    "dark": ("#1e77fe", "#c3a3ff", "#7effbb", "#f4794d", "#fbb5e9", "#797f86"),
}
FREE = {"light": "#dfe3ea", "dark": "#363d4a"}  # memory of a device that no tensor uses


def _listed(palette: Any) -> tuple[str, ...]:
    return (palette,) if isinstance(palette, str) else tuple(palette.values() if isinstance(palette, dict) else palette)


_LIGHT: dict[str, str] = {
    dark: light
    for palette in (BACKGROUND, INK, COLORS, NEUTRAL, ENCODER, AREAS, FREE)
    for dark, light in zip(_listed(palette["dark"]), _listed(palette["light"]), strict=True)
}


def for_paper(part: Any) -> Any:
    """Replace the colors of a dark page with the colors of a light page, in a chart's specification or data."""
    if isinstance(part, str):
        return _LIGHT.get(part[:7], part[:7]) + part[7:] if part.startswith("#") else part
    if isinstance(part, dict):
        return {name: for_paper(inner) for name, inner in part.items()}
    return [*map(for_paper, part)] if isinstance(part, list | tuple) else part
