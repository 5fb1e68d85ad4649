"""The suggestion of the name that the user probably meant."""

import pytest

from bertcalc.families import CLASSES, PRESETS
from bertcalc.text.suggestions import nearest


@pytest.mark.parametrize("name", [*CLASSES, *PRESETS])
def test_case_and_signs_between_words_make_no_difference(name: str) -> None:
    options = CLASSES if name in CLASSES else PRESETS
    assert nearest(name.lower(), options) == nearest(name.upper(), options) == name
    assert nearest(name.replace("-", "_"), options) == name
    assert nearest(name.replace("-", ""), options) == name


@pytest.mark.parametrize("name", [*CLASSES, *PRESETS])
def test_a_name_without_a_letter_is_near_itself_or_one_that_is_as_near(name: str) -> None:
    options = CLASSES if name in CLASSES else PRESETS
    meant = nearest(name[:3] + name[4:], options)
    assert meant is not None
    assert abs(len(meant) - len(name)) <= 2


def test_what_is_like_nothing_has_no_suggestion() -> None:
    assert nearest("", PRESETS) is None
    assert nearest("zzzz", PRESETS) is None
    assert nearest("zzzz", PRESETS, similarity=0.0) in PRESETS
    assert nearest("x", []) is None
    assert nearest("bert" * 10_000, PRESETS, similarity=0.0) in PRESETS  # this takes almost no time


def test_what_begins_so_comes_first() -> None:
    assert nearest("bert-base", ["roberta-base", "bert-base-uncased"]) == "bert-base-uncased"
    assert nearest("bertbase", ["mmBERT-base", "bert-base-uncased"]) == "bert-base-uncased"
    assert nearest("hidden", ["hidden_size"], similarity=0.9, beginning=False) is None
