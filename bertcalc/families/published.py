"""Published parameter counts of presets, and how they differ from the counts of Hugging Face's classes."""

from typing import NamedTuple

from bertcalc.families import build
from bertcalc.model.model import Model
from bertcalc.text.toml_tables import table_beside


class PublishedCount(NamedTuple):
    """A published number of parameters, and its model.

    ``surplus`` is the number of additional parameters in Hugging Face's class; ``convention`` explains the difference.
    """

    preset: str
    architecture: str
    parameters: int
    convention: str
    source: str
    add_pooling_layer: bool = True
    surplus: int = 0

    def model(self) -> Model:
        return build(self.preset, self.architecture, add_pooling_layer=self.add_pooling_layer)


PUBLISHED = tuple(PublishedCount(**count) for count in table_beside(__file__)["counts"])
