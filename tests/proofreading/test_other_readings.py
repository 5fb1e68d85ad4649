"""A number with another meaning for which it is right is not marked as wrong."""

import pytest

from bertcalc.proofreading.proofread import proofread


@pytest.mark.parametrize(
    "text",
    [
        "All layers of BERT-base have 7,087,872 parameters.",
        "Two layers of BERT-base have 14,175,744 parameters.",
        "BERT-base: 7.09M per layer × 12 = 85.1M.",
        "GPT-2's fused c_attn has shape [768, 2304] plus 2,304 biases",
        "BERT-large: twenty-four layers of 12,596,224 parameters make 302,309,376.",
        "# BERT-base\n\n## 2. Feed-forward\n\n768×3072+3072 = 2362368, 3072×768+768 = 2360064, together 4722432.",
        "BERT-base: gamma and beta, 768 each → 1,536",
        "BERT-base: 23,837,184 + 12 * 7,087,872 = 85,054,464 + 590,592 = 109,482,240",
        "BERT-base: Q, K, V, O of all 12 layers: 28311552 (not counting bias)",
        "# ALBERT-base\n\nBERT-base has a word table of full width: 30000 × 768 = 23,040,000.",
        "# ALBERT-base\n\nWithout factorization, as in BERT, the word table has 30000 × 768 = 23.04M parameters.",
        "# ALBERT-base\n\n- The 12 layers of BERT-base: 12 × 7,087,872 = 85,054,464",
        "GPT-2, one layer\n\n- c_attn + bias: 768 × 2304 = 1,771,776\n- c_fc + bias: 768 × 3072 = 2,362,368",
    ],
)
def test_other_readings_are_not_wrong(text: str) -> None:
    assert not proofread(text).of("wrong")


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
