"""The interactive page of a model: one file that asks nobody for anything."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given

from bertcalc import BertConfig, build
from bertcalc.charts.colors import COLORS
from bertcalc.export.formula_page import interactive_page
from bertcalc.families import CLASSES
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import cases


def page_of(case: Case) -> str:
    return interactive_page(case.ours(), COLORS["light"])


class _Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}" for name, _value in attrs if name in ("src", "href", "srcset", "action")]


@examples(20)
@given(cases())
def test_the_page_of_any_model_asks_no_host_for_anything(case: Case) -> None:
    text = page_of(case)
    addresses = _Addresses()
    addresses.feed(text)
    assert addresses.found == []
    assert "fetch(" not in text
    assert "eval(" not in text
    assert "new Function" not in text
    assert len(text.encode()) < 1_500_000


def test_the_link_back_is_escaped_and_so_is_what_could_end_the_script() -> None:
    text = interactive_page(build(BertConfig()), COLORS["light"], url='https://example.org/?a="><script>')
    assert '"https://example.org/?a=&quot;&gt;&lt;script&gt;"' in text
    assert text.count("</script>") == 1


@pytest.mark.parametrize("name", ["BertModel", "ModernBertModel", "ElectraModel", "AlbertModel", "EuroBertModel"])
def test_every_slider_has_stops_with_the_same_formula(name: str) -> None:
    model = build(CLASSES[name].config.default(), name)
    match = re.search(r'querySelector\("main"\), (.*)\);\n', interactive_page(model, COLORS["light"]))
    assert match
    page = json.loads(match[1])
    assert {slider["field"] for slider in page["sliders"]} <= set(page["sizes"])
    for slider in page["sliders"]:
        assert page["sizes"][slider["field"]] in slider["stops"]
        assert len(slider["followers"]) == len(slider["stops"])
