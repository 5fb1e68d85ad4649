"""Print the bytes of each of bertcalc's caches when it is full, after several models were opened."""

import functools
import gc
import json
import sys
import types
from collections.abc import Iterable, Iterator

from pages.ui.shell.navigation import PAGES
from tests.pages.apptest import open_app

_PRESETS = (
    "bert-base-uncased",
    "bert-large-uncased",  # the most diagnoses
    "deberta-v3-base",  # the longest formulas
    "albert-base-v2",
    "gpt2",
    "ModernBERT-base",
)
_SHARED = 200e3  # bytes of symbols, families and other objects that all entries of a cache share
_Wrapper = type(functools.lru_cache(lambda: None))
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, _Wrapper)


def caches() -> "Iterator[functools._lru_cache_wrapper[object]]":
    for cached in gc.get_objects():
        # Not isinstance: it reads __class__ of PyTorch's objects, and some of them warn.
        if type(cached) is _Wrapper and (cached.__module__ or "").startswith(("bertcalc", "pages")):
            yield cached


def size(roots: Iterable[object]) -> int:
    """The bytes of objects and of everything that they refer to."""
    seen, left, total = set[int](), list(roots), 0
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, _CODE):
            seen.add(id(one))
            total += sys.getsizeof(one)
            left.extend(gc.get_referents(one))
    return total


def look(preset: str, **sizes: str) -> None:
    """Open every page except the one that asks PyTorch."""
    for page in PAGES.keys() - {"verify"}:
        number = {"number": "110M"} if page == "explain" else {}
        open_app(f"{page or 'parameters'}.py", preset=preset, **sizes, **number)


def weights() -> dict[str, float]:
    """The bytes of each cache when it is full of entries like its current ones, keyed by name."""
    full = {}
    for cached in caches():
        info = cached.cache_info()
        if info.maxsize and info.currsize:
            entries = [entry for entry in gc.get_referents(cached) if entry is not cached.__wrapped__]
            weight = (size(entries) - _SHARED) / info.currsize * info.maxsize
            full[f"{cached.__module__}.{cached.__qualname__}"] = weight
    return full


if __name__ == "__main__":
    for preset in _PRESETS:
        look(preset)
        open_app("explain.py", preset=preset, number="437,955,512 bytes")
    print(json.dumps(weights()))
