"""The scatter plot: a point for each model, and names where there is room."""

import pandas as pd
import pytest

from bertcalc import build
from bertcalc.charts.compare_charts import ModelPoint, points_frame
from bertcalc.families.presets import PRESETS


def points(compared: int) -> pd.DataFrame:
    presets = [(name, preset.config) for name, preset in PRESETS.items()]
    found = [
        ModelPoint(name, count := build(config).num_parameters(), 2 * count * config.num_hidden_layers, False)
        for name, config in presets
    ]
    mine = [point._replace(name=f"my {point.name}", compared=True) for point in found[:compared]]
    return pd.DataFrame(points_frame([*mine, *found]))


@pytest.mark.parametrize("compared", [1, 12])
def test_every_preset_is_a_point_with_a_name_that_covers_no_other(compared: int) -> None:
    drawn = points(compared)
    on_a_phone, frame = drawn["brief"].dropna(), drawn[drawn["name"].notna()]
    names = {name for text in frame["name"] for name in text.split(" = ")}
    assert set(PRESETS) <= names
    assert frame["compared"].sum() == compared
    shown = frame.set_index("name")
    assert (
        shown.loc["bert-large-cased" if compared == 1 else "my bert-large-cased = bert-large-cased", "tip"]
        == "333,579,264"
    )
    # Compared models get their labels first.
    assert frame[frame["compared"]]["label"].notna().sum() >= max(1, compared - 2)
    assert 15 < frame["label"].notna().sum() < len(frame)  # other models have only a tooltip
    assert 5 < len(on_a_phone) < frame["label"].notna().sum()
    assert on_a_phone.iloc[0].startswith("my " if compared == 12 else "my bert-base-uncased")
