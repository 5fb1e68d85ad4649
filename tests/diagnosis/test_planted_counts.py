"""A planted mistake in the count of a real model is among the likeliest explanations, in every family.

``planted_counts.csv`` lists parts that users count, and mistakes that are possible in a single family. Its rows have no
numbers: the tests compute them from the tensors of the real models. The last 55 rows were written after the
explanations. 54 of them were explained correctly at once, and 40 by the version before.
"""

import csv
from pathlib import Path

import pytest

from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.text.amounts import typed
from tests.diagnosis.planted import planted
from tests.examples import sampled

with Path(__file__).with_name("planted_counts.csv").open(encoding="utf-8") as _file:
    # Grouped by model, since searches are cached for each model.
    COUNTS = sorted(csv.DictReader(_file), key=lambda row: (row["preset"], row["architecture"]))


@pytest.mark.parametrize("row", sampled(COUNTS, 2), ids=lambda row: f"{row['preset']}: {row['change']}")
def test_a_planted_mistake_is_found(row: dict[str, str]) -> None:
    number = planted(row["preset"], row["architecture"], row["change"])
    model = Model(PRESETS[row["preset"]].config, row["architecture"])
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), typed(str(number)))
    if row["cause"] == "known: a part":
        assert {part.right for part in diagnosis.parts} == {number}
        assert {part.reading.key for part in diagnosis.parts} == {"parameters"}
        assert not diagnosis.miscounted
    elif row["cause"].startswith("known"):
        assert number in {match.total for match in diagnosis.matches}
    else:
        causes = [{name.strip() for name in cause.split("+")} for cause in row["cause"].split("|")]
        front = [{cause.miscount for cause in one.explanation} for one in diagnosis.miscounted]
        assert any(cause in front for cause in causes), front
