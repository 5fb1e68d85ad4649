"""Bounds of sizes, tested with a class that refuses other sizes."""

from typing import Any

import pytest
import torch
import transformers

from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.search import build


class BoundedConfig(transformers.PretrainedConfig):  # type: ignore[misc]
    model_type = "bounded"

    def __init__(self, width: int = 24, rank: int = 40, **others: Any) -> None:
        self.width, self.rank = width, rank
        super().__init__(**others)


class BoundedModel(transformers.PreTrainedModel):  # type: ignore[misc]
    """A model that accepts ranks from ``lowest`` to ``highest``."""

    config_class = BoundedConfig
    lowest, highest = 1, 400

    def __init__(self, config: BoundedConfig) -> None:
        super().__init__(config)
        if not self.lowest <= config.rank <= self.highest:
            raise ValueError("rank")
        self.adapter = torch.nn.Linear(config.width, config.rank)
        self.post_init()


@pytest.mark.parametrize(("lowest", "highest"), [(17, 400), (33, 70), (5, 100), (1, 60)])
def test_a_bound_is_moved_to_the_last_size_that_the_class_takes(
    lowest: int, highest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "config_class", lambda _kind: BoundedConfig)
    monkeypatch.setattr(build, "model_class", lambda _name: BoundedModel)
    monkeypatch.setattr(BoundedModel, "lowest", lowest)
    monkeypatch.setattr(BoundedModel, "highest", highest)
    found = discover(DiscoveryRequest("bounded", "BoundedModel"))
    taken = [rank for rank in range(1, 401) if not found.outside(rank=rank)]
    assert (taken[0], taken[-1]) == (lowest, highest)
