"""The program of live numbers that a page sends to the browser."""

import json
import re
from collections.abc import Callable
from fractions import Fraction
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig
from bertcalc.explore.factor_formulas import FigureGrowth, SizeGrowth, TermGrowth
from bertcalc.text.digits import size
from bertcalc.text.live_numbers import LiveNode, LiveText, OutsideError, between, evaluated, live
from pages.ui.parameters.answer import SentencePart
from pages.ui.shell.live import marked
from tests.oracle import Case
from tests.pages.apptest import component, move, open_app
from tests.pages.test_take import PAGES

TEXTS = st.text("<>&;'\"/ab *", max_size=20)


@given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=1))
def test_a_live_text_has_no_html_but_the_marks_of_its_live_parts(parts: list[tuple[str, bool]]) -> None:
    texts = [live(text, LiveNode("text", (text,))) if moves else text for text, moves in parts]
    whole = between("", texts)
    if not isinstance(whole, LiveText):
        return
    html = marked(whole)
    assert set(re.findall("<[^>]*>", html)) <= {"<span class='live'>", "</span>"}
    shown = re.sub("<[^>]*>", "", html).replace("&#8203;", "")
    assert unescape(shown) == "".join(text for text, _moves in parts)


def test_the_program_of_a_page_expects_the_texts_that_the_page_shows() -> None:
    app = open_app()
    move(app, num_hidden_layers=13)
    data = component(app, "bertcalc_page_end")["live"]
    texts = {text for _at, text in data["expected"]}
    assert {str(app.metric[0].value), str(app.metric[0].delta)} <= texts
    assert data["sizes"]["num_hidden_layers"] == 13
    assert len(data["operations"]) < 1_000


def _growth(before: int, after: int, terms: Any, sizes: Any) -> FigureGrowth:
    return FigureGrowth(
        before, after, tuple(TermGrowth(*term) for term in terms), tuple(SizeGrowth(*one) for one in sizes)
    )


# Converters to the tuples that functions take: JSON has lists.
KINDS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "growth_words": lambda growth, *words: (_growth(*growth), *words),
    "difference_sentence": lambda parts, messages: (tuple(SentencePart(*part) for part in parts), messages),
}


def computed(operations: list[list[Any]], sizes: dict[str, int]) -> list[Any]:
    """Compute the results of a program as a browser does, with Python's own functions."""
    results: list[Any] = []

    def value(argument: Any) -> Any:
        if not isinstance(argument, list):
            return argument
        kind, *rest = argument
        if isinstance(kind, int):
            return results[kind]
        match kind, rest:
            case "i", [digits]:
                return int(digits)
            case "q", [top, below]:
                return Fraction(int(top), int(below))
            case "f", [number]:
                return number
        return tuple(map(value, rest))

    for operation, *arguments in operations:
        kinds: Callable[..., tuple[Any, ...]] = KINDS.get(operation, lambda *values: values)
        node = LiveNode(operation, kinds(*map(value, arguments)))
        try:
            results.append(evaluated(node, sizes))
        except OutsideError:
            results.append(None)
    return results


TEXT = json.dumps({"model_type": "bert", "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096})
LINKS = [
    *PAGES,
    ("bring.py", {"text": TEXT}),
    ("bring.py", {"text": json.dumps({"model_type": "llama", "num_hidden_layers": 2})}),
    ("", {"preset": "EuroBERT-210m", "open": "encoder.layer.*"}),
    ("compute.py", {"preset": "ModernBERT-base", "num_hidden_layers": "7"}),
    ("memory.py", {"memory": "training", "preset": "albert-base-v2"}),
    ("structure.py", {"preset": "gpt2", "architecture": "GPT2LMHeadModel", "lang": "zh"}),
    ("compare.py", {"compare": "table", "preset": "electra-small-discriminator"}),
]


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_what_the_server_writes_is_what_its_program_computes(page: str, link: dict[str, str]) -> None:
    data = component(open_app(page, **link), "bertcalc_page_end")["live"]
    results = computed(data["operations"], data["sizes"])
    assert [results[at] for at, _text in data["expected"]] == [text for _at, text in data["expected"]]


LARGE = BertConfig(hidden_size=1536, num_attention_heads=24)


@pytest.mark.parametrize(
    ("page", "link", "sizes", "text"),
    [
        ("tools.py", {}, LARGE.shared(), f"{sum(tensor.numel() for tensor in Case(LARGE).real().parameters()):,}"),
        ("outputs.py", {}, LARGE.shared(), size(4 * (128 + 1) * 1536)),
        ("any_model.py", {"model_type": "mixtral"}, {"hidden_size": 5120}, "4,197,659,443,200"),
    ],
)
def test_a_headline_moves_with_the_sliders(page: str, link: dict[str, str], sizes: dict[str, int], text: str) -> None:
    data = component(open_app(page, **link), "bertcalc_page_end")["live"]
    results = computed(data["operations"], {**data["sizes"], **sizes})
    assert text in [results[at] for at, _text in data["expected"]]
