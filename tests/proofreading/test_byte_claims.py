"""Sizes of weights in several precisions and units, for the real number of parameters."""

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import LARGE, ROBERTA, count, real

PARAMETERS = {
    "BERT-base": count(real()),
    "BERT-large": count(real(**LARGE)),
    "RoBERTa-large": count(real("RobertaModel", **LARGE | ROBERTA)),
}


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize(
    "text",
    [
        "{} in FP32 needs {:.0f} MB ({:.0f} MiB), in FP16 {:.0f} MB ({:.0f} MiB).",
        "{} needs {:.0f} MB (about {:.0f} MiB) in FP32 and {:.0f} MB ({:.0f} MiB) in FP16.",
        "{}: FP32 {:.0f} MB（{:.0f} MiB），FP16 {:.0f} MB（约 {:.0f} MiB）。",
    ],
)
def test_a_size_in_brackets_has_the_precision_of_the_size_in_front(name: str, text: str) -> None:
    sizes = [width * PARAMETERS[name] / unit for width in (4, 2) for unit in (1e6, 2**20)]
    assert not proofread(text.format(name, *sizes)).of("wrong")
    for place in (1, 3):
        mistaken = [*sizes]
        mistaken[place] = sizes[4 - place]
        [claim] = proofread(text.format(name, *mistaken)).of("wrong")
        assert claim.text == f"{mistaken[place]:.0f} MiB"
        assert claim.right_value == 1e6 * sizes[place - 1]
