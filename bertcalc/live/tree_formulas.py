"""A model's module tree with live sizes: counts, tensors and the text of ``print`` that are read from it are live.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.text.live_numbers import evaluated
>>> tree = live_tree(build(BertConfig()))
>>> line = list(tree.lines())[1:][2]
>>> line.text.strip()
'(position_embeddings): Embedding(512, 768)'
>>> evaluated(line.text.node, {"max_position_embeddings": 1024, "hidden_size": 256}).strip()
'(position_embeddings): Embedding(1024, 256)'
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from bertcalc.live.live_formulas import with_formulas
from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Module
from bertcalc.text.live_choices import smallest

Tree = TypeVar("Tree", bound=Module)


def live_tree(model: Model) -> Model:
    """The tree of a model, with the formulas of its structure. It is for reading only: its steps are not live."""
    return _joined(model, symbolic_model(model), model.config.shared())


def _joined(numbers: Tree, letters: Module, sizes: Mapping[str, Any]) -> Tree:
    made = object.__new__(type(numbers))
    formulas = vars(letters)
    for name, value in vars(numbers).items():
        vars(made)[name] = _value(value, formulas.get(name), sizes)
    if isinstance(made, Embedding) and made.padding_idx is not None:
        # A smaller vocabulary takes the padding token with it: see ``moved`` in bertcalc/controls/stops.py.
        made.padding_idx = smallest((made.padding_idx, made.parameters["weight"][0] - 1))
    return made


def _value(value: Any, formula: Any, sizes: Mapping[str, Any]) -> Any:
    if isinstance(value, Module):
        return _joined(value, formula, sizes) if isinstance(formula, Module) else value
    if isinstance(value, Mapping) and isinstance(formula, Mapping):
        return {key: _value(part, formula.get(key), sizes) for key, part in value.items()}
    return with_formulas(value, formula, sizes)
