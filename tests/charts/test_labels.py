"""Names on charts cover neither each other nor points."""

from hypothesis import given
from hypothesis import strategies as st

from bertcalc.charts.labels import Box, in_lines, place


def test_names_are_placed_beside_each_other() -> None:
    at = [(100.0, 100.0), (104.0, 100.0), (108.0, 102.0), (104.0, 96.0), (20.0, 190.0)]
    assert None not in place(at, [60.0] * 5, 14, Box(0, 0, 300, 200))


def test_a_name_with_room_is_right_beside_its_point() -> None:
    """Further to the left, it would cover the square around the point, which is ten pixels wide."""
    (name,) = place([(100.0, 100.0)], [60.0], 14, Box(0, 0, 300, 200))
    assert name
    assert name.box.top < 100 < name.box.bottom
    assert 105 <= name.box.left < 107


@given(st.lists(st.tuples(st.floats(0, 780), st.floats(0, 320)), max_size=60))
def test_a_name_has_room_or_is_left_out(at: list[tuple[float, float]]) -> None:
    area = Box(0, 0, 780, 264)
    found = place(at, [80.0] * len(at), 14, area)
    assert len(found) == len(at)
    names = [name for name in found if name]
    boxes, leaders = [name.box for name in names], [name.leader for name in names if name.leader]
    for leader in leaders:  # check the points along each leader
        (x, y), (end_x, end_y) = leader
        for share in range(1, 100):
            across, down = x + (end_x - x) * share / 100, y + (end_y - y) * share / 100
            assert not any(
                box.left + 1e-6 < across < box.right - 1e-6 and box.top + 1e-6 < down < box.bottom - 1e-6
                for box in boxes
            )
    for index, box in enumerate(boxes):
        assert round(box.right - box.left) == 80
        assert box.within(area)
        assert not any(box.overlaps(other) for other in boxes[:index])
        assert not any(box.left < x < box.right and box.top < y < box.bottom for x, y in at)


def test_a_line_ends_between_words_also_where_no_space_is_between_them() -> None:
    name = "bert-base-multilingual-cased、bitsandbytes NF4、LoRA：r=16"
    assert in_lines(name, 34) == "bert-base-multilingual-cased、\nbitsandbytes NF4、LoRA：r=16"
    assert in_lines("少一半的层，更小的词表", 12) == "少一半的层，\n更小的词表"
    assert in_lines("2 more layers, 4 more heads", 14) == "2 more layers,\n4 more heads"
    assert in_lines("bidirectional", 5) == "bidir\nectio\nnal"
