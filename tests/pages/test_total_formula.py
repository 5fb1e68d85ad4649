"""The total's formula: the texts and the tooltips of its parts."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from bertcalc import ARCHITECTURES, AlbertConfig, BertConfig, Config
from bertcalc.charts.colors import COLORS
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.model.model import Model
from pages.ui.widgets.total_formula.formula_parts import leaves, total_formula
from tests.oracle import Case
from tests.strategies import cases


def drawn(config: Config, architecture: str = "BertModel", *, add_pooling_layer: bool = True) -> dict[str, Any]:
    return total_formula(Model(config, architecture, add_pooling_layer), COLORS["light"])


def parts(of: Any) -> Iterator[dict[str, Any]]:
    """Yield all parts that are not leaves, from left to right."""
    if isinstance(of, dict):
        yield of
    for inside in of["parts"] if isinstance(of, dict) else of:
        if isinstance(inside, dict):
            yield from parts(inside)


def text(of: Any) -> str:
    """The text of a part as the reader sees it."""
    if isinstance(of, list):
        return str(of[1])
    return "".join(map(text, of["parts"]))


def test_bert_base_as_one_reads_it() -> None:
    data = drawn(BertConfig())
    letters, numbers, chips = data["lines"]
    assert text(letters) == "N=H(V+P+T)+2H+L(4H2+2HI+9H+I)+H2+H"
    assert text(numbers) == "=23,837,184+12·7,087,872+590,592=109,482,240"
    assert data["label"] == "N = H (V + P + T) + 2H + L (4H² + 2HI + 9H + I) + H² + H = 109,482,240"
    assert [chip["label"] for chip in chips["parts"]] == [
        "H 768 hidden size",
        "V 30,522 word pieces",
        "P 512 positions",
        "T 2 token types",
        "L 12 layers",
        "I 3,072 feed-forward",
        "γ, β 768 each, LayerNorm",
    ]


def test_norms_of_two_widths_say_both() -> None:
    chips = drawn(AlbertConfig(), "AlbertModel")["lines"][2]
    assert chips["parts"][-1]["label"] == "γ, β 128 / 4,096 each, LayerNorm"


def test_two_that_are_not_alike_do_not_look_alike() -> None:
    data = drawn(BertConfig(), "BertForPreTraining")
    braces = [(text(part), part["brace"]) for part in parts(data["lines"]) if part.get("brace")]
    assert braces == [("2H", "γ, β"), ("2H", "classes"), ("2", "classes")]


def test_a_term_says_what_it_counts() -> None:
    tips = drawn(BertConfig())["tips"]
    nine = next(lines for lines in tips.values() if lines[0].startswith("9H"))
    assert [line.replace("\N{NO-BREAK SPACE}", " ") for line in nine] == [
        "9H = 9 · 768 = 6,912",
        "Biases: query, key, value, attention output, feed-forward output, 5 × [768]",
        "γ and β: LayerNorm of the attention, LayerNorm of the feed-forward network, 4 × [768]",
        "In each layer: 12 · 6,912 = 82,944, 0.1 % of the model",
    ]
    assert tips["encoder"] == [
        "encoder: L (4H² + 2HI + 9H + I) = 85,054,464",
        "192 tensors, 77.7 % of the model",
    ]
    assert tips["H"] == [
        "hidden_size H = 768",
        "Size of the vector for each token, from the embeddings to the last layer.",
    ]
    assert tips["γ, β"][-1] == "LayerNorms in the model: 25"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_tensor_has_a_name_and_every_part_a_tip(architecture: str) -> None:
    for config in (
        BertConfig(),
        BertConfig(
            position_embedding_type="relative_key", is_decoder=True, add_cross_attention=True, hidden_act="prelu"
        ),
        BertConfig(hidden_act="xielu", tie_word_embeddings=False),
    ):
        data = drawn(config, architecture)
        keys = [part["key"] for part in parts(data["lines"]) if "key" in part]
        assert set(keys) == set(data["tips"])
        labels = [part["label"] for part in parts(data["lines"][0]) if "label" in part]
        assert all(labels)
        letters = set(re.findall("[A-Z]", data["label"])) - {"N"}
        assert letters <= {chip["key"] for chip in data["lines"][2]["parts"]}


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_numbers_add_up_to_the_total(case: Case) -> None:
    data = drawn(case.config, case.architecture, add_pooling_layer=case.add_pooling_layer)
    _nothing, terms, total = text(data["lines"][1]).replace(",", "").replace("·", "*").split("=")
    assert eval(terms) == int(total) == case.ours().num_parameters()


def test_a_part_stays_the_same_part_when_there_is_more_of_it() -> None:
    one, two = (drawn(BertConfig(is_decoder=cross, add_cross_attention=cross)) for cross in (False, True))
    labels = [{part["label"]: part["key"] for part in parts(data["lines"]) if "label" in part} for data in (one, two)]
    assert labels[0]["4H²"] == labels[1]["8H²"]


def test_leaves() -> None:
    assert leaves("4H²") == [["digit", "4"], ["letter", "H"], ["power", "2"]]
    assert "".join(leaf[1] for leaf in leaves("H(2P − 1)/A")) == "H(2P−1)/A"  # type: ignore[index]
