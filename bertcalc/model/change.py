"""A change of a model, such as an adapter: it rewrites what the family's program declared."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from bertcalc.model.model import Model
    from bertcalc.model.modules import Module
    from bertcalc.model.trace import Step, Trace


class Change:
    """The base of all changes. A change is a frozen dataclass: models that have it are compared and cached by it.

    ``by_layer``: whether it depends on the numbers of layers, so that a formula cannot have a letter for their number.
    """

    by_layer = False

    def prepare(self, trace: "Trace") -> None:
        """Set options of the trace before the program runs."""

    def rewrite(self, model: "Model", root: "Module", steps: "list[Step] | None") -> None:
        """Change the tree below ``root``, and the steps, in place; ``steps`` is None if only the tree is needed.

        Raises InputError if the model cannot be changed so.
        """

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        """The change with a symbol, by the name of its size, for each size that has a letter, such as r for a rank."""
        return self
