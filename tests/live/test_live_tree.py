"""A live tree gives the same values as the tree of any other model of its structure."""

import random
from collections.abc import Iterator
from typing import Any

from bertcalc.config import Config
from bertcalc.live.live_formulas import live_tree
from bertcalc.model.freezing import TRAIN, Freezing
from bertcalc.model.inventory import inventory
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import evaluated, node_of
from tests.alike import alike_models, sizes_of


def readings(tree: Model) -> Iterator[Any]:
    yield tree.num_parameters()
    for line in tree.printed_lines():
        yield line.text
        yield from (line.copies, line.module.num_parameters())
    for group in inventory(tree):
        yield from (group.modules, group.parameters)
    for tensor in tree.tensors():
        yield from (tensor.copies, tensor.shape)


def test_the_lines_counts_and_tensors_of_a_model_follow_from_those_of_another() -> None:
    rng = random.Random(1)
    for _model in range(40):
        first, second = alike_models(rng)
        moved = [evaluated(node_of(value), sizes_of(second)) for value in readings(live_tree(first))]
        assert moved == [*readings(second)]


def test_what_is_trained_of_a_model_follows_from_what_is_trained_of_another() -> None:
    rng = random.Random(2)
    for _model in range(40):
        first, second = alike_models(rng)
        layers = rng.randrange(1 + min(map(_layers, (first.config, second.config))))
        freezing = Freezing(rng.random() < 0.5, layers, rng.choice(TRAIN))
        splits = freezing.by_component(live_tree(first))
        moved = {component: evaluated(node_of(split), sizes_of(second)) for component, split in splits.items()}
        assert moved == freezing.by_component(second)


def _layers(config: Config) -> int:
    return config.num_hidden_layers
