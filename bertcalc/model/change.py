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
Model = Any  # stands for bertcalc.model.model.Model, because importing it would be circular

ADAPTER = "adapter"  # the block and role of the modules that an adapter adds
WRAPPER = "PeftModel"  # stands for peft's wrapper around the model in ``Step.variable``
SIZES, PACKS, TRAINS = range(3)  # the order of changes: sizes first, then quantization, then adapters and freezing
_TWICE = N_("The change {change} appears twice: remove one of the two.")
_ONE = N_("{first} and {second} exclude each other: remove one of them.")
_LATE = N_("{change} must come before {other}: first resize the model, then quantize it, then add the parts to train.")
_NOT_SIMULATED = N_("The memory of {architecture} with {change} is not simulated yet.")
SEVERAL_DEPTHS = N_(
    "A change to individual layers needs a fixed number of layers: change the model of each row separately."
)


class ChangeSize(NamedTuple):
    """A size that a change can set: its letter in formulas, the limits of its slider, and its meaning.

    Users may type values outside the slider's range.
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
    """Raise InputError if ``steps`` (changes and quantization formats) cannot be made in this order or together.

    The reason is a wrong order, a repeated step, or two steps that exclude each other.
    """
    for at, step in enumerate(steps):
        for before in steps[:at]:
            if before.turn > step.turn:
                raise wrong(_LATE, "changes", None, change=step.title, other=before.title)
            if type(before) is type(step) and step.once:
                raise wrong(_TWICE, "changes", None, change=step.title)
            if before.turn == step.turn > SIZES:
                raise wrong(_ONE, "changes", None, first=before.title, second=step.title)


class Limit(NamedTuple):
    """The lowest and highest possible value of a number in a change.

    ``field`` and ``value`` are the number's name and current value. ``message`` is the error message if the number is
    too high; "" stands for a general message.
    """

    field: str
    value: Any
    low: int
    high: Any
    message: str = ""


class Change(CheckedRecord):
    """The base of all changes. A change is a frozen dataclass, because models are compared and cached by their changes.

    - ``title``: the name that readers see.
    - ``turn``: its place in the order of steps (``SIZES``, ``PACKS`` or ``TRAINS``).
    - ``once``: whether a model can have it only once.
    - ``in_front_of_layers``: whether it allocates memory for every layer before the first layer runs. A formula of peak
      memory then has no letter for the number of layers.
    - ``recomputes``: whether it works with gradient checkpointing.
    - ``in_16_bits``: whether it can be trained in a 16-bit model if its tensors keep the dtype that the library gives
      them.
    - ``packed_in_16_bits``: whether it can be trained in a 16-bit model with packed weights.
    - ``letters``: the arguments that have a letter in formulas, each mapped to the name of its size in
      ``CHANGE_SIZES``.
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
        """Whether it selects layers by number. Formulas then have no letter for the number of layers."""
        return False

    @property
    def dropped(self) -> Collection[int]:
        """The numbers of the dropped layers."""
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
        """The dtype of matrix products with packed weights; "" if no weights are packed.

        The bytes of packed weights are not a polynomial in the sizes.
        """
        return ""

    def __str__(self) -> str:
        """The change as a call, such as Lora(r=8).

        It shows the arguments that have a letter, and all arguments that differ from their defaults.
        """
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
        """Like ``rewrite``, for changes that need a second run of the program.

        ``twin(other)`` runs it for the same batch, prepared by the change ``other``, and returns its tree and steps.
        """
        self.rewrite(model, root, steps)

    def without_layers(self, dropped: Collection[int]) -> Self:
        """The change as it applies after a later change has dropped the layers in ``dropped``.

        The remaining layers are renumbered. A change that names no layers returns itself.
        """
        return self

    def settled(self, config: Config) -> Self:
        """A copy with explicit values for the numbers that it would otherwise read from ``config``.

        Call it before letters replace the sizes of ``config``.
        """
        return self

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        """A copy with symbols for the arguments that have a letter, such as r; ``symbols`` is keyed by size."""
        arguments: Any = {argument: symbols[size] for argument, size in self.letters.items()}
        return replace(self, **arguments) if arguments else self  # type: ignore[type-var]  # all are dataclasses

    def sized_by(self, model: Model, config: Config) -> Self:
        """A copy in which the numbers that must equal sizes of the model come from ``config``.

        The sizes of ``config`` may be letters. Raises InputError if such a number differs from the size of ``model``.
        """
        return self

    def letter_values(self, config: Config) -> dict[str, Any]:
        """The values of the change's letters, keyed by size; ``config`` is the configuration before the change."""
        return {size: getattr(self, argument) for argument, size in self.letters.items()}
