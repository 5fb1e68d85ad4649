"""The list of slow tests, which ``make test`` leaves out and ``make test-all`` runs.

``python -m tests.slow junit.xml`` rewrites the list from the report of a whole run: ``make test-all
OPTIONS=--junitxml=junit.xml``. A test is slow if its cases take over 0.9 seconds on average, or over 2.5 seconds
together. These tests take four fifths of the whole run's time. Tests of the whole repository (tests/test_safety.py,
tests/test_rooms.py and others beside them) are never left out.
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

LIST = Path(__file__).with_name("slow.txt")
_MOST_SECONDS, _MOST_TOGETHER = 0.9, 2.5


def slow_in(report: Path) -> list[str]:
    """Return the slow tests of a report as ``path::name``, in alphabetical order."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        path = case.attrib["classname"].replace(".", "/")
        seconds[f"{path}.py::{case.attrib['name'].partition('[')[0]}"].append(float(case.attrib["time"]))
    of_rooms = (name for name in seconds if name.count("/") > 1)
    return sorted(
        name for name in of_rooms if mean(seconds[name]) > _MOST_SECONDS or sum(seconds[name]) > _MOST_TOGETHER
    )


def listed() -> frozenset[str]:
    """The slow tests in the list."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


if __name__ == "__main__":
    LIST.write_text("\n".join([*slow_in(Path(sys.argv[1])), ""]), encoding="utf-8")
