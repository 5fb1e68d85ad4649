"""A chart as SVG, drawn on the server by Vega-Lite itself (vl-convert), which looks nothing up elsewhere."""

import json
from typing import Any

from pages.ui.export.shown import Shown
from pages.ui.theme import BACKGROUND, INK

_WIDTH = 900  # as on a lecture screen beside the sidebar
# Altair gives a layer without data this name; Streamlit puts the data into it, too.
_NAME = "empty"


def svg(chart: Shown, appearance: str) -> str:
    """The chart with its data, on the paper and with the ink of the page."""
    import vl_convert  # 65 MB and half a second when it draws for the first time

    rows = json.loads(chart.frame.to_json(orient="records"))
    spec = {**(chart.spec or {}), "data": {"name": _NAME}, "datasets": {_NAME: rows}}
    if spec.get("width") == "container":
        spec["width"] = _WIDTH
    spec["padding"] = 8
    spec["config"] = {**_config(appearance), **spec.get("config", {}), "view": {"stroke": None}}
    drawn: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return drawn


def _config(appearance: str) -> dict[str, Any]:
    """What Streamlit's theme says where a chart says nothing."""
    ink = INK[appearance]
    words = {"labelColor": ink, "titleColor": ink, "labelFontSize": 13, "titleFontSize": 13}
    lines = {"gridColor": f"{ink}22", "domain": False, "ticks": False, "labelPadding": 8, "titleFontWeight": "normal"}
    return {
        "background": BACKGROUND[appearance],
        "font": "Source Sans, Arial, sans-serif",
        "axis": words | lines,
        "legend": words,
        "text": {"color": ink},
    }
