"""The list of slow tests names existing tests, and the slow tests of a report are recognised."""

from pathlib import Path

import pytest

from tests.slow import LIST, listed, slow_in

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted(listed()))
def test_every_listed_test_exists(name: str) -> None:
    path, _colons, function = name.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), f"write {LIST.name} anew"


def test_a_test_is_slow_by_the_mean_or_the_sum_of_its_cases(tmp_path: Path) -> None:
    case = '<testcase classname="tests.text.test_digits" name="{name}" time="{seconds}" />'
    cases: tuple[tuple[str, float], ...] = (
        ("test_slow[a]", 2.5),
        ("test_slow[b]", 0.5),
        ("test_quick[a]", 1.5),
        ("test_quick[b]", 0.0),
    )
    cases += tuple((f"test_many[{number}]", 0.3) for number in range(14))
    report = tmp_path / "junit.xml"
    report.write_text(f"<suite>{''.join(case.format(name=name, seconds=seconds) for name, seconds in cases)}</suite>")
    whole = case.replace("tests.text.test_digits", "tests.test_rooms").format(name="test_rooms", seconds=9)
    report.write_text(report.read_text().replace("</suite>", f"{whole}</suite>"))
    assert slow_in(report) == [f"tests/text/test_digits.py::{name}" for name in ("test_many", "test_slow")]
