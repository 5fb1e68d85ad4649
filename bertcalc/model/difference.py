"""The differences between two models, module by module.

>>> from bertcalc import BertConfig, build
>>> model, classifier = (build(BertConfig(), name) for name in ("BertModel", "BertForSequenceClassification"))
>>> [(found.path, found.parameters) for found in differences(model, classifier)]
[('dropout', 0), ('classifier', 1538)]
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bertcalc.model.family import Model
from bertcalc.model.modules import Module
from bertcalc.model.totals import top_level
from bertcalc.text.arguments import checked


class ModuleChange(NamedTuple):
    """A path in the folded trees, each model's module there, and the second's parameters minus the first's.

    The path has no body prefix. If both models have a module there, these differ in kind or shape; ``parameters`` then
    counts only their own tensors, as their children are compared separately.
    """

    path: str
    here: Module | None
    there: Module | None
    parameters: int


@checked
def differences(here: Model, there: Model) -> list[ModuleChange]:
    """Every difference between two models, in module order; the parameters sum to the difference of the totals."""
    old, new = ({name: (module, 1) for name, module in top_level(model).items()} for model in (here, there))
    return list(_compare(old, new, "", 1))


_Children = Mapping[str, tuple[Module, int]]


def _compare(here: _Children, there: _Children, start: str, copies: int) -> Iterator[ModuleChange]:
    for name in {**here, **there}:
        path, one, other = start + name, here.get(name), there.get(name)
        if one is None or other is None or one[1] != other[1]:
            yield ModuleChange(path, one and one[0], other and other[0], copies * (_count(other) - _count(one)))
            continue
        (old, times), (new, _) = one, other
        if _facts(old) != _facts(new):
            yield ModuleChange(path, old, new, copies * times * (new.own_parameters() - old.own_parameters()))
        yield from _compare(_children(old), _children(new), f"{path}.", copies * times)


def _children(module: Module) -> _Children:
    return {name: (child, copies) for name, child, copies in module.named_children(folded=True)}


def _count(child: tuple[Module, int] | None) -> int:
    return child[1] * child[0].num_parameters() if child else 0


def _facts(module: Module) -> tuple[object, ...]:
    return module.kind, module.extra_repr(), dict(module.parameters)
