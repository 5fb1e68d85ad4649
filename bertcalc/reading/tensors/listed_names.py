"""Find the name of a tensor beside its shape: names are before the shapes of a listing, or after them.

>>> name_before("encoder.layer.0.output.dense.bias -> torch.Size(")
'encoder.layer.0.output.dense.bias'
>>> text = "(768, 768) pooler.dense.weight\\n(768,) pooler.dense.bias"
>>> names_follow(text, [(0, 10), (31, 37)]), name_after(text[37:])
(True, 'pooler.dense.bias')
"""

import re
from collections.abc import Sequence
from itertools import islice

NAME = re.compile(
    r"(?<![\w./])[A-Za-z_0-9][\w-]{0,99}(?:[./][\w*-]+)+(?::0)?|(?<=['\"])[A-Za-z_]\w*(?=['\"])"
    r"|(?<=name = )[A-Za-z_]\w*(?=:0)"
)
ENDINGS = (".weight", ".bias", ".gamma", ".beta")
REACH = 300  # characters before or after a shape that may contain its name
_ALONE = re.compile(r"\s*[A-Za-z_]\w*[\s:|,>=-]*(?:torch\.(?:Size\(\s*)?)?")
_ALONE_AFTER = re.compile(r"[)\s:|,>=-]*[A-Za-z_]\w*[\s|,]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_NAMES = ("torch.", "tf.", "np.", "numpy.", "param.", "jnp.", "nn.")
# Words beside a shape that are not names of tensors, such as the keys of JSON objects.
_WORDS = frozenset(
    ("torch", "shape", "Shape", "Size", "size", "In", "Out", "name", "Name", "dtype", "dims", "numel", "tensor")
)


def names_follow(text: str, shapes: Sequence[tuple[int, int]]) -> bool:
    """Whether the names of a listing are after its shapes, which are given by their limits in the text."""
    before = after = 0
    for number, (start, end) in enumerate(shapes):
        previous = shapes[number - 1][1] if number else 0
        following = shapes[number + 1][0] if number + 1 < len(shapes) else len(text)
        before += bool(_last(text[max(previous, start - REACH) : start].rpartition("\n")[2]))
        after += bool(_first(text[end : min(following, end + REACH)].partition("\n")[0]))
    if before or after or not shapes:
        return after > before
    first, last = text[max(0, shapes[0][0] - REACH) : shapes[0][0]], text[shapes[-1][1] :][:REACH]
    head, tail = name_before(first), name_after(last)
    return bool(tail) and (not head or (tail.endswith(ENDINGS) and not head.endswith(ENDINGS)))


def name_before(text: str) -> str:
    """Return the last name before a shape, on the same line or on the line above; empty if there is none."""
    lines = text.rstrip(" \t").split("\n")
    return next(filter(None, map(_last, reversed(lines[-2:]))), "")


def name_after(text: str) -> str:
    """Return the first name after a shape, on the same line or on the line below; empty if there is none."""
    return next(filter(None, map(_first, text.split("\n")[:2])), "")


def _last(line: str) -> str:
    return next(reversed(_names(line)), "") or (_alone(line) if _ALONE.fullmatch(line) else "")


def _first(line: str) -> str:
    return next(iter(_names(line)), "") or (_alone(line) if _ALONE_AFTER.fullmatch(line) else "")


def _alone(line: str) -> str:
    word = _WORD.search(line)
    return word[0] if word and word[0] not in _WORDS else ""


def _names(line: str) -> list[str]:
    """Return the names in a line; names without a dot only if there are no others, because they may be keys."""
    names = [name for name in NAME.findall(line) if is_name(name)]
    return [name for name in names if "." in name or "/" in name] or names


def is_name(name: str) -> bool:
    """Whether a word may name a tensor.

    The names of sentence-transformers' tensors begin with a number.
    """
    first, _dot, rest = name.partition(".")
    if _ON_THE_HUB.fullmatch(name) and not name.endswith(_OF_TENSORFLOW):
        return False
    if name in _WORDS or name.startswith(_NOT_NAMES):
        return False
    return not first[:1].isdigit() or (first.isdecimal() and rest[:1].isalpha())


_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+")  # the owner and the name of a model
_OF_TENSORFLOW = ("kernel", "bias", "gamma", "beta", "weights", "weight", "embeddings", "table", ":0")


def column_of(before: str, after: str = "") -> str:
    """Identify the column of a number by the text between the last name before it and the number.

    If only ``after`` has a name, the column is identified by the text before the number. The result is empty if neither
    text has a name.
    """
    names = [name for name in islice(NAME.finditer(before), _MOST_NAMES) if is_name(name[0])]
    if names:
        return " ".join(["name", *_NUMBER.sub("0", before[names[-1].end() :]).split()])
    return f"{_NUMBER.sub('0', before).split()}" if name_after(after) and not _WORD.search(before) else ""


_NUMBER = re.compile(r"(?<![\w.,])[0-9][0-9,_]*(?![\w.,])")
_MOST_NAMES = 8
