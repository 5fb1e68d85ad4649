"""The report is complete, has the same content in both formats, and sends no requests."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product

import pytest

from bertcalc import ARCHITECTURES, BertConfig, Config
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.export.formula_tables import component_table, flops_formula
from bertcalc.export.report import Report, ReportFormulas, Verification, html, markdown, report
from bertcalc.export.table import Table
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from tests.examples import sampled

LINK = "http://somewhere.test/?number=<script>&lang=en"
CROSS = BertConfig(num_hidden_layers=3, is_decoder=True, add_cross_attention=True, tie_word_embeddings=False)
CONFIGS = [BertConfig(), CROSS, replace(CROSS, position_embedding_type="relative_key_query")]


def report_of(config: Config, architecture: str) -> Report:
    model = Model(config, architecture)
    checks = Table("", ("Compared item", "ours", "theirs"), (("Tensors", "199", "199"),))
    return report(
        Case(model, Batch(2, 64)),
        ReportFormulas(component_table(model, str), flops_formula(model, 2, 64)),
        Verification("The real model agrees & all is well.", checks),
        name="<b>my</b> model",
        url=LINK,
        language="en",
        _=str,
    )


class Page(HTMLParser):
    """The tags, attributes and text of a page. All tags must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(("architecture", "config"), sampled(product(ARCHITECTURES, CONFIGS), 4))
def test_every_model_has_a_report_with_all_figures_in_both_formats(architecture: str, config: Config) -> None:
    told = report_of(config, architecture)
    page = Page(html(told))
    case = Case(Model(config, architecture), Batch(2, 64))
    quantities = [quantity for name, quantity in QUANTITIES.items() if name not in ("embeddings", "pooler", "head")]
    figures = [figure for quantity in quantities if (figure := quantity.known(case)) is not None]
    assert len(figures) == len(quantities)
    for figure in figures:
        assert f"{figure:,}" in page.text
        assert f"{figure:,}" in markdown(told)
    assert f"assert parameters == {case.model.num_parameters():_}" in page.text
    assert page.tags.count("table") == len(re.findall(r"^\| -", markdown(told), re.MULTILINE)) == 4


def test_what_belongs_to_the_cost_stands_before_the_proof_in_both_formats() -> None:
    told = report_of(BertConfig(), "BertModel")
    for text in (markdown(told), Page(html(told)).text):
        places = [
            text.index(word)
            for word in (
                "Parameters",
                "The forward pass, step by step",
                "Cost",
                "FLOPs of a forward pass",
                "Verification",
            )
        ]
        assert places == sorted(places)
        assert text.rindex("FLOPs of a forward pass") < text.index("Verification") < text.index("This program builds")


def test_the_page_asks_nothing_of_anybody_and_reads_no_text_as_html() -> None:
    page = Page(html(report_of(BertConfig(), "BertModel")))
    assert page.links == [LINK]  # the link itself, which only a reader follows
    assert not {"script", "img", "link", "iframe", "b"} & set(page.tags)
    assert "<b>my</b> model" in page.text
    assert "default-src 'none'" in html(report_of(BertConfig(), "BertModel"))
    assert "@import" not in html(report_of(BertConfig(), "BertModel"))


def test_without_a_comparison_the_report_says_what_it_was_told() -> None:
    told = report_of(BertConfig(), "BertModel")
    assert "The real model agrees & all is well." in markdown(told)
    assert "| Tensors | 199 | 199 |" in markdown(told)
