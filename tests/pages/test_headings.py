"""Headings: every page has one, with a line about the page's purpose, in the language of the session."""

from itertools import product
from typing import Any

import pytest

from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model_ref import item_of
from pages.ui.shell.headings import state_of
from pages.ui.shell.i18n import LANGUAGES, catalogue
from pages.ui.shell.navigation import PAGES
from pages.ui.shell.sidebar import Choice
from tests.examples import sampled
from tests.pages.apptest import ROOT, open_app


def choice(architecture: str = "BertModel", preset: str = "bert-base-uncased", **fields: Any) -> Choice:
    config = type(PRESETS[preset].config)(**{**vars(PRESETS[preset].config), **fields})
    return Choice(Model(config, architecture), preset)


def test_every_page_is_listed() -> None:
    files = {file.name for file in (ROOT / "pages").glob("*.py")} - {"main.py"}
    assert files == {f"{path or 'parameters'}.py" for path in PAGES}
    assert all(page.line for path, page in PAGES.items() if path)  # the first page has a live sentence instead
    assert len({page.heading for page in PAGES.values()}) == len({page.line for page in PAGES.values()}) == len(PAGES)


@pytest.mark.parametrize(("language", "present"), sampled(product(LANGUAGES, ["0", "1"]), 3))
def test_every_page_has_one_heading_and_its_line_unless_it_is_presented(language: str, present: str) -> None:
    translate = catalogue(language).gettext
    app = open_app(lang=language, present=present)
    for path, page in PAGES.items():
        if path:
            app.switch_page(f"{path}.py").run()
        assert not app.exception
        assert [title.value for title in app.title] == [translate(page.heading)]
        texts = [text.value for text in app.markdown]
        on_paper = "/exercises?level="  # the printed sheet has its own heading
        assert not [text for text in texts if text.startswith("# ") and on_paper not in text]
        assert any(f"bertcalc · {translate(page.title)}<" in one.proto.body for one in app.get("html"))
        assert (translate(page.line) in texts) == (bool(page.line) and present == "0" and path != "lecture")


@pytest.mark.parametrize(
    ("chosen", "state"),
    [
        (choice(), "bert-base-uncased"),
        (choice(num_hidden_layers=18), "bert-base-uncased, L = 18"),
        (choice(vocab_size=21128), "bert-base-uncased, V = 21,128"),
        (choice("BertForMaskedLM", hidden_act="relu"), "bert-base-uncased, BertForMaskedLM, hidden_act = relu"),
        (choice(preset="bert-large-uncased", num_hidden_layers=1), "bert-large-uncased, L = 1"),
        (
            choice("BertForPreTraining", num_hidden_layers=1, num_attention_heads=1, hidden_size=64),
            "bert-base-uncased, BertForPreTraining, L = 1, A = 1, …",
        ),
        (choice(num_hidden_layers=1, num_attention_heads=1, hidden_size=64), "bert-base-uncased, L = 1, A = 1, H = 64"),
    ],
)
def test_a_tab_says_what_is_changed(chosen: Choice, state: str) -> None:
    assert state_of(chosen, item_of(chosen.model, chosen.preset)) == state


def test_a_link_to_a_page_has_no_icon_but_its_own() -> None:
    links = open_app(lang="en").get("page_link")
    assert [(link.proto.label, link.proto.page, link.proto.icon) for link in links] == [
        ("Take the tour →", "lecture", ""),
        ("Make it smaller →", "change", ""),
        ("And yours? →", "bring", ""),
    ]
