"""The interactive page of a model: one file that sends no requests."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from bertcalc import (
    IA3,
    BertConfig,
    BitFit,
    DropLayers,
    FactorizeEmbeddings,
    LNTuning,
    Lora,
    NarrowFeedForward,
    PrefixTuning,
    PromptEncoder,
    PromptTuning,
    PruneHeads,
    ResizeVocabulary,
    build,
)
from bertcalc.charts.colors import COLORS
from bertcalc.export.formula_page import _formula, _legend, interactive_page, view_content
from bertcalc.families import CLASSES
from bertcalc.live.live_formulas import live_reading
from bertcalc.model.change import Change
from bertcalc.model.letters import FIELD_OF
from bertcalc.model.model import Model
from bertcalc.model.totals import breakdown
from bertcalc.text.live_numbers import evaluated, node_of
from bertcalc.text.problem import InputError
from bertcalc.widget import FormulaWidget
from tests.adapters import adapters
from tests.changes.test_resizing import models, possible
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


ADAPTED: dict[str, Any] = {"task_type": "SEQ_CLS"}
CHANGES: list[Any] = [
    *(Lora(), Lora(rank_pattern={"query": 4}), Lora(layers_to_transform=[0]), Lora(target_modules="all-linear")),
    *(IA3(), LNTuning(["LayerNorm"]), PromptTuning(**ADAPTED), PrefixTuning(**ADAPTED), PromptEncoder(**ADAPTED)),
    *(BitFit(), ResizeVocabulary(30_000), ResizeVocabulary(pad_to_multiple_of=64), DropLayers([1])),
    *(PruneHeads(2), PruneHeads({0: [1]}), NarrowFeedForward(1000), FactorizeEmbeddings(64)),
]


MODELS = [
    *((name, ()) for name in CLASSES),
    *(("BertForSequenceClassification", (one,)) for one in CHANGES),
]


@pytest.mark.parametrize(("name", "changes"), MODELS, ids=str)
def test_every_letter_of_the_formula_has_a_slider_or_a_meaning(name: str, changes: tuple[Change, ...]) -> None:
    model = Model(CLASSES[name].config.default(), name, changes=changes)
    content = view_content(model, COLORS["light"])
    explained = [slider["label"].rpartition(" ")[2] for slider in content["sliders"]]
    with_slider = {slider["field"] for slider in content["sliders"]}
    legend = [*_legend(model, _formula(model)[0], with_slider, str)]
    explained += [entry.partition(" ")[0] for entry in legend]
    assert len(explained) == len({*explained})
    assert {*re.findall(r"[A-Z]'?|[rp]", _formula(model)[0])} <= {*explained}
    for entry in legend:
        letter, value, *_meaning = entry.split(" ")
        assert value == f"{model.letter_values()[FIELD_OF[letter]]:,}"


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_page_of_a_changed_model_has_its_number_at_every_stop(change: Change) -> None:
    """The page's total and the sum of its bars equal the model with these sizes in its configuration."""
    model = Model(BertConfig(), "BertForSequenceClassification", changes=(change,))
    content = view_content(model, COLORS["light"])
    fields = {operation[1] for operation in content["operations"] if operation[0] == "field"}
    assert fields <= set(content["sizes"])
    total, *bars = [live_reading(Model.num_parameters, model), *live_reading(breakdown, model)]
    figures = [total, *(bar.parameters for bar in bars)]
    widget = FormulaWidget(model)
    for slider in content["sliders"]:
        moves = [*zip(slider["stops"], slider["followers"], strict=True)]
        for stop, followers in {moves[number][0]: moves[number] for number in range(-1, len(moves), 16)}.values():
            widget.sizes = {**content["sizes"], slider["field"]: stop, **followers}
            sizes = {**model.letter_values(), **widget.sizes}
            whole, *parts = [evaluated(node_of(figure), sizes) for figure in figures]
            assert whole == sum(parts) == widget.model.num_parameters()
            assert widget.model.changes == (change,)


def test_the_title_of_a_page_names_the_changes() -> None:
    page = interactive_page(Model(BertConfig(), changes=(DropLayers([1]), Lora(r=4))), COLORS["light"])
    assert "<title>Parameters in BertModel, DropLayers(layers=[1]), Lora(r=4)</title>" in page


def test_a_page_names_the_model_that_it_starts_from_and_every_size() -> None:
    config = BertConfig(num_hidden_layers=6, num_labels=3)
    page = interactive_page(build(config, "BertForSequenceClassification"), COLORS["light"], start="<b> & c")
    assert "<p>The sliders start from &lt;b&gt; &amp; c: vocab_size 30,522, hidden_size 768, " in page
    assert "num_hidden_layers 6, num_attention_heads 12, intermediate_size 3,072, " in page
    assert "max_position_embeddings 512, type_vocab_size 2, num_labels 3." in page
    assert "The sliders start from BertModel: vocab_size" in interactive_page(build(BertConfig()), COLORS["light"])


@examples(5)
@given(st.data())
def test_every_changed_model_has_a_page_with_its_parts(data: st.DataObject) -> None:
    """For every class and every change that other tests draw, the bars are the breakdown of the changed model."""
    changed = data.draw(models() | models(2))
    assume(possible(changed))
    model = changed.ours()
    if data.draw(st.booleans()):
        try:
            model = model.changed(changes=(*model.changes, data.draw(adapters(model)).ours()))
        except InputError:
            reject()
    content = FormulaWidget(model).content
    assert [bar["before"] for bar in content["bars"]] == [bar.parameters for bar in breakdown(model)]
    assert sum(bar["before"] for bar in content["bars"]) == model.num_parameters()
    fields = {operation[1] for operation in content["operations"] if operation[0] == "field"}
    assert fields <= set(content["sizes"])


def test_the_numbers_of_a_formula_are_those_of_the_change() -> None:
    model = Model(BertConfig(), changes=(Lora(r=4),))
    numbers = _formula(model)[1]
    assert "12 · (4 · 768² + 4 · 768 · 4 + 2 · 768 · 3,072 + " in numbers
