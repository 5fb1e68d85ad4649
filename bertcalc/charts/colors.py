"""One colour for each component, in every chart and formula, for a light and a dark page.

The hues are those of Okabe and Ito's colour-blind-safe palette (https://jfly.uni-koeln.de/color/), darkened or
lightened until text in them has a contrast of at least 4.5 : 1 on the page; a test measures it. Colour is never
the only sign: bars and terms carry names.
"""

from typing import Any

from bertcalc.model.totals import Component

BACKGROUND = {"light": "#ffffff", "dark": "#0e1117"}
INK = {"light": "#31333f", "dark": "#fafafa"}
COLORS: dict[str, dict[Component, str]] = {
    "light": {"embeddings": "#0072b2", "encoder": "#b34700", "pooler": "#007556", "head": "#a8437d"},
    "dark": {"embeddings": "#56b4e9", "encoder": "#f0a050", "pooler": "#2fc79b", "head": "#e391c0"},
}
NEUTRAL = {"light": "#5b4bb5", "dark": "#b5a6ff"}  # for what is no component
# For the parts of the encoder's compute, based on Okabe and Ito's; the other parts are components and have theirs.
ENCODER = {
    "light": ("#7a6200", "#5b4bb5", "#b34700", "#5f6673"),
    "dark": ("#e3d04f", "#b5a6ff", "#f0a050", "#a9b0bd"),
}
# For the areas of memory. Neighbors differ in lightness, too: a test simulates color blindness.
AREAS = {
    "light": ("#0066ff", "#5a3795", "#007f3f", "#4e1d01", "#b14f88", "#1d262d"),
    "dark": ("#1e77fe", "#c3a3ff", "#7effbb", "#f4794d", "#fbb5e9", "#797f86"),
}
FREE = {"light": "#dfe3ea", "dark": "#363d4a"}  # the part of a device's memory that is not for tensors


def _listed(palette: Any) -> tuple[str, ...]:
    return (palette,) if isinstance(palette, str) else tuple(palette.values() if isinstance(palette, dict) else palette)


_LIGHT: dict[str, str] = {
    dark: light
    for palette in (BACKGROUND, INK, COLORS, NEUTRAL, ENCODER, AREAS, FREE)
    for dark, light in zip(_listed(palette["dark"]), _listed(palette["light"]), strict=True)
}


def for_paper(part: Any) -> Any:
    """A part of a chart's specification, or of its data, with the colors of a light page in place of a dark one's."""
    if isinstance(part, str):
        return _LIGHT.get(part[:7], part[:7]) + part[7:] if part.startswith("#") else part
    if isinstance(part, dict):
        return {name: for_paper(inner) for name, inner in part.items()}
    return [*map(for_paper, part)] if isinstance(part, list | tuple) else part
