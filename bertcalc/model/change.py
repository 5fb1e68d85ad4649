"""A change of a model, such as an adapter: it rewrites the modules and steps that the family's program declared."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

from bertcalc.config import Config
from bertcalc.model.modules import Module
from bertcalc.model.trace import Step, Trace
from bertcalc.text import N_
from bertcalc.text.arguments import CheckedRecord
from bertcalc.text.problem import Problem, wrong
from bertcalc.text.records import call

Twin = Callable[["Change"], tuple[Module, list[Step] | None]]
Model = Any  # bertcalc.model.model.Model, whose module imports this one

ADAPTER = "adapter"  # the block and role of the modules that an adapter adds
WRAPPER = "PeftModel"  # the module around the whole model, in ``Step.variable``
SIZES, PACKS, TRAINS = range(3)  # the turns of steps: sizes first, then the quantization, then adapters and freezing
_TWICE = N_("The change {change} appears twice: remove one of the two.")
_ONE = N_("{first} and {second} exclude each other: remove one of them.")
_LATE = N_("{change} must come before {other}: first resize the model, then quantize it, then add the parts to train.")
_NOT_SIMULATED = N_("The memory of {architecture} with {change} is not simulated yet.")
SEVERAL_DEPTHS = N_(
    "A change to individual layers needs a fixed number of layers: change the model of each row separately."
)


class ChangeSize(NamedTuple):
    """A size that changes have: its letter in formulas, the lowest and highest stop of its slider, and its meaning.

    Typed values may lie outside the stops.
    """

    letter: str
    low: int
    high: int
    meaning: str


CHANGE_SIZES = {
    "padded_vocab_size": ChangeSize("V'", 1_000, 131_072, N_("tokens after the change")),
    "lora_rank": ChangeSize("r", 1, 256, N_("rank")),
    "num_virtual_tokens": ChangeSize("p", 1, 256, N_("virtual tokens")),
    "narrowed_intermediate_size": ChangeSize("I'", 16, 8_192, N_("feed-forward size after the change")),
    "factorized_embedding_size": ChangeSize("E'", 8, 2_048, N_("size of the factorized embeddings")),
}


def check_order(steps: Sequence[Any]) -> None:
    """Raise InputError if changes and quantization formats (``steps``) cannot be made in this order."""
    for at, step in enumerate(steps):
        for before in steps[:at]:
            if before.turn > step.turn:
                raise wrong(_LATE, "changes", None, change=step.title, other=before.title)
            if type(before) is type(step) and step.once:
                raise wrong(_TWICE, "changes", None, change=step.title)
            if before.turn == step.turn > SIZES:
                raise wrong(_ONE, "changes", None, first=before.title, second=step.title)


class Limit(NamedTuple):
    """The limits of the number in a change's ``field``; ``message`` is the error message if it is too high."""

    field: str
    value: Any
    low: int
    high: Any
    message: str = ""


class Change(CheckedRecord):
    """The base of all changes. A change is a frozen dataclass, because models are compared and cached by their changes.

    - ``title``: its name for readers.
    - ``turn``: its place in the order of steps (``SIZES``, ``PACKS`` or ``TRAINS``).
    - ``once``: whether a model can have it only once.
    - ``in_front_of_layers``: whether it allocates something for every layer before the first one runs, so that a
      formula of the peak has no letter for the number of layers.
    - ``recomputes``: whether it works with gradient checkpointing.
    - ``in_16_bits``: whether it can be trained in a 16-bit model as the library creates it.
    - ``packed_in_16_bits``: the same in a 16-bit model with packed weights.
    - ``letters``: the arguments that have a letter in formulas, with the name of the size in ``CHANGE_SIZES``.
    """

    title = ""
    turn = TRAINS
    once = True
    in_front_of_layers = False
    recomputes = True
    in_16_bits = True
    packed_in_16_bits = True
    letters: ClassVar[Mapping[str, str]] = {}

    @property
    def resizes(self) -> bool:
        """Whether the change has to come before adapters and freezing."""
        return self.turn < TRAINS

    @property
    def by_layer(self) -> bool:
        """Whether it selects layers by number, so that a formula cannot have a letter for the number of layers."""
        return False

    @property
    def dropped(self) -> Collection[int]:
        """The numbers of the layers that it drops."""
        return ()

    @property
    def virtual_tokens(self) -> int:
        """The number of virtual tokens in front of each sequence."""
        return 0

    @property
    def trains_as_it_runs(self) -> bool:
        """Whether a training step's forward pass has the same matrix products as inference."""
        return True

    @property
    def under_autocast(self) -> bool:
        """Whether its memory under AMP is simulated."""
        return True

    @property
    def packs(self) -> str:
        """The dtype of products with packed weights, whose bytes are not a polynomial of the sizes; "" without them."""
        return ""

    def __str__(self) -> str:
        """The change as a call: the arguments that have a letter, and those that differ from the default: Lora(r=8)."""
        return call(self, [name for name in self.letters if getattr(self, name) is not None])

    def configured(self, model: Model, config: Config) -> Config:
        """The configuration that the program sees instead of ``config``.

        Raises InputError if the change is not possible.
        """
        return config

    def limits(self, config: Config) -> Iterable[Limit]:
        """The limits that ``config`` sets for the change's numbers; within them, the change is possible."""
        return ()

    def check_length(self, config: Config, length: int) -> None:
        """Raise InputError for a sequence that is too long for a model with the change."""

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

        Raises InputError if the change is not possible.
        """

    def rewrite_with(self, model: Model, root: Module, steps: list[Step] | None, twin: Twin) -> None:
        """Like ``rewrite``; ``twin(other)`` reruns the program for the same batch, prepared by the change ``other``."""
        self.rewrite(model, root, steps)

    def without_layers(self, dropped: Collection[int]) -> Self:
        """The same change with the layers' new numbers, for a model from which ``dropped`` layers are dropped later."""
        return self

    def settled(self, config: Config) -> Self:
        """A copy that states the numbers it would take from ``config``; made before sizes get letters."""
        return self

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        """A copy with symbols for the arguments that have a letter, such as r; ``symbols`` has them by size."""
        arguments: Any = {argument: symbols[size] for argument, size in self.letters.items()}
        return replace(self, **arguments) if arguments else self  # type: ignore[type-var]  # all are dataclasses

    def sized_by(self, model: Model, config: Config) -> Self:
        """A copy with ``config``'s sizes, which may be letters, for its numbers that must equal sizes of the model.

        Raises InputError if one of these numbers differs from the size of ``model``.
        """
        return self

    def letter_values(self, config: Config) -> dict[str, Any]:
        """The values of the letters of the change, by size; ``config`` is the configuration before the change."""
        return {size: getattr(self, argument) for argument, size in self.letters.items()}
