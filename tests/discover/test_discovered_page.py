"""The interactive page of a discovered class: every combination of slider stops has the count of the formula."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bertcalc.charts.colors import COLORS
from bertcalc.discover.results.discovered_page import discovered_page, discovered_view, independent_fields
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.text.live_numbers import evaluated, node_of
from tests.examples import examples

COMPLETE = [key for key in shipped_classes() if (discovery := shipped(*key)) and not discovery.unexplained]


def page_content(discovery: Discovered) -> dict[str, Any]:
    match = re.search(r'querySelector\("main"\), (.*)\);\n', discovered_page(discovery, {}, COLORS["light"]))
    assert match
    content: dict[str, Any] = json.loads(match[1])
    return content


@examples(60)
@given(st.data())
def test_any_combination_of_stops_has_the_count_of_the_formula(data: st.DataObject) -> None:
    discovery = shipped(*data.draw(st.sampled_from(COMPLETE)))
    assert discovery
    view = discovered_view(discovery, {}, COLORS["light"])
    sizes = dict(view.sizes)
    for slider in view.sliders:
        place = data.draw(st.integers(0, len(slider["stops"]) - 1))
        sizes |= {slider["field"]: slider["stops"][place], **slider["followers"][place]}
    changed = {field: size for field, size in sizes.items() if size != discovery.fields[field]}
    total, *parts = [
        evaluated(node_of(figure), sizes) for figure in (view.total, *(bar.parameters for bar in view.bars))
    ]
    assert total == sum(parts) == discovery.count(**discovery.whole(**changed))


def test_no_condition_joins_two_sliders() -> None:
    """GPT-2's hidden size is a multiple of its heads, which do not change the count."""
    gpt2 = shipped("gpt2", "GPT2LMHeadModel")
    assert gpt2
    assert independent_fields(gpt2) == ["vocab_size", "n_positions", "n_embd", "n_layer"]
    assert {
        operation[1] for operation in page_content(gpt2)["operations"] if operation[0] == "field"
    } <= gpt2.fields.keys()
