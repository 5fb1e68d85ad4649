"""The words around a number in a text."""

import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from bertcalc.proofreading.mentions.calculations import find
from bertcalc.proofreading.mentions.contexts import Context, Surroundings, in_unit_of_header
from bertcalc.proofreading.proofread import proofread


def context(text: str) -> Context:
    return Surroundings(text).of(find(text, {})[-1])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The pooler has 590,592 parameters", "The pooler has"),
        ("Big. The feed forward, 12 layers: 56,669,184", "12 layers"),
        ("| Pooler | 768 x 768 | 590,592 |", "Pooler"),
        ("Pooler:\n590,592", "Pooler"),
        ("there are 590,592 in the pooler", "there are"),
        ("## Pooler\n\n590,592", "Pooler"),
        ("12层的Q、K、V：590,592", "12层的 QKV"),
        ("Query, key and value have 590,592", "query-key-value have"),
        ("the position-wise FFN: 590,592", "the FFN"),
        ("attention: 4·H² + 4·H gives 590,592", "attention: gives"),
        ("How large is the pooler? 590,592", "How large is the pooler"),
        ("Pooler, after 12 layers\n590,592", "Pooler, after 12 layers"),
        ("How large is it? H*H + H = 590,592", "How large is it"),
        ("124,439,808 for GPT-2 and 590,592 for it", "for it"),
        ("(iv) The pooler: 590,592", "The pooler"),
        ("One layer including two LayerNorms: 590,592", "One layer"),
    ],
)
def test_the_nearest_words_come_first(text: str, name: str) -> None:
    assert context(text).names[0] == name


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("PART 02: Multi-head attention\n590,592", ("PART 02: Multi-head attention",)),
        ("第 2 部分（注意力）\n590,592", ("第 2 部分（注意力）",)),
        ("# BERT\nself-attention sublayer\n\nwords\n590,592", ("self-attention sublayer", "BERT")),
        ("Pooler\nSummary\n590,592", ("Summary",)),
        ("Pooler\nFeedForward: 4,722,432", ()),
        ("Self-attention is all you need\n590,592", ()),
        ("the pooler has weights.\n590,592", ()),
    ],
)
def test_short_lines_of_a_page_without_markup_are_headings(text: str, headings: tuple[str, ...]) -> None:
    assert context(text).headings == headings


def test_headings_are_kept_innermost_first() -> None:
    assert context("# BERT\n## Attention\n590,592").headings == ("Attention", "BERT")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("(encoder): 12 layers, 7,087,872 each, 85,054,464 in total", "encoder"),
        ("How large is the pooler?\n\nA: 590,592", "How large is the pooler?"),
        ("| model | Encoder |\n|---|---|\n| BERT-base | 85,054,464 |", "Encoder"),
    ],
)
def test_labels_headers_and_questions_name_a_number(text: str, name: str) -> None:
    assert name in context(text).names


def test_words_of_the_number_before_are_not_those_of_the_next() -> None:
    assert not any("each" in name for name in context("7,087,872 each, 85,054,464").names)


def test_a_number_in_a_table_has_the_header_of_its_column() -> None:
    text = "\n| part | BERT | GPT-2 |\n|---|---|---|\n\n| total | 109,482,240 | 124,439,808 |"
    row = Surroundings(text).row(find(text, {})[-1])
    assert row.header == "GPT-2"
    assert row.cells[1:3] == ("total", "109,482,240")


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("attention of all 12 layers: 590,592", "all"),
        ("12层注意力 590,592", "all"),
        ("one encoder layer has 590,592", "one"),
        ("每一层 590,592", "one"),
        ("attention: 590,592", ""),
        ("12个encoder层共 590,592", "all"),
        ("12 layers of 590,592 parameters", "one"),
        ("12 layers, 590,592 parameters each", "one"),
    ],
)
def test_words_say_which_layers_are_meant(text: str, scope: str) -> None:
    assert context(text).scope(12) == scope


with torch.device("meta"):
    PARAMETERS = DistilBertModel(DistilBertConfig()).num_parameters()


@pytest.mark.parametrize(
    ("header", "value", "unit"),
    [
        ("Params (M)", 66_400_000, None),
        ("参数量（万）", 664_000, None),
        ("size (MB)", 66_400_000, "bytes"),
        ("MiB", int(66.4 * 2**20), "bytes"),
        ("GLUE", 66, None),
        ("layers", 66, None),
    ],
)
def test_a_header_gives_the_unit(header: str, value: int, unit: str | None) -> None:
    [entry] = find("| DistilBERT | 66.4 |", {})
    entry = in_unit_of_header(entry, header)
    assert (int(entry.value), entry.stated.unit) == (value, unit)


def test_numbers_with_a_unit_of_their_own_and_calculations_keep_it() -> None:
    [entry] = find("| DistilBERT | 66.4M |", {})
    assert in_unit_of_header(entry, "Params (k)") is entry
    [entry] = find("| DistilBERT | 768 × 3072 |", {})
    assert in_unit_of_header(entry, "Params (M)") is entry


def test_a_wrong_number_of_a_table_in_millions_and_megabytes_is_marked() -> None:
    text = "| Model | Params (M) | fp16 (MB) |\n|---|---|---|\n| distilbert-base-uncased | {} | {} |\n"
    millions, megabytes = f"{PARAMETERS / 1e6:.1f}", f"{2 * PARAMETERS / 1e6:.1f}"
    assert [claim.verdict for claim in proofread(text.format(millions, megabytes)).claims] == ["right", "right"]
    report = proofread(text.format("63.4", "123.7"))
    assert [(claim.text, claim.right_value) for claim in report.of("wrong")] == [
        ("63.4", PARAMETERS),
        ("123.7", 2 * PARAMETERS),
    ]
