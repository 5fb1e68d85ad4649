"""Summaries are read. torchinfo, torchsummary and Keras are not installed: small printers write their formats.

The layouts follow torchinfo 1.8 (layer_info.py, formatting.py), torchsummary 1.5 and Keras 2 and 3 (summary_utils.py).
"""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given

import bertcalc
from bertcalc.model.modules import Module
from bertcalc.reading.summary_table import table_kind, table_of
from bertcalc.text.problem import InputError
from tests.examples import examples
from tests.oracle import Case
from tests.reading.noise import coloured, in_markdown, quoted, with_windows_line_ends
from tests.strategies import cases


def torchinfo(model: Module, depth: int = 3) -> str:
    """The table of ``torchinfo.summary(model)``: below the last level, a row has the parameters of all inside."""
    rows = [f"{model.kind:56}[1, 768]                  --", *_torchinfo_rows(model, 1, depth, {})]
    line, head = "=" * 90, f"{'Layer (type:depth-idx)':56}{'Output Shape':26}Param #"
    total = model.num_parameters()
    return "\n".join([line, head, line, *rows, line, f"Total params: {total:,}", f"Trainable params: {total:,}", line])


def _torchinfo_rows(module: Module, level: int, depth: int, numbers: dict[int, int]) -> Iterator[str]:
    for _name, child, copies in module.named_children(folded=False):
        for _copy in range(copies):
            numbers[level] = numbers.get(level, 0) + 1
            bars = "├─" if level == 1 else "│    " * (level - 1) + "└─"
            last = level == depth or not any(child.named_children(folded=True))
            count = child.num_parameters() if last else child.own_parameters()
            label = f"{bars}{child.kind}: {level}-{numbers[level]}"
            yield f"{label:56}{'[1, 10, 768]':26}{f'{count:,}' if count else '--'}"
            if not last:
                yield from _torchinfo_rows(child, level + 1, depth, numbers)


def torchsummary(model: torch.nn.Module) -> str:
    """The table of ``torchsummary.summary(model, ...)``, of the leaves in their order."""
    leaves = [module for module in model.modules() if not [*module.children()]]
    counts = [sum(tensor.numel() for tensor in leaf.parameters()) for leaf in leaves]
    rows = [
        f"{f'{type(leaf).__name__}-{number}':>20}  {'[-1, 10, 768]':>24} {count:>15,}"
        for number, (leaf, count) in enumerate(zip(leaves, counts, strict=True), 1)
    ]
    head = f"{'Layer (type)':>20}  {'Output Shape':>24} {'Param #':>15}"
    total = sum(counts)
    return "\n".join(["-" * 64, head, "=" * 64, *rows, "=" * 64, f"Total params: {total:,}", "-" * 64])


@given(cases())
@examples(12)
def test_a_torchinfo_table_has_the_parameters_of_its_rows(case: Case) -> None:
    model = case.ours()
    for depth in (2, 3, 9):
        table = table_of(torchinfo(model, depth))
        assert table.total == model.num_parameters()
        assert sum(row.parameters for row in table.rows) <= model.num_parameters()


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


def test_a_tied_matrix_is_counted_once_whatever_the_table_says() -> None:
    """torchinfo adds up modules: the decoder of BertForMaskedLM has the word embeddings again."""
    model = bertcalc.build("bert-base-uncased", "BertForMaskedLM")
    text = torchinfo(model).replace(f"{model.num_parameters():,}", f"{model.num_parameters() + 30522 * 768:,}")
    reading = bertcalc.read(text)
    assert (reading.model, reading.num_parameters) == (model, 109_514_298)
    assert "count a tied matrix with each module" in str(reading)


def test_a_torchsummary_table_is_added_up() -> None:
    real = torch.nn.Sequential(
        torch.nn.Embedding(100, 8), torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
    )
    reading = bertcalc.read(torchsummary(real))
    assert reading.kind == "torchsummary"
    assert reading.num_parameters == sum(tensor.numel() for tensor in real.parameters())
    assert [tensor.num_parameters() for tensor in reading.tensors] == [800, 144, 34]


def test_a_module_that_is_used_twice_counts_once() -> None:
    text = """Layer (type:depth-idx)                   Output Shape              Param #
Model                                    [1, 2]                    --
├─Linear: 1-1                            [1, 2]                    6
├─Linear: 1-2                            [1, 2]                    (recursive)
Total params: 6"""
    reading = bertcalc.read(text)
    assert (reading.num_parameters, [tensor.num_parameters() for tensor in reading.tensors]) == (6, [6])


def padded(text: str) -> str:
    """Fill every line up to the width of the widest, as Keras does."""
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


def test_the_boxes_of_keras_3_are_read() -> None:
    table = table_of(KERAS_3)
    assert [(row.name, row.kind, row.parameters) for row in table.rows] == [
        ("input_ids", "InputLayer", 0),
        ("embedding", "Embedding", 1_953_408),
        ("dense", "Dense", 130),
    ]
    assert bertcalc.read(KERAS_3).num_parameters == 1_953_538


def test_a_table_without_its_end_is_added_up() -> None:
    reading = bertcalc.read(KERAS_3[: KERAS_3.index(" Total")])
    assert reading.num_parameters == 1_953_538
    assert "no total" in str(reading)


def test_a_total_that_is_not_the_sum_is_named() -> None:
    reading = bertcalc.read(KERAS_3.replace("130", "131"))
    assert "The rows sum to 1,953,539, the table says 1,953,538" in str(reading)


def test_a_text_without_a_table_has_none() -> None:
    assert table_kind("Layer normalization has few parameters. Param #1 is gamma.") is None
    with pytest.raises(InputError, match="no summary of a model"):
        table_of("nothing")
