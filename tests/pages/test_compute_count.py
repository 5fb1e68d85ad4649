"""The live costs of a model equal the costs of any other model of its structure."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from bertcalc.compute.flops import Convention, as_stated, by_name, by_part, tokens, total
from bertcalc.forward.outputs import Call, run
from bertcalc.model.model import Model
from bertcalc.model.runnable import cannot_run
from bertcalc.text.live_numbers import evaluated, node_of
from pages.ui.compute.count import Count
from pages.ui.shell.sidebar import Choice
from tests.alike import alike_models, sizes_of


def counts(rng: random.Random) -> tuple[Count, Count]:
    """The same call and convention for two models of the same structure."""
    first, second = alike_models(rng)
    while cannot_run(first) or cannot_run(second):
        first, second = alike_models(rng)
    options: dict[str, Any] = {"operations": ("matmul", "all"), "logits": ("all", "masked"), "unit": ("FLOPs", "MACs")}
    convention = Convention(**{name: rng.choice(values) for name, values in options.items()})
    call = Call(2, min(24, first.config.longest, second.config.longest), first.encoder_length(5))

    def count(model: Model) -> Count:
        steps = as_stated(run(model, call), convention, call.sequence_length)
        return Count(Choice(model, ""), call, convention, steps)

    return count(first), count(second)


@pytest.mark.parametrize(
    ("live", "real"),
    [
        (lambda count: count.costs, lambda count: by_part(count.steps, count.convention)),
        (lambda count: count.rows, lambda count: by_name(count.steps, count.convention)),
        (lambda count: count.tokens, lambda count: tokens(count.steps)),
        (lambda count: count.total(), lambda count: total(count.steps, count.convention)),
        (lambda count: count.total("training"), lambda count: total(count.steps, count.convention, "training")),
    ],
)
def test_costs_follow_from_those_of_another_model(live: Callable[[Count], Any], real: Callable[[Count], Any]) -> None:
    rng = random.Random(4)
    for _count in range(30):
        first, second = counts(rng)
        sizes = sizes_of(second.choice.model, **second.sizes)
        assert evaluated(_plain(live(first)), sizes) == _plain(real(second))


def _plain(figures: Any) -> Any:
    return node_of([*figures.items()] if isinstance(figures, dict) else figures)
