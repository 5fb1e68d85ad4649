"""Right numbers whose words seem to make them wrong: changed sizes, shares of other wholes, running sums.

``benign.md`` lists texts without a wrong number, below the reason. Words before a list are the beginning of its texts.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import LARGE, ROBERTA, count, real


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


def benign() -> Iterator[str]:
    file = Path(__file__).with_name("benign.md").read_text(encoding="utf-8")
    for group in re.split("^#.*\n\n", re.sub(" <!--.*-->", "", file), flags=re.MULTILINE)[1:]:
        before, *texts = re.split("^- ", group, flags=re.MULTILINE)
        yield from (before + text.replace("\n  ", "\n").rstrip() for text in texts)


@pytest.mark.parametrize("text", [*benign()])
def test_no_number_of_a_benign_text_is_wrong(text: str) -> None:
    assert not wrong(text)


def test_models_that_a_sentence_compares() -> None:
    base, large = count(real()), count(real(**LARGE))
    distilled = count(real("DistilBertModel"))
    roberta = count(real("RobertaModel", **ROBERTA))
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


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base, biases ignored: attention 2,459,296",
        "# biases omitted below\nBERT-base encoder: 94,934,656",
        "The attention of BERT-base has 2,359,296 parameters including its biases.",
        "ELECTRA-small embeddings: 3,772,864.",
        "d_model, d_ff = 768, 3072  # bert-base\nffn = d_model * d_ff + d_ff * d_model + d_model  # 4719360",
    ],
)
def test_a_mistake_in_a_benign_form_is_wrong(text: str) -> None:
    assert wrong(text)


@pytest.mark.parametrize(
    "text",
    [
        "WordPiece vocabulary of BERT-base: about {:,} tokens (exactly {:,}).",
        "BERT uses WordPiece embeddings with a {:,} token vocabulary (Devlin et al.); the released BERT-base has {:,}.",
        "BERT-base 的词表约为 {:,}（准确为 {:,}）。",
    ],
)
def test_a_number_may_be_rounded_beside_the_exact_one(text: str) -> None:
    exact = real().config.vocab_size
    assert not wrong(text.format(30_000, exact))
    assert wrong(text.format(30_000, 30_000))


def test_a_ratio_compares_two_models() -> None:
    large, base = count(real(**LARGE)) / 1e6, count(real()) / 1e6
    text = "BERT-large : BERT-base is {:.1f}M : {:.1f}M ≈ {:.2f}."
    assert not wrong(text.format(large, base, large / base))
    assert wrong(text.format(large, base, large / base - 1))


def test_a_column_may_count_the_rest_of_the_model() -> None:
    embeddings, layer, total = count(real().embeddings), count(real().encoder.layer[0]), count(real())
    head = "| Frozen | Trainable |\n|---|---|\n| none | {:,} |\n| embeddings | {:,} |\n| embeddings + 6 layers | {:,} |"
    right = [total, total - embeddings, total - embeddings - 6 * layer]
    assert not wrong(head.format(*right) + "\n\nBERT-base")
    right[1] += 9_000
    [claim] = proofread(head.format(*right) + "\n\nBERT-base").of("wrong")
    assert claim.right_value == total - embeddings


def test_a_column_may_count_what_its_row_leaves() -> None:
    parts = {"Embeddings": count(real().embeddings), "Pooler": count(real().pooler), "Encoder": count(real().encoder)}
    rows = "".join(f"| {name} | {part:,} | {count(real()) - part:,} |\n" for name, part in parts.items())
    table = f"| Removed | Saved | Remaining |\n|---|---|---|\n{rows}\nBERT-base"
    assert not wrong(table)
    assert wrong(table.replace("85,645,056", "85,465,056"))
