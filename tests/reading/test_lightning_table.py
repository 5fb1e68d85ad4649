"""Summaries of PyTorch Lightning 2.6.6 are read. The files contain its output for the real classes."""

import re
from pathlib import Path

import pytest
import torch
import transformers

import bertcalc

TABLES = Path(__file__).parent / "lightning_tables"


def table(name: str) -> str:
    return (TABLES / f"{name}.txt").read_text()


def count(real: type[transformers.PreTrainedModel], **sizes: int) -> int:
    with torch.device("meta"):
        return sum(tensor.numel() for tensor in real(real.config_class(**sizes)).parameters())


@pytest.mark.parametrize("name", ["classifier", "rich"])
def test_the_number_of_labels_follows_from_the_size(name: str) -> None:
    reading = bertcalc.read(table(name))
    assert str(reading.sentence).startswith("Read as: a PyTorch Lightning summary. Rows: ")
    assert reading.model is not None
    assert reading.model.architecture == "BertForSequenceClassification"
    assert reading.num_parameters == count(transformers.BertForSequenceClassification, num_labels=3)


@pytest.mark.parametrize(
    ("name", "real", "sizes"),
    [
        ("all_modules", transformers.RobertaModel, {"vocab_size": 50265, "max_position_embeddings": 514}),
        ("frozen_half", transformers.DistilBertForSequenceClassification, {}),
    ],
)
def test_rows_of_inner_modules_agree(
    name: str, real: type[transformers.PreTrainedModel], sizes: dict[str, int]
) -> None:
    one_type = {"type_vocab_size": 1} if sizes else {}
    reading = bertcalc.read(table(name))
    assert reading.num_parameters == count(real, **sizes, **one_type)


def test_a_head_of_the_authors_own_is_beside_the_model() -> None:
    reading = bertcalc.read(table("own_head"))
    assert reading.model == bertcalc.load("bert-base-uncased")
    assert reading.num_parameters is None
    assert "classifier (Linear): 3.8 K" in str(reading)


@pytest.mark.parametrize("name", ["not_published", "tiny"])
def test_a_rounded_count_is_not_taken_for_an_exact_one(name: str) -> None:
    """For "tiny", every second number of labels gives the same size in MB."""
    reading = bertcalc.read(table(name))
    assert (reading.model, reading.num_parameters) == (None, None)
    [low, high] = [int(number.replace(",", "")) for number in re.findall(r"[0-9,]+(?= and|\.$)", str(reading.notes[0]))]
    sizes = {"hidden_size": 240, "num_attention_heads": 4, "intermediate_size": 500, "num_hidden_layers": 3}
    tiny = {"hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512, "num_hidden_layers": 2}
    right = {
        "not_published": count(transformers.BertModel, **sizes),
        "tiny": count(transformers.BertForSequenceClassification, **tiny),
    }
    assert low <= right[name] <= high


def test_a_row_that_disagrees_is_no_published_model() -> None:
    changed = table("frozen_half").replace("590 K", "591 K")
    assert bertcalc.read(changed).model is None


def test_a_table_in_a_log_is_read_and_one_in_an_article_is_not() -> None:
    log = "GPU available: True (cuda), used: True\nTPU available: False, using: 0 TPU cores\n\n" + table("classifier")
    log += "Epoch 0: 100%|██████████| 12/12 [00:03<00:00,  3.62it/s, v_num=4]\n"
    assert bertcalc.read(log).kind == "listing"
    prose = "\n\n".join(f"In step {step} we train the model of the paper, and its loss is lower." for step in range(9))
    assert bertcalc.read(f"{prose}\n{table('classifier')}\n{prose}").kind == "article"


def test_lines_of_the_table_alone_are_no_table() -> None:
    without_size = "\n".join(line for line in table("classifier").split("\n") if "(MB)" not in line)
    assert "PyTorch Lightning" not in str(bertcalc.read(without_size).sentence)


def test_a_table_in_billions_is_read() -> None:
    """Lightning prints no space before its words if the size has more than nine characters."""
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig())
    total = model.num_parameters()
    size = f"{total * 4 / 1e6:,.3f}"
    text = (
        "  | Name  | Type             | Params\n-------------------------------------------\n"
        f"0 | model | LlamaForCausalLM | {total / 1e9:.1f} B \n-------------------------------------------\n"
        f"{total / 1e9:.1f} B     Trainable params\n0         Non-trainable params\n"
        f"{total / 1e9:.1f} B     Total params\n"
        f"{size:<10}Total estimated model params size (MB)\n"
    )
    assert f"{size}Total" in text
    reading = bertcalc.read(text)
    assert reading.kind == "listing"
    [low, high] = [int(number.replace(",", "")) for number in re.findall(r"[0-9,]+(?= and|\.$)", str(reading.notes[0]))]
    assert low <= total <= high
