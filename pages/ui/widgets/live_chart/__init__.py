"""A Streamlit component for Vega-Lite charts. The browser recomputes live columns while a slider moves."""

from collections.abc import Callable, Mapping
from math import isnan
from typing import Any

import streamlit as st

from bertcalc.charts.blocks import with_config
from bertcalc.charts.columns import Columns
from bertcalc.charts.vega import compiled
from bertcalc.text.live_numbers import is_live
from pages.server.scripts import VEGA
from pages.ui.session.component import component
from pages.ui.shell import live
from pages.ui.shell.theme import appearance

_CHART = component(
    "bertcalc_chart",
    *("widgets/live_chart/chart.css", "session/dom.js", "shell/live/parts.js"),
    *(f"widgets/live_chart/{name}.js" for name in ("glide", "expressions", "tooltip", "chart")),
    isolate_styles=False,  # the tooltip is drawn outside the component
)


def draw_live_chart(
    columns: Columns, spec: Mapping[str, Any], alt: str, key: str, on_select: Callable[[], None] | None = None
) -> None:
    """Draw a Vega-Lite chart.

    With ``on_select``, ``st.session_state[key].chosen`` maps each selection parameter of the chart to the selected
    values.
    """
    arguments = {name: [live.argument(cell) for cell in cells] for name, cells in columns.items() if is_live([*cells])}
    parts = [spec, *spec.get("layer", [])] if on_select else []
    data = {
        "key": key,
        "run": live.run_number(),
        "vega": VEGA,
        "spec": compiled(with_config(appearance(), spec)),
        "alt": alt,
        "columns": {name: [_cell(cell) for cell in cells] for name, cells in columns.items()},
        "live": arguments,
        "params": [param["name"] for part in parts for param in part.get("params", [])],
    }
    _CHART(data=data, key=key, on_chosen_change=on_select or (lambda: None))


def clicked(key: str, param: str) -> list[dict[str, Any]]:
    """The values that the reader selected in the chart ``key`` with ``param``; malformed browser data are dropped."""
    sent = st.session_state.get(key, {}).get("chosen")
    values = sent.get(param) if isinstance(sent, dict) else None
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _cell(cell: Any) -> Any:
    """A cell as JSON that a browser can read: NaN becomes None, and integers beyond ±2**53 become floats."""
    if isinstance(cell, float) and isnan(cell):
        return None
    return float(cell) if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 2**53 else cell
