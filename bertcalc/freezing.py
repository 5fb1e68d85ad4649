"""Freezing: what is not trained, and what is left.

>>> from bertcalc import BertConfig, build
>>> Freezing(embeddings=True, layers=11).split(build(BertConfig()))
Split(trainable=7678464, frozen=101803776)
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from bertcalc.config import BertConfig, Problem, check_whole_number
from bertcalc.nn import Module, Tensor
from bertcalc.totals import Component, bare, component_of

Train = Literal["all", "head", "bias+LayerNorm"]
TRAIN: tuple[Train, ...] = ("all", "head", "bias+LayerNorm")


class Split(NamedTuple):
    """Parameters that are trained, and parameters that are not."""

    trainable: int
    frozen: int

    @property
    def total(self) -> int:
        """Both."""
        return self.trainable + self.frozen


@dataclass(frozen=True)
class Freezing:
    """What is frozen: the embeddings, the first ``layers`` layers, and all that ``train`` leaves out.

    A tied tensor is frozen with the one that owns it.
    """

    embeddings: bool = False
    layers: int = 0
    train: Train = "all"

    def is_frozen(self, name: str) -> bool:
        """Whether the tensor of that full name, such as ``bert.encoder.layer.3.output.dense.bias``, is not trained."""
        component, layer = component_of(name), _LAYER.match(bare(name))
        return (
            (self.embeddings and component == "embeddings")
            or (layer is not None and int(layer[1]) < self.layers)
            or (self.train == "head" and component != "head")
            or (self.train == "bias+LayerNorm" and not (name.endswith("bias") or "LayerNorm" in name))
        )

    def split(self, model: Module) -> Split:
        """Trainable and frozen parameters of a model."""
        return _sum(self.by_component(model).values())

    def by_component(self, model: Module) -> dict[Component, Split]:
        """Trainable and frozen parameters of each component that the model has."""
        splits: dict[Component, list[Split]] = {}
        for tensor in model.tensors():
            frozen = self._frozen(tensor)
            splits.setdefault(component_of(tensor.name), []).append(Split(tensor.num_parameters() - frozen, frozen))
        return {component: _sum(each) for component, each in splits.items()}

    def problem(self, config: BertConfig) -> Problem | None:
        """What is wrong with the number of layers, if anything; the remedy is the nearest number that is possible."""
        return check_whole_number("freeze_layers", self.layers, 0, config.num_hidden_layers, like=0)

    def _frozen(self, tensor: Tensor) -> int:
        """Frozen parameters of a tensor of the folded tree, in two steps: its first copies, and all the others."""
        first = min(self.layers, tensor.copies) if "*" in tensor.name else 0
        steps = {0: first, self.layers: tensor.copies - first}
        return sum(
            tensor._replace(copies=copies).num_parameters()
            for number, copies in steps.items()
            if self.is_frozen(tensor.name.replace("*", str(number)))
        )


_LAYER = re.compile(r"encoder\.layer\.([0-9]+)\.")


def _sum(splits: Iterable[Split]) -> Split:
    return Split(*map(sum, zip(*splits, strict=True)))
