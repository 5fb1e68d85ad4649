"""Fewer attention heads: query, key, value and output shrink, as with ``prune_heads`` of transformers before 5."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Self

from bertcalc.changes.resizing import Resizing, in_order
from bertcalc.changes.rewriting import Rewriting, copied
from bertcalc.config import Config
from bertcalc.model.change import Limit, Twin
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, ModuleList, split_layer
from bertcalc.model.trace import Step, Trace
from bertcalc.text import N_
from bertcalc.text.arguments import Single
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.records import dataclass

_NO_METHOD = N_("transformers has no prune_heads for {family}: its heads cannot be pruned.")
_DISTANCES = N_(
    "transformers prunes the heads of {family}, but the pruned model cannot run: its table of distances keeps a column "
    "for each head."
)
_ALL = N_("All {count} heads of a layer would be pruned: keep at least one.")


@dataclass(frozen=True)
class PruneHeads(Resizing):
    """Prune attention heads.

    ``heads`` is the number of heads to prune in every layer, or a mapping from layer numbers to the heads to prune.

    In transformers up to 4.57, this is ``model.prune_heads({layer: [head, ...]})``. Later versions do not have this
    method. Cross-attention keeps its heads. ALBERT's shared layer has the number 0.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(PruneHeads({0: [0, 1], 11: [3]})).num_parameters()
    108891840
    """

    title = N_("Prune heads")
    once = True

    heads: Mapping[Single, Collection[Single]] | int = field(hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.heads, Mapping):
            by_layer = {layer: in_order(heads) for layer, heads in self.heads.items()}
            object.__setattr__(self, "heads", by_layer)

    @property
    def by_layer(self) -> bool:
        return isinstance(self.heads, Mapping)

    def configured(self, model: Model, config: Config) -> Config:
        if model.family.prunes != "yes":  # _prune_heads is missing or raises an error, or the pruned model cannot run
            message = _NO_METHOD if model.family.prunes == "no" else _DISTANCES
            raise InputError(Problem.of(message, "heads", None, family=model.family.name))
        self.check(config)
        return config

    def limits(self, config: Config) -> Iterator[Limit]:
        most = config.num_attention_heads - 1
        if not isinstance(self.heads, Mapping):
            yield Limit("heads", self.heads, 0, most)
            return
        layers = 1 if config.has("num_hidden_groups") else config.num_hidden_layers
        for layer, pruned in self.heads.items():
            yield Limit("layer", layer, 0, layers - 1)
            yield from (Limit("heads", head, 0, most) for head in pruned)
            yield Limit("heads", len(pruned), 0, most, _ALL)

    def without_layers(self, dropped: Collection[int]) -> Self:
        if not isinstance(self.heads, Mapping):
            return self
        left = {
            layer - sum(number < layer for number in dropped): heads
            for layer, heads in self.heads.items()
            if layer not in dropped
        }
        return replace(self, heads=left)

    def prepare(self, trace: Trace) -> None:
        if not isinstance(self.heads, Mapping):
            trace.pruned_heads = self.heads

    def rewrite_with(self, model: Model, root: Module, steps: list[Step] | None, twin: Twin) -> None:
        """Split the layers by their number of pruned heads, and copy each group from a uniformly pruned model."""
        if not isinstance(self.heads, Mapping):
            return
        counts = {layer: len(heads) for layer, heads in self.heads.items() if heads}
        twins = {count: twin(PruneHeads(count)) for count in sorted(set(counts.values()))}
        rewriting = Rewriting(model, root, steps)
        rewriting.split_layers(lambda name: counts.get(_layer(name), 0))
        stacks = [(spot.path, spot.module) for spot in rewriting.spots() if "*" not in spot.path]
        for path, layers in stacks:
            for name, (start, _copies) in layers.groups.items() if isinstance(layers, ModuleList) else ():
                if count := counts.get(start):
                    tree, pruned = twins[count]
                    layers.children[name] = copied(tree.get_submodule(path).get_submodule(str(start)))
                    _take_shapes(steps, pruned, model.without_prefix(path), name)


def _layer(name: str) -> int:
    return int(split_layer(name)[0].rpartition(".")[2])


def _take_shapes(steps: list[Step] | None, pruned: list[Step] | None, path: str, group: str) -> None:
    """Copy shapes to the steps of a group of layers from ``pruned`` steps, which have fewer heads."""
    if steps is None or pruned is None:
        return
    inside = [step for step in pruned if split_layer(step.name)[0].rpartition(".")[0] == path]
    places = [index for index, step in enumerate(steps) if split_layer(step.name)[0] == f"{path}.{group}"]
    for index, narrow in zip(places, inside, strict=True):
        step = steps[index]
        takes = tuple(_shaped(value, narrower) for value, narrower in zip(step.takes, narrow.takes, strict=True))
        tensors = tuple(
            _shaped(tensor, narrower) for tensor, narrower in zip(step.tensors, narrow.tensors, strict=True)
        )
        gives = _shaped(step.gives, narrow.gives)
        steps[index] = step._replace(takes=takes, gives=gives, tensors=tensors, module=narrow.module)


def _shaped(value: Any, other: Any) -> Any:
    return value._replace(shape=other.shape)
