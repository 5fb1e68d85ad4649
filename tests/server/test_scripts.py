"""Scripts as files of the server: one file for all readers, which browsers cache."""

import gzip
import re
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from pages.server import scripts


def test_vega_is_served_compressed_and_kept(running: tuple[str, int]) -> None:
    request = Request(f"{running[0]}/{scripts.VEGA}", headers={"Accept-Encoding": "gzip"})
    for _time in range(2):  # the second answer comes from memory
        with urlopen(request, timeout=60) as answer:
            body = gzip.decompress(answer.read())
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Type"].startswith("text/javascript")
        assert b"window.vega=" in body.replace(b" ", b"")


def test_a_page_names_the_scripts_that_it_needs_later(running: tuple[str, int]) -> None:
    page, until = "", time.monotonic() + 60
    while "modulepreload" not in page and time.monotonic() < until:  # a new server first imports its modules
        time.sleep(0.2)
        with urlopen(running[0], timeout=60) as answer:
            page = answer.read().decode()
    assert 'rel="modulepreload" fetchpriority="low" href="_bertcalc/bertcalc_' in page
    assert scripts.VEGA not in page
    [early] = re.findall(r'<script type="module" src="(_bertcalc/early-[^"]+)">', page)
    with urlopen(f"{running[0]}/{early}", timeout=60) as answer:
        assert f"./{scripts.VEGA.rpartition('/')[2]}" in answer.read().decode()


@pytest.mark.parametrize(
    ("link", "names"),
    [
        ("", ["shell-style", "shell-window"]),
        ("compute?lang=zh", ["shell-style", "shell-window"]),
        ("compute?present=1", ["shell-style", "shell-present"]),
        ("lecture", ["shell-style", "shell-present", "lecture-style"]),
    ],
)
def test_a_page_names_its_style_sheets(running: tuple[str, int], link: str, names: list[str]) -> None:
    with urlopen(f"{running[0]}/{link}", timeout=60) as answer:
        page = answer.read().decode()
    sheets = re.findall(r'<link rel="preload" as="style" href="(_bertcalc/([\w-]+)-\w+\.css)" />', page)
    assert [name for _address, name in sheets] == names
    for address, _name in sheets:
        with urlopen(f"{running[0]}/{address}", timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("text/css")
            assert "immutable" in answer.headers["Cache-Control"]
            assert b'[data-testid="st' in answer.read()


def test_there_is_no_other_script(running: tuple[str, int]) -> None:
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{running[0]}/_bertcalc/none.js", timeout=60)


@pytest.mark.parametrize(("base", "path"), [("", "/_bertcalc/{file}"), ("course/", "/course/_bertcalc/{file}")])
def test_scripts_are_below_the_base_path(monkeypatch: pytest.MonkeyPatch, base: str, path: str) -> None:
    monkeypatch.setattr("streamlit.get_option", {"server.baseUrlPath": base}.get)
    assert scripts.route().path == path
