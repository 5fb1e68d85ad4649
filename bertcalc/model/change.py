"""A change of a model, such as an adapter: it rewrites what the family's program declared."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from bertcalc.config import Config
from bertcalc.model.modules import Module
from bertcalc.model.trace import Step, Trace
from bertcalc.text import N_
from bertcalc.text.arguments import check_fields, check_names
from bertcalc.text.problem import Problem
from bertcalc.text.records import call

Twin = Callable[["Change"], tuple[Module, list[Step] | None]]
Model = Any  # bertcalc.model.model.Model, whose module imports this one

ADAPTER = "adapter"  # the block and role of what an adapter adds
WRAPPER = "PeftModel"  # the module around the whole model, in ``Step.variable``
_NOT_SIMULATED = N_("The memory of {architecture} with {change} is not simulated yet.")
SEVERAL_DEPTHS = N_("A change of some layers needs a single number of layers: change the model of each row by itself.")


class Change:
    """The base of all changes. A change is a frozen dataclass: models that have it are compared and cached by it.

    ``title``: its name for readers.
    ``by_layer``: whether it depends on the numbers of layers, so that a formula cannot have a letter for their number.
    ``resizes``: whether it gives the model's own modules other sizes; then it must come before all adapters.
    ``in_front_of_layers``: whether it allocates something for each layer in front of all of them, so that a formula of
    the peak has no letter for their number.
    ``dropped``: the numbers of the layers that it drops. ``virtual_tokens``: how many it puts in front of each
    sequence. ``trains_as_it_runs``: whether the forward pass of a training step has the same products as any other.
    ``recomputes``: whether layers can be recomputed in the backward pass.
    ``in_16_bits``: whether it can be trained with a 16-bit model as the library makes it.
    ``under_autocast``: whether its memory under AMP is simulated. ``packs``: the dtype of products with packed weights,
    whose bytes are no polynomial of the sizes; "" if none are packed.
    ``beside_packed``: whether its memory beside packed weights is simulated. ``letters``: the arguments that have a
    letter in formulas, with the name of its size.
    """

    title = ""
    by_layer = False
    resizes = False
    in_front_of_layers = False
    dropped: Collection[int] = ()
    virtual_tokens = 0
    trains_as_it_runs = True
    recomputes = True
    in_16_bits = True
    under_autocast = True
    letters: ClassVar[Mapping[str, str]] = {}
    packs = ""
    beside_packed = True

    def __new__(cls, *_values: object, **named: object) -> Self:
        check_names(cls, named)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check the arguments. Raises ArgumentError, which is an InputError and a TypeError."""
        check_fields(self)

    def __str__(self) -> str:
        """The change as a call, with the arguments that have a letter and those that are not the default: Lora(r=8)."""
        return call(self, [name for name in self.letters if getattr(self, name) is not None])

    def configured(self, model: Model, config: Config) -> Config:
        """The configuration that the program sees instead of ``config``.

        Raises InputError if the model cannot be changed so.
        """
        return config

    def untrained(self, model: Model) -> Problem | None:
        """The problem if the model with the change runs, but cannot be trained; otherwise None."""
        return None

    def unsimulated(self, model: Model) -> Problem | None:
        """The problem if the peak memory of a model with the change is not simulated; otherwise None."""
        return None

    def not_simulated(self, model: Model) -> Problem:
        """The problem that the memory of a model with the change is not simulated."""
        return Problem.of(_NOT_SIMULATED, "changes", None, architecture=model.architecture, change=self.title)

    def prepare(self, trace: Trace) -> None:
        """Set options of the trace before the program runs."""

    def rewrite(self, model: Model, root: Module, steps: list[Step] | None) -> None:
        """Change the tree below ``root``, and the steps, in place; ``steps`` is None if only the tree is needed.

        Raises InputError if the model cannot be changed so.
        """

    def rewrite_with(self, model: Model, root: Module, steps: list[Step] | None, twin: Twin) -> None:
        """Like ``rewrite``; ``twin`` runs the program once more for the same batch, prepared by another change."""
        self.rewrite(model, root, steps)

    def without_layers(self, dropped: Collection[int]) -> Self:
        """The change of a model from which layers are dropped later, with their new numbers."""
        return self

    def settled(self, config: Config) -> Self:
        """The change with the numbers that it takes from ``config``, the one before it: for a model in letters."""
        return self

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        """The change with a symbol, by the name of its size, for each argument that has a letter, such as r."""
        arguments: Any = {argument: symbols[size] for argument, size in self.letters.items()}
        return replace(self, **arguments) if arguments else self  # type: ignore[type-var]  # all are dataclasses

    def letter_values(self, config: Config) -> dict[str, Any]:
        """The numbers for the letters of the change, by the names of their sizes; ``config`` is the one before it."""
        return {size: getattr(self, argument) for argument, size in self.letters.items()}
