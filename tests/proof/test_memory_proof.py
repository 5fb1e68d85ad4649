"""The proof of memory: PyTorch's hooks agree with bertcalc, and a wrong count is detected."""

from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest

from bertcalc import ARCHITECTURES, BertConfig, Config
from bertcalc.memory.footprint import kept
from bertcalc.memory.plan import RECOMPUTE, Plan
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.proof import memory_proof
from bertcalc.proof.memory_proof import prove
from tests.examples import sampled

SMALL = BertConfig(vocab_size=50, hidden_size=12, num_hidden_layers=3, num_attention_heads=2, intermediate_size=20)
DECODER = replace(SMALL, is_decoder=True, add_cross_attention=True)


@pytest.mark.parametrize(
    ("architecture", "config", "recompute"), sampled(product(ARCHITECTURES, [SMALL, DECODER], RECOMPUTE), 5)
)
def test_pytorch_counts_the_same(architecture: str, config: Config, recompute: Any) -> None:
    for precision, freezing in (("fp32", Freezing()), ("mixed-16", Freezing(embeddings=True, layers=2))):
        plan = Plan(precision, recompute=recompute, freezing=freezing)  # type: ignore[arg-type]  # mypy infers a plain str
        found = prove(Model(config, architecture), plan, 2, 7)
        assert found.ours == found.theirs > 0


def test_a_wrong_count_is_seen() -> None:
    with patch.object(memory_proof, "kept", lambda *args: kept(*args)[1:]):
        found = prove(Model(SMALL), Plan(), 2, 7)
    assert found.ours < found.theirs


def test_what_the_device_does_not_know_is_left_out_of_our_count_too() -> None:
    with_masks = prove(Model(SMALL), Plan(fused_dropout=True), 2, 7)
    assert with_masks == prove(Model(SMALL), Plan(), 2, 7)
