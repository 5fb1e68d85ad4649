"""Summaries are read: torchinfo's for real models, and files printed by Keras and torchsummary.

The summaries of Keras 2, which needs TensorFlow, follow its summary_utils.py.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torchinfo import summary

import bertcalc
from bertcalc.families import CLASSES
from bertcalc.model.model import Model
from bertcalc.reading.summary_table import table_kind, table_of
from bertcalc.text.problem import InputError
from tests.examples import sampled
from tests.oracle import Case
from tests.reading.noise import (
    Noise,
    coloured,
    from_a_rank,
    in_markdown,
    logged,
    numbered,
    quoted,
    with_breaks,
    with_hard_spaces,
    with_line_numbers,
    with_narrow_spaces,
    with_points,
    with_windows_line_ends,
)
from tests.reading.real_summaries import PLACE


def torchinfo(model: Model, depth: int = 3, columns: Sequence[str] = ("num_params",), *, named: bool = False) -> str:
    """The output of ``torchinfo.summary`` for the real model on the meta device."""
    rows = ("depth", "var_names") if named else ("depth",)
    real = Case.of(model).real()
    return str(summary(real, depth=depth, col_names=columns, row_settings=rows, device="meta", verbose=0))


def tensors_of(model: Model | None) -> dict[str, tuple[int, ...]] | None:
    return None if model is None else dict(model.named_parameters())


def same_shape(model: Model) -> Model:
    """The model with common sizes: without shapes, the number of heads is a guess, and rare sizes are not guessed."""
    config = model.config
    sizes = {"hidden_size": 128, "intermediate_size": 200, "num_attention_heads": 2, "vocab_size": 3000}
    sizes |= {"num_hidden_layers": 3, "max_position_embeddings": 70}
    fields: dict[str, Any] = {
        type(config).own_name(name): value for name, value in sizes.items() if type(config).has(name)
    }
    return Model(replace(type(config).default(), pad_token_id=0, **fields), model.architecture)


@pytest.mark.parametrize("name", sampled(sorted(CLASSES), 30))
def test_the_sizes_of_any_model_are_read_off_a_torchinfo_table(name: str) -> None:
    model = same_shape(Model(CLASSES[name].config.default(), name))
    for named in (False, True):
        reading = bertcalc.read(torchinfo(model, depth=9, columns=("num_params", "params_percent"), named=named))
        assert (reading.kind, reading.num_parameters) == ("torchinfo", model.num_parameters())
        assert tensors_of(reading.model) == tensors_of(model)
    shallow = bertcalc.read(torchinfo(model))
    counts = {shallow.num_parameters, *(possible.parameters for possible in shallow.possible_counts)}
    assert model.num_parameters() in counts


@pytest.mark.parametrize("rows", [(), ("var_names",), ("ascii_only",), ("ascii_only", "var_names", "depth")])
def test_rows_without_numbers_of_their_depth_are_read(rows: tuple[str, ...]) -> None:
    model = bertcalc.build("bert-base-uncased")
    text = str(summary(Case.of(model).real(), row_settings=rows, device="meta", verbose=0))
    reading = bertcalc.read(text)
    assert (reading.kind, reading.model) == ("torchinfo", model)


def test_tables_of_embeddings_in_the_order_of_the_forward_pass_are_told_apart() -> None:
    config = bertcalc.BertConfig(100, 64, 2, 1, 128, max_position_embeddings=16)
    model = bertcalc.build(config)
    ids = {"input_ids": torch.zeros(1, 4, dtype=torch.long)}
    text = str(summary(Case.of(model).real("cpu"), input_data=ids, depth=9, verbose=0))
    assert bertcalc.read(text).model == model


REAL = json.loads(PLACE.joinpath("index.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", REAL)
def test_what_keras_and_torchsummary_print_is_read(name: str) -> None:
    """``real_summaries.py`` wrote these files."""
    reading = bertcalc.read(PLACE.joinpath(f"{name}.txt").read_text(encoding="utf-8"))
    assert reading.kind == ("keras-summary" if name.startswith("keras") else "torchsummary")
    assert reading.num_parameters == REAL[name]["parameters"]
    assert sum(tensor.num_parameters() for tensor in reading.tensors) == REAL[name]["parameters"]


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base", "distilbert-base-uncased", "bert-large-uncased"])
def test_a_published_model_is_recognized_in_a_torchinfo_table(name: str) -> None:
    model = bertcalc.build(name)
    reading = bertcalc.read(torchinfo(model))
    assert (reading.kind, reading.model, reading.num_parameters) == ("torchinfo", model, model.num_parameters())
    assert reading.modules is not None
    assert reading.modules.num_parameters() == model.num_parameters()


def test_sizes_that_nobody_published_are_solved_for() -> None:
    config = bertcalc.BertConfig(1000, 128, 5, 2, 300, max_position_embeddings=64)
    for architecture in ("BertModel", "BertForMaskedLM"):
        reading = bertcalc.read(torchinfo(bertcalc.build(config, architecture), depth=4))
        assert reading.model == bertcalc.build(config, architecture)


@pytest.mark.parametrize("noise", [coloured, quoted, in_markdown, with_windows_line_ends])
def test_noise_changes_nothing(noise: object) -> None:
    text = torchinfo(bertcalc.build("bert-base-uncased"))
    assert callable(noise)
    assert bertcalc.read(noise(text), "torchinfo").model == bertcalc.build("bert-base-uncased")


@pytest.mark.parametrize(
    "noise",
    [logged, from_a_rank, numbered, with_line_numbers, with_hard_spaces, with_breaks, with_points, with_narrow_spaces],
)
@pytest.mark.parametrize("name", ["torchinfo", *REAL])
def test_lines_of_a_table_may_begin_with_anything(name: str, noise: Noise) -> None:
    is_torchinfo = name == "torchinfo"
    text = torchinfo(bertcalc.build("bert-base-uncased")) if is_torchinfo else PLACE.joinpath(f"{name}.txt").read_text()
    expected = 109_482_240 if is_torchinfo else REAL[name]["parameters"]
    reading = bertcalc.read(noise(text))
    assert reading.num_parameters == expected
    assert "but the total" not in str(reading)


def test_a_tied_matrix_is_counted_once_whatever_the_table_says() -> None:
    """torchinfo adds up modules, so the decoder of BertForMaskedLM counts the word embeddings again."""
    model = bertcalc.build("bert-base-uncased", "BertForMaskedLM")
    reading = bertcalc.read(torchinfo(model))
    assert (reading.model, reading.num_parameters) == (model, 109_514_298)
    assert "count a tied matrix once for each module" in str(reading)


def test_without_the_sizes_both_counts_of_a_matrix_that_may_be_tied_are_given() -> None:
    config = bertcalc.BertConfig(1000, 128, 5, 2, 300, max_position_embeddings=64)
    model = bertcalc.build(config, "BertForPreTraining")
    reading = bertcalc.read(torchinfo(model))
    assert reading.num_parameters == model.num_parameters()
    tied, untied = (possible.parameters for possible in reading.possible_counts)
    assert (tied, untied) == (model.num_parameters(), model.num_parameters() + 1000 * 128)


def test_a_tie_that_no_row_shows_is_told() -> None:
    config = bertcalc.BertConfig(vocab_size=12_345, hidden_size=320, num_attention_heads=5, intermediate_size=1000)
    model = bertcalc.build(config, "BertForMaskedLM")
    reading = bertcalc.read(torchinfo(model, depth=2))
    assert reading.num_parameters == model.num_parameters() + 12_345 * 320
    assert "BertForMaskedLM usually ties its decoder" in str(reading)
    assert "usually ties" not in str(bertcalc.read(torchinfo(bertcalc.build(config), depth=2)))


def test_a_module_that_is_used_twice_counts_once() -> None:
    text = """Layer (type:depth-idx)                   Output Shape              Param #
Model                                    [1, 2]                    --
├─Linear: 1-1                            [1, 2]                    6
├─Linear: 1-2                            [1, 2]                    (recursive)
Total params: 6"""
    reading = bertcalc.read(text)
    assert (reading.num_parameters, [tensor.num_parameters() for tensor in reading.tensors]) == (6, [6])


def padded(text: str) -> str:
    """Pad every line to the width of the longest line, as Keras does."""
    lines = text.split("\n")
    return "\n".join(line.ljust(max(map(len, lines))) for line in lines)


KERAS_2 = padded("""Model: "tf_bert_for_sequence_classification"
_________________________________________________________________
 Layer (type)                Output Shape              Param #
=================================================================
 bert (TFBertMainLayer)      multiple                  109482240

 dropout_37 (Dropout)        multiple                  0

 classifier (Dense)          multiple                  1538

=================================================================
Total params: 109,483,778
Trainable params: 109,483,778
Non-trainable params: 0
_________________________________________________________________""")

CONNECTED = padded("""Model: "model"
__________________________________________________________________________________________________
 Layer (type)                   Output Shape         Param #     Connected to
==================================================================================================
 input_ids (InputLayer)         [(None, 128)]        0           []

 tf_bert_model (TFBertModel)    TFBaseModelOutputWi  109482240   ['input_ids[0][0]',
                                thPoolingAndCrossAt               'attention_mask[0][0]']
                                tentions(last_hidde
                                n_state=(None, 128,
                                 768)
 bidirectional_1 (Bidirectiona  (None, 128)          426496      ['tf_bert_model[0][0]']
 l)
 dense (Dense)                  (None, 3)            387         ['bidirectional_1[0][0]']
==================================================================================================
Total params: 109,909,123""")

KERAS_3 = """Model: "functional"
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)        ┃ Output Shape      ┃    Param # ┃ Connected to      ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩
│ input_ids           │ (None, 128)       │          0 │ -                 │
│ (InputLayer)        │                   │            │                   │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ embedding           │ (None, 128, 64)   │  1,953,408 │ input_ids[0][0]   │
│ (Embedding)         │                   │            │                   │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ dense (Dense)       │ (None, 2)         │        130 │ embedding[0][0]   │
└─────────────────────┴───────────────────┴────────────┴───────────────────┘
 Total params: 1,953,538 (7.45 MB)
 Trainable params: 1,953,538 (7.45 MB)"""


def test_a_keras_summary_of_bert_is_bert() -> None:
    reading = bertcalc.read(KERAS_2)
    assert reading.kind == "keras-summary"
    assert reading.model == bertcalc.build("bert-base-uncased", "BertForSequenceClassification")
    assert reading.num_parameters == 109_483_778


def test_wrapped_rows_and_layers_of_ones_own_are_read() -> None:
    reading = bertcalc.read(CONNECTED)
    assert reading.model == bertcalc.build("bert-base-uncased")
    assert [(part.path, part.kind, part.parameters) for part in reading.additional] == [
        ("bidirectional_1", "Bidirectional", 426_496),
        ("dense", "Dense", 387),
    ]
    assert reading.num_parameters == 109_909_123


@pytest.mark.parametrize("start", ["Param #", "===="])
def test_a_keras_summary_without_its_head_is_read_as_a_whole_one(start: str) -> None:
    reading, whole = bertcalc.read(KERAS_2[KERAS_2.index(start) :]), bertcalc.read(KERAS_2)
    assert reading.kind == "keras-summary"
    assert reading.num_parameters == whole.num_parameters
    assert str(reading) == str(whole)


def test_the_boxes_of_keras_3_are_read() -> None:
    table = table_of(KERAS_3)
    assert [(row.name, row.kind, row.parameters) for row in table.rows] == [
        ("input_ids", "InputLayer", 0),
        ("embedding", "Embedding", 1_953_408),
        ("dense", "Dense", 130),
    ]
    assert bertcalc.read(KERAS_3).num_parameters == 1_953_538


NESTED = """Model: "bert"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┓
┃ Layer (type)               ┃ Output Shape      ┃   Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━┩
│ encoder (Functional)       │ (None, 4)         │     2,100 │
├────────────────────────────┼───────────────────┼───────────┤
│ dense (Dense)              │ (None, 4)         │  109,000… │
└────────────────────────────┴───────────────────┴───────────┘
 Total params: 1,090,002,100 (4.06 GB)
"""
INSIDE = """├────────────────────────────┼───────────────────┼───────────┤
│    └ inner (Dense)         │ (None, 4)         │     2,100 │
"""


def test_a_number_that_is_cut_off_follows_from_the_total_unless_rows_are_parts_of_others() -> None:
    assert [row.parameters for row in table_of(NESTED).rows] == [2_100, 1_090_000_000]
    place = NESTED.index("├")
    nested = table_of(NESTED[:place] + INSIDE + NESTED[place:])
    assert [(row.depth, row.is_cut) for row in nested.rows] == [(1, False), (2, False), (1, True)]


def test_a_table_without_its_end_is_added_up() -> None:
    reading = bertcalc.read(KERAS_3[: KERAS_3.index(" Total")])
    assert reading.num_parameters == 1_953_538
    assert "no total" in str(reading)


def test_a_total_that_is_not_the_sum_is_named() -> None:
    reading = bertcalc.read(KERAS_3.replace("130", "131"))
    assert "The rows sum to 1,953,539, but the total of the table is 1,953,538" in str(reading)


def test_a_text_without_a_table_has_none() -> None:
    assert table_kind("Layer normalization has few parameters. Param #1 is gamma.") is None
    with pytest.raises(InputError, match="no model summary"):
        table_of("nothing")


def test_the_optimizer_of_a_trained_keras_model_is_left_out() -> None:
    text = PLACE.joinpath("keras_trained.txt").read_text(encoding="utf-8")
    reading = bertcalc.read(text)
    assert reading.num_parameters == REAL["keras_trained"]["parameters"]
    assert "includes 1,416 parameters of the optimizer" in str(reading)
    assert "rows sum to" not in str(reading)
    # A total that equals the trainable and the other parameters does not include the optimizer.
    assert bertcalc.read(text.replace("Total params: 2,187", "Total params: 771")).num_parameters == 771


class _WithParameters(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """A module with parameters of its own, a pooling layer, and a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3, 1, 1))
        self.convolution = torch.nn.Conv2d(3, 5, 3, groups=1)
        self.pooling = torch.nn.MaxPool2d(2)
        self.classifier = torch.nn.Linear(5 * 3 * 3, 4)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.classifier(self.pooling(self.convolution(self.scale * images)).flatten(1))
        return result


_COLUMNS = (
    ("num_params", "kernel_size", "mult_adds"),
    ("input_size", "output_size", "num_params", "params_percent", "kernel_size", "mult_adds", "trainable"),
    ("kernel_size", "num_params"),
)


@pytest.mark.parametrize("columns", _COLUMNS, ids="-".join)
@pytest.mark.parametrize(("verbose", "rows"), [(1, ("depth",)), (2, ("depth", "var_names")), (2, ("var_names",))])
@pytest.mark.parametrize("is_frozen", [False, True])
def test_other_columns_and_parameters_are_not_added_to_the_rows(
    columns: tuple[str, ...], verbose: int, rows: tuple[str, ...], is_frozen: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    model = _WithParameters().requires_grad_(not is_frozen)
    summary(model, (2, 3, 8, 8), col_names=columns, row_settings=rows, verbose=verbose)
    reading = bertcalc.read(capsys.readouterr().out)
    assert reading.num_parameters == sum(parameter.numel() for parameter in model.parameters())
    assert "rows sum" not in str(reading)


def test_two_tables_have_two_counts() -> None:
    models = [torch.nn.Sequential(torch.nn.Linear(8, size)) for size in (3, 5)]
    text = "\n".join(str(summary(model, (1, 8), verbose=0)) for model in models)
    reading = bertcalc.read(text)
    assert (reading.kind, reading.num_parameters) == ("torchinfo", None)
    counts = [sum(parameter.numel() for parameter in model.parameters()) for model in models]
    assert [possible.parameters for possible in reading.possible_counts] == counts
    again = "\n".join(str(summary(models[0], (1, 8), verbose=0)) for _time in range(2))
    assert bertcalc.read(again).num_parameters == counts[0]
