"""The models of the readers that benchmarks play: what their link says, and which numbers they have to see."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from bertcalc.discover.result import Discovered
from bertcalc.discover.steps import write
from bertcalc.presets import DEFAULT_PRESET
from bertcalc.track import ChosenModel

ANY_MODEL = "any_model"  # the page whose model is another one than that of all others
LAYERS = range(1, 25)


class Model(Protocol):
    """A model with one slider that is moved, its field and places, and with sizes that differ from the given ones."""

    field: str
    places: Sequence[int]
    sizes: dict[str, int]

    def link(self) -> dict[str, str]:
        """What the link says of it."""

    def size(self, field: str) -> int | None:
        """What a slider has to show, if that is known."""

    def count(self) -> int:
        """Its parameters."""


class OneSlider:
    """That of the floor, which has neither link nor panel."""

    field = "num_hidden_layers"
    places: Sequence[int] = LAYERS

    def __init__(self) -> None:
        self.sizes = {self.field: 12}

    def link(self) -> dict[str, str]:
        """Nothing."""
        return {}

    def size(self, field: str) -> int:
        """As it is."""
        return self.sizes[field]

    def count(self) -> int:
        """What the floor writes."""
        return self.size(self.field) * 7_087_872


class OfSidebar:
    """A preset with other sizes: the model of every page but one."""

    field = "num_hidden_layers"
    places: Sequence[int] = LAYERS

    def __init__(self, vocab_size: int, layers: int, preset: str = DEFAULT_PRESET) -> None:
        self.sizes = {"vocab_size": vocab_size, self.field: layers}
        self._preset = preset

    @property
    def _chosen(self) -> ChosenModel:
        return ChosenModel().reset(self._preset).changed(self.sizes)

    def link(self) -> dict[str, str]:
        """As the page writes it."""
        return self._chosen.link()

    def size(self, field: str) -> int:
        """Of its configuration."""
        value: int = getattr(self._chosen.config, field)
        return value

    def count(self) -> int:
        """As ``bertcalc`` counts it."""
        return self._chosen.subject().model().num_parameters()


class OfAnyModel:
    """A class of the page Any model with other sizes; ``given`` is what a config.json says of it, which is discovered.

    ``found`` is its formula, found before: without ``given`` it is the one that the page has.
    """

    def __init__(
        self,
        found: Discovered,
        sizes: dict[str, int],
        field: str,
        places: Sequence[int],
        given: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.sizes, self.field, self.places = sizes, field, places
        self._found, self._given = found, dict(given)

    def link(self) -> dict[str, str]:
        """As the page writes it."""
        said = {"model_type": self._found.model_type, "model_class": self._found.cls, "sizes": write(self.sizes)}
        return said | ({"fields": json.dumps(self._given, separators=(",", ":"))} if self._given else {})

    def size(self, field: str) -> int | None:
        """Of all sizes, those that follow others among them."""
        return self._found.completed(**{**self._given, **self.sizes}).get(field)

    def count(self) -> int:
        """As the formula has it."""
        return self._found.count(**{**self._given, **self.sizes})
