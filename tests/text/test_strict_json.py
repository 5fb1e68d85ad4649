"""The one JSON reader: what Python's parser accepts and refuses, and what only Python's parser accepts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.text.problem import InputError
from bertcalc.text.strict_json import CUT_OFF, HABITS, PARSER_SAYS, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_what_python_writes_is_read_as_the_same(value: object) -> None:
    text = json.dumps(value)
    assert read_json(text, len(text)) == value
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        data.decode()
    except UnicodeDecodeError:
        with pytest.raises(InputError, match="This is not UTF-8"):
            read_json(data, len(data))
    else:
        assert read_json(data, len(data)) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]" + " " * 98, "This text has 101 characters: at most 100 are allowed."),
        (b'{"\xff": 1}', "This is not UTF-8: byte 3 is 0xff."),
        ('{"a": {"b": 1, "b": 1}}', "b appears twice: it must appear only once."),
        ("[NaN]", "NaN is not valid in JSON: write null or a number."),
        ("[-Infinity]", "-Infinity is not valid in JSON: write null or a number."),
        ("{// mine\n}", "This is not JSON: line 1, column 2: JSON has no comments."),
        ('{"a": 1 # mine\n}', "This is not JSON: line 1, column 9: JSON has no comments."),
        ("{'a': 1}", "This is not JSON: line 1, column 2: names and strings must be in straight double quotes."),
        ('{"a": None}', "This is not JSON: line 1, column 7: write true, false or null."),
        ("", "This is not JSON: line 1, column 1: Expecting value."),
        ("[1 }", "This is not JSON: line 1, column 4: Expecting ',' delimiter."),
        ('{"a": }', "This is not JSON: line 1, column 7: Expecting value."),
    ],
)
def test_what_python_lets_pass_is_refused_in_a_sentence(text: str | bytes, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_json(text, 100)
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [("[" * 100_000, "This JSON is nested too deeply."), ("9" * 5000, "A number in this text has too many digits.")],
)
def test_limits_of_python_itself_are_sentences_too(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_json(text, 100_000)
    assert str(raised.value) == said


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "\x01"}',
        r'{"a": "\q"}',
        r'{"a": "\u12"}',
        '{"a": 1',
        '{"a" 1}',
        "{a: 1}",
        '{"a": "',
        '{"a": [1,]}',
        '{"a": 1,}',
        '{"a": }',
        "{} {}",
    ],
)
def test_what_the_parser_says_is_in_the_catalogues(text: str) -> None:
    with pytest.raises(InputError) as raised:
        read_json(text, 100)
    assert raised.value.problems[0].values["why"] in (*PARSER_SAYS, *HABITS.values(), CUT_OFF)
