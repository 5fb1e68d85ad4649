"""The result of reading a text: its kind, its model, its counts, and sentences about them."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from bertcalc.config import letters, unchecked
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Tensor
from bertcalc.proofreading.claims import Proofread
from bertcalc.reading.recognition import UnmatchedPart, with_ties
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

Kind = Literal[
    "number",
    "calculation",
    "hand-count",
    "article",
    "program",
    "peft-line",
    "config",
    "printed-model",
    "listing",
    "loading-message",
    "keras-summary",
    "torchinfo",
    "torchsummary",
    "safetensors-index",
    "safetensors-header",
    "adapter-config",
    "other-file",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Names of the kinds, for a selection list.
KIND_NAMES: dict[Kind, str] = {
    "number": N_("a number"),
    "calculation": N_("a calculation"),
    "hand-count": N_("a hand count"),
    "article": N_("an article"),
    "program": N_("a program"),
    "peft-line": N_("a line printed by peft"),
    "config": N_("a config.json"),
    "printed-model": N_("a printed PyTorch model"),
    "listing": N_("a list of tensors"),
    "loading-message": N_("a message about loading weights"),
    "keras-summary": N_("a Keras summary"),
    "torchinfo": N_("a torchinfo table"),
    "torchsummary": N_("a torchsummary table"),
    "safetensors-index": N_("an index of safetensors files"),
    "safetensors-header": N_("a safetensors header"),
    "adapter-config": N_("an adapter_config.json"),
    "other-file": N_("a file that does not describe a model"),
}
_SHOWN = 12  # maximum number of parts that a sentence names


class PossibleCount(NamedTuple):
    """A number of parameters, and the condition under which it is right."""

    parameters: int
    condition: Problem


@dataclass(frozen=True)
class TextReading:
    """The result of reading a text: its kind, its model and its counts.

    - ``kind`` and ``sentence``: what the text is, as a key and as a sentence.
    - ``model``: the supported model that the text describes, or that is most similar to it.
    - ``modules`` and ``tensors``: the modules and tensors in the text.
    - ``num_parameters``: the text's count; None if the text leaves it open. If ``is_at_least`` is true, parts of the
      count are unknown.
    - ``possible_counts``: all counts that the text may mean if it leaves something open.
    - ``missing``, ``additional`` and ``reshaped``: the differences between the text and the model.
    - ``guessed``: fields of the configuration that the text does not show.
    - ``preset``: the preset that completes a text without all sizes.
    - ``notes``: further sentences.
    - ``detail``: a result from another part of bertcalc. It is the diagnosis of a number, the verdicts on a hand count,
      the report on an article, or the model with an adapter.
    """

    kind: Kind
    sentence: Problem
    model: Model | None = None
    modules: Module | None = None
    tensors: tuple[Tensor, ...] = ()
    num_parameters: int | None = None
    is_at_least: bool = False
    possible_counts: tuple[PossibleCount, ...] = ()
    missing: tuple[UnmatchedPart, ...] = ()
    additional: tuple[UnmatchedPart, ...] = ()
    reshaped: tuple[UnmatchedPart, ...] = ()
    guessed: tuple[str, ...] = ()
    preset: str = ""
    notes: tuple[Problem, ...] = ()
    detail: Any = None

    @property
    def agrees(self) -> bool:
        """Whether the text describes exactly the model."""
        return self.model is not None and not (self.missing or self.additional or self.reshaped)

    def sentences(self) -> list[Problem]:
        """Return all sentences about the text, as messages with values that can be translated."""
        of_count = (*self._of_count(), *self._of_guesses())
        return [self.sentence, *of_count, *self._of_differences(), *self._of_conditions(), *self.notes]

    def __str__(self) -> str:
        report = [str(self.detail)] if isinstance(self.detail, Proofread) else []
        return "\n".join([*map(str, self.sentences()), *report])

    def _of_count(self) -> list[Problem]:
        if self.model is not None and self.num_parameters is not None:
            message = (_COMPLETED if self.preset else _IS) if self.agrees else _IS_LIKE
            values = {"count": self.model.num_parameters(), "sizes": sizes_of(self.model), "preset": self.preset}
            same = Problem.of(message, architecture=self.model.architecture, **values)
            is_whole = self.agrees and (not self.is_at_least or bool(self.preset))
            return [same] if is_whole else [same, self._total()]
        is_empty = self.num_parameters is None or (self.is_at_least and not self.num_parameters)
        return [] if is_empty else [self._total()]

    def _of_guesses(self) -> list[Problem]:
        if self.model is None:
            return []
        heads = Problem.of(_GUESSED, heads=self.model.config.num_attention_heads)
        layers = Problem.of(_GUESSED_LAYERS, layers=self.model.config.num_hidden_layers)
        named = {"num_hidden_layers": layers, "num_attention_heads": heads}
        return [problem for field, problem in named.items() if field in self.guessed]

    def _total(self) -> Problem:
        return Problem.of(_AT_LEAST if self.is_at_least else _TOTAL, count=self.num_parameters)

    def _of_differences(self) -> list[Problem]:
        if self.model is None:
            return []
        differences = ((_MISSING, self.missing), (_ADDITIONAL, self.additional), (_RESHAPED, self.reshaped))
        return [
            Problem.of(message, architecture=self.model.architecture, parts=_named(parts))
            for message, parts in differences
            if parts
        ]

    def _of_conditions(self) -> list[Problem]:
        message = _POSSIBLE_AT_LEAST if self.is_at_least and self.model is None else _POSSIBLE
        return [
            Problem.of(message, count=possible.parameters, condition=possible.condition)
            for possible in self.possible_counts
        ]


_IS = N_("This is {architecture} with {sizes}: {count} parameters.")
_COMPLETED = N_("Completed from {preset}, this is {architecture} with {sizes}: {count} parameters.")
_IS_LIKE = N_("The nearest model that bertcalc counts is {architecture} with {sizes}: {count} parameters.")
_GUESSED = N_("The text does not show the number of heads: A = {heads} is assumed.")
_GUESSED_LAYERS = N_("The text does not show the number of layers: L = {layers} is assumed.")
_TOTAL = N_("The text describes {count} parameters.")
_AT_LEAST = N_("The text describes at least {count} parameters.")
_MISSING = N_("Parts of {architecture} that the text does not have: {parts}.")
_ADDITIONAL = N_("Parts that {architecture} does not have: {parts}.")
_RESHAPED = N_("Parts of {architecture} with different shapes in the text: {parts}.")
_POSSIBLE_AT_LEAST = N_("Possible: at least {count} parameters, {condition}.")
_POSSIBLE = N_("Possible: {count} parameters, {condition}.")


def of_ties(model: Model, count: int) -> Iterator[PossibleCount]:
    """Yield the counts of a text with a tied and with an untied decoder; none if its class allows only one of them.

    ``count`` is the text's count if it is read as ``model``.
    """
    counts = {tied: with_ties(model, tied) for tied in (True, False)}
    tied, untied = counts[True], counts[False]
    if tied is None or untied is None:
        return
    name, first = next(names for names in tied.ties().items() if names[0] not in untied.ties())
    name = first if name.startswith(f"{model.family.prefix}.") else name  # the head, even if it is registered first
    with_tie, without = (count + other.num_parameters() - model.num_parameters() for other in (tied, untied))
    yield from of_tie(with_tie, without, name)


def of_tie(tied: int, untied: int, name: str) -> tuple[PossibleCount, ...]:
    """Return the counts of a text if the matrix ``name`` is tied, and if it is separate."""
    return (
        PossibleCount(tied, Problem.of(N_("if {name} is tied to the word embeddings"), name=name)),
        PossibleCount(untied, Problem.of(N_("if {name} is a separate matrix"), name=name)),
    )


def sizes_of(model: Model) -> str:
    """Return the sizes of a model and their letters as text: V = 30,522, H = 768, ...

    The number of labels is omitted unless the class has a head that depends on it.
    """
    config = model.config
    other = model.changed(config=unchecked(config, num_labels=config.num_labels + 1))
    unused = {EVERY_LETTER["num_labels"]} if other.num_parameters() == model.num_parameters() else set()
    return ", ".join(f"{letter} = {size:,}" for letter, size in letters(config).items() if letter not in unused)


def _named(parts: tuple[UnmatchedPart, ...]) -> str:
    named = "; ".join(map(_words, parts[:_SHOWN]))
    return f"{named}; ..." if parts[_SHOWN:] else named


def _words(part: UnmatchedPart) -> str:
    copies = f"{part.modules} × " if part.modules > 1 else ""
    kind = f" ({part.kind})" if part.kind else ""
    return f"{copies}{part.path}{kind}: {part.parameters:,}"
