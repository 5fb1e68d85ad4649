"""The differences between two models, module by module.

>>> from bertcalc import BertConfig, build
>>> model, classifier = (build(BertConfig(), name) for name in ("BertModel", "BertForSequenceClassification"))
>>> [(change.path, change.parameters) for change in differences(model, classifier)]
[('dropout', 0), ('classifier', 1538)]
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bertcalc.model.model import Model
from bertcalc.model.modules import Module
from bertcalc.model.totals import top_level
from bertcalc.text.arguments import checked

_Children = Mapping[str, tuple[Module, int]]


class ModuleChange(NamedTuple):
    """A difference between two models at a path in their folded trees.

    ``here`` and ``there`` are the modules of the first and second model at this path, or None. ``parameters`` is the
    second module's parameter count minus the first's. The path has no body prefix.

    If both models have a module at the path, the modules differ in kind or shape. ``parameters`` then counts only the
    tensors that they own, because their children are compared separately.
    """

    path: str
    here: Module | None
    there: Module | None
    parameters: int


@checked
def differences(first: Model, second: Model) -> list[ModuleChange]:
    """Every difference between two models, in module order.

    The ``parameters`` of all differences sum to the difference between the models' parameter counts.
    """
    old, new = ({name: (module, 1) for name, module in top_level(model).items()} for model in (first, second))
    return list(_compare(old, new, "", 1))


def _compare(first: _Children, second: _Children, start: str, copies: int) -> Iterator[ModuleChange]:
    for name in {**first, **second}:
        path, before, after = start + name, first.get(name), second.get(name)
        if before is None or after is None or before[1] != after[1]:
            yield ModuleChange(
                path, before and before[0], after and after[0], copies * (_count(after) - _count(before))
            )
            continue
        (old, times), (new, _) = before, after
        if _facts(old) != _facts(new):
            yield ModuleChange(path, old, new, copies * times * (new.own_parameters() - old.own_parameters()))
        yield from _compare(_children(old), _children(new), f"{path}.", copies * times)


def _children(module: Module) -> _Children:
    return {name: (child, copies) for name, child, copies in module.named_children(folded=True)}


def _count(child: tuple[Module, int] | None) -> int:
    return child[1] * child[0].num_parameters() if child else 0


def _facts(module: Module) -> tuple[object, ...]:
    return module.class_name, module.extra_repr(), dict(module.parameters)
