"""peft reads the exported adapter_config.json and adds the same adapter."""

from pathlib import Path
from tempfile import TemporaryDirectory

import peft
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bertcalc.changes.adapter import PeftChange
from bertcalc.export.adapter_config import adapter_config
from tests.adapters import adapters
from tests.changes.resized import small
from tests.examples import examples

MODEL = small("BertForSequenceClassification").model


@pytest.mark.filterwarnings("ignore")  # warnings of peft
@examples(40)
@given(st.data())
def test_peft_reads_the_adapter(data: st.DataObject) -> None:
    adapter = data.draw(adapters(MODEL))
    try:
        theirs = adapter.theirs()
    except ValueError:
        reject()
    ours = adapter.ours()
    assert isinstance(ours, PeftChange)
    with TemporaryDirectory() as folder:
        Path(folder, "adapter_config.json").write_text(adapter_config(ours), encoding="utf-8")
        read = peft.PeftConfig.from_pretrained(folder)
    assert type(read) is type(theirs)
    assert {**read.to_dict(), "inference_mode": False} == theirs.to_dict()
