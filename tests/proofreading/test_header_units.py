"""Numbers in a column whose header gives their unit."""

import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from bertcalc.proofreading.calculations import find
from bertcalc.proofreading.header_units import in_unit_of_header
from bertcalc.proofreading.proofread import proofread

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
