"""The walk on live steps equals the walk of any other model of the same structure."""

import random
from typing import Any

from bertcalc.forward.outputs import Call, run
from bertcalc.forward.step_formulas import call_sizes, live_steps
from bertcalc.forward.walk import Stop, keras_rows, walk
from bertcalc.model.runnable import cannot_run
from bertcalc.text.live_numbers import evaluated, node_of
from tests.alike import alike_models, sizes_of


def figures(stops: list[Stop]) -> list[Any]:
    return [
        *((stop.name, stop.layers, stop.parameters, stop.so_far, stop.takes, stop.gives) for stop in stops),
        *((tensor.name, tensor.shape, tensor.copies) for stop in stops for tensor in stop.tensors),
        *((row.keras, row.parameters, row.shape) for row in keras_rows(stops)),
    ]


def test_a_walk_follows_from_the_walk_through_another_model() -> None:
    rng = random.Random(3)
    walks = 0
    while walks < 40:
        first, second = alike_models(rng)
        most = min(first.config.num_hidden_layers, second.config.num_hidden_layers)
        if most < 3 or cannot_run(first) or cannot_run(second):
            continue
        length = min(24, first.config.longest, second.config.longest)
        call, layer = Call(2, length, first.encoder_length(5)), rng.randrange(most - 1)
        sizes = sizes_of(second, **call_sizes(call))
        moved = [evaluated(node_of(figure), sizes) for figure in figures(walk(live_steps(first, call), layer))]
        assert moved == [node_of(figure) for figure in figures(walk(run(second, call), layer))]
        walks += 1
