"""Untrusted text in a browser. Streamlit's Markdown parser recognises more syntax than CommonMark."""

import json
from pathlib import Path
from random import Random

from playwright.sync_api import Page, expect

from bertcalc.export.formats import markdown_text
from bertcalc.export.table import Code
from bertcalc.text import code, literal, visible
from tests.browser.conftest import Open
from tests.browser.launch import running_server
from tests.browser.look import settled
from tests.examples import sampled
from tests.export.test_formats import by_column
from tests.mutation import Mutator
from tests.pages.places import checkpoint
from tests.payloads import PAYLOADS

# Elements that Markdown could create from a text. Links, headings and formulas of the app are excluded.
MADE = "a, img, script, iframe, h1, h2, h3, ul, ol, blockquote, table, pre, em, strong, del, .katex, sup"
# Icons, emoji and colours become spans.
SPANS = "[data-testid=stMarkdownContainer] span"
SCRIPT = """
import json, pathlib
import streamlit as st

said = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
with st.container(key="said"):
    for number, text in enumerate(said["texts"]):
        st.markdown(text)
    for number, text in enumerate(said["few"]):
        st.error(text)
        st.caption(text)
        st.button(text, key=f"b{number}")
        st.checkbox(text, key=f"c{number}")
        st.metric(text, 1)
        st.expander(text)
with st.container(key="table"):
    st.table({"x": said["texts"]})
with st.container(key="taken"):
    st.markdown(said["taken"])
st.text("the end")
"""


def test_streamlit_makes_nothing_of_it(page: Page, tmp_path: Path) -> None:
    mutator = Mutator(Random(1), PAYLOADS, (":red[", "]", "$", "`", "www.", "https://x.y", ":material/", "@a.b", "\\"))
    texts = [*PAYLOADS, *(mutator.draw()[:200] or "x" for _number in range(300))]
    shown = ["".join(seen(text).split()) for text in texts]
    taken = markdown_text(by_column("", {"x": [Code(text) for text in texts]}))
    said = {"texts": [f"It is {literal(text)}." for text in texts], "few": list(map(code, PAYLOADS)), "taken": taken}
    (tmp_path / "said.py").write_text(SCRIPT)
    (tmp_path / "said.json").write_text(json.dumps(said))
    with running_server(tmp_path / "log", str(tmp_path / "said.py")) as (url, _process):
        page.goto(url)
        expect(page.get_by_text("the end")).to_be_visible(timeout=60_000)
        settled(page)
        for place in ("said", "table", "taken"):
            made = page.locator(f".st-key-{place} :is({MADE}, {SPANS}):not(:has(td))")
            assert [one.evaluate("node => node.outerHTML") for one in made.all()[:3]] == []
        paragraphs = page.locator(".st-key-said > * > .stMarkdown p").all_text_contents()
        assert ["".join(one.split()) for one in paragraphs[: len(texts)]] == [f"Itis{one}." for one in shown]
        assert page.locator(".st-key-table td").count() == len(texts)
        cells = ["".join(cell.split()) for cell in page.locator(".st-key-taken td").all_text_contents()]
        assert cells == [one.replace("\\|", "\\x7c") for one in shown]
        assert page.locator(".st-key-said button code").count() == len(PAYLOADS)


def seen(text: str) -> str:
    """Return the visible part of a text.

    Streamlit 1.67 replaces one pattern before it parses Markdown, even in code.
    """
    return in_html(text).replace(":material/", ":material_")


def in_html(text: str) -> str:
    """Return the visible part of a text in an HTML table of the app, which Streamlit does not parse as Markdown."""
    return visible(text) if visible(text).strip() else f'"{visible(text)}"'


def test_names_in_a_file_make_nothing_of_the_page(visit: Open, tmp_path: Path) -> None:
    page = visit("bring?bring=file")
    chooser = page.locator("input[type=file]")
    place = page.get_by_test_id("stMain")
    for number, payload in enumerate(sampled(PAYLOADS, 6)):
        at = tmp_path / f"{number}"
        at.mkdir()
        name = "".join(sign for sign in payload if sign not in "/\0\n\r")[:60]
        (at / f"{number} {name}.safetensors").write_bytes(checkpoint(f"{payload} {number}."))
        expect(chooser).to_be_attached()
        chooser.set_input_files(at / f"{number} {name}.safetensors")
        expect(place.get_by_role("alert").first).to_contain_text(f"{number} ")
        expect(place.get_by_role("table").locator("code").last).to_contain_text(in_html(payload)[:20].split(" ")[0])
    settled(page)
    made = page.locator("[data-testid=stMain] [data-testid=stAlert], [data-testid=stMain] table").locator(
        "a, img, h1, h2, h3, .katex, script, em, del, ul, ol"
    )
    assert made.count() == 0
