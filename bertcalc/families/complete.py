"""The checks of a family at registration, so that nothing is found missing later or silently counts as zero."""

from collections.abc import Iterator
from dataclasses import fields

from bertcalc.family import Family, Model
from bertcalc.fields import EVERY_FIELD, known
from bertcalc.forward.lessons import has_lesson
from bertcalc.forward.meanings import MEANINGS
from bertcalc.forward.trace import Sizes, Step
from bertcalc.forward.walk import stop_of
from bertcalc.memory.saved import KNOWN_OPERATIONS
from bertcalc.tree.names import PART_NAMES, TENSOR_NAMES, meaning
from bertcalc.tree.totals import PARTS, part_of


def missing(family: Family) -> Iterator[str]:
    """A sentence for each thing that a family lacks, found without running its classes."""
    if not family.presets:
        yield f"{family.name}: no preset, so that nobody can choose it."
    for field in fields(family.config):
        shared = family.config.shared_name(field.name)
        if shared not in EVERY_FIELD:
            yield f"{family.config.__name__}.{field.name}: nothing says what it means and may be (FIELDS)."
        elif not known(shared).is_right(default := getattr(family.config.default(), field.name)):
            yield f"{family.config.__name__}.{field.name}: it cannot be {default!r}, which is its default."


def in_every_way(family: Family) -> Iterator[tuple[Model, list[Step]]]:
    """Each class with every optional part, and the steps of one run.

    The body comes first in two further ways: in its default configuration, and in the fullest one without an encoder's
    output.
    """
    base, fullest = family.base, family.fullest()
    ways = [(base, family.config.default(), Sizes()), (base, fullest, Sizes())]
    ways += [(cls, fullest, Sizes(encoder_sequence_length=1)) for cls in family.classes]
    for cls, config, sizes in ways:
        model = Model(family, cls, config, cls.pooler).declare()
        yield model, model.run(sizes)


def lacks(model: Model, steps: list[Step]) -> Iterator[str]:
    """A sentence for each thing that is not declared for a model or its steps."""
    cls = model.cls
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
    for name, key in map(stop_of, steps):
        if not has_lesson(key):
            yield f"{cls.name}: nothing is said at {name} ({key}): it has no lesson."
    for step in steps:
        if step.operation not in KNOWN_OPERATIONS:
            yield f"{cls.name}: nothing says what autograd keeps of {step.name} ({step.operation})."
    returned = [step.output for step in steps if step.output]
    if not returned:
        yield f"{cls.name}: it returns nothing: say what with t.output(name, value)."
    for name in (*returned, *cls.inputs):
        if name not in MEANINGS:
            yield f"{cls.name}: nothing says what {name} means (MEANINGS)."
