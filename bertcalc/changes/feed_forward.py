"""A narrower feed-forward network in all layers."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from bertcalc.changes.resizing import Resizing
from bertcalc.config import Config, unchecked
from bertcalc.model.change import Limit
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class NarrowFeedForward(Resizing):
    """Reduce the feed-forward network of each layer to ``intermediate_size`` units.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(NarrowFeedForward(1536)).num_parameters()
    81152256
    """

    title = N_("A narrower feed-forward")
    letters: ClassVar[Mapping[str, str]] = {"intermediate_size": "narrowed_intermediate_size"}

    intermediate_size: int

    def limits(self, config: Config) -> Iterator[Limit]:
        yield Limit("intermediate_size", self.intermediate_size, 1, config.intermediate_size)

    def configured(self, model: Model, config: Config) -> Config:
        self.check(config)
        return unchecked(config, intermediate_size=self.intermediate_size)
