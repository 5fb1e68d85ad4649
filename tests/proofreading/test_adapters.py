"""What peft prints of models with LoRA."""

import pytest

from bertcalc.proofreading.proofread import proofread

# The models, and what peft 0.21 printed of them: rank 8 on query and value.
PRINTED = {
    "bert-base-uncased": "trainable params: 294,912 || all params: 109,777,152 || trainable%: 0.2686",
    "bert-base-uncased with a classifier": "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700",
    "roberta-base": "trainable params: 887,042 || all params: 125,534,212 || trainable%: 0.7066",
    "distilbert-base-uncased": "trainable params: 739,586 || all params: 67,694,596 || trainable%: 1.0925",
}


@pytest.mark.parametrize("model", PRINTED)
def test_what_peft_prints_is_right(model: str) -> None:
    report = proofread(f"# LoRA on {model}\n\n```\n{PRINTED[model]}\n```\n")
    assert [claim.verdict for claim in report.claims] == ["right"] * 3, str(report)


def test_a_share_that_does_not_fit_its_counts_is_wrong() -> None:
    printed = PRINTED["bert-base-uncased"].replace("0.2686", "0.3686")
    claim = proofread(f"LoRA on BERT-base\n\n{printed}").claims[-1]
    assert claim.verdict == "wrong"
    assert "294,912 of 109,777,152 parameters are 0.2686 %." in claim.reason


def test_only_texts_about_adapters_count_them() -> None:
    assert [claim.verdict for claim in proofread("BERT-base: there are 294,912 of them").claims] == ["unknown"]
