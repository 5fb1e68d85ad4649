"""What a typed number turns out to be."""

from bertcalc import BertConfig, build
from bertcalc.check.diagnosis import Diagnosis, diagnose
from bertcalc.check.known import Known
from bertcalc.presets import PRESETS
from bertcalc.typed import typed


def of(text: str, config: BertConfig = BertConfig(), architecture: str = "BertModel") -> Diagnosis:  # noqa: B008 # frozen
    return diagnose(Known(config, architecture, True, 0, build(config, architecture).num_parameters()), typed(text))


def test_a_known_count_needs_no_slips() -> None:
    found = of("109,514,298")
    assert [(match.total, {model.architecture for model in match.models}) for match in found.matches] == [
        (109_514_298, {"BertForMaskedLM", "BertLMHeadModel"})
    ]
    assert not found.slipped


def test_a_checkpoint_file_with_its_buffer() -> None:
    [match] = of("110,106,940").matches
    assert [(model.architecture, model.buffers) for model in match.models] == [("BertForPreTraining", 512)]


def test_bytes_of_a_known_count() -> None:
    [match] = of("437,928,960").matches
    assert (match.reading.key, match.total) == ("float32", 109_482_240)


def test_bytes_of_a_count_with_a_slip() -> None:
    right, positions = 109_482_240, 393_216
    [slipped] = of(str(4 * (right - positions))).slipped
    assert slipped.reading.key == "float32"
    assert [cause.slip for cause in slipped.explanation] == ["positions"]


def test_a_slip_in_another_architecture_is_found() -> None:
    found = of("132,955,194").slipped
    assert {one.model.architecture for one in found} == {"BertForMaskedLM", "BertLMHeadModel"}
    assert {cause.slip for one in found for cause in one.explanation} == {"decoder again"}


def test_all_that_rounds_to_a_number_is_listed() -> None:
    found = of("110M")
    typed_exactly = {match.total for match in found.matches if not match.reading.rounded}
    assert typed_exactly == {109_514_298, 110_106_428}
    assert 109_482_240 in {match.total for match in found.matches if match.reading.rounded}


def test_write_up_004() -> None:
    found = of("75,641,856", PRESETS["bert-base-chinese"].config)
    assert not found.matches
    assert len(found.slipped) > 1
    assert {len(one.explanation) for one in found.slipped} == {3}


def test_a_rounded_number_is_not_explained_by_chance() -> None:
    """Among all totals that round to a number, some slips would always lead to one."""
    assert of("72.1 MB", PRESETS["bert-base-chinese"].config) == Diagnosis((), ())
    found = of("437.9 MB")
    assert 109_482_240 in {match.total for match in found.matches}
    assert not found.slipped


def test_nothing_is_made_up() -> None:
    assert of("123,456,789") == Diagnosis((), ())
