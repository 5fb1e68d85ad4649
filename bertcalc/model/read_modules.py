"""Modules read from a real model or its printed text, not declared by a family's program."""

from collections.abc import Iterable
from itertools import groupby

from bertcalc.model.modules import Module, ModuleList

LayerRun = tuple[int, int, Module]  # equal layers: (number of the first layer, number of layers, one of the layers)


class ReadModule(Module):
    """A module of a real model: its class name, its tensor shapes, and the arguments that ``print`` shows."""

    def __init__(self, kind: str, arguments: str) -> None:
        super().__init__(kind)
        self.arguments = arguments
        self.is_embedding = kind == "Embedding"

    def extra_repr(self) -> str:
        return self.arguments


def folded(kind: str, layers: Iterable[LayerRun]) -> ModuleList:
    """A list of layers in which the longest run of equal layers is a single layer named ``*``, with copies.

    ``kind`` is the class name of the list.

    >>> str(folded("ModuleList", [(0, 1, Module("A")), (1, 1, Module("A")), (2, 1, Module("B"))])).splitlines()
    ['ModuleList(', '  (0-1): 2 x A()', '  (2): B()', ')']
    """
    tree = ModuleList()
    tree.class_name = kind
    runs = [_run(list(run)) for _facts, run in groupby(layers, lambda entry: facts(entry[2]))]
    longest = max(runs, key=lambda run: run[1], default=None)
    for run in runs:
        start, copies, layer = run
        if run is longest and copies > 1:
            tree.add("*", layer, start, copies)
            continue
        for number in range(start, start + copies):
            tree.add(f"{number}", layer, number, 1)
    return tree


def _run(layers: list[LayerRun]) -> LayerRun:
    start, _copies, layer = layers[0]
    return start, sum(copies for _start, copies, _layer in layers), layer


def facts(module: Module) -> tuple[object, ...]:
    """Everything about a module except its name, to tell whether two modules are equal."""
    inside = tuple((name, copies, facts(child)) for name, child, copies in module.named_children(folded=True))
    return (
        module.class_name,
        module.is_embedding,
        module.extra_repr(),
        dict(module.parameters),
        dict(module.tied),
        inside,
    )
