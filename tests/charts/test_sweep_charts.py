"""Curves and maps: their rows, and the names that have room."""

from itertools import pairwise

import pandas as pd

from bertcalc.charts.sweep_charts import Curve, MapPoint, Mark, curves_frame, map_frame


def test_a_map_has_a_row_for_each_thing_to_see() -> None:
    figures = {(x, y): x * y for x in (64, 128, 256) for y in (1, 2)}
    line = [(64.0, 1.5), (128.0, 1.0)]
    points = [MapPoint((128, 2), "a", "first", True, "a, b"), MapPoint((130, 2), "c", "C", True, "c")]
    here = [Mark(128, 1, "128")]
    frame = pd.DataFrame(map_frame(((64, 128, 256), (1, 2)), figures, [("96", line)], points, here, logs=False))
    cells = frame[frame["kind"] == "cell"]
    assert len(cells) == 6
    assert list(cells["x0"].unique()) == [64, 96, 192]
    assert list(cells["x1"].unique()) == [96, 192, 256]
    assert list(cells["figure"]) == list(figures.values())
    # The area behind the line is filled to the right edge.
    assert list(frame[frame["kind"] == "fill"]["x0"]) == [128, 256]
    # The second name would cover the first.
    assert list(frame[frame["kind"] == "point"]["label"]) == ["first", ""]
    assert list(frame[frame["kind"] == "point"]["name"]) == ["a, b", "c"]


def test_no_name_on_a_map_leaves_it_and_a_phone_has_fewer() -> None:
    lines = [(f"{at}M", [(float(at), 1.5), (at + 50.0, 1.0)]) for at in range(70, 250, 10)]
    points = [MapPoint((at, 2), name, name, False, name) for at, name in ((64, "in the middle"), (250, "at the edge"))]
    frame = pd.DataFrame(map_frame(((64, 256), (1, 2)), {}, lines, points, [], logs=False))
    assert list(frame[frame["kind"] == "point"]["label"]) == ["in the middle", ""]
    assert list(frame[frame["kind"] == "point"]["brief"]) == ["in the middle", ""]
    ends = frame[frame["kind"] == "top"]
    assert 0 < sum(ends["narrow"] == True) < sum(ends["narrow"] == False)  # noqa: E712 - a column of objects


def test_names_of_curves_keep_a_distance() -> None:
    curves = [Curve(name, name, figures) for name, figures in (("a", [1, 99]), ("b", [1, 100]), ("c", [0, 0]))]
    for logs in (False, True):
        frame = pd.DataFrame(curves_frame([1, 2], curves, "a", [], "light", logs=logs))
        heights = sorted(frame["height"].dropna())
        assert all(above - below > 0.05 for below, above in pairwise(heights))
        assert len(frame[frame["name"].notna()]) == (4 if logs else 6)
