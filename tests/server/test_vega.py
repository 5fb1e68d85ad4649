"""Vega as a file of the server: one file for all readers, which browsers keep."""

import gzip
from urllib.request import Request, urlopen

import pytest

from pages.server import vega


def test_the_script_is_served_compressed_and_kept(running: tuple[str, int]) -> None:
    request = Request(f"{running[0]}/{vega.ADDRESS}", headers={"Accept-Encoding": "gzip"})
    for _time in range(2):  # the second answer is from memory
        with urlopen(request, timeout=60) as answer:
            body = gzip.decompress(answer.read())
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Type"].startswith("text/javascript")
        assert b"window.vegaEmbed" in body


@pytest.mark.parametrize(("base", "path"), [("", f"/{vega.ADDRESS}"), ("course/", f"/course/{vega.ADDRESS}")])
def test_the_script_is_below_the_base_path(monkeypatch: pytest.MonkeyPatch, base: str, path: str) -> None:
    monkeypatch.setattr("streamlit.get_option", {"server.baseUrlPath": base}.get)
    assert vega.route().path == path
