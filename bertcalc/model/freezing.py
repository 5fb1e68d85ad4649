"""Freezing: exclude parameters from training, and count trainable and frozen parameters.

>>> from bertcalc import BertConfig, build
>>> Freezing(embeddings=True, layers=11).split(build(BertConfig()))
Split(trainable=7678464, frozen=101803776)
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from bertcalc.config import Config, Problem, check_whole_number
from bertcalc.model.modules import AFTER_LAYERS, Component, Module, Tensor, layer_number
from bertcalc.text.arguments import CheckedRecord, checked, single
from bertcalc.text.live_choices import smallest
from bertcalc.text.problem import InputError
from bertcalc.text.records import dataclass

Train = Literal["all", "head", "bias+LayerNorm"]
TRAIN: tuple[Train, ...] = ("all", "head", "bias+LayerNorm")


class Split(NamedTuple):
    """The numbers of trainable and frozen parameters."""

    trainable: int
    frozen: int

    @property
    def total(self) -> int:
        return self.trainable + self.frozen


@dataclass(frozen=True)
class Freezing(CheckedRecord):
    """The choice of frozen tensors.

    These are the embeddings (with ``embeddings``), the first ``layers`` layers, and all tensors that ``train``
    excludes. Tensors that an adapter froze stay frozen. A tied tensor is frozen if the tensor that it shares is frozen.
    """

    embeddings: bool = False
    layers: int = 0
    train: Train = "all"

    def is_frozen(self, tensor: Tensor, layer: int) -> bool:
        """Whether a tensor is frozen; for a tensor in a layer, ``layer`` is the number of the layer."""
        component, block, role = tensor.place
        return (
            tensor.frozen
            or (self.embeddings and component == "embeddings")
            or (component == "encoder" and block != AFTER_LAYERS and layer < self.layers)
            or (self.train == "head" and component != "head")
            or (self.train == "bias+LayerNorm" and not (tensor.name.endswith("bias") or role == "norm"))
        )

    @checked
    def names(self, model: Module) -> frozenset[str]:
        """The names of the frozen tensors as in the real model's named_parameters().

        Raises InputError if more layers are frozen than the model has.
        """
        self._check(model)
        ties = model.ties()
        return frozenset(ties.get(name, name) for name in self.owned(model))

    @checked
    def owned(self, model: Module) -> frozenset[str]:
        """The names of the frozen tensors, each under the module that owns it."""
        tensors = model.tensors(folded=False)
        return frozenset(tensor.name for tensor in tensors if self.is_frozen(tensor, layer_number(tensor.name)))

    @checked
    def split(self, model: Module) -> Split:
        return _sum(self.by_component(model).values())

    @checked
    def by_component(self, model: Module) -> dict[Component, Split]:
        """The numbers of trainable and frozen parameters in each component of the model.

        Raises InputError if more layers are frozen than the model has.
        """
        self._check(model)
        splits: dict[Component, list[Split]] = {}
        for tensor in model.tensors():
            trained = self.trained(tensor, model.first_layer(tensor.name)).num_parameters()
            split = Split(trained, tensor.num_parameters() - trained)
            splits.setdefault(tensor.place.component, []).append(split)
        return {component: _sum(parts) for component, parts in splits.items()}

    def trained(self, tensor: Tensor, start: int = 0) -> Tensor:
        """A tensor of the folded tree, with ``copies`` reduced to the number of trained copies.

        ``start`` is the number of the first layer that has a copy.
        """
        in_layers = tensor.place.component == "encoder"
        first = smallest((max(self.layers - start, 0), tensor.copies)) if in_layers else 0
        groups = {start: first, max(self.layers, start): tensor.copies - first}
        left = [n for number, n in groups.items() if not self.is_frozen(tensor, number)]
        return tensor._replace(copies=sum(left))

    def _check(self, model: Module) -> None:
        single("layers", self.layers)
        config = getattr(model, "final_config", None)  # a submodule has no configuration
        if config and isinstance(config.num_hidden_layers, int) and (problem := self.problem(config)):
            raise InputError(problem)

    def problem(self, config: Config) -> Problem | None:
        """The problem with the number of frozen layers, or None; the remedy is the nearest valid number."""
        return check_whole_number("freeze_layers", self.layers, 0, config.num_hidden_layers, like=0)


def _sum(splits: Iterable[Split]) -> Split:
    return Split(*map(sum, zip(*splits, strict=True)))
