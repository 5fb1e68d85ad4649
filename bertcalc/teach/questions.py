"""An exercise: a question about a model, its right answer, and common mistakes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

from bertcalc.config import Config, sizes_of
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes
from bertcalc.families.presets import PRESETS
from bertcalc.memory.optimizers import Optimizer, Part, Precision, StateSizes, parts
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape, Tensor
from bertcalc.model.totals import place_of, summed
from bertcalc.text import N_
from bertcalc.text.amounts import Unit

Kind = Literal["tensor", "shape", "layer", "model", "architecture", "step", "flops", "memory", "field", "error"]
TITLES: Mapping[Kind, str] = {
    "tensor": N_("A tensor"),
    "shape": N_("The shape of a tensor"),
    "layer": N_("A part of the model"),
    "model": N_("The whole model"),
    "architecture": N_("An architecture"),
    "step": N_("An intermediate shape"),
    "flops": N_("Compute"),
    "memory": N_("Memory"),
    "field": N_("Which field changes what"),
    "error": N_("Find the error"),
}


class Sentence(NamedTuple):
    """An English sentence with placeholders, and their values: names, numbers, or English to be translated."""

    message: str
    values: Mapping[str, str] = {}


class Mistake(NamedTuple):
    """A wrong number that a student may get, and the reason for it as a sentence without its full stop."""

    reason: Sentence
    amount: int


class TrainingMemory(NamedTuple):
    """Memory for selected parts of training (weights, gradients, ...) at a given parameter count."""

    parameters: int
    precision: Precision
    optimizer: Optimizer
    parts: tuple[Part, ...]

    def num_bytes(self) -> dict[Part, int]:
        """Return the size of each selected part in bytes."""
        sizes = parts(self.parameters, StateSizes(elements=self.parameters), self.precision, self.optimizer)
        return {part: sizes[part] for part in self.parts}


class Exercise(NamedTuple):
    """A question about a model, and its right answer."""

    kind: Kind
    model: Model
    question: Sentence
    right: int | Shape | frozenset[str]  # a number, a shape, or the fields of ``options`` that change something
    unit: Unit | None = None  # the unit of a number
    batch: Batch | None = None  # the batch, if the exercise is about a forward pass
    path: str = ""  # the path of the module, tensor or step in question
    tensors: tuple[Tensor, ...] = ()  # the counted tensors
    mistakes: tuple[Mistake, ...] = ()  # searched in addition to MISCOUNTS
    options: tuple[str, ...] = ()  # fields to choose from
    miscount: str = ""  # the miscount in the worked count
    place: tuple[str, str] | None = None  # the component and the part with the miscount
    memory: TrainingMemory | None = None

    @property
    def config(self) -> Config:
        return self.model.config

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the model and the batch that the question states, keyed by field."""
        labels = self.kind in ("architecture", "field")
        fields = [field for field in sizes_of(type(self.config)) if field != "num_labels" or labels]
        values = {field: getattr(self.config, field) for field in fields}
        return values | (self.batch.sizes() if self.batch else {})

    def published(self) -> str | None:
        """Return the name of the preset with this configuration, regardless of its labels; None if there is none."""
        labels = self.config.num_labels
        return next(
            (name for name, preset in PRESETS.items() if replace(preset.config, num_labels=labels) == self.config), None
        )

    def explained(self) -> tuple[Tensor, ...]:
        """Return the tensors in the right answer: all tensors, or the tensors of the line with the miscount."""
        if self.place is None:
            return self.tensors
        places = _places(self.model)
        return tuple(tensor for tensor in self.tensors if places.get(tensor.name) == self.place)

    def miscounted(self) -> tuple[Tensor, ...]:
        """Return the tensors of the worked count, including its miscount."""
        return MISCOUNTS[self.miscount].make(self.tensors, MiscountSizes.of(self.config))


def by_place(tensors: Iterable[Tensor], model: Model) -> dict[tuple[str, str], int]:
    """Return the terms of a count: the numbers of elements, or their formulas, keyed by (component, part)."""
    places = _places(model)
    return summed((places[tensor.name], tensor.num_parameters()) for tensor in tensors if tensor.name in places)


@lru_cache(maxsize=256)
def _places(model: Model) -> Mapping[str, tuple[str, str]]:
    return {model.without_prefix(tensor.name): place_of(tensor) for tensor in model.tensors()}


def asked(exercise: Exercise, tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield the tensors that an exercise asks about: all tensors, or one copy of each tensor at its path."""
    for tensor in tensors:
        if not exercise.path:
            yield tensor
        elif tensor.name == exercise.path or tensor.name.startswith(f"{exercise.path}."):
            yield tensor._replace(copies=1)


def shown(path: str, model: Model) -> str:
    """Return a path for readers, with the number of the first layer in place of ``*``."""
    return path.replace("*", f"{model.body().first_layer(path) or model.first_layer(path)}")
