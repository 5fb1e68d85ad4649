"""Names on charts cover neither each other nor points."""

from hypothesis import given
from hypothesis import strategies as st

from bertcalc.charts.labels import Box, place


def test_names_are_placed_beside_each_other() -> None:
    at = [(100.0, 100.0), (104.0, 100.0), (108.0, 102.0), (104.0, 96.0), (20.0, 190.0)]
    assert None not in place(at, [60.0] * 5, 14, Box(0, 0, 300, 200))


def test_a_name_with_room_is_right_beside_its_point() -> None:
    """A little further to the left, it would cover the square around the point, which is ten pixels wide."""
    (box,) = place([(100.0, 100.0)], [60.0], 14, Box(0, 0, 300, 200))
    assert box
    assert box.top < 100 < box.bottom
    assert 105 <= box.left < 107


@given(st.lists(st.tuples(st.floats(0, 780), st.floats(0, 320)), max_size=60))
def test_a_name_has_room_or_is_left_out(at: list[tuple[float, float]]) -> None:
    area = Box(0, 0, 780, 264)
    found = place(at, [80.0] * len(at), 14, area)
    assert len(found) == len(at)
    boxes = [box for box in found if box]
    for index, box in enumerate(boxes):
        assert round(box.right - box.left) == 80
        assert box.within(area)
        assert not any(box.overlaps(other) for other in boxes[:index])
        assert not any(box.left < x < box.right and box.top < y < box.bottom for x, y in at)
