"""What caches keep is bounded by memory, whatever models people look at."""

import functools
import gc
import sys
import types
from collections.abc import Iterable, Iterator

from bertcalc import BertConfig
from bertcalc.diagnosis import explain
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from bertcalc.model.model import Model
from bertcalc.processes.weighted_cache import WeightedCache
from pages.ui.shell.navigation import PAGES
from tests.pages.apptest import open_app

MOST = 30e6  # bytes that one cache may come to
_SHARED = 200e3  # bytes of symbols, families and the like, to which the entries of one cache refer together
_Wrapper = type(functools.lru_cache(lambda: None))
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, _Wrapper)


def ours() -> "Iterator[functools._lru_cache_wrapper[object]]":
    for cached in gc.get_objects():
        # Not isinstance: it asks objects of PyTorch for their __class__, some of which then warn.
        if type(cached) is _Wrapper and (cached.__module__ or "").startswith(("bertcalc", "pages")):
            yield cached


def size(roots: Iterable[object]) -> int:
    """The bytes of objects and of all that they refer to."""
    seen, left, total = set[int](), list(roots), 0
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, _CODE):
            seen.add(id(one))
            total += sys.getsizeof(one)
            left.extend(gc.get_referents(one))
    return total


def look(preset: str, **sizes: str) -> None:
    """Open every page but those that ask PyTorch."""
    for page in PAGES.keys() - {"verify"}:
        number = {"number": "110M"} if page == "explain" else {}
        open_app(f"{page or 'parameters'}.py", preset=preset, **sizes, **number)


def test_no_cache_comes_to_more_than_its_share() -> None:
    look("bert-base-uncased")
    look("deberta-v3-base")
    for cached in ours():
        info = cached.cache_info()
        if info.maxsize and info.currsize:
            entries = [one for one in gc.get_referents(cached) if one is not cached.__wrapped__]
            assert (size(entries) - _SHARED) / info.currsize * info.maxsize < MOST, (cached, info)


def test_what_has_no_bound_does_not_grow_with_the_models_that_people_look_at() -> None:
    look("bert-base-uncased", vocab_size="20001")
    before = {id(cached): cached.cache_info().currsize for cached in ours()}
    look("bert-base-uncased", vocab_size="20002", num_hidden_layers="7")
    for cached in ours():
        info = cached.cache_info()
        assert info.maxsize is not None or info.currsize == before.get(id(cached), 0), (cached, info)


def test_searches_are_kept_by_their_number_of_combinations() -> None:
    """250,000 combinations took 330 MB."""
    for vocab_size in range(20_000, 20_014):
        config = BertConfig(vocab_size=vocab_size)
        explain.search(tuple(counted(Model(config))), MiscountSizes.of(config), explain.MOST_BITS)
    kept = explain.search._kept
    total = sum(search.size for search, _weight in kept.values())
    assert 0.8 * explain.MOST_COMBINATIONS < total <= explain.MOST_COMBINATIONS
    assert size([kept]) < MOST


def test_a_weighted_cache_keeps_what_was_used_last() -> None:
    made: list[int] = []

    def repeat(number: int) -> str:
        made.append(number)
        return "x" * number

    cached = WeightedCache(repeat, 10, len)
    for number in (4, 5, 4, 3):
        assert cached(number) == "x" * number
    assert (made, cached.weight) == ([4, 5, 3], 7)
    assert [len(cached(number)) for number in (4, 3, 5)] == [4, 3, 5]
    assert (made, cached.weight) == ([4, 5, 3, 5], 8)
    cached(100)
    cached(100)
    assert (made[-1], cached.weight) == (100, 100)
