"""Check that a family is complete, because a missing part could leave gaps on pages or silently count as zero.

>>> from bertcalc.families import FAMILIES
>>> missing_parts(FAMILIES["bert"])
[]
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import product
from typing import get_args

from bertcalc.config import undeclared_fields
from bertcalc.config.fields import field_named
from bertcalc.forward.meanings import MEANINGS
from bertcalc.forward.walk import stop_of
from bertcalc.memory.saved import KNOWN_OPERATIONS
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family, Task
from bertcalc.model.model import Model
from bertcalc.model.modules import Linear, Shape
from bertcalc.model.names import PART_NAMES, TENSOR_NAMES, meaning
from bertcalc.model.totals import PARTS, part_of
from bertcalc.model.trace import Step
from bertcalc.teach.lessons import has_lesson


def missing_parts(family: Family) -> list[str]:
    """Return a sentence for each missing part of a family. The list is empty if the family is complete.

    The function declares and runs every class in its default and its fullest configuration. Call it while you write a
    family; the tests call it for every registered family.
    """
    if declaration := list(_missing_in_declaration(family)):
        return declaration
    sentences: dict[str, None] = {}
    outputs: dict[str, tuple[str, ...]] = {}
    try:
        for model, steps in _runs(family):
            sentences |= dict.fromkeys(_missing_in_run(model, steps))
            returned = tuple(step.output for step in steps if step.output)
            if outputs.setdefault(model.cls.name, returned) != returned:
                sentences[f"{model.cls.name}: its outputs are not the same in every configuration."] = None
    except _CannotRunError as error:
        sentences[str(error)] = None
    return list(sentences)


class _CannotRunError(Exception):
    """Raised if a family's program fails."""


def _missing_in_declaration(family: Family) -> Iterator[str]:
    undeclared = [*undeclared_fields(family.config)]
    yield from undeclared or _wrong_defaults(family)
    if not family.presets:
        yield f"{family.name}: no preset, so it cannot be chosen."
    for name, preset in family.presets.items():
        if type(preset.config) is not family.config:
            yield f"{family.name}: the preset {name} has a configuration of another family."
    if not family.classes or family.base.task != "base":
        yield f"{family.name}: its first class must be that of the body, with the task base."
    if not family.prefix and len(family.classes) > 1:
        yield f"{family.name}: no prefix, so that a class with a head has no name for the body."
    for name, times in Counter(cls.name for cls in family.classes).items():
        if times > 1:
            yield f"{name}: it is declared {times} times."
    for cls in family.classes:
        if cls.task not in get_args(Task):
            yield f"{cls.name}: {cls.task!r} is not a task (Task)."
        for name in cls.laid_out:
            if name not in cls.inputs:
                yield f"{cls.name}: {name} is laid out, but is not an input."


def _runs(family: Family) -> Iterator[tuple[Model, list[Step]]]:
    """Yield the models of all classes and the steps of their runs.

    Every class runs in its default and its fullest configuration, with and without an encoder's output.
    """
    for cls, config, encoder in product(family.classes, (family.config.default(), family.fullest()), (None, 1)):
        try:
            model = Model.of_family(family, cls, config)
            steps = model.steps(Batch(encoder_sequence_length=encoder))
        except Exception as error:
            raise _CannotRunError(f"{cls.name}: its program cannot run: {error!r}") from error
        yield model, steps


def _missing_in_run(model: Model, steps: list[Step]) -> Iterator[str]:
    cls = model.cls
    used = {tensor.name for step in steps for tensor in step.tensors}
    tensors = [*model.tensors()]
    for tensor in tensors:
        if tensor.name not in used:
            yield f"{cls.name}: no step uses {tensor.name}, nor says that it is not run."
        part = PARTS.get(part_of(tensor.place))
        if part is None:
            yield f"{cls.name}: {tensor.name} has the role {tensor.place.role!r}, which is in no part (PARTS)."
        elif (tensor.place.component, part) not in PART_NAMES:
            yield f"{cls.name}: {tensor.name} is in {tensor.place.component}, {part}: it has no name (PART_NAMES)."
        if meaning(tensor.place) not in TENSOR_NAMES:
            yield f"{cls.name}: {tensor.name} is {', '.join(meaning(tensor.place))}: it has no name (TENSOR_NAMES)."
    yield from _wrong_ties(model, {tensor.name: tensor.shape for tensor in tensors})
    for name, key in map(stop_of, steps):
        if not has_lesson(key):
            yield f"{cls.name}: {name} ({key}) has no lesson."
    for step in steps:
        if step.operation not in KNOWN_OPERATIONS:
            yield f"{cls.name}: nothing says what autograd saves for {step.name} ({step.operation})."
        if step.operation == "input" and step.name not in cls.inputs:
            yield f"{cls.name}: its program reads {step.name}, which is not an input."
    returned = [step.output for step in steps if step.output]
    if not returned:
        yield f"{cls.name}: it returns nothing: say what with t.output(name, value)."
    for name, times in Counter(returned).items():
        if times > 1:
            yield f"{cls.name}: {times} of its outputs are called {name}."
    for name in (*returned, *cls.inputs):
        if name not in MEANINGS:
            yield f"{cls.name}: nothing says what {name} means (MEANINGS)."


def _wrong_ties(model: Model, shapes: Mapping[str, Shape]) -> Iterator[str]:
    """Yield a sentence for each tied tensor with a missing owner or a different shape.

    Totals do not count tied tensors, so a wrong total would not reveal the error.
    """
    for path, module, _copies in model.modules():
        for last, owner in module.tied.items():
            if owner not in shapes:
                yield f"{model.cls.name}: {path}.{last} is tied to {owner}, which does not exist."
            elif isinstance(module, Linear) and shapes[owner] != module.shapes[last]:
                mismatch = f"{path}.{last} of shape {module.shapes[last]} is tied to {owner} of shape {shapes[owner]}."
                yield f"{model.cls.name}: {mismatch}"


def _wrong_defaults(family: Family) -> Iterator[str]:
    for field in fields(family.config):
        shared = family.config.shared_name(field.name)
        if not field_named(shared).is_right(default := getattr(family.config.default(), field.name)):
            yield f"{family.config.__name__}.{field.name}: it cannot be {default!r}, which is its default."
