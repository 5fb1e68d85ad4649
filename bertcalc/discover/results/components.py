"""The parts of a discovered class: its components, and the modules of its tree, each with its tensors."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from os.path import commonprefix
from typing import Any, NamedTuple

import sympy

from bertcalc.discover.results.result import Discovered, Tensors, exact
from bertcalc.model.totals import Component
from bertcalc.text import N_

MOST = 12  # parts that are shown beside each other, unless a module has more
_FEW = 4

# The components in the pages' four colors. "Other parts" are in no layer, embedding or head, often a last norm.
NAMES: dict[Component, str] = {
    "embeddings": N_("embeddings"),
    "encoder": N_("layers"),
    "pooler": N_("other parts"),
    "head": N_("head"),
}
_HEAD = re.compile(
    r"(^|[._])(heads?|cls(?!_token)|classifier|scores?|predictions|generator|qa_outputs|output_projection)([._]|$)"
)
_EMBEDDINGS = re.compile(r"embed|position|(^|\.)(wte|wpe|shared)(\.|$)")


class Part(NamedTuple):
    """A module, or a single tensor, with all tensors in it; its path has * for numbers."""

    path: str
    name: str  # the path without the prefix of all parts beside it
    component: Component
    tensors: tuple[Tensors, ...]

    def count(self, values: Mapping[str, int]) -> int:
        return count(self.tensors, values)


class Group(NamedTuple):
    """Tensors with equal numbers of copies: that number, and the elements of one copy of each, as expressions."""

    copies: Any
    one: Any
    tensors: tuple[Tensors, ...]


def count(tensors: Iterable[Tensors], values: Mapping[str, int]) -> int:
    """The number of parameters of tensors at these sizes."""
    return sum(int(prod(exact(each, values) for each in (one.copies, *one.shape))) for one in tensors)


def component_of(name: str) -> Component:
    """The component of a tensor or module, judged by its name."""
    if "*" in name:
        return "encoder"
    return "head" if _HEAD.search(name) else "embeddings" if _EMBEDDINGS.search(name) else "pooler"


def components(found: Discovered) -> dict[Component, tuple[Tensors, ...]]:
    """The tensors of each component that has any."""
    by_name = {kind: tuple(one for one in found.tensors if component_of(one.name) == kind) for kind in NAMES}
    return {kind: tensors for kind, tensors in by_name.items() if tensors}


def groups(tensors: Sequence[Tensors], values: Mapping[str, int]) -> list[Group]:
    """The tensors grouped by their number of copies, the group with the most parameters first."""
    by_copies: dict[Any, list[Tensors]] = {}
    for one in tensors:
        by_copies.setdefault(one.copies, []).append(one)
    ranked = sorted(by_copies.items(), key=lambda item: -count(item[1], values))
    return [
        Group(copies, sympy.expand(sympy.Add(*(sympy.prod(one.shape) for one in alike))), tuple(alike))
        for copies, alike in ranked
    ]


def parts(found: Discovered, path: str = "", most: int = MOST) -> list[Part]:
    """The parts of the module at a path, or of the whole model, the largest at the given sizes first.

    Without a path, modules are replaced by their parts as long as there are few, down to the parts of a layer.
    Raises KeyError if there is no such module.
    """
    inside = [one for one in found.tensors if _is_in(one.name, path)]
    if not inside or any(one.name == path for one in inside):
        raise KeyError(path)
    rows = _children(path, inside)
    while path == "" or len(rows) == 1:
        opening = [row for row in rows if _may_open(row, rows, whole=path == "")]
        larger = sorted(opening, key=lambda row: -count(rows[row], found.fields))
        # All at once, so that a text and a vision model are shown alike; where there are few, the largest that fits.
        for opened in (larger, *([row] for row in larger if len(rows) < _FEW)):
            more = {name: each for row in opened for name, each in _children(row, rows[row]).items()}
            wider = {row: tensors for row, tensors in rows.items() if row not in opened} | more
            if opened and (len(wider) <= most or len(rows) == 1):
                rows = wider
                break
        else:
            break
    names = _names(rows)
    named = [Part(row, names[row], _largest(tensors, found.fields), tuple(tensors)) for row, tensors in rows.items()]
    return sorted(named, key=lambda part: -part.count(found.fields))


def folded(shown: Sequence[Part], most: int, values: Mapping[str, int]) -> list[Part]:
    """The parts, of which the smallest are merged if there are more than ``most``; the merged part opens nothing."""
    if len(shown) <= most:
        return list(shown)
    rest = tuple(one for part in shown[most - 1 :] for one in part.tensors)
    return [*shown[: most - 1], Part("", "...", _largest(rest, values), rest)]


def openable(found: Discovered) -> list[str]:
    """The paths of all modules that have more than one part, outer modules first."""
    paths: dict[str, None] = {}
    for one in found.tensors:
        steps = _steps(one.name)
        paths |= dict.fromkeys(".".join(steps[:depth]) for depth in range(1, len(steps)))
    return [path for path in paths if len(_children(path, [o for o in found.tensors if _is_in(o.name, path)])) > 1]


def _may_open(row: str, rows: Mapping[str, Sequence[Tensors]], *, whole: bool) -> bool:
    children = _children(row, rows[row]) if any(one.name != row for one in rows[row]) else {}
    if not children:
        return False
    if len(rows) == 1:
        return True
    modules = any(one.name not in children for one in rows[row])
    return whole and modules and ("*" not in row or row.endswith("*"))


def _children(path: str, tensors: Iterable[Tensors]) -> dict[str, list[Tensors]]:
    found: dict[str, list[Tensors]] = {}
    depth = len(_steps(path))
    for one in tensors:
        found.setdefault(".".join(_steps(one.name)[: depth + 1]), []).append(one)
    return found


def _steps(name: str) -> list[str]:
    """The steps of a path; a number is part of the step before it."""
    return re.findall(r"[^.]+(?:\.\*(?=\.|$))*", name)


def _is_in(name: str, path: str) -> bool:
    return not path or name == path or (name.startswith(f"{path}.") and not name.startswith(f"{path}.*"))


def _names(paths: Iterable[str]) -> dict[str, str]:
    """Paths without their common prefix, and without the name of a model's body beside a head."""
    listed = list(paths)
    shared = commonprefix(listed).rfind(".") + 1  # noqa: RUF071 # of characters, up to the last point
    names = {path: path[shared:] for path in listed}
    [(first, number)] = Counter(name.partition(".")[0] for name in names.values()).most_common(1)
    shorter = {path: name.removeprefix(f"{first}.") for path, name in names.items()}
    others = [path for path, name in names.items() if not name.startswith(f"{first}.")]
    is_body = (
        number > 1
        and "*" not in first
        and len(set(shorter.values())) == len(names)
        and all(component_of(path) == "head" for path in others)
    )
    return shorter if is_body and not shared else names


def _largest(tensors: Sequence[Tensors], values: Mapping[str, int]) -> Component:
    """The component with the most parameters."""
    sums = {kind: count([one for one in tensors if component_of(one.name) == kind], values) for kind in NAMES}
    return max(sums, key=lambda kind: sums[kind])
