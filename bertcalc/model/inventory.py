"""The modules of a model by kind: their number, their parameters, and their paths.

>>> from bertcalc import BertConfig, build
>>> {group.name: group.modules for group in inventory(build(BertConfig()))}
{'Embedding': 3, 'LayerNorm': 25, 'Dropout': 37, 'Linear': 73, 'GELUActivation': 12, 'Tanh': 1}
"""

from collections.abc import Iterable
from typing import NamedTuple

from bertcalc.model.modules import Module
from bertcalc.text.arguments import checked


class ModuleGroup(NamedTuple):
    """The modules with the same kind or name: their number, own parameters, and paths in the folded tree."""

    name: str
    modules: int
    parameters: int
    paths: tuple[str, ...]


@checked
def inventory(model: Module) -> list[ModuleGroup]:
    """Group the modules that own tensors or have no children by kind; every parameter is counted in one group."""
    entries = [
        entry for entry in model.modules() if entry[1].parameters or not any(entry[1].named_children(folded=True))
    ]
    kinds = dict.fromkeys(module.class_name for _, module, _ in entries)
    return [_group(kind, (entry for entry in entries if entry[1].class_name == kind)) for kind in kinds]


@checked
def named(model: Module, name: str) -> ModuleGroup:
    """The modules of any kind that have this name, such as ``dense``."""
    return _group(name, (entry for entry in model.modules() if entry[0].rpartition(".")[2] == name))


def _group(name: str, entries: Iterable[tuple[str, Module, int]]) -> ModuleGroup:
    members = list(entries)
    return ModuleGroup(
        name,
        sum(copies for _, _, copies in members),
        sum(copies * module.own_parameters() for _, module, copies in members),
        tuple(path for path, _, _ in members),
    )
