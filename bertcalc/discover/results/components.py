"""Group the tensors of a discovered class: by component, by number of copies, and by module."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from os.path import commonprefix
from typing import Any, NamedTuple

import sympy

from bertcalc.discover.results.result import Discovered, Tensors, exact
from bertcalc.live.live_formulas import with_formula
from bertcalc.model.totals import Component
from bertcalc.text import N_

MOST = 12  # maximum number of parts shown side by side; a module with more parts still shows all of them
_FEW = 4

# The names of the components. "Other parts" are outside embeddings, layers and heads, such as a final layer norm.
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
    """A module with all its tensors, or a single tensor; in its path, * replaces numbers."""

    path: str
    name: str  # the path without the prefix that its siblings share
    component: Component
    tensors: tuple[Tensors, ...]

    def count(self, values: Mapping[str, int]) -> int:
        return count(self.tensors, values)


class Group(NamedTuple):
    """Tensors with the same number of copies; ``elements`` is the total number of elements in one copy of each tensor.

    ``copies`` and ``elements`` are SymPy expressions.
    """

    copies: Any
    elements: Any
    tensors: tuple[Tensors, ...]


def count(tensors: Iterable[Tensors], values: Mapping[str, int]) -> int:
    """Return the number of parameters in these tensors at given sizes."""
    return sum(int(prod(exact(factor, values) for factor in (tensor.copies, *tensor.shape))) for tensor in tensors)


def live_count(tensors: Sequence[Tensors], values: Mapping[str, int]) -> int:
    """Return the number of parameters in these tensors as a live number."""
    expressions = sympy.Add(*(tensor.expression for tensor in tensors), evaluate=False)
    number: int = with_formula(count(tensors, values), expressions, values)
    return number


def component_of(name: str) -> Component:
    """Return the component of a tensor or module, judged by its name."""
    if "*" in name:
        return "encoder"
    return "head" if _HEAD.search(name) else "embeddings" if _EMBEDDINGS.search(name) else "pooler"


def components(discovery: Discovered) -> dict[Component, tuple[Tensors, ...]]:
    """Return the tensors of each component, without empty components."""
    by_name = {
        kind: tuple(tensor for tensor in discovery.tensors if component_of(tensor.name) == kind) for kind in NAMES
    }
    return {kind: tensors for kind, tensors in by_name.items() if tensors}


def groups(tensors: Sequence[Tensors], values: Mapping[str, int]) -> list[Group]:
    """Group tensors by their number of copies, the group with the most parameters first."""
    by_copies: dict[Any, list[Tensors]] = {}
    for tensor in tensors:
        by_copies.setdefault(tensor.copies, []).append(tensor)
    ranked = sorted(by_copies.items(), key=lambda item: -count(item[1], values))
    return [Group(copies, _elements(tuple(tensor.shape for tensor in alike)), tuple(alike)) for copies, alike in ranked]


@lru_cache(maxsize=1024)
def _elements(shapes: tuple[tuple[Any, ...], ...]) -> Any:
    return sympy.expand(sympy.Add(*map(sympy.prod, shapes)))


def parts(discovery: Discovered, path: str = "", most: int = MOST) -> list[Part]:
    """Return the parts of a module, the largest first; an empty path means the whole model.

    The whole model is opened repeatedly, down to the parts of a layer, as long as there are at most ``most`` parts.
    Raises KeyError if there is no module at the path.
    """
    inside = [tensor for tensor in discovery.tensors if _is_in(tensor.name, path)]
    if not inside or any(tensor.name == path for tensor in inside):
        raise KeyError(path)
    rows = _children(path, inside)
    while path == "" or len(rows) == 1:
        opening = [row for row in rows if _may_open(row, rows, whole=path == "")]
        larger = sorted(opening, key=lambda row: -count(rows[row], discovery.fields))
        # Open all modules together, so that text and vision models are shown alike. If there are few parts and this
        # does not fit, open only the largest module that fits.
        for opened in (larger, *([row] for row in larger if len(rows) < _FEW)):
            children = {name: tensors for row in opened for name, tensors in _children(row, rows[row]).items()}
            wider = {row: tensors for row, tensors in rows.items() if row not in opened} | children
            if opened and (len(wider) <= most or len(rows) == 1):
                rows = wider
                break
        else:
            break
    names = _names(rows)
    named = [
        Part(row, names[row], _largest(tensors, discovery.fields), tuple(tensors)) for row, tensors in rows.items()
    ]
    return sorted(named, key=lambda part: -part.count(discovery.fields))


def folded(rows: Sequence[Part], most: int, values: Mapping[str, int]) -> list[Part]:
    """Merge the smallest parts, which come last in ``rows``, into one, so that at most ``most`` parts remain.

    The merged part cannot be opened.
    """
    if len(rows) <= most:
        return list(rows)
    rest = tuple(tensor for part in rows[most - 1 :] for tensor in part.tensors)
    return [*rows[: most - 1], Part("", "...", _largest(rest, values), rest)]


def openable(discovery: Discovered) -> list[str]:
    """Return the paths of all modules that have more than one part, outer modules first."""
    paths: dict[str, None] = {}
    for tensor in discovery.tensors:
        steps = _steps(tensor.name)
        paths |= dict.fromkeys(".".join(steps[:depth]) for depth in range(1, len(steps)))
    return [
        path
        for path in paths
        if len(_children(path, [tensor for tensor in discovery.tensors if _is_in(tensor.name, path)])) > 1
    ]


def _may_open(row: str, rows: Mapping[str, Sequence[Tensors]], *, whole: bool) -> bool:
    children = _children(row, rows[row]) if any(tensor.name != row for tensor in rows[row]) else {}
    if not children:
        return False
    if len(rows) == 1:
        return True
    modules = any(tensor.name not in children for tensor in rows[row])
    return whole and modules and ("*" not in row or row.endswith("*"))


def _children(path: str, tensors: Iterable[Tensors]) -> dict[str, list[Tensors]]:
    children: dict[str, list[Tensors]] = {}
    depth = len(_steps(path))
    for tensor in tensors:
        children.setdefault(".".join(_steps(tensor.name)[: depth + 1]), []).append(tensor)
    return children


def _steps(name: str) -> list[str]:
    """Split a path into steps; a * for numbers belongs to the step before it."""
    return re.findall(r"[^.]+(?:\.\*(?=\.|$))*", name)


def _is_in(name: str, path: str) -> bool:
    return not path or name == path or (name.startswith(f"{path}.") and not name.startswith(f"{path}.*"))


def _names(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to a shorter name.

    The names omit the common prefix of all paths. Without a common prefix, they omit the name of the model's body if
    everything outside the body is a head.
    """
    listed = list(paths)
    shared = commonprefix(listed).rfind(".") + 1  # noqa: RUF071 # a prefix of characters, cut at its last dot
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
    sums = {kind: count([tensor for tensor in tensors if component_of(tensor.name) == kind], values) for kind in NAMES}
    return max(sums, key=lambda kind: sums[kind])
