"""A config.json as a file."""

import pytest

from bertcalc.checkpoints.uploads import text_of
from bertcalc.config_json import LARGEST, JsonError, read
from tests.test_config_json import CHINESE


def test_utf_8_is_read() -> None:
    assert text_of('{"名": 1}'.encode()) == '{"名": 1}'
    assert read(text_of(CHINESE.encode("utf-8-sig"))) == read(CHINESE)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (CHINESE.encode("utf-16"), "not UTF-8: byte 1 is 0xff"),
        ('{"名": 1}'.encode("gbk"), "not UTF-8: byte 3 is 0xc3"),
        (bytes(LARGEST + 1), "has 1,000,001 bytes or more: a config.json has at most 1,000,000"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, said: str) -> None:
    with pytest.raises(JsonError, match=said):
        text_of(data)
