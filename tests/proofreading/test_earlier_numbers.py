"""Numbers that follow from earlier numbers: totals of lists, and repeated mistakes."""

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import count, real

ATTENTION = count(real().encoder.layer[0].attention)


def test_a_total_below_a_list_carries_its_lines_forward() -> None:
    attention, feed_forward = 4 * 768 * 768, 768 * 3072 + 3072 + 3072 * 768 + 768
    text = (
        f"# One layer of BERT-base\n\n- attention: 4 × 768 × 768 = {attention:,}\n"
        f"- feed-forward: 768 × 3072 + 3072 + 3072 × 768 + 768 = {feed_forward:,}\n"
        f"- total of both: {attention + feed_forward:,}\n"
    )
    first, total = proofread(text).of("wrong")
    assert first.right_value == ATTENTION - 2 * 768
    assert total.right_value == first.right_value + feed_forward
    assert total.carried
    assert "carried forward" in total.reason


def test_a_repeated_error_is_said_to_be_one_once() -> None:
    text = "# BERT-base\n\n" + "- attention with LayerNorm, one layer: 2,388,480\n" * 3
    assert [claim.reason.count("repeats") for claim in proofread(text).of("wrong")] == [0, 1, 1]


def test_another_number_of_layers_counts_another_model() -> None:
    three, six = (count(real(num_hidden_layers=layers)) for layers in (3, 6))
    text = f"BERT-base with 3 layers: {three:,} parameters; with 6 layers: {six:,}; with 12: 109,482,240."
    assert not proofread(text).of("wrong")


def test_wrong_bytes_are_carried_into_all_layers_and_into_sums() -> None:
    """The text counts 32 × 512 × 768 float32 elements of one layer, then of all layers, and adds up megabytes."""
    text = (
        "Training BERT-base:\n- One layer: 32 × 512 × 768 × 4 bytes\n- = ~320 MB per layer\n- × 12 layers = ~3.8 GB\n\n"
        "TOTAL = 440 + 880 + 3800 + 440 = ~5.6 GB\n"
    )
    one_layer = 32 * 512 * 768 * 4
    wrong = [claim for claim in proofread(text).claims if claim.verdict == "wrong"]
    assert [claim.right_value for claim in wrong[:2]] == [one_layer, 12 * one_layer]
    assert float(wrong[2].right_value or 0) == pytest.approx((440 + 880 + 440) * 1e6 + 12 * one_layer, rel=0.01)


def test_a_number_that_only_looks_like_an_earlier_one_is_not_carried() -> None:
    text = "BERT-base: 110M × 4 bytes = 44 MB\n\nThe buffer takes 44 × 1024 × 1024 bytes = 46.1 MB.\n"
    assert [claim.verdict for claim in proofread(text).claims][1:] != ["wrong"]
