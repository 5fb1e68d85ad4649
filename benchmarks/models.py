"""The models of simulated readers: their links, and the counts that pages should show."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from bertcalc.controls.chosen_model import ChosenModel
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.results.size_steps import write_sizes
from bertcalc.families.presets import DEFAULT_PRESET

ANY_MODEL = "any_model"  # the address of the page Any model, which has its own model
LAYERS = range(1, 25)


class Model(Protocol):
    """A model with a moving slider (its field and places), and with sizes that differ from the defaults."""

    field: str
    places: Sequence[int]
    sizes: dict[str, int]

    def link(self) -> dict[str, str]:
        """The URL parameters of the link to the model."""

    def size(self, field: str) -> int | None:
        """The value that a field's slider should show, if it is known."""

    def count(self) -> int:
        """The number of parameters that the page should show."""


class OneSlider:
    """The model of the one-slider app, which has neither link nor panel."""

    field = "num_hidden_layers"
    places: Sequence[int] = LAYERS

    def __init__(self) -> None:
        self.sizes = {self.field: 12}

    def link(self) -> dict[str, str]:
        return {}

    def size(self, field: str) -> int:
        return self.sizes[field]

    def count(self) -> int:
        return self.sizes[self.field] * 7_087_872


class OfSidebar:
    """A preset with changed sizes: the model of every page except Any model."""

    field = "num_hidden_layers"
    places: Sequence[int] = LAYERS

    def __init__(self, vocab_size: int, layers: int, preset: str = DEFAULT_PRESET) -> None:
        self.sizes = {"vocab_size": vocab_size, self.field: layers}
        self._preset = preset

    @property
    def _chosen(self) -> ChosenModel:
        return ChosenModel().reset(self._preset).changed(self.sizes)

    def link(self) -> dict[str, str]:
        return self._chosen.link()

    def size(self, field: str) -> int:
        value: int = getattr(self._chosen.config, field)
        return value

    def count(self) -> int:
        return self._chosen.model().num_parameters()


def formula_of(model_type: str, cls: str) -> Discovered:
    """The formula of a class that is shipped with bertcalc."""
    formula = shipped(model_type, cls)
    assert formula
    return formula


class OfAnyModel:
    """A class on the page Any model with changed sizes.

    ``formula`` is the class's formula. With ``fields`` of a config.json, the page has to discover the formula; without
    them, it uses the shipped formula.
    """

    def __init__(
        self,
        formula: Discovered,
        sizes: dict[str, int],
        field: str,
        places: Sequence[int],
        fields: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.sizes, self.field, self.places = sizes, field, places
        self._formula, self._fields = formula, dict(fields)

    def link(self) -> dict[str, str]:
        parameters = {
            "model_type": self._formula.model_type,
            "model_class": self._formula.cls,
            "sizes": write_sizes(self.sizes),
        }
        return parameters | ({"fields": json.dumps(self._fields, separators=(",", ":"))} if self._fields else {})

    def size(self, field: str) -> int | None:
        return self._formula.completed(**{**self._fields, **self.sizes}).get(field)  # also sizes that follow others

    def count(self) -> int:
        return self._formula.count(**{**self._fields, **self.sizes})
