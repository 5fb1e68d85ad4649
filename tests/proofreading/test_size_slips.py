"""Wrong sizes of a published model."""

import pytest
from transformers import BertConfig, GPT2Config

from bertcalc.proofreading.find_subject import read
from bertcalc.proofreading.proofread import proofread

_BERT, _GPT2 = BertConfig(), GPT2Config()


@pytest.mark.parametrize(
    ("text", "written", "right"),
    [
        ("BERT-base has d_model = 786 and 12 heads.", "786", _BERT.hidden_size),
        ("BERT 的隐藏层维度为 786，共 12 层。", "786", _BERT.hidden_size),
        ("BERT-base: inner size 3702", "3702", _BERT.intermediate_size),
        ("The inner size3702 of BERT-base", "3702", _BERT.intermediate_size),
        ("GPT-2 uses a vocabulary of 50,427 tokens.", "50,427", _GPT2.vocab_size),
        ("# Llama 2 70B\n\n- Hidden Dimension: 8196\n- Layers: 80", "8196", 8192),
        ("GPT-2 Large (16 layers) has 774M", "16", 36),
        ("BERT-base 有 24 层", "24", _BERT.num_hidden_layers),
        ("BERT-base has 16 layers and 12 heads.", "16", _BERT.num_hidden_layers),
        ("BERT-base has 12 layers, 16 heads and a hidden size of 768.", "16", _BERT.num_attention_heads),
        ("BERT-base uses 12 layers with 8 attention heads.", "8", _BERT.num_attention_heads),
        ("BERT-base has 110M parameters, 24 layers and 12 heads.", "24", _BERT.num_hidden_layers),
        ("| ALBERT-xxlarge | 24 layers | 223M |", "24", 12),
        ("- GPT-2 XL: 12 层\n- 1.5B", "", 0),  # a model with a quarter of the layers may be a smaller one
        ("In BERT-base, the feed-forward network of a layer has 768 hidden units.", "768", _BERT.intermediate_size),
        ("GPT-2's word embeddings: 50427 × 768 = 38,727,936", "50427 × 768 = 38,727,936", 38_597_376),
        ("BERT-base, feed forward: 768*3072+3027*768", "768*3072+3027*768", 2 * 768 * 3072),
        ("GPT-2's head: 768 * 50427 = 38597376", "768 * 50427 = 38597376", 38_597_376),
    ],
)
def test_a_size_that_is_not_the_models_is_wrong(text: str, written: str, right: int) -> None:
    wrong = [(claim.text, int(claim.right_value or 0)) for claim in proofread(text).claims if claim.verdict == "wrong"]
    assert wrong == ([(written, right)] if written else [])


def test_everything_else_is_judged_by_the_right_size() -> None:
    text = "BERT-base: d_model = 786, L = 12. One layer has 7,087,872 parameters."
    assert [claim.verdict for claim in proofread(text).claims] == ["wrong", "right"]
    assert read("# BERT\n\nBERT has 12 layers, hidden size 786 and 12 heads.").sizes.get("hidden_size") is None


def test_the_columns_of_a_table_state_sizes() -> None:
    rows = ("ALBERT-xxlarge | 223M | 24 | 4096", "BERT-base | 110M | 12 | 786", "BERT-base | 67M | 6 | 768")
    text = "| Model | Params | Layers | H |\n|---|---|---|---|\n" + "\n".join(f"| {row} |" for row in rows)
    claims = [(claim.text, claim.verdict, claim.right_value) for claim in proofread(text).claims]
    assert claims == [
        ("223M", "right", None),
        ("24", "wrong", 12),
        ("110M", "right", None),
        ("786", "wrong", 768),
        ("67M", "right", None),
    ]


@pytest.mark.parametrize(("tokens", "wrong"), [("33,522", []), ("30,322", [_BERT.vocab_size])])
def test_a_size_a_tenth_larger_is_no_slip(tokens: str, wrong: list[int]) -> None:
    claims = proofread(f"BERT-base uses a vocabulary of {tokens} tokens.").claims
    assert [claim.right_value for claim in claims if claim.verdict == "wrong"] == wrong
