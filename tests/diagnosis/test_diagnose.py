"""What a typed number turns out to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config
from bertcalc.diagnosis.diagnose import Diagnosis, diagnose
from bertcalc.diagnosis.known import Known
from bertcalc.presets import PRESETS
from bertcalc.subject import Subject
from bertcalc.typed import typed

CHINESE = PRESETS["bert-base-chinese"].config


def of(text: str, config: Config = BertConfig(), architecture: str = "BertModel") -> Diagnosis:  # noqa: B008 # frozen
    subject = Subject(config, architecture)
    return diagnose(Known(subject, subject.model().num_parameters()), typed(text))


def test_a_known_count_needs_no_miscounts() -> None:
    found = of("109,514,298")
    assert [(match.total, {model.subject.architecture for model in match.models}) for match in found.matches] == [
        (109_514_298, {"BertForMaskedLM", "BertLMHeadModel"})
    ]
    assert not found.miscounted


def test_a_checkpoint_file_with_its_buffer() -> None:
    [match] = of("110,106,940").matches
    assert [(model.subject.architecture, model.buffers) for model in match.models] == [("BertForPreTraining", 512)]


def test_bytes_of_a_known_count() -> None:
    [match] = of("437,928,960").matches
    assert (match.reading.key, match.total) == ("float32", 109_482_240)


def test_bytes_of_a_count_with_a_miscount() -> None:
    right, positions = 109_482_240, 393_216
    [miscounted] = of(str(4 * (right - positions))).miscounted
    assert miscounted.reading.key == "float32"
    assert [cause.miscount for cause in miscounted.explanation] == ["positions"]


def test_a_miscount_in_another_architecture_is_found() -> None:
    found = of("132,955,194").miscounted
    assert {one.model.subject.architecture for one in found} == {"BertForMaskedLM", "BertLMHeadModel"}
    assert {cause.miscount for one in found for cause in one.explanation} == {"decoder again"}


def test_all_that_rounds_to_a_number_is_listed() -> None:
    found = of("110M")
    typed_exactly = {match.total for match in found.matches if not match.reading.rounded}
    assert typed_exactly == {109_514_298, 110_106_428}
    assert 109_482_240 in {match.total for match in found.matches if match.reading.rounded}


@pytest.mark.parametrize("config", [BertConfig(), CHINESE])
def test_write_up_004_is_said_to_be_what_it_is_whatever_is_shown(config: Config) -> None:
    found = of("75,641,856", config)
    assert found == Diagnosis(hand=found.hand)
    assert found.hand
    hand, miscounted = found.hand
    assert hand.preset == "bert-base-chinese"
    # By which terms the write-up differs from the exact 102,267,648: it was worked out from its formulas.
    assert miscounted.model.parameters == 102_267_648
    assert [tuple(cause) for cause in miscounted.explanation] == [
        ("layer biases", -36_864 - 46_080),
        ("pooler", -590_592),
        ("attention once", -11 * 2_359_296),
    ]


@pytest.mark.parametrize(
    ("text", "part", "layers"),
    [
        ("28,348,416", "attention", "all"),  # 12 x 4 x (768 x 768 + 768)
        ("7,087,872", "layers", "one"),
        ("85,054,464", "layers", "all"),
        ("23,440,896", "word embeddings", "all"),  # 30,522 x 768
        ("2,359,296", "encoder.layer.*.intermediate.dense.weight", "one"),  # 768 x 3,072
        ("85M", "layers", "all"),
    ],
)
def test_a_part_of_the_model_is_no_miscount(text: str, part: str, layers: str) -> None:
    found = of(text)
    assert (part, layers) in [(own.counted.part, own.counted.layers) for own in found.own]
    assert {own.reading.key for own in found.own} == {"parameters"}
    assert not found.miscounted


def test_bytes_of_a_part() -> None:
    [own] = of(str(4 * 7_087_872)).own
    assert (own.reading.key, own.counted.part, own.counted.layers) == ("float32", "layers", "one")


@given(st.integers(10**6, 2 * 10**8))
def test_no_far_fetched_explanation_is_offered(number: int) -> None:
    for one in of(str(768 * (number // 768))).miscounted:
        assert len(one.explanation) <= (3 if one.reading.key == "parameters" else 1)


def test_a_rounded_number_is_not_explained_by_chance() -> None:
    """Among all totals that round to a number, some miscounts would always lead to one."""
    assert of("72.1 MB", CHINESE) == Diagnosis()
    found = of("437.9 MB")
    assert 109_482_240 in {match.total for match in found.matches}
    assert not found.miscounted


def test_nothing_is_made_up() -> None:
    assert of("123,456,789") == Diagnosis()
