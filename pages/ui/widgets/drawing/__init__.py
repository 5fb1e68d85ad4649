"""Drawings made of nested boxes, which the browser updates while a slider moves: styles and texts can be live."""

from collections.abc import Mapping
from typing import Any

from pages.ui.session.component import component
from pages.ui.shell import live

_DRAWING = component(
    "bertcalc_drawing",
    *("session/dom.js", "shell/live/parts.js", "widgets/drawing/drawing.css", "widgets/drawing/drawing.js"),
)
Box = dict[str, Any]


def box(kind: str, *parts: Box, style: Mapping[str, object] | None = None, **attributes: object) -> Box:
    """A box with the CSS class ``kind`` and ``parts`` inside; its attributes, texts and style values can be live."""
    return {"class": kind, "style": dict(style or {}), "parts": list(parts), **attributes}


def draw(drawing: Box, key: str) -> None:
    """Draw nested boxes; ``key`` must be unique on the page."""
    _DRAWING(data={"key": key, "run": live.run_number(), "drawing": live.with_arguments(drawing)}, key=key)
