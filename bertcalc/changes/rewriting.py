"""Rewrite the module tree and the steps of a model for a change, and record the steps that an adapter adds."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from copy import copy
from itertools import chain, groupby, product
from typing import NamedTuple

from bertcalc.config import MixedError
from bertcalc.model.change import ADAPTER, SEVERAL_DEPTHS
from bertcalc.model.model import Model
from bertcalc.model.modules import Dropout, Module, ModuleList, Place, Shape, Tensor, split_layer
from bertcalc.model.trace import Operation, Step, Value
from bertcalc.text.problem import Problem

Steps = list[Step]


class Spot(NamedTuple):
    """A module in a tree: its path in the folded tree, its parent, and its name in the parent."""

    path: str
    parent: Module
    name: str

    @property
    def module(self) -> Module:
        return self.parent.children[self.name]


class Rewriting:
    """A model that a change rewrites: the tree below ``root``, and the ``steps`` (None if only the tree is needed)."""

    def __init__(self, model: Model, root: Module, steps: Steps | None) -> None:
        self.model = model
        self.root = root
        self.steps = steps

    def spots(self) -> Iterator[Spot]:
        """Yield every module below the root, in Hugging Face's order, parents first."""
        yield from _spots(self.root, "")

    def full_names(self, spot: Spot) -> list[str]:
        """Return the module's full names, one per layer.

        If the number of layers is a symbol or a column, only the name in the first layer is returned.
        """
        return _numbered(self.root, spot.path)

    def names_first_layer_apart(self) -> bool:
        """Whether the steps name the first layer separately, although the tree has one name for all layers."""
        if not self.steps:
            return False
        stacks = ((spot.path, spot.module) for spot in self.spots() if isinstance(spot.module, ModuleList))
        firsts = [
            f"{self.model.without_prefix(path)}.0."
            for path, layers in stacks
            if isinstance(layers, ModuleList) and layers.groups.get("*", (1, 0))[0] == 0
        ]
        return any(step.name.startswith(tuple(firsts)) for step in self.steps)

    def wrap(
        self,
        spot: Spot,
        wrapper: Module,
        within: str,
        insert: Callable[[Step], Steps] | None = None,
        *,
        resize: Callable[[Step], Step] = lambda step: step,
        in_front: bool = False,
    ) -> None:
        """Replace a module with a wrapper that has the module as its child ``within`` (such as base_layer).

        - ``resize``: changes the sizes of the module's own step, if they differ inside the wrapper.
        - ``insert``: returns the steps that the wrapper adds after the module's step. The last step outputs the value
          that the module's own step used to output. With ``in_front``, the wrapper adds the steps before the module's
          step, and they process the module's input.
        """
        before, bare = spot.path, self.model.without_prefix(spot.path)
        wrapper.place = spot.module.place
        spot.parent.children[spot.name] = wrapper
        self._rename(before, f"{before}.{within}")
        if self.steps is None:
            return
        for index, step in enumerate(self.steps):
            parts = step.parts or (step,)
            if any(_is_in(part, bare) for part in parts):
                more = [_wrapped(part, bare, within, insert, resize, in_front=in_front) for part in parts]
                self.steps[index] = step._replace(parts=tuple(chain(*more)))

    def change_tensors(self, change: Callable[[Tensor], Tensor | None]) -> None:
        """Replace each tensor in the steps with ``change(tensor)``, or remove it if the result is None."""
        for index, step in enumerate(self.steps or ()):
            assert self.steps
            tensors = tuple(changed for tensor in step.tensors if (changed := change(tensor)))
            self.steps[index] = step._replace(tensors=tensors)

    def _rename(self, before: str, after: str) -> None:
        def renamed(name: str) -> str:
            return after + name.removeprefix(before) if name.startswith(f"{before}.") else name

        self.change_ties(f"{before}.", f"{after}.")
        for index, step in enumerate(self.steps or ()):
            assert self.steps
            self.steps[index] = _with_tensors(step, renamed)

    def change_ties(self, before: str, after: str) -> None:
        """Tie what is tied to a tensor that begins with ``before`` to the tensor that begins with ``after`` instead."""
        for _path, module, _copies in self.root.modules():
            for last, owner in module.tied.items():
                if owner.startswith(before):
                    module.tied = {**module.tied, last: after + owner.removeprefix(before)}

    def split_layers(self, mark: Callable[[str], Hashable]) -> None:
        """Split groups of equal layers if ``mark`` maps the names of their modules to different values.

        Consecutive layers with the same marks stay in a group, which is named by its numbers: 0-5. Raises MixedError if
        the number of layers is a column and a group would be split.
        """
        stacks = {spot.path: spot.module for spot in self.spots() if "*" not in spot.path}
        for path, layers in stacks.items():
            if isinstance(layers, ModuleList):
                self._split(path, layers, mark)

    def _split(self, path: str, layers: ModuleList, mark: Callable[[str], Hashable]) -> None:
        groups: dict[str, tuple[Module, int, int]] = {}
        renamed: dict[str, list[tuple[str, int]]] = {}
        for name, layer in layers.children.items():
            start, copies = layers.groups[name]
            most = int(copies.max()) if hasattr(copies, "max") else copies
            if not isinstance(most, int):  # a symbol
                groups[name] = layer, start, copies
                continue
            inside = [name.replace("*", "0") for name, _module, _copies in layer.modules() if name]
            marks = [tuple(mark(f"{path}.{number}.{name}") for name in inside) for number in range(start, start + most)]
            alike = [len(list(equal)) for _mark, equal in groupby(marks)]
            if most is not copies:
                if len(alike) > 1:
                    raise MixedError(Problem.of(SEVERAL_DEPTHS))
                groups[name] = layer, start, copies
                continue
            for length in alike:
                last = start + length - 1
                part = name if len(alike) == 1 else str(start) if length == 1 else f"{start}-{last}"
                groups[part] = layer if len(alike) == 1 else copied(layer), start, length
                renamed.setdefault(name, []).append((part, length))
                start += length
        if list(groups) == list(layers.children):
            return
        layers.children, layers.groups = {}, {}
        for name, (layer, start, copies) in groups.items():
            layers.add(name, layer, start, copies)
        for name, parts in renamed.items():
            if self.steps is not None and len(parts) > 1:
                self.steps[:] = _split_steps(self.steps, f"{path}.{name}", parts, self.model.body_prefix)


def _spots(parent: Module, path: str) -> Iterator[Spot]:
    for name, child, _copies in parent.named_children(folded=True):
        inside = f"{path}.{name}" if path else name
        yield Spot(inside, parent, name)
        yield from _spots(child, inside)


def _numbered(root: Module, path: str) -> list[str]:
    """Return the full names for a path, with each layer number in place of ``*``.

    If the number of layers is a symbol or a column, only the first name is returned.
    """
    module, choices = root, []
    for name in path.split("."):
        if isinstance(module, ModuleList):
            start, copies = module.groups[name]
            choices.append([str(start + number) for number in range(copies if isinstance(copies, int) else 1)])
        else:
            choices.append([name])
        module = module.children[name]
    return [".".join(parts) for parts in product(*choices)]


def copied(module: Module) -> Module:
    """Return a copy of a tree that can be changed independently."""
    twin = copy(module)
    if module.children:
        twin.children = {name: copied(child) for name, child in module.children.items()}
    if isinstance(twin, ModuleList):
        twin.groups = dict(twin.groups)
    return twin


def _is_in(step: Step, module: str) -> bool:
    """Whether a step belongs to a module. ``module`` is the module's name without the body's prefix."""
    return step.name in (module, f"{module}_again") or step.name.startswith(f"{module}.")


def _wrapped(
    step: Step,
    bare: str,
    within: str,
    insert: Callable[[Step], Steps] | None,
    resize: Callable[[Step], Step],
    *,
    in_front: bool,
) -> Steps:
    """Move a step of the module into its wrapper, and add the wrapper's steps; return other steps unchanged."""
    if not _is_in(step, bare):
        return [step]
    name = f"{bare}.{within}{step.name.removeprefix(bare)}"
    more = insert(step) if insert and step.module else []
    if not more:
        return [step._replace(name=name)]
    inner = resize(step)._replace(name=name)
    if in_front:
        return [*more, inner._replace(takes=(more[-1].gives, *step.takes[1:]))]
    inner = inner._replace(gives=inner.gives._replace(name=name), output="")
    return [inner, *more[:-1], more[-1]._replace(name=step.name, gives=step.gives, output=step.output)]


def _with_tensors(step: Step, renamed: Callable[[str], str]) -> Step:
    tensors = tuple(tensor._replace(name=renamed(tensor.name)) for tensor in step.tensors)
    return step._replace(tensors=tensors, parts=tuple(_with_tensors(part, renamed) for part in step.parts))


def _split_steps(steps: Steps, group: str, parts: list[tuple[str, int]], base: str) -> Steps:
    """Repeat a layer group's steps for each of its ``parts``; ``base`` is the body's prefix."""
    bare = group.removeprefix(base)
    split: Steps = []
    for inside, equal in groupby(steps, key=lambda step: split_layer(step.name)[0] == bare):
        if not inside:
            split += equal
            continue
        layer = list(equal)
        for part, length in parts:
            split += [_in_part(step, group, part, length, base) for step in layer]
    last = parts[-1][0]
    return [step if split_layer(step.name)[0] else _renamed(step, bare, last) for step in split]


def _in_part(step: Step, group: str, part: str, length: int, base: str) -> Step:
    tensors = tuple(tensor._replace(name=_in_group(tensor.name, group, part), copies=length) for tensor in step.tensors)
    parts = tuple(_in_part(inner, group, part, length, base) for inner in step.parts)
    return _renamed(step, group.removeprefix(base), part)._replace(tensors=tensors, runs=length, parts=parts)


def _renamed(step: Step, group: str, part: str) -> Step:
    """Replace a layer group with one of its parts in all names that a step contains, except in its tensor names."""
    values = [value._replace(name=_in_group(value.name, group, part)) for value in (step.gives, *step.takes)]
    frame = step.variable and (_in_group(step.variable[0], group, part), step.variable[1])
    name = _in_group(step.name, group, part)
    parts = tuple(_renamed(inner, group, part) for inner in step.parts)
    return step._replace(name=name, gives=values[0], takes=tuple(values[1:]), variable=frame, parts=parts)


def _in_group(name: str, group: str, part: str) -> str:
    inside = name.removeprefix(group)
    return f"{group.rpartition('.')[0]}.{part}{inside}" if name != inside and inside.startswith(".") else name


def place_in(place: Place) -> Place:
    """Return the place of the modules and tensors that an adapter adds."""
    return Place(place.component, ADAPTER, ADAPTER)


class Recording:
    """A recorder for the steps that an adapter adds after a step of the wrapped module."""

    def __init__(self, step: Step, path: str) -> None:
        self.steps: list[Step] = []
        self._step = step
        self._path = path
        self._copies = step.tensors[0].copies if step.tensors else 1
        self.base = step.gives._replace(name=self._named("base_layer"))  # the output of the wrapped module

    def _named(self, name: str) -> str:
        return f"{self._step.name.removesuffix('_again')}.{name}" + "_again" * self._step.again

    def call(self, name: str, module: Module, x: Value, shape: Shape) -> Value:
        """Add the step of a module below the wrapper, and return its output."""
        operation: Operation = "dropout" if isinstance(module, Dropout) else self._step.operation
        tensors = {f"{name}.{last}": sides for last, sides in module.parameters.items()}
        return self.made(name, operation, (x,), shape, tensors, module)

    def made(
        self,
        name: str,
        operation: Operation,
        takes: tuple[Value, ...],
        shape: Shape,
        tensors: Mapping[str, Shape] | None = None,
        module: Module | None = None,
    ) -> Value:
        """Add a step, and return its output. ``tensors`` maps the names of the step's new tensors to their shapes."""
        step = self._step
        place = place_in(step.place)
        named = self._named(name)
        own = tuple(
            Tensor(f"{self._path}.{last}", sides, self._copies, place) for last, sides in (tensors or {}).items()
        )
        gives = Value(named, shape)
        self.steps.append(
            Step(named, operation, takes, gives, own, step.runs, module, place, core=step.core, again=step.again)
        )
        return gives
