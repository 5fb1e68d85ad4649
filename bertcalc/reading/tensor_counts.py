"""Read lists of tensor names with numbers of parameters but without shapes.

The shapes follow from the names: a bias shows the hidden size, and the word embeddings divided by the hidden size show
the vocabulary.

>>> counted("| classifier.weight | 1,536 |\\nclassifier.bias: 2\\nTotal: 1,538")
(('classifier.weight', 1536), ('classifier.bias', 2))
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any

from bertcalc.checkpoints.checkpoint import family_of_names, plain_name, wrapper_of
from bertcalc.config import ConfigError
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.families import FAMILIES
from bertcalc.model.family import Family
from bertcalc.model.letters import model_in_symbols
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.model.polynomials import LetterPolynomial
from bertcalc.reading.plain_lines import without_ansi
from bertcalc.reading.recognition import stored

_ENTRY = re.compile(
    r"(?<![\w./])(?P<name>(?:[A-Za-z_]|[0-9]{1,3}\.[A-Za-z_])[\w-]{0,80}(?:\.[\w-]{1,80}){0,20})"
    r"[`'\"]?[ \t]*[|:=,>\-]*[ \t]*[|:=>]?[ \t]*"
    r"(?P<count>[0-9]{1,3}(?:[,_][0-9]{3}){1,5}|[0-9]{1,18})(?![\w.%]|[,_][0-9]| ?[-+*/^x×(\[] ?[0-9])"
)
_BARE = re.compile(r"[\s|*`'\"(-]*[A-Za-z_]\w*[`'\"]?[ \t|:=,>-]*[0-9][0-9,_]*[\s|,)]*")
_NAME, _COUNT = r"[A-Za-z_][\w-]{0,80}(?:\.[\w-]{1,80}){1,20}", r"[0-9]{1,3}(?:[,_][0-9]{3}){1,5}|[0-9]{1,18}"
# 768 pooler.dense.bias, the rows of GGUF tools (0: 768 | 768, 1, 1, 1 | F32 | name), and name (768 params)
_COUNT_FIRST = re.compile(
    rf"\s{{0,40}}(?:[0-9]{{1,5}}:\s{{0,20}})?(?P<count>{_COUNT})[ \t]*(?:[|:,>-][^|\n]{{0,60}}(?=[|]))*[ \t|:,>-]+"
    rf"(?P<name>{_NAME})\s*"
    rf"|\s{{0,40}}(?P<named>{_NAME})\s*[(\[](?P<counted>{_COUNT})(?: ?(?:params?|parameters|elements))[)\]]\s*"
)
# This size has its default, because the size of its table also depends on the unknown number of heads.
_BUCKETS = "relative_attention_num_buckets"
_LARGEST = 2**40  # maximum value of a size

Sizes = Mapping[str, int]  # keyed by letter
Counts = tuple[tuple[str, int], ...]


def counted(text: str) -> Counts:
    """Return the (name, number of parameters) pairs in a text; a repeated name is listed once.

    A name without a dot counts only if it is alone in its line with its number, in a list of names with dots.
    """
    counts: dict[str, int] = {}
    for line in _ENTRIES.split(without_ansi(text)):
        match = _COUNT_FIRST.fullmatch(line[:1_000]) or _ENTRY.search(line[:1_000])
        if match and ("." in (name := match["name"] or match["named"]) or _BARE.fullmatch(line)):
            counts.setdefault(name, int(re.sub(r"\D", "", match["count"] or match["counted"])))
    dotted = [name for name in counts if "." in name]
    modules = (
        {part for name in dotted for part in name.split(".")[:-1]} if len(dotted) >= _FEWEST_DOTTED else set(counts)
    )
    total = sum(counts[name] for name in dotted)
    return tuple(
        (name, count)
        for name, count in counts.items()
        if "." in name or not (name in modules or _TOTAL.search(name) or count >= total)
    )


_ENTRIES = re.compile(r"\n|(?<=[0-9]\)), (?=\()|(?<=[0-9]), (?=['\"])")  # lines, or the entries of a printed list
_FEWEST_DOTTED = 3  # minimum number of names with dots in a list that may also have names without a dot
_TOTAL = re.compile(
    r"total|sum|param|trainable|frozen|numel|number|count|size|bytes|memory|layers|heads|vocab|hidden", re.I
)


def shapes_of(counts: Counts) -> tuple[tuple[str, Shape], ...]:
    """Infer the shapes of tensors from their names and numbers of parameters.

    A tensor becomes a vector if nothing shows its shape.
    """
    wrapper = wrapper_of(stored((name, ()) for name, _count in counts))
    inside = {name: name.removeprefix(wrapper) for name, _count in counts}
    family = family_of_names(list(inside.values()))
    symbolic = _symbolic_shapes(family.name)
    bare = {name: _LAYER.sub(".*.", plain_name(inside[name], family)) for name in inside}
    of_layers = {name: symbolic[pattern] for name, pattern in bare.items() if pattern in symbolic}
    equations = [(of_layers[name], count) for name, count in counts if name in of_layers]
    sizes = _solved(equations, {})
    if _BUCKETS in family.config.default().letters_of_sizes() and EVERY_LETTER[_BUCKETS] not in sizes:
        buckets = getattr(family.config.default(), _BUCKETS)
        sizes = _solved(equations, {**sizes, EVERY_LETTER[_BUCKETS]: buckets})
    every = dict(counts)
    return tuple((name, _shape(name, count, of_layers.get(name), sizes, every)) for name, count in counts)


_LAYER = re.compile(r"\.[0-9]+\.")


@cache
def _symbolic_shapes(family: str) -> Mapping[str, tuple[Any, ...]]:
    """Return the symbolic shapes of a family's tensors, keyed by name.

    Names with shapes that depend on the class are left out.
    """
    shapes: dict[str, set[tuple[Any, ...]]] = {}
    for model in _models(FAMILIES[family]):
        for tensor in model.tensors():
            name = _LAYER.sub(".*.", model.without_prefix(tensor.name))
            shapes.setdefault(name, set()).add(tuple(map(LetterPolynomial.of, tensor.shape)))
    return {name: next(iter(of_classes)) for name, of_classes in shapes.items() if len(of_classes) == 1}


def _models(family: Family) -> Iterator[Model]:
    letters = {field: LetterPolynomial.letter(letter) for field, letter in EVERY_LETTER.items()}
    for cls in family.classes:
        for config in (family.config.default(), family.fullest()):
            with suppress(ConfigError):
                yield model_in_symbols(Model(config, cls.name), letters)


def _solved(equations: list[tuple[tuple[Any, ...], int]], sizes: dict[str, int]) -> dict[str, int]:
    """Solve the equations for the sizes, keyed by letter.

    Each round solves the equations with a single unknown letter. The rounds end when no equation gives a new size.
    """
    distinct = list(dict.fromkeys(equations))
    is_new = True
    while is_new:
        is_new = False
        for shape, count in distinct:
            unknown = set[str]().union(*(side.free_symbols for side in shape)) - sizes.keys()
            if len(unknown) == 1 and (size := _root(shape, count, min(unknown), sizes)):
                sizes |= size
                is_new = True
    return sizes


def _root(shape: tuple[Any, ...], count: int, letter: str, sizes: Sizes) -> dict[str, int]:
    """Return the size at which a shape has ``count`` elements, keyed by its letter; empty if no integer fits."""
    low, high = 1, min(max(count, 1), _LARGEST)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _elements(shape, {**sizes, letter: middle}) >= count else (middle + 1, high)
    return {letter: low} if _elements(shape, {**sizes, letter: low}) == count else {}


def _elements(shape: Iterable[Any], sizes: Sizes) -> Fraction:
    return prod((side.value(sizes) for side in shape), start=Fraction(1))


def _shape(name: str, count: int, symbols: tuple[Any, ...] | None, sizes: Sizes, counts: Mapping[str, int]) -> Shape:
    """Infer the shape of a tensor from its symbolic shape, or else from the length of its bias; otherwise, a vector."""
    if symbols and _known(symbols, sizes) and _elements(symbols, sizes) == count:
        sides = [side.value(sizes) for side in symbols]
        if all(side.denominator == 1 for side in sides):
            return tuple(map(int, sides))
    if symbols and len(symbols) == 2:
        for axis, side in enumerate(symbols):
            if _known((side,), sizes) and not count % (length := int(side.value(sizes)) or 1):
                return (length, count // length) if axis == 0 else (count // length, length)
    rows = counts.get(f"{name.removesuffix('.weight')}.bias", 0) if name.endswith(".weight") else 0
    return (rows, count // rows) if rows and rows != count and not count % rows else (count,)


def _known(shape: Iterable[Any], sizes: Sizes) -> bool:
    return all(side.free_symbols <= sizes.keys() for side in shape)
