"""Messages that the real libraries write about weights that do not fit are recognized, and never counted as a model."""

from time import process_time
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel
from transformers.utils.loading_report import LoadStateDictInfo

import bertcalc
from bertcalc.reading.loading_messages import is_loading_message

SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
with torch.device("meta"):
    SMALL = BertModel(BertConfig(vocab_size=30, **SIZES))
    LARGE = BertModel(BertConfig(vocab_size=40, **SIZES))
    HEAD = BertForSequenceClassification(BertConfig(vocab_size=30, **SIZES))
# Earlier releases of transformers wrote these warnings.
WARNED = (
    "Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased "
    "and are newly initialized: ['classifier.bias', 'classifier.weight']\nYou should probably TRAIN this model on a "
    "down-stream task to be able to use it for predictions and inference."
)
UNUSED = (
    "Some weights of the model checkpoint at bert-base-uncased were not used when initializing BertModel: "
    "['cls.predictions.bias', 'cls.seq_relationship.weight']\n- This IS expected if you are initializing BertModel "
    "from the checkpoint of a model trained on another task."
)
RESHAPED = (
    "Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased "
    "and are newly initialized because the shapes did not match:\n- classifier.bias: found shape torch.Size([2]) in "
    "the checkpoint and torch.Size([3]) in the model instantiated"
)


def _error(model: Any, state: dict[str, Any]) -> str:
    with pytest.raises(RuntimeError) as error:
        model.load_state_dict(state)
    return f'Traceback (most recent call last):\n  File "train.py", line 12, in <module>\nRuntimeError: {error.value}'


@pytest.mark.parametrize("joined", ["\n", " "])
def test_both_shapes_of_a_mismatch_are_named(joined: str) -> None:
    reading = bertcalc.read(_error(SMALL, LARGE.state_dict()).replace("\n", joined))
    assert (reading.kind, reading.num_parameters, reading.model) == ("loading-message", None, None)
    assert "into BertModel" in str(reading)
    assert "embeddings.word_embeddings.weight: (40, 8) in the checkpoint, (30, 8) in the model." in str(reading)


def test_names_that_differ_by_a_prefix_are_explained() -> None:
    reading = bertcalc.read(_error(SMALL, {f"bert.{name}": value for name, value in SMALL.state_dict().items()}))
    assert (reading.kind, reading.num_parameters) == ("loading-message", None)
    names = len(SMALL.state_dict())
    for text in (
        'those of the checkpoint begin with "bert."',
        f"only the model has, which are not loaded: {names}",
    ):
        assert text in str(reading)


def test_keys_without_an_error_are_read() -> None:
    keys = HEAD.load_state_dict({f"bert.{name}": value for name, value in SMALL.state_dict().items()}, strict=False)
    reading = bertcalc.read(repr(keys))
    assert reading.kind == "loading-message"
    assert "not loaded: 2 (classifier.weight, classifier.bias)" in str(reading)


def test_the_table_of_transformers_is_read() -> None:
    info = LoadStateDictInfo(
        missing_keys={"pooler.dense.weight"},
        unexpected_keys={f"cls.layer.{number}.weight" for number in range(12)},
        mismatched_keys={("classifier.weight", (2, 768), (3, 768))},
        error_msgs=[],
        conversion_errors={},
        skipped_pp_keys=set(),
    )
    reading = bertcalc.read(f"BertModel LOAD REPORT from: bert-base-uncased\n{info.create_loading_report()}")
    assert (reading.kind, reading.num_parameters) == ("loading-message", None)
    assert "classifier.weight: (2, 768) in the checkpoint, (3, 768) in the model." in str(reading)
    assert "pooler.dense.weight" in str(reading)
    assert "cls.layer.{0...11}.weight" in str(reading)


@pytest.mark.parametrize(("text", "tensors"), [(WARNED, "classifier.bias"), (UNUSED, "cls.predictions.bias"),
                                               (RESHAPED, "(2,) in the checkpoint, (3,) in the model")])  # fmt: skip
def test_warnings_are_no_models(text: str, tensors: str) -> None:
    reading = bertcalc.read(text)
    assert (reading.kind, reading.num_parameters, reading.model) == ("loading-message", None, None)
    assert tensors in str(reading)


def test_a_model_beside_a_message_is_counted() -> None:
    reading = bertcalc.read(f"{WARNED}\n{SMALL}")
    assert (reading.kind, reading.num_parameters) == ("printed-model", SMALL.num_parameters())
    listed = "\n".join(f"{name} {tuple(value.shape)}" for name, value in SMALL.named_parameters())
    reading = bertcalc.read(f"{RESHAPED}\n{listed}")
    assert reading.kind == "listing"


@pytest.mark.parametrize("text", ["size mismatch for " + "a." * 100_000, "'a', " * 100_000, "a.b | " * 50_000,
                                  "newly initialized: [" + "'a' " * 50_000])  # fmt: skip
def test_a_long_text_takes_no_time(text: str) -> None:
    start = process_time()
    assert not is_loading_message(text)
    assert process_time() - start < 5
