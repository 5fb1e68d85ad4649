"""Run the app without a browser, and read what a page shows."""

import re
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Html, Table

from bertcalc import Config
from bertcalc.export.table import TableOrChart
from bertcalc.text import code
from pages.ui.shell import page_slider
from tests.component_data import sent_to

ROOT = Path(__file__).parents[2]
# Each run of AppTest (Streamlit 1.67) scans the metadata of every installed package for components again. That would be
# a third of the time of the pages' tests.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def open_app(page: str = "", **link: str) -> AppTest:
    """Open the app at a page with the parameters of a link, as the first request of a session."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=600)
    app.query_params.update(link)
    if page:
        app.switch_page(page)
    app.run()
    assert not app.exception
    return app


def move(app: AppTest, **sizes: int) -> None:
    """Set the sliders or number fields of these fields, one after the other.

    AppTest cannot use a component. This does what the panel does with a browser's event. tests/pages/test_panel.py
    tests the panel's part, and tests/browser/test_panel.py the browser's.
    """
    for field, value in sizes.items():
        app.session_state["track"].move(field, value)
        app.run()


def showing(controls: Iterable[Any], name: str) -> Any:
    """Return the control with this name among the controls that show a value of the model.

    Its key may end in a number: see pages/ui/session/shown_values.py.
    """
    [control] = [control for control in controls if control.key and re.fullmatch(rf"{name}( \d+)?", control.key)]
    return control


def slide(app: AppTest, name: str, text: str) -> None:
    """Type a number into the field of a slider on the page, as the panel's events do.

    ``name`` is the name of its size.
    """
    before = app.session_state._state.filtered_state
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state := dict(before))
        assert page_slider.take({"do": "type", "field": name, "text": text})
    for key, value in state.items():
        if before.get(key) is not value:
            app.session_state[key] = value
    app.run()


def frame_of(one: TableOrChart) -> pd.DataFrame:
    """The data of a table or a chart. With dtype object, integers stay integers even if values are missing."""
    return pd.DataFrame(one.data, dtype=object)


def tables(app: AppTest) -> list[pd.DataFrame]:
    """Return the tables of the page in order. Cells are Markdown, even if the page writes the table as HTML."""
    frames = []
    for element in app._tree:
        if isinstance(element, Table):
            frames.append(element.value)
        elif isinstance(element, Html) and "<table" in element.proto.body:
            reader = _TableReader()
            reader.feed(element.proto.body)
            titles, *rows = reader.rows
            frames.append(pd.DataFrame(rows, columns=titles))
    return frames


class _TableReader(HTMLParser):
    """Reads the rows of an HTML table that contains only the tags below."""

    _MARKS: ClassVar[dict[str, str]] = {"strong": "**", "em": "*", "i": "$"}

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_code = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        cell = self.rows[-1] if self.rows else []
        self._in_code = tag == "code"
        match tag:
            case "tr":
                self.rows.append([])
            case "td" | "th":
                cell.append("")
            case "br":
                cell[-1] += "  \n"
            case "code" | "strong" | "em" | "i":
                cell[-1] += self._MARKS.get(tag, "")
            case _:
                assert tag in ("div", "table", "thead", "tbody", "p")

    def handle_endtag(self, tag: str) -> None:
        self._in_code = False
        if tag in self._MARKS:
            self.rows[-1][-1] += self._MARKS[tag]
        elif tag in ("td", "th"):
            self.rows[-1][-1] = re.sub("^>", r"\\>", self.rows[-1][-1].replace("$/$", "/"))

    def handle_data(self, data: str) -> None:
        self.rows[-1][-1] += code(data) if self._in_code else data


def present(app: AppTest) -> Config:
    """The configuration that the app shows."""
    config: Config = app.session_state["track"].present.config
    return config


def total(app: AppTest) -> str:
    """The headline number of the Parameters page."""
    return str(app.metric[0].value)


def data_of(drawn: Any) -> dict[str, Any]:
    """The data that the page sends to a component."""
    return dict(sent_to(drawn.proto))


def total_formula(app: AppTest) -> dict[str, Any]:
    """The data of the component that draws the total's formula."""
    return drawn_formula(app, "total-formula")


def drawn_formula(app: AppTest, key: str) -> dict[str, Any]:
    """The data of the component that draws the formula with this key."""
    drawn = (_as_drawn(data_of(each)) for each in app.get("bidi_component"))
    return next(dict(data) for data in drawn if data.get("key") == key)


def _as_drawn(data: Any) -> Any:
    """Replace each live text in the data of a component by the text that it shows first."""
    if isinstance(data, list):
        return [*map(_as_drawn, data)]
    if not isinstance(data, dict):
        return data
    return data["text"] if "live" in data else {name: _as_drawn(value) for name, value in data.items()}


def component(app: AppTest, name: str) -> dict[str, Any]:
    """The data that the page sends to the component with this name."""
    (drawn,) = (each for each in app.get("bidi_component") if each.proto.component_name == name)
    return data_of(drawn)


def progress(app: AppTest) -> list[str]:
    """The texts above the bars of the walk."""
    drawing = _as_drawn(component(app, "bertcalc_drawing"))["drawing"]
    return [bar["parts"][0]["text"] for bar in drawing["parts"]]


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The data that the page sends to each of its charts."""
    drawn = (each for each in app.get("bidi_component") if each.proto.component_name == "bertcalc_chart")
    return [data_of(each) for each in drawn]


def without_marks(text: str) -> str:
    """A text of the page without the tags of its live numbers."""
    return re.sub("</?span[^>]*>", "", text)


def texts(app: AppTest) -> list[str]:
    """The messages of the page about its link."""
    return [str(text.value) for text in app.text]


def button(app: AppTest, label: str) -> Any:
    """The button with this label."""
    [found] = [one for one in app.button if one.label == label]
    return found


def captions(app: AppTest) -> str:
    return "\n".join(str(caption.value) for caption in app.caption)


def column(app: AppTest, name: str, table: int = 0) -> list[str]:
    """The cells of a column."""
    return [str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in tables(app)[table][name]]


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}
