"""Shares of the parameters; the right ones are those of transformers' counts."""

import pytest

from bertcalc.proofreading.proofread import proofread


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
        ("BERT-base with LoRA: 12 layers have 737,280, which is 0.67% of the model.", None),
    ],
)
def test_shares_of_the_model(text: str, verdict: str | None) -> None:
    shares = [claim for claim in proofread(text).claims if claim.text.endswith("%")]
    last = shares[-1].verdict if shares else None
    assert last == verdict or (verdict is None and last != "wrong"), shares
    assert not any(claim.verdict == "wrong" for claim in shares[:-1])
