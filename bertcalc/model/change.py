"""A change of a model, such as an adapter: it rewrites what the family's program declared."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from bertcalc.model.model import Model
    from bertcalc.model.modules import Module
    from bertcalc.model.trace import Step, Trace


ADAPTER = "adapter"  # the block and role of what an adapter adds


class Change:
    """The base of all changes. A change is a frozen dataclass: models that have it are compared and cached by it.

    ``by_layer``: whether it depends on the numbers of layers, so that a formula cannot have a letter for their number.
    ``in_steps``: whether the steps of the model have it, so that FLOPs and memory can be read from them.
    ``trains_as_it_runs``: whether the forward pass of a training step has the same products as any other.
    ``in_16_bits``: whether it can be trained with a 16-bit model as the library makes it. ``under_autocast``: whether
    its memory under AMP is simulated.
    """

    by_layer = False
    in_steps = True
    trains_as_it_runs = True
    in_16_bits = True
    under_autocast = True

    def prepare(self, trace: "Trace") -> None:
        """Set options of the trace before the program runs."""

    def rewrite(self, model: "Model", root: "Module", steps: "list[Step] | None") -> None:
        """Change the tree below ``root``, and the steps, in place; ``steps`` is None if only the tree is needed.

        Raises InputError if the model cannot be changed so.
        """

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        """The change with a symbol, by the name of its size, for each size that has a letter, such as r for a rank."""
        return self
