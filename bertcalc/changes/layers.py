"""Fewer layers: drop layers by number."""

from collections.abc import Collection, Iterator

from bertcalc.changes.resizing import Resizing, in_order
from bertcalc.config import Config, unchecked
from bertcalc.model.change import Limit
from bertcalc.model.model import Model
from bertcalc.model.trace import Trace
from bertcalc.text import N_
from bertcalc.text.arguments import Single
from bertcalc.text.records import dataclass

_ALL = N_("All {count} layers would be dropped: keep at least one.")


@dataclass(frozen=True)
class DropLayers(Resizing):
    """Drop the layers with the numbers in ``layers``, counted from 0. The remaining layers are renumbered.

    In transformers, this is ``model.encoder.layer = ModuleList(kept)`` with ``config.num_hidden_layers`` set to the
    number of remaining layers. A decoder that fills a cache also needs new numbers in ``layer_idx``. ALBERT's layers
    share their tensors, so dropping layers saves FLOPs but no parameters.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(DropLayers([1, 3, 5, 7, 9, 11])).num_parameters()
    66955008
    """

    title = N_("Drop layers")

    layers: Collection[Single]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "layers", in_order(self.layers))

    @property
    def dropped(self) -> Collection[int]:
        return self.layers

    def limits(self, config: Config) -> Iterator[Limit]:
        layers = config.num_hidden_layers
        yield from (Limit("layers", number, 0, layers - 1) for number in self.layers)
        yield Limit("layers", len(self.layers), 0, layers - 1, _ALL)

    def configured(self, model: Model, config: Config) -> Config:
        self.check(config)
        return unchecked(config, num_hidden_layers=config.num_hidden_layers - len(self.layers))

    def prepare(self, trace: Trace) -> None:
        trace.drops.append(self.layers)
