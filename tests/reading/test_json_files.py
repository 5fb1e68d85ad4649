"""Files that describe no model get the same explanation wherever they are pasted."""

import pytest

import bertcalc
from bertcalc.families.config_files import other_files
from bertcalc.text.loose_json import read_loosely
from tests.families.test_wild_configs import FILES

EXPLAINED = [entry for entry in FILES["refused"] if other_files.explained(read_loosely(entry["text"], 10**6))]
WITH_A_READER = ("adapter-config", "safetensors-index", "article")


@pytest.mark.parametrize("entry", EXPLAINED, ids=[entry["name"] for entry in EXPLAINED])
def test_a_file_that_describes_no_model_is_explained(entry: dict[str, str]) -> None:
    reading = bertcalc.read(entry["text"])
    assert reading.kind in ("other-file", *WITH_A_READER)
    assert entry["why"] in str(reading) or reading.kind in WITH_A_READER
