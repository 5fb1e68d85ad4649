"""The memory of caches is bounded, whatever models users open."""

import json
import subprocess
import sys

from bertcalc import BertConfig
from bertcalc.diagnosis import explain
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from bertcalc.model.model import Model
from bertcalc.processes.weighted_cache import WeightedCache
from tests.processes import weigh_caches
from tests.processes.weigh_caches import caches, look, size

MOST = 30e6  # limit on the bytes of one cache


def test_no_cache_comes_to_more_than_its_share() -> None:
    """The sizes are measured in a separate process: models opened by other tests would distort them."""
    run = subprocess.run([sys.executable, "-m", weigh_caches.__name__], capture_output=True, text=True, check=True)
    weights = json.loads(run.stdout)
    assert len(weights) > 60
    assert {name: weight for name, weight in weights.items() if weight > MOST} == {}


def test_what_has_no_bound_does_not_grow_with_the_models_that_people_look_at() -> None:
    look("bert-base-uncased", vocab_size="20001")
    before = {id(cached): cached.cache_info().currsize for cached in caches()}
    look("bert-base-uncased", vocab_size="20002", num_hidden_layers="7")
    for cached in caches():
        info = cached.cache_info()
        assert info.maxsize is not None or info.currsize == before.get(id(cached), 0), (cached, info)


def test_searches_are_kept_by_their_number_of_combinations() -> None:
    """The cache of searches is limited by their number of combinations: 250,000 took 330 MB."""
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
