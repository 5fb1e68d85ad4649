"""Models that a text describes by their sizes are counted as transformers builds them."""

from dataclasses import asdict

import pytest

from bertcalc.proofreading.described_models import described_by, fit, long_numbers, model_of, preset_of, sizes_of
from bertcalc.proofreading.mentions.written_sizes import size_groups
from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import count, real


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (
            "It is a BERT with 6 layers, hidden size 448, 14 heads and an intermediate size of 1536.",
            {"num_hidden_layers": 6, "hidden_size": 448, "num_attention_heads": 14, "intermediate_size": 1536},
        ),
        (
            "Vocabulary: 30 tokens. 16 layers, hidden size 640, 10 heads, FFN 2560, max length 1024.",
            {
                "vocab_size": 30,
                "num_hidden_layers": 16,
                "hidden_size": 640,
                "num_attention_heads": 10,
                "intermediate_size": 2560,
                "max_position_embeddings": 1024,
            },
        ),
        (
            "BERT 的配置:4 层,hidden size 320,10 个头,intermediate size 1200,词表 21128",
            {
                "num_hidden_layers": 4,
                "hidden_size": 320,
                "num_attention_heads": 10,
                "intermediate_size": 1200,
                "vocab_size": 21128,
            },
        ),
        ("a three-layer BERT", {"num_hidden_layers": 3}),
    ],
)
def test_a_model_has_the_sizes_that_its_text_gives(text: str, sizes: dict[str, int]) -> None:
    names = [described_by(group, text, "bert-base-uncased") for group in size_groups(text)]
    assert [model_of(name).num_parameters() for name in names] == [count(real(**sizes))]
    assert asdict(model_of(names[0]).config).items() >= sizes.items()
    assert preset_of(names[0]) == "bert-base-uncased"
    assert sizes_of(names[0]).items() <= sizes.items()


def test_the_sizes_of_a_preset_are_the_preset_and_a_single_size_is_no_model() -> None:
    [group] = size_groups("12 layers, hidden size 768")
    assert described_by(group, "12 layers, hidden size 768", "bert-base-uncased") == "bert-base-uncased"
    [group] = size_groups("24 layers, hidden size 1024")
    assert described_by(group, "24 layers, hidden size 1024", "bert-base-uncased") == "bert-large-uncased"
    [group] = size_groups("The 12 layers are the same.")
    assert described_by(group, "The 12 layers are the same.", "bert-base-uncased") == ""


def test_a_size_that_is_calculated_with_is_none() -> None:
    assert not list(size_groups("d = 768 × 4, 4 × 12 layers = 48"))


def test_numbers_say_which_model_they_belong_to() -> None:
    six, base = "bert-base-uncased with num_hidden_layers=6, hidden_size=384", "bert-base-uncased"
    numbers = long_numbers(
        f"{count(real(num_hidden_layers=6, hidden_size=384, intermediate_size=1536)):,} and 11,720,448"
    )
    assert len(numbers) == 2
    assert (fit(model_of(six), numbers), fit(model_of(base), numbers), fit(None, numbers)) == (2, 0, 0)


def _wrong(text: str) -> list[str]:
    return [claim.text for claim in proofread(text).of("wrong")]


@pytest.mark.parametrize(
    "rival", ["compared to 110M for BERT-base", "unlike BERT-base", "which is less than BERT-base"]
)
def test_a_model_of_ones_own_stays_the_subject_beside_a_published_one(rival: str) -> None:
    total = count(real(num_hidden_layers=8, hidden_size=512, num_attention_heads=8, intermediate_size=2048))
    text = (
        f"Our encoder follows BERT with L=8 layers, hidden size H=512, A=8 heads and a feed-forward size of 2048. "
        f"It has {total:,} parameters, {rival}.\n\nThe word embeddings have {30522 * 512:,} parameters, "
        "the pooler has 262,656 parameters. In total {total}."
    )
    right = text.replace("{total}", f"{total:,}")
    assert _wrong(right) == []
    false = text.replace("{total}", f"{total + 1024:,}")
    assert _wrong(false) == [f"{total + 1024:,}"]
    assert proofread(false).of("wrong")[0].right_value == total


def test_a_checkpoint_that_is_not_listed_has_the_vocabulary_of_its_text() -> None:
    total = count(real(vocab_size=30_000))
    text = f"bert-base-german-cased has a vocabulary of 30,000 tokens. Total of bert-base-german-cased: {total:,}"
    assert _wrong(text) == []
    assert _wrong(text.replace(f"{total:,}", "109,482,240")) == ["109,482,240"]


def test_each_row_of_depths_is_a_model() -> None:
    rows = "\n".join(f"| ours-{n} | {n} | {count(real(num_hidden_layers=n)):,} |" for n in (3, 6))
    text = f"Distilled from bert-base-uncased:\n\n| model | layers | params |\n|---|---|---|\n{rows}\n"
    assert _wrong(text) == []
    assert [claim.verdict for claim in proofread(text).claims if claim.value > 1000] == ["right", "right"]


@pytest.mark.parametrize("intermediate_size", [2048, 3072])
def test_a_changed_hidden_size_leaves_the_feed_forward_open(intermediate_size: int) -> None:
    """The intermediate size may be four times the hidden size, or transformers' default: the text's total decides."""
    total = count(real(hidden_size=512, num_attention_heads=8, intermediate_size=intermediate_size))
    text = f"BERT-base with hidden_size=512, num_attention_heads=8 has {total:,} parameters."
    assert [claim.verdict for claim in proofread(text).claims] == ["right"]
