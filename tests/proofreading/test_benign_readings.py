"""Right numbers whose words seem to make them wrong: changed sizes, shares of other wholes, running sums."""

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import LARGE, count, real


def wrong(text: str) -> list[str]:
    return [f"{claim.text}: {claim.reason}" for claim in proofread(text).of("wrong")]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("把 BERT-base 的词表从 30,522 换成 21,128，参数量变为 {total:,}。", {"vocab_size": 21128}),
        ("BERT-base 的层数从 12 减到 6，encoder 变为 {encoder:,}，总参数量变为 {total:,}。", {"num_hidden_layers": 6}),
        ("If we widened the feed-forward of BERT-base to 4,096, the model would have {total:,} parameters.",
         {"intermediate_size": 4096}),
        ("Extending the positions of BERT-base from 512 to 2,048 gives {total:,} parameters in total.",
         {"max_position_embeddings": 2048}),
        ("Enlarging the vocabulary of BERT-base to 50,000 yields {words:,} word embedding parameters and {total:,} in "
         "total.", {"vocab_size": 50_000}),
        ("Doubling the number of layers of BERT-base: the total is {total:,}.", {"num_hidden_layers": 24}),
        ("With BERT-large's width (1024) but BERT-base's depth (12), the model has {total:,} parameters.",
         LARGE | {"num_hidden_layers": 12}),
    ],
)  # fmt: skip
def test_a_changed_size_is_no_mistake(text: str, sizes: dict[str, int]) -> None:
    model = real(**sizes)
    words = count(model.embeddings.word_embeddings)
    assert not wrong(text.format(total=count(model), encoder=count(model.encoder), words=words))


def test_a_missing_table_is_named() -> None:
    left = count(real()) - count(real().embeddings.position_embeddings)
    assert not wrong(f"BERT-base w/o position embeddings: {left:,}.")


def test_a_share_may_be_of_another_whole() -> None:
    embeddings, encoder, layer = real().embeddings, real().encoder, real().encoder.layer[0]
    words, forward = count(embeddings.word_embeddings), 12 * (count(layer.intermediate) + count(layer.output.dense))
    of_words, of_layers = 100 * words / count(embeddings), 100 * forward / count(encoder)
    assert not wrong(f"BERT-base 的 embedding 共 {count(embeddings):,}，其中词向量 {words:,}（{of_words:.1f}%）。")
    assert not wrong(f"BERT-base 的 encoder 共 {count(encoder):,}，其中 FFN {forward:,}（{of_layers:.1f}%）。")
    attention = 100 * 12 * count(layer.attention) / count(encoder)
    text = "Of the BERT-base encoder's {}M parameters, {:.1f} % belong to the feed-forward networks and {:.1f} % to {}"
    assert not wrong(text.format(round(count(encoder) / 1e6, 1), of_layers, attention, "the attention."))
    assert wrong(f"The word embeddings have {of_words:.1f} % of BERT-base's parameters.")


def test_a_share_and_a_name_behind_a_number() -> None:
    layer = real().encoder.layer[0]
    parts = {
        "embeddings": count(real().embeddings),
        "attention": 12 * (count(layer.attention) - count(layer.attention.output.LayerNorm)),
        "feed-forward": 12 * (count(layer.intermediate) + count(layer.output.dense)),
        "pooler": count(real().pooler),
    }
    total = count(real())
    written = [f"{size / 1e6:.1f}M ({100 * size / total:.0f} %) {name}" for name, size in parts.items()]
    assert not wrong(f"In BERT-base, {written[0].replace(')', ') are')}, {', '.join(written[1:3])} and {written[3]}.")


def test_a_running_sum_goes_on() -> None:
    chinese = real(vocab_size=21128)
    parts = [count(part) for part in (chinese.embeddings, chinese.encoder, chinese.pooler)]
    with_encoder = parts[0] + parts[1]
    text = f"bert-base-chinese: {parts[0]:,}; + {parts[1]:,} = {with_encoder:,}; + {parts[2]:,} = {count(chinese):,}."
    assert not wrong(text)
    assert wrong(text.replace("; +", ": ", 1))


@pytest.mark.parametrize(
    "text",
    [
        "Matrix A is 8×768, B is 768×8, that is 12,288 parameters.",
        "LoRA (r = 8) on BERT-base: each matrix is 768×768 → 12,288 each.",
        "SwiGLU: to keep the count, reduce the intermediate size of BERT-base to 2/3, i.e. 2,048.",
        "BERT-base: 85/12 = 7.1M per layer.",
        "The encoder of BERT-base has 12 layers, so each holds 85,054,464 / 12 = 7,087,872 parameters.",
        "For BERT-base, an FFN costs 2 × 768 × 3072 = 4,718,592 multiply-adds per token.",
        "Two BERT-base models have 876 MB of fp32 weights.",
        "An all-reduce moves 2 × 438 MB per step for BERT-base in fp32, or 2 × 219 MB in fp16.",
        "BERT-base: each layer has 4d² for attention and 8d² for the MLP, so 12d².",
    ],
)
def test_a_result_of_more_than_the_calculation_beside_it(text: str) -> None:
    assert not wrong(text)


def test_models_that_a_sentence_compares() -> None:
    base, large = count(real()), count(real(**LARGE))
    distilled = count(real("DistilBertModel"))
    roberta = count(real("RobertaModel", vocab_size=50265, max_position_embeddings=514, type_vocab_size=1))
    share, more = 100 * distilled / base, 100 * roberta / base - 100
    for text in (
        f"BERT-base (110M), BERT-large (335M). DistilBERT has {share:.1f} % of BERT-base's parameters.",
        f"Compare BERT-base (110M) with BERT-large (335M). RoBERTa-base has {more:.0f} % more than BERT-base.",
        f"The difference between BERT-base and BERT-large is {large - base:,} parameters.",
        f"RoBERTa-base 比 BERT-base 多 1516 万参数（{roberta / 1e8:.3f} 亿 对 {base / 1e8:.3f} 亿）。",
        "bert-base-multilingual-uncased: "
        f"{count(real(vocab_size=105879)):,} parameters; bert-base-german-cased: {count(real(vocab_size=30000)):,}.",
    ):
        assert not wrong(text)
    assert wrong(f"The difference between BERT-base and BERT-large is {large - base + 590_592:,} parameters.")
    assert wrong("BERT-base (110M), BERT-large (335M). DistilBERT has 66.1 % of BERT-base's parameters.")


@pytest.mark.parametrize("text", ["999," * 1500 + "999", "9" * 6000, "1," * 3000 + "12"])
def test_a_number_with_thousands_of_digits_is_no_error(text: str) -> None:
    assert proofread(f"BERT-base has {text} parameters")


def test_a_large_hidden_size_is_no_tensor() -> None:
    text = "GPT-3 has 175 billion parameters and 96 layers with d_model = 12288 and d_ff = 49152."
    assert [claim.text for claim in proofread(text).claims] == ["175 billion"]
