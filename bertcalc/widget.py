"""A model in a notebook, with the sliders, formula and bars of the interactive page. Needs anywidget.

>>> import bertcalc
>>> widget = FormulaWidget(bertcalc.load("bert-base-uncased"))
>>> widget.sizes = {**widget.sizes, "num_hidden_layers": 24}  # has the same effect as the slider
>>> widget.model
<BertModel: 194,536,704 parameters>
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from bertcalc.charts.colors import COLORS
from bertcalc.controls.stops import moved
from bertcalc.export.formula_page import view_content, view_script, view_style
from bertcalc.model.model import Model


class FormulaWidget(anywidget.AnyWidget):
    """A notebook widget in which the reader changes a model's sizes.

    ``sizes`` maps shared field names to values; ``model`` is the resulting model.
    """

    _esm = f"{view_script()}\n{Path(__file__).with_suffix('.js').read_text(encoding='utf-8')}"
    _css = f"{view_style()}\n{Path(__file__).with_suffix('.css').read_text(encoding='utf-8')}"
    content = traitlets.Dict(read_only=True).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)

    def __init__(self, start: Model) -> None:
        content = view_content(start, COLORS["light"])
        super().__init__(sizes=content["sizes"])
        self.set_trait("content", content)
        self._start = start

    @property
    def model(self) -> Any:
        """The model with the current sizes. Raises ConfigError if Python code has set invalid sizes."""
        sizes = {**self.sizes}
        vocabulary = sizes.pop("vocab_size")
        config = replace(self._start.config, **sizes)
        return self._start.changed(moved(config, "vocab_size", vocabulary))  # also moves the padding token if necessary
