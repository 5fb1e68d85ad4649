"""Published numbers: whether each is right, and the right value."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import count, real

# The claims below "The parameters of BERT-base" are from public write-ups in English and Chinese. transformers gave the
# right values.
CLAIMS = [*csv.DictReader(Path(__file__).with_name("claims.csv").read_text(encoding="utf-8").splitlines(keepends=True))]


@pytest.mark.parametrize("line", CLAIMS, ids=lambda line: line["text"][:40])
def test_a_claim_has_its_verdict_its_right_value_and_its_reason(line: dict[str, str]) -> None:
    claim = proofread(f"{line['title']}\n\n{line['text']}").claims[-1]
    assert claim.verdict == line["verdict"], claim
    assert line["reason"] in claim.reason
    if claim.verdict == "wrong" and line["right_value"]:
        assert claim.right_value == int(line["right_value"])


def test_models_that_are_not_counted_are_checked_for_arithmetic_only() -> None:
    report = proofread("ChatGLM: attention 32*4*4096^2 = 2,147,483,648, feed forward 2*3 = 7.")
    assert [claim.verdict for claim in report.claims] == ["unknown", "wrong"]
    assert report.claims[-1].right_value == Fraction(6)


def test_a_module_without_biases_is_not_a_model_without_them() -> None:
    report = proofread("GPT-2: lm_head = nn.Linear(768, 50257, bias=False)\n\none layer: 7,077,888")
    assert [claim.right_value for claim in report.of("wrong")] == [7_087_872]
    assert not proofread("GPT-2 with GPTConfig(bias=False)\n\none layer: 7,079,424").of("wrong")


@pytest.mark.parametrize(
    "text",
    [
        "GPT-2 with 256 positions. Position embeddings: 256 × 768 = 0.2M",
        "GPT-2 with block_size = 256. Position embeddings: 256 × 768 = 196,608",
        "GPT-2，上下文长度 256。位置编码：256 × 768 = 196,608",
        "GPT-2，序列长度 256 的位置编码：256 × 768 = 196,608",
        "GPT-2 with a context length of 256: 123,849,984 parameters",
        "# BERT-base, V=30000\n\nword embeddings: 23,040,000",
        "BERT-base. Token (Embedding)  (None, 128, 768)  23040000",
    ],
)
def test_a_count_is_right_under_the_condition_that_the_text_chooses_another_size(text: str) -> None:
    assert proofread(text).claims[-1].verdict == "conditional"


@pytest.mark.parametrize(
    "text",
    [
        "GPT-2. Position embeddings: 256 × 768 = 196,608",
        "BERT-base reads a sequence length of 128 here. Its position embeddings: 98,304",
        "BERT-base, with 512 positions. Its position embeddings: 98,304",
        "# BERT-base\n\nword embeddings: 23,040,000",
    ],
)
def test_another_size_that_the_text_does_not_choose_is_wrong(text: str) -> None:
    assert proofread(text).claims[-1].verdict == "wrong"


@pytest.mark.parametrize("number", ["Its weights need 700 MB in float32.", "It takes 9 GFLOPs for 128 tokens."])
def test_nothing_is_wrong_by_a_model_that_is_only_assumed(number: str) -> None:
    assert [claim.verdict for claim in proofread(f"The network. {number}").claims] == ["unknown"]
    assert [claim.verdict for claim in proofread(f"BERT-base. {number}").claims] == ["wrong"]


@pytest.mark.parametrize(("text", "verdict"), [("12 × 7.1M ≈ 85M", "right"), ("12 × 8M = 96M", "wrong")])
def test_a_rounded_layer_times_their_number_is_right_only_near_the_layer(text: str, verdict: str) -> None:
    [claim] = proofread(f"BERT-base has 12 layers.\n\nEncoder: {text} parameters.").claims
    assert claim.verdict == verdict


def test_a_number_far_from_the_vocabulary_makes_no_variant() -> None:
    """15,321 steps are not a vocabulary size, but 30,622 tokens are."""
    text = "After {}, BERT-base with 112,482,240 parameters is best."
    steps, tokens = (proofread(text.format(words)).claims[-1] for words in ("15,321 steps", "30,622 of them"))
    assert steps.verdict == "wrong"
    assert steps.right_value == 109_482_240
    assert tokens.verdict != "wrong"


@pytest.mark.parametrize("tied", [True, False])
def test_a_total_without_qkv_biases_is_conditional_if_the_text_says_so(tied: bool) -> None:
    model = real("GPT2LMHeadModel", tie_word_embeddings=tied)
    total = count(model) - sum(block.attn.c_attn.bias.numel() for block in model.transformer.h)
    text = f"GPT-2 small, {'tied' if tied else 'not tied'}{{}}.\n\nTotal parameters: {total:,}\n"
    [claim] = proofread(text.format(" and with no biases of query, key and value")).claims
    assert claim.verdict == "conditional"
    assert proofread(text.format("")).claims[0].verdict == "wrong"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The weights take 417.6 MB.", "conditional"),
        ("109,482,240 * 4 / 1024 / 1024 = 417.6 MB of weights.", "right"),
        ("The weights take 417.6 MiB.", "right"),
        ("With 1 MB = 10^6 bytes, the weights take 417.6 MB.", "wrong"),
    ],
)
def test_megabytes_of_1024_are_right_under_a_condition(text: str, verdict: str) -> None:
    claims = proofread(f"BERT-base. {text}").claims
    assert verdict in {claim.verdict for claim in claims if "417.6" in claim.text}


@pytest.mark.parametrize(("part", "right"), [("query", 590_592), ("value", 590_592)])
def test_a_projection_with_its_bias_is_the_one_that_is_named(part: str, right: int) -> None:
    [claim] = proofread(f"BERT-base. The {part} projection with its bias has 589,824 parameters.").claims
    assert claim.verdict == "wrong"
    assert claim.right_value == right
    assert f"{part} of the attention of one layer: its 768 biases" in str(claim.reason)


@pytest.mark.parametrize("written", ["768 × 768 = 590K", "768 × 768 ≈ 0.59M"])
def test_a_rounded_matrix_may_be_its_part_without_the_bias(written: str) -> None:
    """With the bias, 590,592 is as near to 590K as the next multiple of 1,000."""
    [claim] = proofread(f"BERT-base\n\n- Query: {written}").claims
    assert claim.verdict in ("conditional", "right")


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [("2 * H * I", "conditional"), ("H * I + I * H", "conditional"), ("2 x (H x I + I x H)", "wrong")],
)
def test_a_formula_in_letters_needs_no_digit(formula: str, verdict: str) -> None:
    text = f"BERT-base has H = 768 and I = 3072.\n\nFeed-forward network:\n\nParameters: {formula}\n"
    assert verdict in [claim.verdict for claim in proofread(text).claims]


def test_letters_in_brackets_are_no_product() -> None:
    assert not [claim for claim in proofread("BERT-base\n\nA x (HA) x H heads").claims if claim.text == "(HA)"]


def test_a_column_called_decoder_has_the_layers_of_a_decoder() -> None:
    table = "| Model | Params | Embedding | Decoder |\n|---|---|---|---|\n| GPT-2 small | 124M | 38.6M | {} |"
    right, wrong = (proofread(table.format(count)).claims[-1].verdict for count in ("85.1M", "58.1M"))
    assert right == "right"
    assert wrong != "right"


def test_the_last_row_of_all_layers_may_be_the_whole_model() -> None:
    """The wrong total omits the LayerNorm after GPT-2's layers."""
    table = "GPT-2 small\n\n| part | count |\n|---|---|\n| **全部（12 个 block）** | 85,054,464 + 39,383,808 = {} |"
    [claim] = proofread(table.format("124,438,272")).claims
    assert claim.verdict == "wrong"
    assert claim.right_value == 124_439_808


@pytest.mark.parametrize("words", ["参数总计为 124 万", "The total number of parameters is 1.24 million"])
def test_a_total_with_a_wrong_unit_is_wrong_without_the_models_name(words: str) -> None:
    claim = proofread(f"GPT-2 small has 12 layers.\n\nThe sizes follow.\n\n{words}.").claims[-1]
    assert claim.verdict == "wrong"
    assert claim.right_value == 124_439_808


def test_a_vocabulary_may_be_stated_by_the_shape_of_its_table() -> None:
    """nanoGPT pads GPT-2's vocabulary to 50,304 and has no biases."""
    total = count(real("GPT2LMHeadModel", vocab_size=50_304))
    text = "GPT-2 124M\n\n| tensor | shape | count |\n|---|---|---|\n| `wte` | `(50304, 768)` | 38,633,472 |\n"
    claims = proofread(f"{text}\nTotal: {total:,} parameters").claims
    assert "wrong" not in [claim.verdict for claim in claims]
    assert claims[-1].verdict == "right"


def test_llama_without_a_size_is_the_one_whose_sizes_are_stated() -> None:
    sizes = "dim 4096, layer_num 32, vocab_size 32000, hidden_dim 11008"
    text = f"The parameters of a llama model: {sizes}.\n\nAttention of all layers: 32 * 4 * 4096² = 2,147,483,648\n"
    assert [claim.verdict for claim in proofread(text).claims][-1] == "right"


def test_the_row_of_another_model_with_the_same_size_name_is_not_wrong() -> None:
    header = "| Model | Layers | d_model | Parameters |\n|---|---|---|---|\n"
    own, other = "| XL | 48 | 1600 | 1.2B |\n", "| XL | 24 | 2048 | 1.3B |\n"
    text = f"# GPT-2\n\n{header}{own}\n# GPT-3\n\n{header}{other}"
    verdicts = {claim.text: claim.verdict for claim in proofread(text).claims}
    assert verdicts["1.2B"] == "wrong"
    assert verdicts.get("1.3B") != "wrong"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The encoder of BERT-base has 7,087,872 parameters.", "conditional"),
        ("BERT-base 的编码器有 7,087,872 个参数。", "conditional"),
        ("Each encoder layer of BERT-base has 7,087,872 parameters.", "right"),
        ("BERT-base 一层有 2,362,368 个参数。", "conditional"),
        ("One layer of BERT-base has 2,362,368 parameters in the attention.", "right"),
        ("The attention of one BERT-base layer has 590,592 parameters.", "conditional"),
        ("One layer of BERT-large: 4*(768*768+768) + 2*768*3072 + 3072 + 768 + 4*768 = 7,087,872", "wrong"),
        ("BERT-large: word embeddings 30522 * 768 = 23,440,896", "wrong"),
    ],
)
def test_the_count_of_a_smaller_part_is_right_for_that_part_only(text: str, verdict: str) -> None:
    assert [claim.verdict for claim in proofread(text).claims] == [verdict]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("BERT-base encoder: {count}", "conditional"),
        ("BERT-base encoder: 11 * 7,087,872 = {count}", "conditional"),
        ("BERT-base 的编码器有 {count} 个参数。", "conditional"),
        ("BERT-base without its first layer: the others have {count} parameters.", "right"),
        ("One layer of BERT-base is frozen; the other layers have {count} parameters.", "right"),
        ("BERT-base, layers 1-11: {count}", "right"),
        ("BERT-base, encoder.layer.[1-11]: {count}", "right"),
    ],
)
def test_all_layers_but_one_are_right_only_where_the_words_say_so(words: str, verdict: str) -> None:
    others = count(*real().encoder.layer[1:])
    assert [claim.verdict for claim in proofread(words.format(count=f"{others:,}")).claims][-1] == verdict


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Both LayerNorms: 1,536 parameters.", "wrong"),
        ("The pooler is a Linear layer. Both LayerNorms of a BERT-base layer have 1,536 parameters.", "wrong"),
        ("The two LayerNorms of a block have 3,072 parameters.", "right"),
        ("Two LayerNorms, each with 1,536 parameters.", "right"),
        ("两个 LayerNorm 参数共 1536", "wrong"),
        ("两个LayerNorm，每个1536", "right"),
    ],
)
def test_both_layer_norms_have_twice_the_parameters_of_one(sentence: str, verdict: str) -> None:
    """A LayerNorm has 2 * 768 = 1,536 parameters."""
    claim = proofread(f"# BERT-base\n\n{sentence}").claims[-1]
    assert claim.verdict == verdict
    assert claim.right_value == (3072 if verdict == "wrong" else None)


BASE = real()
OUTSIDE = count(BASE) - count(BASE.embeddings)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"BERT-base has {OUTSIDE / 1e6:.1f}M parameters without embeddings.", "right"),
        (f"BERT-base has {OUTSIDE / 1e6:.0f}M non-embedding parameters and 24M embedding parameters.", "right"),
        (f"Without the embeddings, BERT-base has {OUTSIDE / 1e6:.1f}M parameters.", "right"),
        (f"BERT-base has {count(BASE.encoder) / 1e6:.0f}M parameters, excluding embeddings.", "right"),
        (f"BERT-base 有 {OUTSIDE / 1e6:.1f}M 非嵌入参数", "right"),
        ("12 * 12 * 768^2 = 85M for BERT-base without embeddings.", "right"),
        (f"BERT-base has {(OUTSIDE + 1e6) / 1e6:.1f}M parameters without embeddings.", "wrong"),
    ],
)
def test_words_on_either_side_leave_out_the_embeddings(text: str, verdict: str) -> None:
    claim = proofread(text).claims[0]
    assert claim.verdict == verdict
    if verdict == "wrong":
        assert claim.right_value == OUTSIDE


def test_the_total_of_another_model_is_wrong_however_far_it_is() -> None:
    [claim] = proofread("ALBERT-base has 110M parameters.").claims
    albert = real("AlbertModel", hidden_size=768, intermediate_size=3072, num_attention_heads=12)
    assert claim.verdict == "wrong"
    assert claim.right_value == count(albert)
