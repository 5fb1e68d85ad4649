"""Whole write-ups in the style of blog posts and slides, with numbers from transformers.

In ``write_ups.md``, each claim is in «» after a letter: r, right; w, wrong, followed by the right value; c, right under
a condition; u, about a model that bertcalc does not count.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from bertcalc.proofreading.claims import CheckedClaim
from bertcalc.proofreading.proofread import proofread

_CLAIM = re.compile(r"«(?P<kind>[rwcu]) ?(?P<right>[0-9/]*)\|(?P<text>[^»]*)»")
_TEXTS = Path(__file__).with_name("write_ups.md").read_text(encoding="utf-8").split("%%%\n")


class Expected(NamedTuple):
    """A claim of a write-up: its place, its kind, and its right value if it is wrong."""

    start: int
    end: int
    kind: str
    right: str


def read(text: str) -> tuple[str, list[Expected]]:
    """Return a write-up without its marks, and its claims."""
    pieces, claims, last = [""], [], 0
    for match in _CLAIM.finditer(text):
        pieces.append(text[last : match.start()])
        start = sum(map(len, pieces))
        pieces.append(match["text"])
        claims.append(Expected(start, start + len(match["text"]), match["kind"], match["right"]))
        last = match.end()
    return "".join((*pieces, text[last:])), claims


def title(text: str) -> str:
    return next(line.strip("# ") for line in text.splitlines() if line)[:40]


@pytest.mark.parametrize("marked", _TEXTS, ids=title)
def test_exactly_the_wrong_claims_of_a_write_up_are_wrong(marked: str) -> None:
    text, expected = read(marked)
    report = proofread(text)

    def at(place: Expected) -> CheckedClaim | None:
        over = [claim for claim in report.claims if claim.start < place.end and claim.end > place.start]
        return over[-1] if over else None

    wrong = [place for place in expected if place.kind == "w"]
    judged = [(claim.verdict, str(claim.right_value)) if (claim := at(place)) else None for place in wrong]
    assert judged == [("wrong", place.right) for place in wrong], str(report)
    assert len(report.of("wrong")) == len(wrong), str(report)


def test_most_right_claims_are_recognized() -> None:
    verdicts = []
    for marked in _TEXTS:
        text, expected = read(marked)
        claims = proofread(text).claims
        for place in expected:
            if place.kind == "r":
                verdicts += [claim.verdict for claim in claims if claim.start < place.end and claim.end > place.start][
                    -1:
                ]
    recognized = [verdict for verdict in verdicts if verdict in ("right", "conditional")]
    assert len(recognized) > 0.9 * len(verdicts)
