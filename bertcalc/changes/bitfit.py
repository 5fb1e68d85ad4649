"""BitFit (Zaken et al. 2021, arXiv:2106.10199): only biases and the task's head are trained."""

from bertcalc.changes.adapter import freeze, train_all, train_biases
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.model.modules import Module
from bertcalc.model.trace import Step
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class BitFit(Change):
    """Train only the biases, including LayerNorm's beta. With ``head``, the whole head is trained as well.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(BitFit()).trainable_parameters
    102912
    """

    title = "BitFit"

    head: bool = True

    def rewrite(self, model: Model, root: Module, steps: list[Step] | None) -> None:
        freeze(root)
        train_biases(root)
        for name, child in root.children.items():
            if self.head and name != model.family.prefix and child.place.component == "head":
                train_all(child)
