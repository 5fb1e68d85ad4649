"""A model's notebook tree in a page, light and dark, wide and narrow: figures are aligned in columns."""

import pytest
from playwright.sync_api import Browser

import bertcalc

TREE = bertcalc.load("bert-base-uncased", "BertForPreTraining")._repr_mimebundle_()["text/html"]
EDGES = """kind => [...document.querySelectorAll(kind)].filter(each => each.checkVisibility())
    .map(each => Math.round(each.getBoundingClientRect().right))"""


@pytest.mark.parametrize("width", [1200, 420])
@pytest.mark.parametrize(("ink", "paper"), [("#111", "#fff"), ("#e8e8e8", "#111")])
def test_figures_of_a_tree_are_aligned(browser: Browser, ink: str, paper: str, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.set_content(f'<body style="color: {ink}; background: {paper}; font-family: sans-serif">{TREE}</body>')
        assert len(page.evaluate(EDGES, ".share")) == 3  # only the root is open
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for kind in (".share", ".number:not(.share)"):
            right = page.evaluate(EDGES, kind)
            assert len(right) > 20
            assert max(right) - min(right) <= 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        colors = page.evaluate(
            "[...document.querySelectorAll('.bertcalc *')].map(each => getComputedStyle(each).color)"
        )
        assert len(set(colors)) == 1
