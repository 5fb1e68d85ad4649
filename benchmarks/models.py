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

ANY_MODEL = "any_model"  # the page that has its own model
LAYERS = range(1, 25)


class Model(Protocol):
    """A model with a slider to move (its field and stops), and with sizes that differ from the default."""

    field: str
    places: Sequence[int]
    sizes: dict[str, int]

    def link(self) -> dict[str, str]:
        """The parameters of the link."""

    def size(self, field: str) -> int | None:
        """The value that a field's slider should show, or None if it is unknown."""

    def count(self) -> int:
        """The number of parameters that the page should show."""


class OneSlider:
    """The model of the floor, which has neither link nor panel."""

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
    """A preset with other sizes: the model of every page except Any model."""

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
    """The shipped formula of a class."""
    formula = shipped(model_type, cls)
    assert formula
    return formula


class OfAnyModel:
    """A class on the Any model page with other sizes.

    ``formula`` is the formula of the class. If the fields of a config.json are passed in ``fields``, the page has to
    discover the formula itself. Otherwise it uses the shipped formula.
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
        # Includes sizes that follow from other sizes.
        return self._formula.completed(**{**self._fields, **self.sizes}).get(field)

    def count(self) -> int:
        return self._formula.count(**{**self._fields, **self.sizes})
