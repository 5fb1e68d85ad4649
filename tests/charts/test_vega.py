"""Vega for browsers: its script, and specifications that browsers need not compile."""

import json

import pytest
import vl_convert

from bertcalc.charts.bar_charts import ranked_bars
from bertcalc.charts.blocks import with_config
from bertcalc.charts.vega import ROWS, compiled, vega_script


def test_the_script_has_vega_and_not_the_compiler() -> None:
    script = vega_script()
    assert "window.vega=" in script.replace(" ", "")
    assert len(script) < 0.7 * len(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    assert "https://vega.github.io/schema/vega-lite" not in script


@pytest.mark.parametrize("appearance", ["light", "dark"])
def test_a_compiled_chart_is_drawn_like_the_original(appearance: str) -> None:
    spec = with_config(appearance, ranked_bars(appearance, 1, "parameters", ("a", "b", "c", "d"))) | {"width": 500}
    columns = {"name": "encoder", "label": "12", "label_width": 1, "more_width": 0, "order": 0, "color": "#0072b2"}
    row = columns | dict.fromkeys(("solid", "end", "far", "limit", "mark", "figure"), 12)
    vega = json.loads(compiled(spec))
    [rows] = [data for data in vega["data"] if data["name"] == ROWS]
    assert "values" not in rows
    filled = {**vega, "data": [{**data, "values": [row]} if data == rows else data for data in vega["data"]]}
    original = {**spec, "data": {"name": ROWS}, "datasets": {ROWS: [row]}}
    drawn = vl_convert.vega_to_svg(filled)
    assert "encoder" in drawn or "12" in drawn
    assert drawn == vl_convert.vegalite_to_svg(original)
