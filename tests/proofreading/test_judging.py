"""Numbers that people published: whether each is right, and the right value."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from bertcalc.proofreading.proofread import proofread

# From public write-ups in English and Chinese; the right values were counted with transformers.
CLAIMS = list(csv.DictReader(Path(__file__).with_name("claims.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("line", CLAIMS, ids=lambda line: line["text"][:40])
def test_published_claims(line: dict[str, str]) -> None:
    claim = proofread(f"# The parameters of BERT-base\n\n{line['text']}\n").claims[-1]
    assert claim.verdict == line["verdict"], claim
    if claim.verdict == "wrong":
        assert claim.right_value == int(line["right_value"])


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        ("437.9 MB of weights", "right", "the bytes of BertModel with pooler in float32"),
        ("417.6 MB of weights", "right", "the bytes of BertModel with pooler in float32, in binary units"),
        ("22.35 GFLOPs", "conditional", "It is right for a batch of 1 x 128 tokens."),
        ("Embeddings: 21.8%", "right", "the share of this component: embeddings"),
        ("75641856 / 1024 / 1024 = 72.1 MB", "unknown", ""),
        ("37 + 0 = 37 Dropout modules", "right", "37 modules: Dropout"),
        ("BertForMaskedLM has 109,514,298", "right", "It is the count of BertForMaskedLM, decoder tied."),
        ("attention of all 12 layers: 2,362,368", "wrong", "one layer instead of 12: × 12"),
        ("the pooler has 590,952", "wrong", "a digit is mistyped"),
        ("109 MB in float32", "wrong", "in float32 it is 437.9 MB"),
        ("the embeddings take 90.92 MiB", "wrong", "90.93 MiB is right for embeddings"),
        ("Adam's two moments take 875.9 MB", "conditional", "It is right with 8 bytes for a parameter."),
        ("so the layers have about 12*12*768^2 = 84,934,656", "conditional", "no LayerNorm is counted"),
        ("not counting the position embeddings, the total is 109,089,024", "conditional", "position embeddings"),
        ("We count 589,824 parameters in the pooler", "wrong", "the bias of the pooler is left out"),
        ("前馈网络：一层为768*3072+3072*768=4718592", "wrong", "4,722,432 is right for feed-forward of one layer"),
        ("all LayerNorms: 36,864", "wrong", "38,400 is right for all LayerNorms"),
        ("12*d^2*L + 2*V*d = 124M", "wrong", "The calculation gives 131,816,448, not 124M."),
        (
            "the formula 12*768*768*12 = 84,934,656 ... the formula gives 103M",
            "wrong",
            "The calculation gives 84,934,656",
        ),
        ("one layer, without biases: 7.08M", "right", "one layer without biases"),
    ],
)
def test_units_modules_and_conditions(text: str, verdict: str, reason: str) -> None:
    claim = proofread(f"BERT-base\n\n{text}").claims[-1]
    assert claim.verdict == verdict, claim
    assert reason in claim.reason


@pytest.mark.parametrize(
    "text",
    [
        "Published in 2018, page 1234, with a learning rate of 2e-5 and a batch of 256.",
        "hidden size 768, intermediate size 3072, 512 positions",
        "v4.39.0 of transformers, arXiv:1810.04805",
        "trained for 1,000,000 steps on 3,300M words, 392,702 examples of MNLI",
        "token ids [101, 2312, 4324, 743, 664] of shape [1, 512, 1024]",
        "the total of our Keras model is 131,164,464",
        "ChatGLM-6B has 6.2B parameters; its attention 4 * 4096 * 4096 = 67,108,864",
    ],
)
def test_numbers_that_are_no_counts_are_never_wrong(text: str) -> None:
    assert not proofread(f"BERT-base\n\n{text}").of("wrong")


def test_models_that_are_not_counted_are_checked_for_arithmetic_only() -> None:
    report = proofread("ChatGLM: attention 32*4*4096^2 = 2,147,483,648, feed forward 2*3 = 7.")
    assert [claim.verdict for claim in report.claims] == ["unknown", "wrong"]
    assert report.claims[-1].right_value == Fraction(6)
