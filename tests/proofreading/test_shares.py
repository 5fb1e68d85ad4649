"""Shares of the parameters. The right shares follow from transformers' counts."""

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import count, real


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("31% of BERT-base is a lookup table.", "wrong"),
        ("22% of BERT-base is a lookup table.", None),
        ("In RoBERTa-base, token embeddings are 21.4% of BERT and 27% of RoBERTa.", "wrong"),
        ("In RoBERTa-base, token embeddings are 21.4% of BERT and 31% of RoBERTa.", None),
        ("XLM-R base: 50% of XLM-R base is vocabulary.", "wrong"),
        ("DistilBERT has 55% of the parameters of BERT-base.", "wrong"),
        ("DistilBERT has 61% of the parameters of BERT-base.", "right"),
        ("BERT-base: 78% of the parameters are in the encoder, 22% in the embeddings and 2% in the pooler.", "wrong"),
        ("BERT-base\n\n| part | parameters | share |\n|---|---|---|\n| encoder | 85,054,464 | 87.7% |", "wrong"),
        ("BERT-base\n\n| part | parameters | share |\n|---|---|---|\n| encoder | 85,054,464 | 77.7% |", "right"),
        ("BERT-base consists of 22% embeddings, 78% transformer, and 5% pooler.", "wrong"),
        ("BERT-base consists of 22% embeddings, 78% transformer, and 0.5% pooler.", "right"),
        ("BERT-base: the encoder is 78% of it; attention is 32.7% of all parameters.", "wrong"),
        ("BERT-base: the encoder is 78% of it; attention is 25.9% of all parameters.", "right"),
        ("BERT-base: the feed-forward layers contribute 56,669,184 (42%).", "wrong"),
        ("BERT-base: the feed-forward layers contribute 56,669,184 (51.8%).", "right"),
        ("BERT-base: the MLPs have 56.7M (55.5%) of the parameters.", "wrong"),
        ("# BERT-base\n\n池化层有 590,592 个参数，占 5.4%。", "wrong"),
        ("# BERT-base\n\n池化层有 590,592 个参数，占 0.54%。", "right"),
        ("GPT-2 Small 的 1.24 亿参数里，70% 在 FFN 层（不是 Attention）。", "wrong"),
        ("# BERT-base\n\nWhich share of the parameters are embeddings?\n\n*Solution.* 31 %", "wrong"),
        ("# BERT-base\n\nWhich share of the parameters are embeddings?\n\n*Solution.* 22 %", "right"),
        ("BERT-base\n\n| part | parameters | share |\n|---|---|---|\n| embeddings | 23,837,184 | 21.8% |\n"
         "| FFN (12 layers) | 56,669,184 | 66.6% |", "wrong"),
        ("BERT-base, one layer: attention 2.36M (33.3%), FFN 4.72M (66.6%)", "right"),
        ("| model | layers | params | vs. teacher |\n|---|---|---|---|\n| bert-base-uncased | 12 | 109.5M | 100% |\n"
         "| distilbert-base-uncased | 6 | 66.4M | 51% |", "wrong"),
        ("| model | layers | params | vs. teacher |\n|---|---|---|---|\n| bert-base-uncased | 12 | 109.5M | 100% |\n"
         "| distilbert-base-uncased | 6 | 66.4M | 61% |", "right"),
        ("DistilBERT is 53% smaller than BERT-base.", "wrong"),
        ("DistilBERT is 40% smaller than BERT-base.", None),
        ("DistilBERT 有 66,362,880 个参数，相比 BERT-base 减少了大约 25%。", "wrong"),
        ("DistilBERT 的参数量是 BERT-base 的 55%。", "wrong"),
        ("DistilBERT 的参数量是 BERT-base 的 61%。", "right"),
        ("DistilBERT gets 97% of BERT-base's performance at 40% of the size.", "wrong"),
        ("ALBERT-base 只有 BERT-base 的 10.7%；ALBERT-large 是 BERT-large 的 5.3%。", "right"),
        ("# BERT-base\n\nThe attention takes 40% of the time and the FFN 60% of the FLOPs.", None),
        ("# BERT-base\n\n15% of the tokens are masked. Embeddings get 10% dropout.", None),
        ("BERT-base: roughly 30% of the weights are attention weights.", None),
        ("BERT-base with LoRA: 12 layers have 737,280, which is 0.67% of the model.", None),
    ],
)  # fmt: skip
def test_shares_of_the_model(text: str, verdict: str | None) -> None:
    shares = [claim for claim in proofread(text).claims if claim.text.endswith("%")]
    last = shares[-1].verdict if shares else None
    assert last == verdict or (verdict is None and last != "wrong"), shares
    assert not any(claim.verdict == "wrong" for claim in shares[:-1])


@pytest.mark.parametrize(
    ("text", "number", "verdict"),
    [
        ("BERT-base\n\n| Part | % of total |\n|---|---|\n| Embeddings | 21.8 |\n| Pooler | 5.4 |", "5.4", "wrong"),
        ("BERT-large has 3.06 times as many parameters as BERT-base.", "3.06", "right"),
        ("BERT-large has 2.2 times as many parameters as BERT-base.", "2.2", "wrong"),
        ("BERT-large is 2x the size of BERT-base.", "2", "wrong"),
        ("BERT-large 是 BERT-base 的 3.06 倍。", "3.06", "right"),
        ("BERT-base 每层 708.8 万，BERT-large 每层 1260 万，是前者的 1.5 倍。", "1.5", "wrong"),
        ("BERT-base 每层 708.8 万，BERT-large 每层 1260 万，是前者的 1.78 倍。", "1.78", "right"),
        (
            "| | BERT-base | BERT-large | ratio |\n|---|---|---|---|\n| total | 109,482,240 | 335,141,888 | 2.06 |",
            "2.06",
            "wrong",
        ),
    ],
)  # fmt: skip
def test_ratios_and_shares_without_a_percent_sign(text: str, number: str, verdict: str) -> None:
    assert [claim.verdict for claim in proofread(text).claims if claim.text == number] == [verdict]


def test_a_share_of_a_wrong_number_has_the_right_share_of_the_right_one() -> None:
    claims = proofread(
        "BERT-base: the attention of all 12 layers has 28,384,416 parameters, 25.9% of the model."
    ).claims
    assert [claim.verdict for claim in claims] == ["wrong", "right"]
    claims = proofread("BERT-base: attention has 2,359,296 parameters in each layer (2.2% of the model).").claims
    assert claims[-1].verdict in ("right", "unknown")


@pytest.mark.parametrize("rest", ["others {}%", "{}% rest", "其他 {}%", "everything else {}%"])
def test_the_share_of_the_rest_is_of_no_part(rest: str) -> None:
    model = real()
    layer, whole = model.encoder.layer[0], count(model)
    parts = (count(layer.intermediate, layer.output), count(layer.attention))
    forward, attention = (round(100 * 12 * part / whole) for part in parts)
    embeddings = round(100 * count(model.embeddings) / whole)
    text = "BERT-base: FFN {}%, attention {}%, embeddings {}%, " + rest + "."
    assert not proofread(text.format(forward, attention, embeddings, 1)).of("wrong")
    [claim] = proofread(text.format(forward, attention, embeddings + 20, 1)).of("wrong")
    assert claim.text == f"{embeddings + 20}%"


def test_words_may_name_the_rest() -> None:
    [claim] = proofread("BERT-base: embeddings 22%, the rest, 58%, is the encoder.").of("wrong")
    assert claim.text == "58%"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("GPT-2 small: the word embeddings have 38.6M (7.7% of 124M).", 31.1),
        ("GPT-2 small 的词嵌入有 38.6M，占 124M 的 41%。", 31.1),
        ("DistilBERT 将 BERT 的参数量压缩了 50%。", 39.4),
    ],
)
def test_a_wrong_share_of_the_number_behind(text: str, right: float) -> None:
    [claim] = proofread(text).of("wrong")
    assert round(float(claim.right_value or 0), 1) == right
