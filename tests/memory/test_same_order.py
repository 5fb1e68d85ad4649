"""The changes of memory in a step are the same list in every process, whatever its hash seed is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertcalc.memory.plan import RECOMPUTE
from tests.examples import sampled

ROOT = Path(__file__).parents[2]
PRESETS = ("bert-base-uncased", "deberta-v3-base", "ModernBERT-base", "EuroBERT-210m")
PROGRAM = """
import sys
from dataclasses import replace
from bertcalc.explore.model_values import (model_of_preset)
from bertcalc.model.batch import Batch
from bertcalc.memory.peak import changes_in
from bertcalc.memory.plan import Plan
from bertcalc.text.problem import InputError

for preset in sys.argv[2:]:
    model = model_of_preset(preset)
    model = model.changed(config=replace(model.config, num_hidden_layers=2))
    try:
        print(*changes_in(model, Plan(recompute=sys.argv[1]), Batch(2, 8)), sep="\\n")
    except InputError as error:  # not every family has every kind of recomputation
        print(error)
"""


@pytest.mark.parametrize("recompute", sampled(RECOMPUTE[::-1], 2))
def test_the_order_of_changes_does_not_depend_on_hashes(recompute: str) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, recompute, *PRESETS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert said[0].count(b"kept activations") > 10
