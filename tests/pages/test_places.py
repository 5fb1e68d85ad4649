"""Untrusted text stays text wherever it enters: neither the page nor an export interprets it."""

from pathlib import Path

import pytest

from pages.ui.lecture import screen_files
from tests.examples import sampled
from tests.pages.apptest import open_app
from tests.pages.places import PLACES, check, opened
from tests.payloads import PAYLOADS


@pytest.mark.usefixtures("discovering_here")
@pytest.mark.parametrize("place", PLACES)
def test_text_is_text(place: str) -> None:
    """Each place gets a fifth of the texts, and the next place a different fifth."""
    app = opened(place)
    texts = sampled(PAYLOADS, 5, begin=[*PLACES].index(place))
    found = 0
    for payload in texts:
        app = PLACES[place](app, payload)
        found += check(app) > 0
    assert found > 0.6 * len(texts)  # the page shows most of the texts


def test_a_lecturers_mistakes_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_files, "FOLDER", tmp_path)
    for payload in sampled(PAYLOADS, 3):
        text = "".join(rf"\U{ord(sign):08x}" for sign in payload)
        for said in (
            f'"{text}" = 1',
            f'title = "a"\n[[screen]]\nname = "{text}"',
            f'title = "{{{text}}}"\nscreen = []',
        ):
            (tmp_path / "[evil](x).toml").write_text(said, encoding="utf-8")
            assert check(open_app("lecture.py"))
