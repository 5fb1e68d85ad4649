"""The title of a tab, and the preview of a link."""

import gzip
import re
from html import unescape
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import streamlit
from playwright.sync_api import expect

from pages.ui.shell.navigation import DESCRIPTION, PAGES, SECTIONS
from tests.browser.conftest import Look
from tests.browser.launch import ROOT
from tests.browser.look import expect_query, open_page, ready, settled, slider, total

STREAMLITS = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def test_a_tab_says_page_and_model_and_is_renamed_once_for_each_change(look: Look) -> None:
    page = look("?num_hidden_layers=18")
    ready(page)
    expect(page).to_have_title("Parameters · bert-base-uncased, L = 18 · bertcalc")
    page.evaluate(
        """() => {
            window.titles = [];
            new MutationObserver(() => window.titles.push(document.title)).observe(document.head, {
                subtree: true, childList: true, characterData: true,
            });
        }"""
    )
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(page).to_have_title("Parameters · bert-base-uncased, L = 19 · bertcalc")
    ready(page)
    assert set(page.evaluate("() => window.titles")) == {page.title()}
    open_page(page, "Explore", "Sweep")
    expect(page).to_have_title("Sweep · bert-base-uncased, L = 19 · bertcalc")
    page.get_by_role("radio", name="中文").click()
    expect(page).to_have_title("扫描 · bert-base-uncased, L = 19 · bertcalc")


_MARKED = """() => [...document.querySelectorAll("[data-testid=stTopNavLink], [data-testid=stTopNavSection]")]
    .filter((one) => one.checkVisibility({ opacityProperty: true }))
    .filter((one) => getComputedStyle(one).backgroundColor !== "rgba(0, 0, 0, 0)")
    .map((one) => `${one.textContent} ${getComputedStyle(one).fontWeight}`)"""


@pytest.mark.parametrize("path", [path for path in PAGES if path != "lecture"])
def test_the_navigation_marks_the_page_or_its_section(look: Look, path: str) -> None:
    page = look(path)
    settled(page)
    [section] = [name for name, entries in SECTIONS.items() if path in entries]
    assert page.evaluate(_MARKED) == [f"{section or PAGES[path].title} 600"]


def test_the_tour_begins_with_the_model_of_the_page(look: Look) -> None:
    page = look("?num_hidden_layers=18&lang=zh")
    ready(page)
    page.get_by_test_id("stPageLink").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=2)).to_have_text("每个词就是一个向量")
    expect_query(page, {"num_hidden_layers": "18", "lang": "zh"})
    page.go_back()
    ready(page)
    expect(total(page)).to_have_text("152,009,472")


def asked(address: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    request = Request(address, method=method, headers={name.replace("_", "-"): text for name, text in headers.items()})
    with urlopen(request) as answer:
        return {name.lower(): text for name, text in answer.headers.items()}, answer.read()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_served_with_its_title_and_description(server: str, path: str) -> None:
    _headers, body = asked(f"{server}/{path}")
    html = body.decode()
    title = f"{PAGES[path].heading} · bertcalc"
    assert [unescape(text) for text in re.findall("<title>(.*?)</title>", html)] == [title]
    tags = {
        name: unescape(text) for name, text in re.findall('<meta (?:name|property)="(.*?)" content="(.*?)" />', html)
    }
    assert tags["description"] == tags["og:description"] == (PAGES[path].line or DESCRIPTION)
    assert (tags["og:title"], tags["og:type"], tags["twitter:card"]) == (title, "website", "summary")
    kept = [line for line in html.splitlines() if line in STREAMLITS.splitlines()]
    assert kept == [line for line in STREAMLITS.splitlines() if "<title>" not in line]


def test_the_description_is_the_readmes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# bertcalc\n\n{PAGES[''].heading} {DESCRIPTION}\n")


def test_the_language_of_a_link_is_that_of_its_page(server: str) -> None:
    for address, language in (("verify?lang=zh", "zh"), ("verify?lang=%22%3E", "en"), ("?num_hidden_layers=6", "en")):
        _headers, body = asked(f"{server}/{address}")
        assert f'<html lang="{language}">' in body.decode()
        assert ("真实模型" in body.decode()) == (language == "zh")


@pytest.mark.parametrize("path", ["", "verify"])
def test_headers_are_those_of_the_body(server: str, path: str) -> None:
    plain_headers, plain = asked(f"{server}/{path}")
    assert plain_headers["content-length"] == f"{len(plain)}"
    assert not {"etag", "last-modified", "content-encoding", "accept-ranges"} & {*plain_headers}
    zipped_headers, zipped = asked(f"{server}/{path}", Accept_Encoding="gzip, br")
    assert zipped_headers["content-encoding"] == "gzip"
    assert zipped_headers["content-length"] == f"{len(zipped)}"
    assert gzip.decompress(zipped) == plain
    for encoding, headers in (("identity", plain_headers), ("gzip, br", zipped_headers)):
        head, nothing = asked(f"{server}/{path}", "HEAD", Accept_Encoding=encoding)
        assert nothing == b""
        assert {**head, "date": ""} == {**headers, "date": ""}
    # Some preview services request only the first bytes, or ask whether Streamlit's own file has changed.
    for condition in ({"Range": "bytes=0-99"}, {"If_Modified_Since": "Fri, 01 Jan 2100 00:00:00 GMT"}):
        assert asked(f"{server}/{path}", **condition)[1] == plain
