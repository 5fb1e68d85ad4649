"""The lifetime of the Python variables in transformers' forward methods: which value each holds, and until when.

The lifetimes follow the source of transformers 5.23. This module covers the variables that all families share. A
family's program declares its own variables with ``Trace.variable``. Code that creates a value outside of the steps has
to hold it with ``Pass.hold``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bertcalc.model.change import WRAPPER
from bertcalc.model.modules import split_layer
from bertcalc.model.stack import in_layer, numbered, stack
from bertcalc.model.trace import Step

HEADS = ("query_heads", "key_heads", "value_heads")
# For each variable of heads, the roles of the steps after which it is overwritten. A pair (query and key, or key and
# value) is assigned in one statement, after its second value is computed.
_ANEW = {
    "query_heads": ("key_rotated",),
    "key_heads": ("key_rotated", "value_cached", "value_prefixed"),
    "value_heads": ("value_cached", "value_prefixed"),
}
_HEADS_ANEW = ("query_rotated", "key_rotated", "key_cached", "value_cached", "key_prefixed", "value_prefixed")


def unfolded(steps: Sequence[Step]) -> list[Step]:
    """The steps with every layer unrolled, in the order in which transformers runs them."""
    layers = stack(_in_order(steps))
    sequence = list(layers.before)
    inside = layers.groups[0].entry
    for group in layers.groups:
        for layer in range(group.start, group.start + group.copies):
            for step in group.steps:
                output = step.output if layer == layers.length - 1 else ""
                sequence.append(_in_layer(step, layer, {group.entry: inside})._replace(output=output))
            inside = in_layer(group.last, layer)
    return [*sequence, *(numbered(step, "", {layers.groups[-1].last: inside}) for step in layers.after)]


def _in_layer(step: Step, layer: int, names: Mapping[str, str]) -> Step:
    """The step as it runs in one layer, including its parts."""
    return numbered(step, layer, names)._replace(
        name=in_layer(step.name, layer),
        runs=1,
        variable=step.variable and (in_layer(step.variable[0], layer), in_layer(step.variable[1], layer)),
        parts=tuple(_in_layer(part, layer, names) for part in step.parts),
    )


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps with each head split placed directly after its projection, as transformers runs it.

    If query, key and value are parts of one projection, the query is split last.
    """
    cut = {_modules(step.name)[-1] for step in steps if step.place.role == "cut"}
    ordered: list[Step] = []
    for step in steps:
        if step.place.role not in HEADS:
            ordered.append(step)
        elif _modules(step.name)[-1] not in cut:
            ordered.insert(1 + next(index for index, other in enumerate(ordered) if other.gives == step.takes[0]), step)
        else:
            ordered.append(step)
            if step.place.role == "value_heads":
                ordered.append(ordered.pop(-3))
    return ordered


class Lifetimes(NamedTuple):
    """The steps after which values are released and modules return.

    For each step, ``after`` lists the values that no variable holds any longer after the step. ``returns`` maps each
    module to the index of its last step; the module "" is the body.
    """

    after: Sequence[list[str]]
    returns: Mapping[str, int]


def held_until(steps: Sequence[Step], *, pooler: bool) -> Lifetimes:
    """Determine how long variables hold each value; ``pooler`` says whether the body has a pooler.

    The caller's frame holds a module's argument while the module runs. A variable of a forward method holds its value
    until it is overwritten or the method returns.
    """
    variables = _VariableLifetimes(steps, pooler)
    until: dict[str, int] = {}
    for index in range(len(steps)):
        for name, end in (*variables.arguments(index), *variables.results(index)):
            until[name] = max(until.get(name, 0), end)
    after: list[list[str]] = [[] for _step in range(len(steps) + 1)]
    for name, index in until.items():
        after[index].append(name)
    return Lifetimes(after, variables.last_in | {"": variables.body})


class _VariableLifetimes:
    """The variables that hold the values of steps; each method yields (value, index of the last step that needs it)."""

    def __init__(self, steps: Sequence[Step], pooler: bool) -> None:
        self.steps = steps
        self.made = {step.gives.name: index for index, step in enumerate(steps)}
        self.last_in = {module: index for index, step in enumerate(steps) for module in _modules(step.name)}
        self.last_in.setdefault(WRAPPER, len(steps))
        self.roles = {(step.within, step.place.role): index for index, step in enumerate(steps)}
        self.contexts = [step.name for step in steps if step.place.role == "context"]
        self.end = len(steps)  # when the model's forward method returns
        heads = ("head",) if pooler else ("head", "pooler")
        self.body = max(index for index, step in enumerate(steps) if step.place.component not in heads)
        self.set_anew = _set_anew(steps)

    def arguments(self, index: int) -> Iterator[tuple[str, int]]:
        """Yield the inputs of a step, which are arguments of the modules around it."""
        step = self.steps[index]
        for value in step.takes:
            if value.name in self.made:  # otherwise Pass.hold decides
                outer = _modules(self.steps[self.made[value.name]].name)
                around = [module for module in _modules(step.name) if module not in outer]
                yield value.name, max([index, *(self.last_in[module] for module in around)])

    def results(self, index: int) -> Iterator[tuple[str, int]]:
        """Yield the result of a step for each variable that holds it, and the attention weights for a context."""
        step, name = self.steps[index], self.steps[index].gives.name
        yield name, index
        component = step.place.component
        if step.variable:
            frame = step.variable[0]
            returns = self.last_in[frame] if frame else self.end if component == "head" else self.body
            yield name, self.set_anew.get(index, returns)
        elif component == "head" and not _modules(step.name):
            yield name, self.end  # the class's forward method has a variable for each value
        if step.operation == "angles":  # the body holds cosine and sine until it returns
            yield name, self.body
            yield sine_of(name), self.body
            return
        yield from self._in_layer(step)
        if step.output:
            yield name, self.end
        last = index + 1 == len(self.steps) or self.steps[index + 1].place.component != component
        if component == "embeddings" and last and not step.variable:
            yield name, self.body
        if index == self.body or (component == "encoder" and last):
            yield name, self.end  # the outputs of the body live until the model returns

    def _in_layer(self, step: Step) -> Iterator[tuple[str, int]]:
        role, inner = step.place.role, _modules(step.name)
        if (step.operation == "lookup" and not step.variable) or role in (*HEADS, *_HEADS_ANEW):
            places = [(inner[-1], later) for later in _ANEW.get(role, ())]
            anew = [self.roles[place] for place in places if place in self.roles]
            yield step.gives.name, min([*anew, self.last_in[inner[-1]]])
        elif role in ("key_repeated", "value_repeated"):  # the function for the attention core holds them
            yield step.gives.name, self.roles[inner[-1], "merge_heads"]
        elif role == "context" and len(step.takes) == 2 and not self.steps[self.made[step.takes[0].name]].variable:
            # Eager attention returns its weights: the layer assigns them to _ and holds them until it returns, or
            # until its cross-attention does.
            layer = split_layer(step.name)[0]
            contexts = self.contexts[self.contexts.index(step.name) + 1 :]
            later = [name for name in contexts if split_layer(name)[0] == layer]
            yield step.takes[0].name, self.last_in[_inside(later[0], layer) if later else layer]


def sine_of(angles: str) -> str:
    """The variable name for the sine of rotary angles; the cosine has the name of the angles."""
    return f"{angles} (sine)"


def _set_anew(steps: Sequence[Step]) -> dict[int, int]:
    """Map the index of each step whose variable is overwritten later to the index of the step that overwrites it."""
    last: dict[tuple[str, str], int] = {}
    overwriting: dict[int, int] = {}
    for index, step in enumerate(steps):
        if step.variable:
            if step.variable in last:
                overwriting[last[step.variable]] = index
            last[step.variable] = index
    return overwriting


def _inside(name: str, layer: str) -> str:
    """The outermost module inside a layer that encloses a dotted name."""
    return next(module for module in _modules(name) if module != layer and module.startswith(layer))


def _modules(name: str) -> list[str]:
    """The modules that enclose a dotted name, outermost first, without ModuleLists, which are never called."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts)) if not parts[length].isdecimal()]
