"""A number with another meaning for which it is right is not marked as wrong."""

import pytest

from bertcalc.proofreading.proofread import proofread


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("BERT-base has 12 layers. They have 7,087,872 parameters in all 12 layers.", 85_054_464),
        ("In BERT-base, the attention of one layer has 4,722,432 parameters.", 2_362_368),
        ("In GPT-2, c_attn has 1,769,472 parameters per block, biases included.", 1_771_776),
        ("ALBERT-base has word embeddings of 23,040,000 parameters.", 3_840_000),
        ("The layers of ALBERT-base have 85,054,464 parameters.", 7_087_872),
        ("ALBERT-base: the LayerNorm of the embeddings has 128 parameters.", 256),
        ("The encoder of ALBERT-base has 12 × 7,087,872 = 85,054,464. BERT-base has 109,482,240.", 7_087_872),
        (
            "# ALBERT-base\n\nAs all layers share their weights, the layers have 85,054,464 parameters.\n\n"
            "BERT-base has 109,482,240.",
            7_087_872,
        ),
    ],
)
def test_clear_words_stay_wrong(text: str, right: int) -> None:
    assert [claim.right_value for claim in proofread(text).of("wrong")] == [right]
