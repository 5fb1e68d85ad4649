"""What a family must have before it is known, so that nothing is found to be missing later, or counts as nothing."""

from collections.abc import Iterator
from dataclasses import fields

from bertcalc.family import Class, Family, Model
from bertcalc.fields import FIELDS, OWN_FIELDS
from bertcalc.forward.lessons import has_lesson
from bertcalc.forward.meanings import MEANINGS
from bertcalc.forward.trace import Sizes, Step
from bertcalc.forward.walk import walk
from bertcalc.memory.saved import KNOWN_OPERATIONS
from bertcalc.tree.names import PART_NAMES, TENSOR_NAMES, meaning
from bertcalc.tree.totals import PARTS, part_of


def missing(family: Family) -> Iterator[str]:
    """A sentence for each thing that a family lacks."""
    if not family.presets:
        yield f"{family.name}: no preset, so that nobody can choose it."
    for field in fields(family.config):
        if family.config.shared_name(field.name) not in {**FIELDS, **OWN_FIELDS}:
            yield f"{family.config.__name__}.{field.name}: nothing says what it means and may be (FIELDS)."
    for cls in family.classes:
        for config in (family.config.default(), family.fullest()):
            for seen in (None, 1):
                model = Model(family, cls, config, cls.pooler).declare()
                yield from _lacks(cls, model, model.run(Sizes(encoder_sequence_length=seen)))


def _lacks(cls: Class, model: Model, steps: list[Step]) -> Iterator[str]:
    used = {tensor.name for step in steps for tensor in step.tensors}
    for tensor in model.tensors():
        if tensor.name not in used:
            yield f"{cls.name}: no step uses {tensor.name}, nor says that it is not run."
        part = PARTS.get(part_of(tensor.place))
        if part is None:
            yield f"{cls.name}: {tensor.name} has the role {tensor.place.role!r}, which is in no part (PARTS)."
        elif (tensor.place.component, part) not in PART_NAMES:
            yield f"{cls.name}: {tensor.name} is in {tensor.place.component}, {part}: it has no name (PART_NAMES)."
        if meaning(tensor.place) not in TENSOR_NAMES:
            yield f"{cls.name}: {tensor.name} is {', '.join(meaning(tensor.place))}: it has no name (TENSOR_NAMES)."
    for stop in walk(steps):
        if not has_lesson(stop):
            yield f"{cls.name}: nothing is said at {stop.name} ({stop.key}): it has no lesson."
    for step in steps:
        if step.operation not in KNOWN_OPERATIONS:
            yield f"{cls.name}: nothing says what autograd keeps of {step.name} ({step.operation})."
    returned = [step.output for step in steps if step.output]
    if not returned:
        yield f"{cls.name}: it returns nothing: say what with t.output(name, value)."
    for name in (*returned, *cls.inputs):
        if name not in MEANINGS:
            yield f"{cls.name}: nothing says what {name} means (MEANINGS)."
