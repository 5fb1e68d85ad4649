"""One colour for each component, in every chart and formula, for a light and a dark page.

The hues are those of Okabe and Ito's colour-blind-safe palette (https://jfly.uni-koeln.de/color/), darkened or
lightened until text in them has a contrast of at least 4.5 : 1 on the page; a test measures it. Colour is never
the only sign: bars and terms carry names.
"""

from bertcalc.tree.totals import Component

BACKGROUND = {"light": "#ffffff", "dark": "#0e1117"}
INK = {"light": "#31333f", "dark": "#fafafa"}
COLORS: dict[str, dict[Component, str]] = {
    "light": {"embeddings": "#0072b2", "encoder": "#b34700", "pooler": "#007556", "head": "#a8437d"},
    "dark": {"embeddings": "#56b4e9", "encoder": "#f0a050", "pooler": "#2fc79b", "head": "#e391c0"},
}
NEUTRAL = {"light": "#5b4bb5", "dark": "#b5a6ff"}  # for what is no component
