"""The presets, and published parameter counts for them (published.toml)."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from bertcalc.families import PRESETS as PRESETS
from bertcalc.families import build
from bertcalc.families import preset_named as preset_named
from bertcalc.model.model import Model

DEFAULT_PRESET = next(iter(PRESETS))


class PublishedCount(NamedTuple):
    """A published number of parameters, and its model.

    ``surplus`` is how many more parameters Hugging Face's class has; ``convention`` says why.
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


PUBLISHED = tuple(
    PublishedCount(**count)
    for count in tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))["counts"]
)
