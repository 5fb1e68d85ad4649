"""Rewrite the numbers beside the names of tensors: shapes get brackets, counts lose their thousands separators.

>>> with_plain_numbers("a.weight 2 768\\na.bias 2\\nb.weight 8 2\\nb.bias 8")
'a.weight [2, 768]\\na.bias [2]\\nb.weight [8, 2]\\nb.bias [8]'
>>> with_plain_numbers("a.weight 1.589.824\\na.bias 768\\nb.weight 1.536\\nb.bias 2")
'a.weight 1589824\\na.bias 768\\nb.weight 1536\\nb.bias 2'
"""

import re
from collections.abc import Mapping, Sequence
from math import prod

_SEPARATOR = r"(?:, ?| {1,8}|['’.\u00a0\u2009\u202f])"
_LINE = re.compile(
    r"^(?P<head>[^\n]{0,200}?(?<![\w./])(?P<name>[A-Za-z_][\w-]{0,80}(?:\.[\w-]{1,80}){1,20})[\"'`]?[ \t]{0,80}"
    r"(?:[|:=;,]|[-=]>)?[ \t\"'`]{0,80})"
    rf"(?P<numbers>[0-9]{{1,18}}(?:{_SEPARATOR}[0-9]{{1,18}}){{0,8}})"
    r"(?![ \t]{0,8}[-+*/^×=(\[%.,]|[ \t]?x[ \t]?[0-9]|\w)",
    re.MULTILINE,
)
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:[^0-9][0-9]{3})*|0")
_FEWEST = 3  # minimum number of lines in a list
_OF_SHAPES = (" ", ",")  # separators of sizes, which may also separate thousands


def with_plain_numbers(text: str) -> str:
    """Return a list of tensors with shapes in brackets and plain counts; return other texts unchanged."""
    lines = list(_LINE.finditer(text))
    written = sum(bool(line.strip()) for line in text.split("\n")) if len(lines) >= _FEWEST else 0
    numbers = {line["name"]: line["numbers"] for line in lines}
    signs = {re.sub("[0-9]", "", entry)[:1] for entry in numbers.values()} - {""}
    if len(lines) < _FEWEST or 2 * len(lines) < written or len(signs) != 1:
        return text
    sign = signs.pop()
    if any(len(set(re.findall(_SEPARATOR, entry))) > 1 for entry in numbers.values()):
        return text  # columns of different kinds
    if sign in _OF_SHAPES and _are_shapes(numbers):
        sizes = {name: [int(size) for size in re.findall("[0-9]+", entry)] for name, entry in numbers.items()}
        is_counted = all(len(shape) > 1 and prod(shape[:-1]) == shape[-1] for shape in sizes.values())
        return _LINE.sub(lambda line: f"{line['head']}{_sizes(line['numbers'], is_counted)}", text)
    is_grouped = all(map(_GROUPED.fullmatch, numbers.values()))
    if not is_grouped or (sign == "." and all(entry.count(".") == 1 for entry in numbers.values())):
        return text  # values with three decimals
    return _LINE.sub(lambda line: line["head"] + re.sub("[^0-9]", "", line["numbers"]), text)


def _are_shapes(numbers: Mapping[str, str]) -> bool:
    """Whether numbers beside names are sizes: they are not groups of three digits, or they include a bias's length."""
    if any(", " in entry or not _GROUPED.fullmatch(entry) for entry in numbers.values()):
        return True
    pairs = [
        (numbers[bias], re.findall("[0-9]+", entry))
        for name, entry in numbers.items()
        if name.endswith(".weight") and (bias := f"{name.removesuffix('weight')}bias") in numbers and _is_pair(entry)
    ]
    return bool(pairs) and all(bias in sizes for bias, sizes in pairs)


def _is_pair(entry: str) -> bool:
    return len(re.findall("[0-9]+", entry)) == len(("rows", "columns"))


def _sizes(entry: str, is_counted: bool) -> str:
    """Write sizes as a shape; ``is_counted`` is True if the last number is the product of the others."""
    sizes: Sequence[str] = re.findall("[0-9]+", entry)
    return f"[{', '.join(sizes[:-1] if is_counted else sizes)}]"
