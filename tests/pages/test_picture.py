"""The data of the walk's picture."""

import pandas as pd
import pytest

from bertcalc import ARCHITECTURES, BertConfig, Config, build
from bertcalc.charts.walk_picture import picture
from bertcalc.forward.walk import AFTER, BEFORE, Stop, walk
from bertcalc.model.batch import Batch
from pages.ui.walk.picture import picture_frame


def drawn(config: Config, architecture: str = "BertModel", layer: int = 0) -> tuple[list[Stop], pd.DataFrame, int]:
    seen = 8 if config.add_cross_attention else None
    stops = walk(build(config, architecture).steps(Batch(1, 8, encoder_sequence_length=seen)), layer)
    frame, rows = picture_frame(stops, {stops[3].name}, config, layer)
    return stops, pd.DataFrame(frame), rows


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("decoder", [False, True])
def test_every_stop_has_a_box_and_no_two_boxes_overlap(architecture: str, decoder: bool) -> None:
    stops, frame, rows = drawn(BertConfig(is_decoder=decoder, add_cross_attention=decoder), architecture, 5)
    boxes = frame[frame["mark"] == "box"]
    assert list(boxes["step"]) == [stop.name for stop in stops]
    assert boxes["x"].min() >= 0
    assert boxes["x2"].max() <= 1
    assert boxes["y2"].max() < rows
    for _y, row in boxes.groupby("y"):
        assert (row["x"].to_numpy()[1:] > row["x2"].to_numpy()[:-1]).all()


def test_the_present_step_alone_is_marked() -> None:
    stops, frame, _rows = drawn(BertConfig())
    marked = frame[frame["weight"] == 1]
    assert list(marked["step"]) == [stops[3].name]
    assert marked["label"].iloc[0].startswith("▶ ")


def test_the_layer_is_framed_and_the_others_stand_outside() -> None:
    stops, frame, _rows = drawn(BertConfig(num_hidden_layers=7), layer=2)
    (border,) = frame[frame["mark"] == "frame"].itertuples()
    boxes = frame[frame["mark"] == "box"]
    inside = boxes[(boxes["y"] > border.y) & (boxes["y2"] <= border.y2)]
    assert inside["step"].str.startswith("encoder.layer.*").all()
    assert len(inside) == boxes["step"].str.startswith("encoder.layer.*").sum()
    labels = dict(zip([stop.key for stop in stops], boxes["label"], strict=True))
    assert (labels[BEFORE], labels[AFTER]) == ("2 × the same layer", "4 × the same layer")
    assert "Layer 3 of 7: encoder.layer.2" in set(frame["label"])


@pytest.mark.parametrize(("heads", "slices"), [(12, 12), (64, 64), (96, 0)])
def test_heads_are_slices_as_long_as_they_can_be_seen(heads: int, slices: int) -> None:
    _stops, frame, _rows = drawn(BertConfig(num_attention_heads=heads))
    box = frame[frame["step"] == "encoder.layer.*.attention.self.heads"].iloc[0]
    assert box["label"] == f"heads: {heads}"
    assert box["heads"] == slices


@pytest.mark.parametrize(("decoder", "sums"), [(False, 2), (True, 3)])
def test_every_residual_sum_has_an_arc(decoder: bool, sums: int) -> None:
    _stops, frame, _rows = drawn(BertConfig(is_decoder=decoder, add_cross_attention=decoder))
    assert (frame["mark"] == "arc").sum() == 3 * sums


def test_the_chart_is_built_once_for_an_appearance() -> None:
    assert picture("light", 18) is picture("light", 18)
    assert picture("light", 18) != picture("dark", 18)
